"""What today's releases of other libraries send wrongly, and what we send instead."""

import pytest

from pondero import plan


def _codes(made):
    return [note.code for note in made.adjustments]


# -- litellm 1.106.2 ----------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["xhigh", "max"])
def test_the_most_thinking_asked_of_ollama_is_not_none(level):
    made = plan("ollama:qwen3", level)
    assert made.fields["think"] not in (False, None)
    assert made.will_think


def test_off_on_deepseek_is_not_inverted():
    assert plan("deepseek:deepseek-v4-flash", "off").fields == {"thinking": {"type": "disabled"}}


def test_off_on_gemini_2_5_pro_is_not_the_zero_google_rejects():
    config = plan("gemini-2.5-pro", "none").fields["generationConfig"]["thinkingConfig"]
    assert config["thinkingBudget"] == 128


def test_off_on_opus_5_is_said_and_not_left_to_a_default_that_thinks():
    assert plan("claude-opus-5", "none").fields["thinking"] == {"type": "disabled"}


@pytest.mark.parametrize("level", ["off", "minimal", "xhigh", "max"])
@pytest.mark.parametrize("model", ["o3", "groq:openai/gpt-oss-120b"])
def test_words_a_model_lacks_are_never_sent_verbatim(model, level):
    made = plan(model, level)
    sent = made.fields.get("reasoning_effort") or made.fields["reasoning"]["effort"]
    assert sent in ("low", "medium", "high")
    assert made.adjustments


# -- pydantic-ai 2.66.0 -------------------------------------------------------------------------


def test_a_small_cap_lowers_the_budget_instead_of_getting_a_400():
    made = plan("claude-sonnet-4-5", "high", max_tokens=2000)
    assert made.fields["thinking"]["budget_tokens"] < made.fields["max_tokens"] == 2000


def test_temperature_is_not_sent_beside_thinking():
    made = plan("claude-sonnet-4-5", "high", temperature=0.2)
    assert "temperature" not in made.fields
    assert made.dropped == ("temperature",)


def test_a_model_that_does_not_think_is_not_told_to():
    made = plan("claude-3-5-haiku-latest", "high")
    assert (made.fields, _codes(made)) == ({}, ["no_thinking"])


@pytest.mark.parametrize("model", ["gpt-5.1", "gpt-5.2", "gpt-5.4", "gpt-5.5"])
def test_minimal_is_not_sent_to_models_that_refuse_it(model):
    made = plan(model, "minimal")
    assert (made.fields["reasoning"]["effort"], _codes(made)) == ("low", ["unsupported_level"])


def test_xhigh_is_not_sent_to_gpt_5_1():
    assert plan("gpt-5.1", "xhigh").fields["reasoning"]["effort"] == "high"


def test_minimal_on_flash_lite_is_not_below_its_floor():
    config = plan("gemini-2.5-flash-lite", "minimal").fields["generationConfig"]["thinkingConfig"]
    assert config["thinkingBudget"] == 512


@pytest.mark.parametrize(
    "model", ["claude-opus-4-7", "claude-opus-4-8", "claude-opus-5", "claude-sonnet-5"]
)
def test_newer_claude_is_asked_to_show_its_thinking(model):
    assert plan(model, "medium").fields["thinking"]["display"] == "summarized"


# -- ai 7.0.169 and 6.0.326 ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", ["xai:grok-4.6", "cohere:command-a-reasoning-08-2025", "deepseek:deepseek-v4-pro"]
)
def test_max_is_never_less_than_xhigh(model):
    xhigh, most = plan(model, "xhigh"), plan(model, "max")
    assert most.fields
    assert (most.level, most.budget) == (xhigh.level, xhigh.budget)


def test_a_cost_cap_is_not_raised():
    assert plan("claude-sonnet-4-5", "high", max_tokens=2000).fields["max_tokens"] == 2000


@pytest.mark.parametrize("level", ["low", "medium", "high"])
def test_a_switch_without_levels_gets_no_level(level):
    made = plan("groq:qwen/qwen3-32b", level)
    assert made.fields.get("reasoning_effort") in (None, "default")
    assert "unsupported_level" in _codes(made)


def test_a_wish_is_never_silently_unknown():
    assert plan("claude-sonnet-4-5", "high") != plan("claude-sonnet-4-5")


# -- any-llm 1.40.2 -----------------------------------------------------------------------------


def test_four_levels_are_four_behaviours_or_say_why():
    plans = [plan("claude-sonnet-4-5", level) for level in ("medium", "high", "xhigh", "max")]
    assert plans[0].fields != plans[1].fields
    assert all("unsupported_level" in _codes(made) for made in plans[2:])


def test_a_non_thinking_gpt_gets_no_effort():
    assert plan("gpt-4o", "low").fields == {}


def test_gemini_3_pro_gets_no_minimal_and_opus_4_6_no_xhigh():
    config = plan("gemini-3-pro-preview", "minimal").fields["generationConfig"]["thinkingConfig"]
    assert config["thinkingLevel"] == "LOW"
    assert plan("claude-opus-4-6", "xhigh").fields["output_config"] == {"effort": "max"}
