"""What is said when a model or a level is chosen: the texts that the ledger asks for, word for word."""

import pytest
from tests.calibrations import adopt
from tests.tui.state.steps import say, told

from pondero.store import load_catalog, resolve_auto
from pondero.thinking import Policy
from pondero.tui.state import DialView, effects, initial_state, status

SAID = {
    "claude-sonnet-4-5/med": (
        "✓ Switched to Anthropic claude-sonnet-4-5",
        "  Thinking: medium (43,008 tokens)",
    ),
    "gemini-2.5-pro/high": (
        "✓ Switched to Google gemini-2.5-pro",
        "  Thinking: high (32,768 tokens)",
    ),
    "gemini-3-pro/none": (
        "✓ Switched to Google gemini-3-pro",
        "  ⚠ This model does not support disabling thinking",
        "  Thinking: LOW level (minimum)",
    ),
    "o3/med": (
        "✓ Switched to OpenAI o3 (Responses API)",
        "  Thinking: medium effort (~50% of output budget)",
        "  Recommended output buffer: 25,000 tokens",
    ),
    "openai-chat:o3/med": (
        "✓ Switched to OpenAI (Chat Completions) o3",
        "  Thinking: medium effort (~50% of output budget)",
        "  Recommended output buffer: 25,000 tokens",
    ),
    "azure-chat:o3/med": (
        "✓ Switched to Azure OpenAI (Chat Completions) o3",
        "  Thinking: medium effort (~50% of output budget)",
        "  Recommended output buffer: 25,000 tokens",
    ),
    "o3-mini/none": (
        "✓ Switched to OpenAI o3-mini",
        "  ⚠ This model does not support disabling thinking",
        "  Thinking: low effort (minimum)",
    ),
    "claude-sonnet-4-5/50k": (
        "✓ Switched to Anthropic claude-sonnet-4-5",
        "  Thinking: 50,000 tokens",
    ),
    "claude-sonnet-4-5/med --thinking-budget=50000": (
        "✓ Switched to Anthropic claude-sonnet-4-5",
        "  Thinking: 50,000 tokens",
    ),
    "claude-sonnet-4-5/high": (
        "✓ Switched to Anthropic claude-sonnet-4-5",
        "  Thinking: high (59,904 of 64,000 tokens)",
    ),
    "openrouter:anthropic/claude-opus-5/high": (
        "✓ Switched to OpenRouter anthropic/claude-opus-5",
        "  Thinking: high effort",
    ),
    "claude-opus-5/off": (
        "✓ Switched to Anthropic claude-opus-5",
        "  Thinking: off",
    ),
    "gemini-2.5-pro/off": (
        "✓ Switched to Google gemini-2.5-pro",
        "  ⚠ This model does not support disabling thinking",
        "  Thinking: 128 tokens (minimum)",
    ),
}


@pytest.mark.parametrize("model", SAID)
def test_a_switch_says_provider_level_and_figure(dial, model):
    state, _ = say(initial_state(dial, "gpt-5/low"), dial, f"/model {model}")
    assert told(state) == "\n".join(SAID[model])


def test_a_level_the_model_lacks_says_which_one_it_gets(dial):
    state, _ = say(initial_state(dial, "gpt-5/low"), dial, "/thinking max")
    assert told(state) == (
        "  ⚠ This model has minimal low medium high; high is the highest\n"
        "  Thinking: high effort (~80% of output budget)\n"
        "  Recommended output buffer: 25,000 tokens"
    )


def test_a_model_nobody_catalogued_says_whose_facts_it_gets(dial):
    state, _ = say(initial_state(dial, "gpt-5/low"), dial, "/model anthropic:claude-opus-77/low")
    assert "⚠ Not in the catalog; treated like" in told(state)
    assert told(state).startswith("⚠ Switched to")
    assert state.page[-1].tone == "warning"


def test_a_name_without_a_level_keeps_the_level(dial):
    state, _ = say(initial_state(dial, "gpt-5/low"), dial, "/model claude-opus-5")
    assert (state.model, state.level_text, state.plan.level) == (
        "anthropic:claude-opus-5",
        "low",
        "low",
    )


def test_an_unset_level_says_who_decides(dial):
    state, _ = say(initial_state(dial, "gpt-5"), dial, "/model")
    assert state.choosing.title == "now OpenAI gpt-5, thinking the model's default"


def test_under_a_strict_policy_what_cannot_be_is_refused_and_nothing_changes():
    strict = DialView(load_catalog(), Policy(unsupported="strict"))
    line = "/model gemini-3-pro/off"
    state, asked = say(initial_state(strict, "claude-opus-5/low"), strict, line)
    assert state.model == "anthropic:claude-opus-5"
    assert told(state).startswith("✗ google:gemini-3-pro cannot switch thinking off; its minimum")
    assert asked == (effects.SetAside(line),)


def test_auto_shows_what_it_became_and_on_what_evidence(config_dir):
    dial = DialView(load_catalog(), Policy(), resolve_auto)
    state = initial_state(dial, "claude-opus-5/high")
    bare, _ = say(state, dial, "/thinking auto")
    assert "  ⚠ No calibration is adopted for anthropic:claude-opus-5" in told(bare)
    adopt("sums", "low")
    unknown, _ = say(state, dial, "/thinking auto:nosuch")
    assert "No calibration is called 'nosuch', so nothing is sent for thinking; use auto:sums" in (
        told(unknown)
    )
    changed, effects = say(state, dial, "/thinking auto")
    assert (changed.level_text, changed.plan.level) == ("auto", "low")
    assert "\n  Calibration 'sums': 320 questions" in told(changed)
    assert "auto → low" in [piece.text for piece in status(changed, 120)]
    assert effects
    named, _ = say(state, dial, "/model auto:sums")
    assert (named.model, named.level_text, named.plan.level) == (
        "anthropic:claude-opus-5", "auto:sums", "low",
    )  # fmt: skip
    assert "auto" in dial.level_texts("claude-opus-5")
    assert dial.choices("claude-opus-5")[-1].detail == "low, by your calibration"
    assert "auto" not in dial.level_texts("gpt-5.5")
