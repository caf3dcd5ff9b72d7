"""A streamed interaction, event by event: signatures, pieces, odd events and errors."""

import json

import pytest

from pondero.canon import Assembler, ResponseHead, Text, Thinking, ToolCall, UnknownPart
from pondero.dialects import AnswerContext
from pondero.dialects.interactions.caller import CALLER
from pondero.errors import Refused, ServerFailed, Truncated

CREATED = {"event_type": "interaction.created", "interaction": {"id": "v1_a", "model": "m"}}
USAGE = {"total_tokens": 9, "total_input_tokens": 4, "total_output_tokens": 2,
         "total_thought_tokens": 3}  # fmt: skip


def start(index, **step):
    return {"event_type": "step.start", "index": index, "step": step}


def delta(index, **piece):
    return {"event_type": "step.delta", "index": index, "delta": piece}


def stop(index):
    return {"event_type": "step.stop", "index": index}


def completed(status="completed", **more):
    told = {"id": "v1_a", "model": "m", "status": status, "usage": USAGE, **more}
    return {"event_type": "interaction.completed", "interaction": told}


def read(*events):
    stream = CALLER.stream(ResponseHead(200), AnswerContext("m", "google-interactions"))
    data = "".join(f"event: {e['event_type']}\ndata: {json.dumps(e)}\n\n" for e in events)
    found = stream.feed(data.encode()) + stream.eof()
    assembler = Assembler()
    for event in found:
        assembler.feed(event)
    assert assembler.finished is not None
    return assembler.message().parts, assembler.finished


def test_empty_signatures_after_the_real_one_are_ignored():
    (thought,), _ = read(
        CREATED,
        start(0, type="thought"),
        delta(0, type="thought_summary", content={"type": "text", "text": "Well. "}),
        delta(0, type="thought_signature", signature="Ctk="),
        delta(0, type="thought_signature", signature=""),
        delta(0, type="thought_signature", signature=""),
        stop(0),
        completed(),
    )
    assert thought == Thinking("Well. ", thought.signature)
    assert thought.signature.value == "Ctk="


def test_the_last_signature_that_is_not_empty_counts():
    (thought,), _ = read(
        CREATED,
        start(0, type="thought", signature="QQ=="),
        delta(0, type="thought_signature", signature="Qg=="),
        stop(0),
        completed(),
    )
    assert thought.signature.value == "Qg=="


def test_parallel_calls_are_steps_of_their_own():
    parts, finished = read(
        CREATED,
        start(0, type="function_call", id="a1", name="f", arguments={}, signature=""),
        start(1, type="function_call", id="b2", name="g", arguments={}),
        delta(0, type="arguments_delta", arguments='{"a":'),
        delta(1, type="arguments_delta", arguments="{}"),
        delta(0, type="arguments_delta", arguments="1}"),
        stop(0),
        stop(1),
        completed("requires_action"),
    )
    assert parts == (ToolCall("a1", "f", {"a": 1}), ToolCall("b2", "g", {}))
    assert finished.finish == "tool_calls"


def test_unknown_steps_deltas_and_events_are_kept_or_passed_over():
    parts, _ = read(
        CREATED,
        {"event_type": "interaction.mood", "mood": "fine"},
        start(0, type="juggling_call", id="x"),
        delta(0, type="juggling_call", balls=3, signature="Ctk="),
        stop(0),
        start(1, type="model_output"),
        delta(1, type="text", text="ok"),
        delta(1, type="text_annotation_delta", annotations=[{"type": "url_citation"}]),
        stop(1),
        completed(),
    )
    juggled, said = parts
    assert isinstance(juggled, UnknownPart)
    assert juggled.raw == {"type": "juggling_call", "id": "x", "balls": 3}
    assert juggled.signature.value == "Ctk="
    assert said == Text("ok", citations=({"type": "url_citation"},))


@pytest.mark.parametrize(
    ("status", "finish"),
    [
        ("completed", "stop"),
        ("incomplete", "length"),
        ("budget_exceeded", "length"),
        ("requires_continuation", "length"),
        ("failed", "error"),
        ("cancelled", "other"),
    ],
)
def test_the_status_is_the_finish(status, finish):
    said = (start(0, type="model_output"), delta(0, type="text", text="ok"), stop(0))
    _, finished = read(CREATED, *said, completed(status))
    assert (finished.finish, finished.raw_finish) == (finish, status)
    assert finished.usage.total == finished.usage.known_total == 9


def test_an_answer_that_only_thought_is_exhausted():
    _, finished = read(CREATED, start(0, type="thought"), stop(0), completed("incomplete"))
    assert finished.finish == "exhausted"


def test_a_stream_without_its_last_event_is_cut():
    with pytest.raises(Truncated):
        read(CREATED, start(0, type="thought"))


@pytest.mark.parametrize(
    ("code", "kind"), [("content_blocked", Refused), ("invalid_request", ServerFailed)]
)
def test_an_error_in_the_stream_is_the_services(code, kind):
    with pytest.raises(kind, match="no"):
        read(CREATED, {"event_type": "error", "error": {"code": code, "message": "no"}})
