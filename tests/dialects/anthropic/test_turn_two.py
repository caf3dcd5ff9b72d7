"""Conversations go on: loops of calls, killed streams, changed beginnings, hidden thinking."""

import pytest
from msgspec.structs import replace
from tests.laws.strategies import told

from pondero.canon import (
    Assembler,
    Message,
    Reply,
    ResponseHead,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
)
from pondero.dialects import AnswerContext, Rejected

from .wiring import WIRE, ask, assembled, encoded

LOOK = Tool("look", "Look.", {"type": "object", "properties": {}})
WISHES = [
    ("claude-sonnet-4-5", {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
    ("claude-sonnet-4-6", {"thinking": {"type": "adaptive"}}),
    ("claude-opus-5", {"thinking": {"type": "adaptive"}}),
    ("claude-sonnet-5-5", {"thinking": {"type": "adaptive", "display": "summarized"}}),
]


def said(request, fields, *parts, finish="tool_calls"):
    """Return the frames of an answer by our service."""
    accepted = WIRE.service().accept(encoded(request, fields), "anthropic")
    reply = Reply(Message("assistant", parts), finish)
    stream = WIRE.service().stream(accepted)
    return [stream.feed(event) for event in told(reply)]


def heard(frames, model):
    stream = WIRE.caller().stream(ResponseHead(200), AnswerContext(model, "anthropic"))
    return stream.feed(b"".join(frames)) + stream.eof()


@pytest.mark.parametrize(("model", "fields"), WISHES)
def test_a_loop_of_calls_sends_every_thought_back(model, fields):
    request = ask(Text("go"), model=model, tools=(LOOK,))
    for step in range(5):
        call = ToolCall(f"toolu_{step}", "look", {"step": step})
        parts = (Thinking(f"step {step}"), Text("Looking."), Thinking("and?"), call)
        message, _ = assembled(heard(said(request, fields, *parts), model))
        result = Message("user", (ToolResult(call.id, (Text("seen"),)),))
        request = replace(request, messages=(*request.messages, message, result))
    accepted = WIRE.service().accept(encoded(request, fields), "anthropic")
    thoughts = [p for m in accepted.request.messages for p in m.parts if isinstance(p, Thinking)]
    assert len({part.signature.value for part in thoughts}) == 10


@pytest.mark.parametrize(("model", "fields"), WISHES)
def test_an_answer_killed_at_any_event_leaves_a_thread_that_goes_on(model, fields):
    request = ask(Text("go"), model=model, tools=(LOOK,))
    parts = (Thinking("one two three"), Text("Well, then."), ToolCall("toolu_1", "look", {"a": 1}))
    frames = said(request, fields, *parts)
    whole = b"".join(frames)
    for cut in range(0, len(whole), 7):
        stream = WIRE.caller().stream(ResponseHead(200), AnswerContext(model, "anthropic"))
        assembler = Assembler()
        for event in stream.feed(whole[:cut]):
            assembler.feed(event)
        message = assembler.message()
        calls = tuple(
            ToolResult(call.id, (Text("stopped"),), error=True) for call in message.tool_calls
        )
        follow = Message("user", (*calls, Text("go on")))
        second = replace(request, messages=(*request.messages, message, follow))
        WIRE.service().accept(encoded(second, fields), "anthropic")


def test_a_changed_beginning_is_refused_by_models_that_bind_their_thinking():
    model, fields = WISHES[3]
    request = ask(Text("go"), model=model, system=(Text("Be kind."),))
    message, _ = assembled(
        heard(said(request, fields, Thinking("Hm."), Text("So."), finish="stop"), model)
    )
    second = replace(
        request, messages=(*request.messages, message, Message("user", (Text("and?"),)))
    )
    WIRE.service().accept(encoded(second, fields), "anthropic")
    changed = replace(second, system=(Text("Be rude."),))
    with pytest.raises(Rejected, match="bound to a different conversation"):
        WIRE.service().accept(encoded(changed, fields), "anthropic")


def test_encoding_what_was_decoded_changes_nothing():
    model, fields = WISHES[1]
    request = ask(Text("go"), model=model, tools=(LOOK,))
    parts = (
        Text("\n\n"),
        Thinking("one"),
        Text("a"),
        Thinking("two"),
        ToolCall("toolu_1", "look", {}),
    )
    message, _ = assembled(heard(said(request, fields, *parts), model))
    result = Message("user", (ToolResult("toolu_1", (Text("ok"),)),))
    second = replace(request, messages=(*request.messages, message, result))
    once = encoded(second, fields)
    read = WIRE.service().accept(once, "anthropic").request
    assert encoded(read, fields).body == once.body
