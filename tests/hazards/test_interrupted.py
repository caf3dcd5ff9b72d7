"""A stream killed at any moment leaves a thread that the services still take (hazards 5 and 14)."""

import pytest
from tests.emulator.talking import MODELS, WEATHER, encoded, said, talk

from pondero.canon import Assembler, Message, Thinking, ToolCall
from pondero.client import load_catalog
from pondero.dialects import AnswerContext, get_dialect
from pondero.emulator import Emulator

QUESTIONS = ("What is 17 * 23?", "What is the weather in Paris and London?")


def left_over(model: str, pieces: list[bytes]) -> Message:
    """Return what is left of an answer of which only these pieces came."""
    entry = load_catalog().entry(model)
    answer = Emulator().send(encoded(model, "low", "x"))
    reader = (
        get_dialect(entry.provider.dialect)
        .caller()
        .stream(answer.head, AnswerContext(entry.model, entry.provider.name, entry.provider.quirks))
    )
    assembler = Assembler()
    for piece in pieces:
        for event in reader.feed(piece):
            assembler.feed(event)
    return assembler.message()


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("model", [*MODELS, "claude-sonnet-4-5", "claude-haiku-5-5"])
def test_a_thread_killed_at_any_event_goes_on(model, question):
    asked = said(question)
    http = encoded(model, "low", asked, tools=(WEATHER,))
    pieces = list(Emulator().send(http))
    assert len(pieces) > 3
    for end in range(len(pieces)):
        message = left_over(model, pieces[:end])
        # A call that nobody will answer is no part of a thread that goes on.
        kept = tuple(part for part in message.parts if not isinstance(part, ToolCall))
        thread = [asked, Message("assistant", kept)] if kept else [asked]
        got = talk(Emulator(), model, "low", *thread, said("And what is 2 + 2?"), tools=(WEATHER,))
        assert got.text == "2 + 2 = 4", end


def test_thinking_that_was_cut_has_no_seal():
    pieces = list(Emulator().send(encoded("claude-opus-5", "high", "What is 17 * 23?")))
    message = left_over("claude-opus-5", pieces[:6])
    (part,) = message.parts
    assert isinstance(part, Thinking)
    assert part.text
    assert part.signature is None
