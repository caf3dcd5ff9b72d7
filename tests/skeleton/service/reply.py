"""Canon to wire: answers as the service writes them, whole and streamed."""

from collections.abc import Callable, Mapping
from hashlib import sha256

from msgspec.json import decode, encode

from pondero.canon import (
    Event,
    Finished,
    HttpResponse,
    Json,
    Part,
    PartEnd,
    PartStart,
    Reply,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
    Usage,
)
from pondero.dialects.dialect import ReplyContext

from .parse import Context

_FINISHES = {"stop": "end", "length": "limit", "exhausted": "limit", "tool_calls": "calls"}


def reply(answering: ReplyContext[Context], reply: Reply) -> HttpResponse:
    """Return a whole answer."""
    parts: list[Json] = []
    for part in reply.message.parts:
        if (written := _part(answering, part, parts)) is not None:
            parts.append(written)
    body = {
        "id": _id(answering),
        "model": reply.model or answering.request.model,
        "parts": parts,
        "finish": _FINISHES.get(reply.finish, reply.finish),
        "counts": _counts(reply.usage),
    }
    return HttpResponse(200, {"content-type": "application/json"}, encode(body))


def stream(answering: ReplyContext[Context]) -> "Stream":
    """Return an encoder for one streamed answer."""
    return Stream(answering)


def call_id(digest: str) -> str:
    """Return the id of a call, from 32 hexadecimal digits."""
    return f"call_{digest[:16]}"


class Stream:
    """Events in, server-sent events out."""

    headers: Mapping[str, str] = {"content-type": "text/event-stream"}

    def __init__(self, answering: ReplyContext[Context]) -> None:
        self._answering = answering
        self._written: list[Json] = []
        self._hidden = False  # the part that is open is thinking nobody asked to see
        self._handlers: dict[type, Callable[[Json], bytes]] = {
            Started: self._begin,
            PartStart: self._part,
            TextDelta: self._more,
            ThinkingDelta: self._more,
            ToolDelta: lambda event: _sse(event="more", text=event.json),
            PartEnd: self._part_end,
            Finished: self._end,
        }

    def feed(self, event: Event) -> bytes:
        """Return the bytes that say this event; may be empty."""
        handle = self._handlers.get(type(event))
        return handle(event) if handle is not None else b""

    def eof(self) -> bytes:
        """Return the bytes that end the stream: it ended with its last event."""
        return b""

    def fail(self, error: HttpResponse) -> bytes:
        """Return the bytes that say an error after all was well."""
        return _sse(event="error", message=decode(error.body)["message"])

    def _begin(self, event: Started) -> bytes:
        model = event.model or self._answering.request.model
        return _sse(event="begin", id=_id(self._answering), model=model)

    def _part(self, event: PartStart) -> bytes:
        self._hidden = event.kind == "thinking" and not self._answering.shown
        if self._hidden:
            return b""
        if event.kind == "tool_call":
            return _sse(event="part", part={"type": "call", "id": event.id, "name": event.name})
        return _sse(event="part", part={"type": event.kind})

    def _more(self, event: TextDelta | ThinkingDelta) -> bytes:
        return b"" if self._hidden else _sse(event="more", text=event.text)

    def _end(self, event: Finished) -> bytes:
        word = _FINISHES.get(event.finish, event.finish)
        return _sse(event="end", finish=word, counts=_counts(event.usage))

    def _part_end(self, event: PartEnd) -> bytes:
        written = _part(self._answering, event.part, self._written)
        if written is None:
            return b""
        self._written.append(written)
        return _sse(event="part_end", proof=written.get("proof"))


def _part(answering: ReplyContext[Context], part: Part, before: list[Json]) -> Json:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Thinking() if answering.shown:
            proof = answering.sign(part, part.text, before)
            slot = {} if proof is None else {"proof": proof}
            return {"type": "thinking", "text": part.text, **slot}
        case ToolCall():
            given = part.arguments
            text = given if isinstance(given, str) else encode(given).decode()
            return {"type": "call", "id": part.id, "name": part.name, "arguments": text}
        case _:
            return None


def _counts(usage: Usage) -> Json:
    return {"input": usage.input or 0, "output": usage.output or 0}


def _id(answering: ReplyContext[Context]) -> str:
    return "talk_" + sha256(answering.seed).hexdigest()[:20]


def _sse(**frame: Json) -> bytes:
    return b"data: " + encode(frame) + b"\n\n"
