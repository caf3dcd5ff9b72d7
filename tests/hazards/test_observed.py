"""What was asked and what was seen are two things, and the difference is told (31, 38, 41)."""

import pytest
from tests.emulator.talking import MODELS
from tests.hazards.talking import Recorder

import pondero
from pondero.canon import Usage
from pondero.client import load_catalog
from pondero.dialects import NAMES
from pondero.emulator import Emulator, ScriptedTurn

QUESTION = "What is 17 * 23?"
CAN_STOP = (
    *("claude-opus-5", "gpt-6-sol", "openai-chat:gpt-5.1", "gemini-2.5-flash"),
    *("cohere:command-a-reasoning-08-2025", "ollama:qwen3:8b"),
)


def ask(model, thinking, *turns, **options):
    with pondero.Client(transport=Emulator(script=turns)) as client:
        return client.ask(model, QUESTION, thinking, **options)


@pytest.mark.parametrize("model", CAN_STOP)
def test_off_that_is_off_is_as_planned(model):
    reply = ask(model, "off")
    assert (reply.verdict, reply.usage.thinking or 0) == ("as_planned", 0)


@pytest.mark.parametrize("model", CAN_STOP)
def test_thinking_though_it_is_off_is_noticed(model):
    reply = ask(model, "off", ScriptedTurn(thinking="All the same, I wonder.", text="391"))
    assert reply.verdict == "thought_though_off"


def test_hazard_31_a_switch_that_the_model_ignores_is_noticed_with_what_it_thought():
    stubborn = ScriptedTurn(thinking="All the same, I wonder.", text="391")
    for stream in (True, False):
        with pondero.Client(transport=Emulator(script=[stubborn])) as client:
            reply = client.ask("ollama:qwen3:8b/off", QUESTION, stream=stream)
        assert reply.plan.fields["think"] is False
        assert reply.verdict == "thought_though_off"
        assert reply.thinking == "All the same, I wonder."


# One of each wire that can be off, and the model that gives its thinking, if it is another.
THINKS = {
    "claude-opus-5": None,
    "gpt-6-sol": None,
    "gemini-2.5-flash": None,
    "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0": None,
    "cohere:command-a-reasoning-08-2025": None,
    "ollama:qwen3:8b": None,
    "deepseek:deepseek-chat": "deepseek:deepseek-reasoner",
}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("model", THINKS)
def test_thinking_that_comes_though_it_is_off_is_kept_on_every_wire(model, stream):
    """The answer is one that was given to a request that asked for thinking."""
    stubborn = ScriptedTurn(thinking="All the same, I wonder.", text="391")
    recorder = Recorder(Emulator(script=[stubborn]))
    with pondero.Client(transport=recorder) as client:
        asked = client.ask(THINKS[model] or model, QUESTION, "high", stream=stream)
    assert asked.thinking == "All the same, I wonder."
    with pondero.Client(transport=recorder.again()) as client:
        reply = client.ask(model, QUESTION, "off", stream=stream)
    assert reply.plan.will_think is False
    assert reply.thinking == asked.thinking
    assert reply.verdict == "thought_though_off"


def test_every_wire_is_there():
    wires = {load_catalog().entry(model).provider.dialect for model in THINKS}
    assert wires == set(NAMES) - {"interactions"}  # no word of it switches thinking off


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Okay, let me see. It is 391.\n</think>\n\n391", "thought_though_off"),
        ("<think>\nOkay, let me see.\n</think>\n\n391", "thought_though_off"),
        ("It writes <think> first and </think> last.", "as_planned"),
        ("391", "as_planned"),
    ],
)
def test_hazard_31_thinking_in_the_answer_itself_is_noticed(text, verdict):
    reply = ask("ollama:qwen3:8b", "off", ScriptedTurn(text=text))
    assert (reply.verdict, reply.text) == (verdict, text)


def test_hazard_31_a_model_that_cannot_be_silenced_is_asked_for_its_least_and_that_is_said():
    reply = ask("ollama:gpt-oss:20b", "off")
    assert reply.plan.fields["think"] == "low"
    assert [note.code for note in reply.plan.adjustments] == ["cannot_disable"]
    assert reply.verdict == "as_planned"


@pytest.mark.parametrize("budget", [2_000, 100_000])
def test_hazard_38_a_number_where_only_words_are_taken_is_a_word_and_said(budget):
    reply = ask("ollama:qwen3:8b", budget)
    assert reply.plan.fields["think"] in ("low", "medium", "high", "max")
    assert "budget_as_level" in [note.code for note in reply.plan.adjustments]
    assert reply.usage.thinking is None  # nobody counts it there, so nobody claims that it held


@pytest.mark.parametrize(
    "model", ["claude-sonnet-4-5", "gemini-2.5-pro", "cohere:command-a-reasoning-08-2025"]
)
def test_a_budget_that_was_accepted_and_ignored_is_noticed(model):
    usage = Usage(9, 0, None, 2, 9_000, 9_011)
    reply = ask(model, 2_000, ScriptedTurn(thinking="On and on.", text="391", usage=usage))
    assert reply.verdict == "overran_budget"


@pytest.mark.parametrize("model", MODELS)
def test_an_answer_lost_to_thinking_is_no_success(model):
    reply = ask(model, "high", max_tokens=64)
    assert reply.finish == reply.verdict == "exhausted"
    assert reply.text == ""
