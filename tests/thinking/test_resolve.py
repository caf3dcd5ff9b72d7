"""What a model gets for a wish, and what it is told about the difference."""

import pytest

from pondero import plan


def _codes(made):
    return [note.code for note in made.adjustments]


# -- off means off, or says so ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "sent"),
    [
        ("claude-sonnet-4-5", {"thinking": {"type": "disabled"}}),
        ("claude-opus-5", {"thinking": {"type": "disabled"}}),
        ("claude-sonnet-5-5", {"thinking": {"type": "between_tools"}}),
        ("gpt-5.1", {"reasoning": {"effort": "none"}}),
        ("gpt-5.5", {"reasoning": {"effort": "none"}}),
        ("gemini-2.5-flash", {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}),
    ],
)
def test_off_sends_the_real_off_switch(model, sent):
    made = plan(model, "off")
    assert sent.items() <= made.fields.items()
    assert (made.level, made.will_think, _codes(made)) == ("off", False, [])


@pytest.mark.parametrize(
    ("model", "got", "sent"),
    [("gpt-5", "minimal", {"reasoning": {"effort": "minimal"}}),
     ("o3-mini", "low", {"reasoning": {"effort": "low"}}),
     ("gpt-5-pro", "high", {"reasoning": {"effort": "high"}}),
     ("claude-fable-5", "low", {"output_config": {"effort": "low"}}),
     ("gemini-2.5-pro", "minimal", {"generationConfig": {"thinkingConfig": {"thinkingBudget": 128}}}),
     ("gemini-3-pro-preview", "low", {"generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW"}}}),
     ("gemini-3-flash-preview", "minimal", {"generationConfig": {"thinkingConfig": {"thinkingLevel": "MINIMAL"}}})],
)  # fmt: skip
def test_off_on_a_model_that_always_thinks_is_the_least_and_reports_why(model, got, sent):
    made = plan(model, "off")
    assert (made.level, made.will_think, _codes(made)) == (got, True, ["cannot_disable"])
    assert sent.items() <= made.fields.items()
    assert "disabling" in made.adjustments[0].why


def test_off_never_asks_to_see_the_thinking():
    assert "includeThoughts" not in str(plan("gemini-3-pro-preview", "off").fields)
    assert "summary" not in str(plan("gpt-5", "off").fields)


# -- on -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        ("gpt-5", {"reasoning": {"summary": "auto"}}),
        ("gpt-5.1", {"reasoning": {"effort": "medium", "summary": "auto"}}),
        ("gemini-2.5-pro", {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}),
        ("claude-opus-4-6", {"thinking": {"type": "adaptive"}, "max_tokens": 128000}),
    ],
)
def test_on_lets_the_model_choose_its_depth_where_it_can(model, fields):
    assert plan(model, True).fields == fields


def test_on_where_a_depth_must_be_said_is_medium_and_says_so():
    made = plan("claude-sonnet-4-5", "on")
    assert (made.budget, _codes(made)) == (43008, ["on_as_level"])


def test_thinking_asked_of_a_model_that_does_not_think_is_recorded_and_not_sent():
    made = plan("gpt-4o", "high")
    assert (made.fields, made.will_think, _codes(made)) == ({}, False, ["no_thinking"])


# -- levels a model does not have ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "asked", "got"),
    [("gpt-5.1", "minimal", "low"), ("gpt-5.1", "xhigh", "high"), ("gpt-5", "max", "high"),
     ("gemini-3-pro-preview", "medium", "high"), ("claude-opus-4-6", "xhigh", "max"),
     ("gpt-5-pro", "low", "high"), ("gpt-5.1-chat-latest", "max", "medium")],
)  # fmt: skip
def test_a_missing_level_goes_up_to_the_weakest_above_it_else_to_the_top(model, asked, got):
    made = plan(model, asked)
    assert (made.level, _codes(made)) == (got, ["unsupported_level"])


# -- numbers of tokens --------------------------------------------------------------------------


def test_a_number_is_sent_as_it_is_where_the_model_takes_numbers():
    made = plan("claude-sonnet-4-5", 8000)
    assert made.fields == {
        "thinking": {"type": "enabled", "budget_tokens": 8000},
        "max_tokens": 12096,
    }
    assert (made.asked, made.level, made.budget, _codes(made)) == (8000, None, 8000, [])


@pytest.mark.parametrize(("asked", "got"), [(10, 128), (100_000, 32768)])
def test_a_number_out_of_range_is_brought_into_it(asked, got):
    made = plan("gemini-2.5-pro", asked)
    assert (made.budget, _codes(made)) == (got, ["budget_clamped"])


@pytest.mark.parametrize(
    ("tokens", "level"), [(500, "low"), (8_000, "medium"), (20_000, "high"), (60_000, "max")]
)
def test_a_number_on_a_model_of_words_is_the_nearest_level(tokens, level):
    made = plan("gpt-6-sol", tokens)
    assert (made.level, _codes(made)) == (level, ["budget_as_level"])


# -- room for the answer ------------------------------------------------------------------------


def test_the_plan_of_the_design_document():
    made = plan("claude-sonnet-4-5", "high", temperature=0.7)
    assert made.fields == {
        "thinking": {"type": "enabled", "budget_tokens": 59904},
        "max_tokens": 64000,
    }
    assert (made.nominal, made.budget, made.dropped) == (64000, 59904, ("temperature",))
    first = made.adjustments[0]
    assert (first.code, first.what, first.asked, first.got) == (
        "answer_room",
        "budget",
        64000,
        59904,
    )
    assert first.why == (
        "high is 64,000 tokens here; of max_tokens 64,000, 4,096 are kept for the answer"
    )


def test_a_number_above_max_tokens_says_what_is_kept_for_the_answer():
    (note,) = plan("claude-sonnet-4-5", 8_000, max_tokens=6_000).adjustments
    said = "8,000 tokens were asked for; of max_tokens 6,000, 3,000 are kept for the answer"
    assert (note.code, note.why) == ("budget_clamped", said)


@pytest.mark.parametrize(
    ("max_tokens", "budget"), [(2000, 1024), (3000, 1500), (20_000, 15_904), (64_000, 59_904)]
)
def test_a_cap_keeps_room_for_the_answer_and_is_never_raised(max_tokens, budget):
    made = plan("claude-sonnet-4-5", "high", max_tokens=max_tokens)
    assert (made.fields["max_tokens"], made.budget) == (max_tokens, budget)
    assert _codes(made) == ["answer_room"]


@pytest.mark.parametrize("max_tokens", [1, 500, 1024])
def test_a_cap_no_budget_fits_below_turns_thinking_off(max_tokens):
    made = plan("claude-sonnet-4-5", "high", max_tokens=max_tokens)
    assert made.fields == {"thinking": {"type": "disabled"}, "max_tokens": max_tokens}
    assert (made.will_think, _codes(made)) == (False, ["no_room"])


def test_a_cap_on_a_model_that_cannot_stop_keeps_the_least_and_warns():
    made = plan("gemini-2.5-pro", "high", max_tokens=100)
    assert (made.budget, _codes(made)) == (128, ["no_room"])


def test_a_cap_above_what_the_model_writes_is_lowered():
    made = plan("claude-sonnet-4-5", "low", max_tokens=100_000)
    assert (made.fields["max_tokens"], _codes(made)) == (64_000, ["max_tokens_clamped"])


def test_the_room_is_a_policy():
    assert plan("claude-sonnet-4-5", "high", policy={"answer_room": 10_000}).budget == 54_000


# -- what thinking forbids ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "wish", "dropped"),
    [
        ("claude-sonnet-4-5", "high", ("temperature", "top_p", "top_k")),
        ("claude-sonnet-4-5", "off", ("top_p",)),
        ("claude-opus-5", "off", ("temperature", "top_p", "top_k")),
        ("gpt-5.1", "high", ("temperature", "top_p", "top_k")),
        ("gpt-5.1", "off", ("top_k",)),
        ("gpt-5.1", None, ("top_k",)),
        ("gpt-5", None, ("temperature", "top_p", "top_k")),
        ("gemini-2.5-pro", "high", ()),
        ("gemini-3.6-flash", "high", ("temperature", "top_p", "top_k")),
    ],
)
def test_parameters_the_model_refuses_are_left_out_with_a_reason(model, wish, dropped):
    made = plan(model, wish, temperature=0.2, top_p=0.5, top_k=5)
    assert made.dropped == dropped
    assert _codes(made).count("dropped_parameter") == len(dropped)


def test_a_parameter_that_may_stay_is_in_the_fields_under_the_services_name():
    config = plan("gemini-2.5-pro", None, temperature=0.2, top_k=3, max_tokens=9).fields
    assert config == {"generationConfig": {"temperature": 0.2, "topK": 3, "maxOutputTokens": 9}}


def test_temperature_one_may_stay_where_one_is_what_thinking_wants():
    made = plan("claude-sonnet-4-5", "low", temperature=1)
    assert (made.fields["temperature"], made.dropped) == (1, ())


@pytest.mark.parametrize("choice", ["required", "any", "get_weather"])
def test_a_forced_tool_turns_thinking_off_where_the_two_exclude_each_other(choice):
    made = plan("claude-sonnet-4-5", "high", tools=True, tool_choice=choice)
    assert made.fields["thinking"] == {"type": "disabled"}
    assert (made.will_think, _codes(made)) == (False, ["forced_tool_choice"])


def test_a_forced_tool_that_is_refused_always_is_dropped():
    made = plan("claude-opus-5-5", "high", tools=True, tool_choice="required")
    assert (made.dropped, made.will_think) == (("tool_choice",), True)


def test_a_forced_tool_that_silences_thinking_is_said():
    made = plan("claude-opus-5", "high", tools=True, tool_choice="required")
    assert (made.fields["thinking"]["type"], made.will_think) == ("adaptive", False)
    assert _codes(made) == ["forced_tool_choice"]


def test_tools_on_chat_completions_turn_thinking_off_where_the_service_refuses_both():
    made = plan("openai-chat:gpt-5.5", "high", tools=True)
    assert (made.fields, _codes(made)) == ({"reasoning_effort": "none"}, ["tools_without_thinking"])
    made = plan("openai-chat:gpt-6-astra", "high", tools=True)  # which cannot be off
    assert (made.level, made.dropped, _codes(made)) == (
        "high",
        ("tools",),
        ["tools_without_thinking"],
    )
    assert not plan("openai-chat:gpt-5", "high", tools=True).adjustments


def test_older_claude_thinks_between_tool_calls_when_there_are_tools():
    header = {"anthropic-beta": "interleaved-thinking-2025-05-14"}
    assert plan("claude-sonnet-4-5", "low", tools=True).headers == header
    assert plan("claude-sonnet-4-5", "low").headers == {}
    assert plan("claude-sonnet-4-5", "off", tools=True).headers == {}
    assert plan("claude-opus-4-6", "low", tools=True).headers == {}


# -- showing ------------------------------------------------------------------------------------


def test_readable_thinking_is_asked_for_where_it_must_be():
    assert plan("claude-opus-5", "low").fields["thinking"]["display"] == "summarized"
    assert plan("gpt-5", "low").fields["reasoning"]["summary"] == "auto"
    assert "display" not in plan("claude-opus-4-6", "low").fields["thinking"]


@pytest.mark.parametrize("model", ["claude-opus-5", "gpt-5", "gemini-2.5-pro"])
def test_show_none_asks_for_no_text(model):
    sent = str(plan(model, "low", policy={"show": "none"}).fields)
    assert not any(word in sent for word in ("display", "summary", "includeThoughts"))


def test_a_summary_that_cannot_be_had_is_said():
    made = plan("openai-chat:gpt-5", "low", policy={"show": "summary"})
    assert _codes(made) == ["summary_refused"]
    assert not plan("openai-chat:gpt-5", "low").adjustments


# -- native -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "native"),
    [
        (
            "claude-opus-5/low",
            {"thinking": {"type": "enabled", "budget_tokens": 1}, "output_config": {"effort": "x"}},
        ),
        ("mistral:magistral-medium-latest/low", {"prompt_mode": "reasoning"}),
        ("mistral:mistral-small-latest", {"prompt_mode": None, "reasoning_effort": "x"}),
    ],
)
def test_native_fields_pass_untouched_and_win(model, native):
    made = plan(model, native, thinking_effort="high")
    assert (made.fields, made.asked, made.will_think) == (native, "native", None)
    assert made.fields is not native


def test_native_fields_keep_their_place_beside_a_parameter():
    native = {"generationConfig": {"thinkingConfig": {"thinkingBudget": 7}}}
    fields = plan("gemini-2.5-pro", native, max_tokens=50).fields
    assert fields == {
        "generationConfig": {"thinkingConfig": {"thinkingBudget": 7}, "maxOutputTokens": 50}
    }
    assert native == {"generationConfig": {"thinkingConfig": {"thinkingBudget": 7}}}
