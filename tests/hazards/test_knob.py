"""Reports of users of other libraries about the knob, each as a test."""

import pytest

import pondero
from pondero import plan
from pondero.errors import Unsupported


def test_hazard_21_a_newer_claude_takes_the_newest_shape():
    assert plan("claude-opus-9", "high").fields["thinking"]["type"] == "adaptive"


def test_hazard_22_every_known_claude_takes_every_level_in_a_shape_it_accepts():
    adaptive = {"adaptive", "adaptive_budget", "between_tools"}
    for entry in pondero.models("anthropic"):
        for made in pondero.levels(entry.id):
            kind = made.fields.get("thinking", {}).get("type")
            style = entry.capability.style
            assert (kind == "adaptive") <= (style in adaptive)
            assert (kind == "enabled") <= (style in {"budget", "budget_effort", "adaptive_budget"})


@pytest.mark.parametrize("model", ["gpt-5", "gpt-5.1"])
def test_hazard_24_max_is_our_word_and_never_theirs(model):
    assert plan(model, "max").fields["reasoning"]["effort"] == "high"


def test_hazards_25_and_27_an_unknown_model_is_never_refused_by_us_by_default():
    made = plan("openai:gpt-7-quasar", "high")
    assert made.fields["reasoning"]["effort"] == "high"
    assert made.facts.inferred


def test_hazard_26_what_is_dropped_is_always_on_record():
    assert plan("gpt-4o", "high").adjustments
    with pytest.raises(Unsupported):
        plan("gpt-4o", "high", policy={"unsupported": "strict"})


def test_hazard_28_off_is_exact_or_least_or_said_on_every_route():
    for entry in pondero.models():
        made = plan(entry.id, "off")
        silent = not made.adjustments
        assert not silent or made.level == "off"
        if silent and entry.capability.thinks:
            assert made.fields


def test_hazard_30_what_kills_thinking_is_in_the_plan():
    small = plan("claude-sonnet-4-5", "high", max_tokens=1000)
    forced = plan("claude-sonnet-4-5", "high", tool_choice="required")
    assert [small.will_think, forced.will_think] == [False, False]
    assert small.adjustments
    assert forced.adjustments


def test_hazard_33_the_level_belongs_to_the_model_it_was_said_to():
    assert plan("claude-opus-5/high").asked == "high"
    assert plan("claude-opus-5").asked is None


def test_hazard_36_a_number_is_taken_everywhere_and_shown_as_given_and_used():
    for entry in pondero.models():
        made = plan(entry.id, 8000)
        assert made.asked == 8000
        assert made.budget == 8000 or made.adjustments


def test_hazard_37_the_answer_keeps_more_than_one_token():
    made = plan("claude-sonnet-4-5", "high", max_tokens=30_000)
    assert made.fields["max_tokens"] - made.budget == 4096
