"""Small answers of this wire, made by hand, and what they decode to."""

import json
from typing import Any

from msgspec.structs import replace
from tests.grammar import grammar

from pondero.canon import Assembler, Event, Finished, Message, Part, ResponseHead, Signature
from pondero.dialects import AnswerContext, get_dialect

Json = Any

CHAT = get_dialect("openai_chat")
ASKED: dict[str, Any] = {"model": "m", "route": "r"}


def chunk(delta: Json = None, finish: str | None = None, **fields: Json) -> Json:
    """One chunk of a stream."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "model": "m-1",
        "choices": [choice],
    } | fields


def body(message: Json, finish: str | None = "stop", **fields: Json) -> Json:
    """One whole answer."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion", "model": "m-1", "choices": [choice]} | fields


def sse(*frames: Json, done: bool = True) -> bytes:
    """The bytes of a stream of these chunks."""
    lines = [json.dumps(frame) for frame in frames] + (["[DONE]"] if done else [])
    return "".join(f"data: {line}\n\n" for line in lines).encode()


def stream_of(*deltas: Json, finish: str = "stop", **fields: Json) -> bytes:
    """The bytes of a stream of these deltas, ended the usual way."""
    return sse(*(chunk(delta) for delta in deltas), chunk({}, finish, **fields))


def streamed(data: bytes, *pieces: bytes, quirks: Json = None, **asked: Any) -> list[Event]:
    """The events of a stream."""
    stream = CHAT.caller().stream(
        ResponseHead(200), AnswerContext(quirks=quirks or {}, **(ASKED | asked))
    )
    return [event for piece in (data, *pieces) for event in stream.feed(piece)] + stream.eof()


def whole(answer: Json, quirks: Json = None, **asked: Any) -> list[Event]:
    """The events of a whole answer."""
    data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return CHAT.caller().decode(
        ResponseHead(200), data, AnswerContext(quirks=quirks or {}, **(ASKED | asked))
    )


def assembled(events: list[Event]) -> tuple[Message, Finished]:
    """The message and the end; the events must keep the grammar."""
    assert grammar(events) is None, grammar(events)
    return loosely(events)


def loosely(events: list[Event]) -> tuple[Message, Finished]:
    """The message and the end, whatever the grammar says."""
    assembler = Assembler()
    for event in events:
        assembler.feed(event)
    assert assembler.finished is not None
    return assembler.message(), assembler.finished


def parts(events: list[Event]) -> tuple[Part, ...]:
    """The parts of the message."""
    return assembled(events)[0].parts


def end(events: list[Event]) -> Finished:
    """How it ended."""
    return assembled(events)[1]


def seal(value: Json, route: str = "r") -> Signature:
    """A seal as our decoder makes it here."""
    return Signature("openai_chat", value, "m", route)


def unsealed(part: Part) -> Part:
    """The part without its seal."""
    return replace(part, signature=None) if hasattr(part, "signature") else part
