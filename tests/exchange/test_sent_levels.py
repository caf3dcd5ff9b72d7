"""The level itself, as it stands in the body that is sent: written here, and computed nowhere."""

import msgspec
import pytest

import pondero
from pondero.emulator import Emulator
from pondero.errors import BadRequest, Unsupported
from pondero.exchange import Retry

LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
# The words of each model, one a level (sheets: openai.md 2, google.md 2, anthropic.md 2).
WORDS = {
    "gpt-5": "minimal minimal low medium high high high",
    "gpt-5-mini": "minimal minimal low medium high high high",
    "gpt-5.1": "none low low medium high high high",
    "o3": "low low low medium high high high",
    "o4-mini": "low low low medium high high high",
    "o1": "low low low medium high high high",
    "o3-mini": "low low low medium high high high",
    "gpt-6-astra": "low low low medium high xhigh max",
}
OVER_CHAT = {"gpt-6-astra": "low low low medium high xhigh xhigh"}  # its max is Responses' alone
GEMINI = {
    "gemini-3-flash-preview": "MINIMAL MINIMAL LOW MEDIUM HIGH HIGH HIGH",
    "gemini-3-pro-preview": "LOW LOW LOW HIGH HIGH HIGH HIGH",
}
ADAPTIVE = {"claude-opus-5": "disabled low low medium high xhigh max"}
BUDGETS = {
    "gemini-2.5-pro": "128 1024 11008 21888 32768 32768 32768",
    "gemini-2.5-flash": "0 1024 8192 16384 24576 24576 24576",
}


@pytest.fixture(scope="module")
def sent():
    client = pondero.Client(transport=Emulator())

    def body(model, level, **options):
        return msgspec.json.decode(client.prepare(model, "Hi", level, **options).request.body)

    return body


def rungs(table):
    return [
        (model, level, word)
        for model, words in table.items()
        for level, word in zip(LEVELS, str(words).split(), strict=True)
    ]


@pytest.mark.parametrize(("model", "level", "word"), rungs(WORDS))
def test_openai_gets_the_word_and_a_summary_over_responses(sent, model, level, word):
    shown = {} if level == "off" else {"summary": "auto"}
    body = sent(f"openai:{model}", level)
    assert body["reasoning"] == {"effort": word, **shown}
    assert "reasoning_effort" not in body


@pytest.mark.parametrize(("model", "level", "word"), rungs(WORDS | OVER_CHAT))
def test_openai_gets_the_same_word_over_chat_completions(sent, model, level, word):
    body = sent(f"openai-chat:{model}", level)
    assert body["reasoning_effort"] == word
    assert "reasoning" not in body


@pytest.mark.parametrize(("model", "level", "word"), rungs(GEMINI))
def test_gemini_3_gets_the_word_and_is_asked_to_show_its_thinking(sent, model, level, word):
    shown = {} if level == "off" else {"includeThoughts": True}
    config = sent(f"google:{model}", level)["generationConfig"]["thinkingConfig"]
    assert config == {"thinkingLevel": word, **shown}


@pytest.mark.parametrize(("model", "level", "tokens"), rungs(BUDGETS))
def test_gemini_2_5_gets_the_tokens_and_is_asked_to_show_its_thinking(sent, model, level, tokens):
    shown = {} if level == "off" else {"includeThoughts": True}
    config = sent(f"google:{model}", level)["generationConfig"]["thinkingConfig"]
    assert config == {"thinkingBudget": int(tokens), **shown}


@pytest.mark.parametrize(("model", "level", "word"), rungs(ADAPTIVE))
def test_claude_gets_the_word_and_shows_a_summary(sent, model, level, word):
    body = sent(model, level)
    if level == "off":
        assert body["thinking"] == {"type": "disabled"}
        assert "output_config" not in body
    else:
        assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
        assert body["output_config"] == {"effort": word}


@pytest.mark.parametrize(
    ("model", "field"),
    [
        ("gpt-5.1", ("reasoning", "summary")),
        ("gemini-3-flash-preview", ("generationConfig", "thinkingConfig", "includeThoughts")),
    ],
)
def test_nothing_is_asked_to_be_shown_where_that_is_not_wished(sent, model, field):
    found = sent(model, "high", policy={"show": "none"})
    for key in field[:-1]:
        found = found[key]
    assert field[-1] not in found


@pytest.mark.parametrize("model", ["gpt-5.1", "gemini-3-flash-preview", "claude-opus-4-8"])
def test_a_turn_at_another_level_differs_in_its_thinking_fields_alone(model):
    chat = pondero.Chat(model, "low", client=pondero.Client(transport=Emulator()))
    chat.send("Hi")
    low = msgspec.json.decode(chat.prepare("And now?").request.body)
    chat.thinking = "high"
    high = msgspec.json.decode(chat.prepare("And now?").request.body)
    assert low != high
    for body in (low, high):
        for knob in ("reasoning", "output_config", "thinking"):
            body.pop(knob, None)
        body.get("generationConfig", {}).pop("thinkingConfig", None)
    assert low == high


# -- numbers, floors and siblings ----------------------------------------------------------------


@pytest.mark.parametrize("model", ["gpt-5", "gpt-5-mini", "gpt-5-nano"])
def test_gpt_5_gets_a_word_for_a_number_and_never_the_number(sent, model):
    plan = pondero.plan(model, 8_000)
    assert (plan.level, [note.code for note in plan.adjustments]) == ("medium", ["budget_as_level"])
    assert sent(model, 8_000)["reasoning"]["effort"] == "medium"
    with pytest.raises(Unsupported, match="budget_as_level"):
        pondero.plan(model, 8_000, policy={"unsupported": "strict"})


def test_off_on_gemini_2_5_pro_is_128_tokens_and_a_word_about_it(sent):
    plan = pondero.plan("gemini-2.5-pro", "off")
    assert [note.code for note in plan.adjustments] == ["cannot_disable"]
    config = sent("gemini-2.5-pro", "off")["generationConfig"]["thinkingConfig"]
    assert config == {"thinkingBudget": 128}


def test_a_grok_that_thinks_and_its_sibling_that_does_not_are_two_rows(sent):
    assert "reasoning_effort" in sent("xai:grok-4.20-multi-agent", "high")
    (note,) = pondero.plan("xai:grok-4.20-non-reasoning", "high").adjustments
    assert (note.code, note.why.split("; ")[-1]) == ("no_thinking", "grok-4.20-reasoning thinks")
    assert "reasoning_effort" not in sent("xai:grok-4.20-non-reasoning", "high")
    (note,) = pondero.plan("xai:grok-4.20-reasoning", "off").adjustments
    assert note.code == "cannot_disable"
    assert note.why.endswith("; grok-4.20-non-reasoning does not think")


@pytest.mark.parametrize(
    ("model", "native"),
    [
        ("claude-sonnet-4-5", {"thinking": {"type": "enabled", "budget_tokens": 5}}),
        ("gpt-5.1", {"reasoning": {"effort": "enormous"}}),
        ("gemini-2.5-pro", {"generationConfig": {"thinkingConfig": {"thinkingBudget": 1}}}),
    ],
)
def test_a_native_value_goes_out_as_it_is_and_its_service_refuses_it(sent, model, native):
    key = next(iter(native))
    found, wanted = sent(model, native)[key], native[key]
    assert {name: found[name] for name in wanted} == wanted
    client = pondero.Client(transport=Emulator(), retry=Retry(attempts=1))
    with pytest.raises(BadRequest):
        client.ask(model, "Hi", native, policy={"unsupported": "strict"})  # nothing is repaired
