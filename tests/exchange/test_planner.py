"""The plan as a public value: its contract, its policies, its words."""

import json
import warnings

import pytest

import pondero
from pondero.errors import BadThinking, PonderoWarning, UnknownModel, Unsupported
from pondero.thinking import BENIGN, CODES

_KEYS = "model dialect family asked level budget nominal will_think fields headers dropped adjustments facts"


def test_the_json_contract_has_these_keys_in_this_order():
    made = pondero.plan("claude-sonnet-4-5", "high", temperature=0.1).to_json()
    assert list(made) == _KEYS.split()
    assert list(made["adjustments"][0]) == ["code", "what", "asked", "got", "why"]
    assert set(made["facts"]) == {"source", "checked", "inferred", "evidence", "like"}
    assert json.loads(json.dumps(made)) == made


def test_changing_the_json_does_not_change_the_plan():
    made = pondero.plan("claude-sonnet-4-5", "high")
    made.to_json()["fields"]["thinking"]["budget_tokens"] = 0
    assert made.fields["thinking"]["budget_tokens"] == 59904


def test_two_plans_do_not_share_their_fields():
    pondero.plan("claude-opus-5", "low").fields["thinking"]["type"] = "spoiled"
    assert pondero.plan("claude-opus-5", "low").fields["thinking"]["type"] == "adaptive"


def test_asked_is_what_was_asked():
    model = "gemini-2.5-pro"
    wishes = {None: None, True: "on", False: "off", "med": "medium", 8000: 8000, "8k": 8000}
    assert {wish: pondero.plan(model, wish).asked for wish in wishes} == wishes


def test_the_wish_may_stand_in_the_models_name_and_an_argument_wins_over_it():
    assert pondero.plan("claude-opus-5/xhigh").asked == "xhigh"
    assert pondero.plan("claude-opus-5@low").asked == "low"
    assert pondero.plan("claude-opus-5/xhigh", "low").asked == "low"
    assert pondero.plan("claude-opus-5/xhigh", thinking_effort="low").asked == "low"


def test_unset_sends_nothing_and_says_what_the_model_does_by_itself():
    expected = {"claude-sonnet-4-5": False, "claude-opus-5": True, "gemini-2.5-pro": None}
    for model, thinks in expected.items():
        made = pondero.plan(model)
        assert (made.fields, made.headers, made.asked, made.will_think) == ({}, {}, None, thinks)


# -- policies -----------------------------------------------------------------------------------


def test_warn_warns_and_sends_the_same():
    with pytest.warns(PonderoWarning, match="cannot_disable"):
        made = pondero.plan("gpt-5", "off", policy=pondero.Policy(unsupported="warn"))
    assert made == pondero.plan("gpt-5", "off")


def test_adjust_is_silent_but_recorded():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pondero.plan("gpt-5", "off").adjustments


@pytest.mark.parametrize(
    ("model", "wish", "asked", "code"),
    [
        ("gpt-5", "off", {}, "cannot_disable"),
        ("gpt-5.1", "xhigh", {}, "unsupported_level"),
        ("gpt-4o", "high", {}, "no_thinking"),
        ("o1-mini", "high", {}, "no_control"),
        ("gpt-5", 8000, {}, "budget_as_level"),
        ("gemini-2.5-pro", 5, {}, "budget_clamped"),
        ("claude-opus-5", "high", {"temperature": 0.5}, "dropped_parameter"),
        ("claude-sonnet-4-5", "high", {"max_tokens": 100}, "no_room"),
        ("claude-sonnet-4-5", "high", {"tool_choice": "required"}, "forced_tool_choice"),
        ("claude-sonnet-4-5", "low", {"max_tokens": 90_000}, "max_tokens_clamped"),
    ],
)
def test_strict_raises_with_the_reason(model, wish, asked, code):
    with pytest.raises(Unsupported, match=code):
        pondero.plan(model, wish, **asked, policy={"unsupported": "strict"})


def test_strict_lets_documented_arithmetic_pass():
    made = pondero.plan("claude-sonnet-4-5", "high", policy={"unsupported": "strict"})
    assert {note.code for note in made.adjustments} == {"answer_room"}
    assert set(CODES) >= BENIGN


# -- models nobody knows ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "family", "fields"),
    [
        ("claude-opus-9", "claude-opus-5-5",
         {"thinking": {"type": "adaptive", "display": "summarized"},
          "output_config": {"effort": "high"}, "max_tokens": 128000}),
        ("gpt-9", "gpt-6-astra", {"reasoning": {"effort": "high", "summary": "auto"}}),
        ("gemini-7-flash", "gemini-4-argon",
         {"generationConfig": {"thinkingConfig": {"thinkingLevel": "HIGH", "includeThoughts": True}}}),
    ],
)  # fmt: skip
def test_an_unknown_model_of_a_known_line_takes_the_newest_of_it(model, family, fields):
    made = pondero.plan(model, "high")
    assert (made.family, made.fields, made.facts.inferred) == (family, fields, True)
    assert [note.code for note in made.adjustments] == ["unknown_model"]


def test_an_unknown_line_gets_nothing_for_a_level_and_its_native_fields_whole():
    made = pondero.plan("anthropic:somebodys-finetune", "high")
    assert (made.fields, made.will_think) == ({}, None)
    assert [note.code for note in made.adjustments] == ["unknown_model", "no_control"]
    native = {"thinking": {"type": "adaptive"}}
    assert pondero.plan("anthropic:somebodys-finetune", native).fields == native


def test_the_policy_unknown_omit_sends_nothing_for_a_relative():
    made = pondero.plan("claude-opus-9", "high", policy={"unknown": "omit"})
    assert (made.fields, made.family, made.facts.inferred) == ({}, "unknown", True)


def test_the_policy_unknown_error_raises_before_anything_is_sent():
    with pytest.raises(UnknownModel, match="claude-opus-9"):
        pondero.plan("claude-opus-9", "high", policy={"unknown": "error"})


# -- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked",
    [{"max_tokens": 0}, {"max_tokens": -1}, {"max_tokens": 10**30}, {"max_tokens": 1.5},
     {"max_tokens": True}, {"max_tokens": "9"}, {"temperature": float("nan")},
     {"temperature": -1}, {"temperature": "hot"}, {"temperature": True}, {"top_p": 2},
     {"top_p": float("inf")}, {"top_k": -1}, {"tool_choice": 5}, {"policy": {"of": 1}},
     {"policy": 7}, {"thinking_effort": "hihg"}],
)  # fmt: skip
def test_a_bad_argument_is_our_error_with_the_value_and_what_would_work(asked):
    with pytest.raises(pondero.PonderoError, match=r"use|mapping"):
        pondero.plan("claude-sonnet-4-5", **asked)


@pytest.mark.parametrize(
    "model", ["", " ", None, 5, "nope", "nope:gpt-5", "/high", "claude/", "x@"]
)
def test_a_bad_model_is_our_error(model):
    with pytest.raises(pondero.PonderoError):
        pondero.plan(model, "high")


def test_a_good_model_with_a_misspelt_level_is_told_about_the_level():
    for text in ("claude-opus-5/hihg", "anthropic:claude-opus-5@hihg"):
        with pytest.raises(BadThinking, match="did you mean 'high'"):
            pondero.plan(text)


# -- for people ---------------------------------------------------------------------------------


def test_a_plan_reads_well():
    assert str(pondero.plan("gemini-3-pro-preview/off")).splitlines() == [
        "model   google:gemini-3-pro-preview",
        "asked   off",
        "sent    low",
        "why     this model does not support disabling thinking; this is its minimum (cannot_disable)",
        "facts   known from the vendor's documentation; checked 2026-11-15",
        "json    {",
        '          "generationConfig": {',
        '            "thinkingConfig": {',
        '              "thinkingLevel": "LOW"',
        "            }",
        "          }",
        "        }",
    ]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("gpt-5.5", "known from recorded exchanges with this service; checked "),
        ("claude-opus-77", "known from a related model, claude-opus-5"),
        ("groq:foo", "nothing is known of this model"),
    ],
)
def test_a_plan_says_in_words_how_its_facts_are_known(model, words):
    facts = next(line for line in str(pondero.plan(model)).splitlines() if line[:5] == "facts")
    assert facts.startswith(f"facts   {words}")


@pytest.mark.parametrize(
    ("wish", "words"),
    [(None, "nothing (whether it thinks is up to the model)"), ("high", "high, 32,768 tokens"),
     (8000, "8,000 tokens"), ({"x": 1}, "your own fields, untouched")],
)  # fmt: skip
def test_what_is_sent_is_said_in_words(wish, words):
    assert f"sent    {words}\n" in str(pondero.plan("gemini-2.5-pro", wish))


def test_levels_is_the_whole_ladder():
    ladder = pondero.levels("claude-opus-5")
    assert [made.asked for made in ladder] == [
        "off",
        "minimal",
        "low",
        "medium",
        "high",
        "xhigh",
        "max",
    ]
    assert ladder[-1] == pondero.plan("claude-opus-5", "max")


# -- thinking that is not to be seen ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "hidden"),
    [
        ("claude-sonnet-4-5", {"type": "enabled", "budget_tokens": 22016, "display": "omitted"}),
        ("claude-opus-4-6", {"type": "adaptive", "display": "omitted"}),
        ("claude-opus-5", {"type": "adaptive"}),
    ],
)
def test_thinking_is_hidden_where_the_wire_can(model, hidden):
    made = pondero.plan(model, "low", policy={"show": "none"})
    assert made.fields["thinking"] == hidden
    assert not made.adjustments


def test_thinking_is_hidden_on_bedrock_but_not_where_the_word_is_unknown():
    hidden = pondero.plan("bedrock:anthropic.claude-opus-4-6", "low", policy={"show": "none"})
    assert "omitted" in str(hidden.fields)
    shown = pondero.plan("bedrock:us-gov.anthropic.claude-opus-4-6", "low", policy={"show": "none"})
    assert "omitted" not in str(shown.fields)
    assert [note.code for note in shown.adjustments] == ["cannot_hide"]


@pytest.mark.parametrize(
    "model",
    [
        "deepseek:deepseek-v4-flash",
        "cohere:command-a-reasoning",
        "xai:grok-4.6",
        "ollama:qwen3",
        "mistral:magistral-medium-2509",
    ],
)
def test_thinking_that_cannot_be_hidden_is_said_to_come(model):
    made = pondero.plan(model, "high", policy={"show": "none"})
    assert "cannot_hide" in [note.code for note in made.adjustments]
    asked = pondero.plan(model, "high")
    assert "cannot_hide" not in [note.code for note in asked.adjustments]


@pytest.mark.parametrize("model", ["groq:openai/gpt-oss-120b", "cerebras:gpt-oss-120b"])
def test_off_that_only_hides_says_that_it_is_still_billed(model):
    made = pondero.plan(model, "off")
    assert made.fields["reasoning_format"] == "hidden"
    [note] = made.adjustments
    assert note.code == "cannot_disable"
    assert note.why.endswith("it is hidden, and still billed")


def test_a_model_that_is_only_guessed_keeps_its_tools():
    known = pondero.plan("openai-chat:gpt-6-astra", "low", tools=True)
    guessed = pondero.plan("openai-chat:gpt-9", "low", tools=True)
    assert (known.dropped, guessed.dropped) == (("tools",), ())
    assert guessed.family == known.family
