"""A conversation that our client had with a service that never refused is never warned of."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract.guards.tapes import Tape, guarded, taped
from tests.hazards.talking import chat_with

from pondero.contract import check_file
from pondero.dialects import NAMES
from pondero.emulator import Emulator, ScriptedCall, ScriptedTurn

# Models of every wire; the same wire at several services, and in several generations.
MODELS = {
    "anthropic": ("claude-opus-5", "claude-opus-5-5", "claude-sonnet-4-5", "claude-opus-4-6"),
    "openai_responses": ("gpt-5.1", "gpt-6-sol", "azure:gpt-5.1", "xai-responses:grok-4.6"),
    "openai_chat": (
        *("openai-chat:gpt-5.1", "deepseek:deepseek-reasoner", "zai:glm-4.7", "xai:grok-4.6"),
        *("groq:openai/gpt-oss-120b", "cerebras:gpt-oss-120b", "mistral:magistral-medium-latest"),
        "openrouter:anthropic/claude-opus-5",
    ),
    "gemini": ("gemini-3-flash-preview", "gemini-2.5-pro", "vertex:gemini-3-flash-preview"),
    "cohere": ("cohere:command-a-reasoning-08-2025",),
    "ollama": ("ollama:qwen3",),
    "bedrock": ("bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",),
    "interactions": (
        "google-interactions:gemini-3-flash-preview",
        "google-interactions:gemini-2.5-flash",
    ),
}
HERE = [model for name in NAMES for model in MODELS.get(name, ())]
LEVELS = ("off", "low", "high")


CASSETTES = sorted((Path(__file__).parents[2] / "cassettes").glob("*/*.jsonl"))


@pytest.mark.parametrize("path", CASSETTES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_cassette_of_this_repository_has_a_trap(path):
    assert check_file(path.read_bytes(), path.name).findings == ()


def test_every_wire_has_a_model_here():
    assert set(NAMES) <= set(MODELS)


@pytest.mark.parametrize("model", HERE)
@pytest.mark.parametrize("level", LEVELS)
def test_a_tool_loop_and_the_turn_after_it_are_fine(model, level):
    report = guarded(taped(f"{model}/{level}"))
    assert report.findings == ()
    assert (report.exchanges, report.with_past, report.errors) == (4, 3, 0)


@pytest.mark.parametrize("model", MODELS["anthropic"] + MODELS["openai_responses"])
def test_the_seals_that_go_back_are_counted(model):
    assert guarded(taped(f"{model}/high")).seals >= 1 + 2 + 3  # of one, two and three answers


_words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_calls = st.lists(
    st.builds(lambda city: ScriptedCall("get_weather", {"city": city}), _words), max_size=2
).map(tuple)
_turns = st.lists(
    st.builds(lambda thinking, calls: (thinking, calls), _words, _calls), min_size=1, max_size=4
)


@pytest.mark.parametrize("model", HERE)
@settings(max_examples=10)
@given(turns=_turns, level=st.sampled_from(LEVELS), show=st.sampled_from(["auto", "none"]))
def test_whatever_is_thought_and_called_turn_two_is_fine(model, turns, level, show):
    script = [
        ScriptedTurn(thinking=thinking, text=None if calls else "It is fine.", tool_calls=calls)
        for thinking, calls in turns
    ]
    tape = Tape(Emulator(script=[*script, ScriptedTurn(text="Fine."), ScriptedTurn(text="Four.")]))
    chat = chat_with(tape, f"{model}/{level}", policy={"show": show})
    chat.send("Where is it fine?")
    chat.send("What is 2 + 2?")
    assert [each.head.status for each in tape.exchanges] == [200] * len(tape.exchanges)
    assert guarded(tape.exchanges).findings == ()


@pytest.mark.parametrize("first", ["claude-opus-5", "gpt-6-sol", "gemini-3-flash-preview"])
@pytest.mark.parametrize("second", HERE)
def test_a_conversation_handed_over_sends_nothing_foreign(first, second):
    tape = Tape(Emulator())
    chat = chat_with(tape, f"{first}/high")
    chat.send("What is the weather in Bern?")
    chat.model = f"{second}/high"
    chat.send("What is 2 + 2?")
    assert guarded(tape.exchanges).problems == ()
