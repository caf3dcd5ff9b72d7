"""Writes answers as the service does: whole, or as server-sent events. Nothing is signed here."""

import hashlib
import uuid

import msgspec

from pondero.canon import (
    Event,
    Finished,
    HttpResponse,
    Json,
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
    dump_json,
)
from pondero.dialects.citations import WebPage, convert_citations
from pondero.dialects.dialect import ReplyContext

_REASONS = {
    "length": "MAX_TOKENS",
    "exhausted": "MAX_TOKENS",
    "context_full": "MAX_TOKENS",
    "tool_calls": "TOOL_CALL",
    "error": "ERROR",
}


def reply(answering: ReplyContext[None], reply: Reply) -> HttpResponse:
    """Return the whole answer."""
    parts = reply.message.parts
    message: dict[str, Json] = {"role": "assistant"}
    content = [
        said for part in parts if (said := _write_part(part, shown=answering.shown)) is not None
    ]
    if content:
        message["content"] = content
    if calls := [_call(call) for call in reply.message.tool_calls]:
        message["tool_calls"] = calls
    cited = [each for part in parts if isinstance(part, Text) for each in _citations(part)]
    if cited:
        message["citations"] = cited
    body = {
        "id": reply.request_id or _id(answering),
        "message": message,
        "finish_reason": reply.raw_finish or _reason(reply.finish, reply.extras),
    }
    if (counts := _counts(reply.usage)) is not None:
        body["usage"] = counts
    return HttpResponse(200, {"content-type": "application/json"}, dump_json(body).encode())


def stream(answering: ReplyContext[None]) -> "Stream":
    """Return an encoder for one streamed answer."""
    return Stream(answering)


def call_id(digest: str) -> str:
    """Return the id of a call as the service makes them, but for the name of the tool in it."""
    return f"call_{digest[:12]}"


class Stream:
    """Our events to the service's; contents and calls are numbered apart."""

    def __init__(self, answering: ReplyContext[None]) -> None:
        self._answering = answering
        self._contents = self._calls = 0
        self._told: set[int] = set()  # parts that had a delta

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers this stream is sent with."""
        return {"content-type": "text/event-stream"}

    def feed(self, event: Event) -> bytes:
        """Return the bytes of this event; often none."""
        match event:
            case TextDelta() | ThinkingDelta() | ToolDelta():
                self._told.add(event.index)
                return self._delta(event)
            case PartStart():
                return self._start(event)
            case PartEnd():
                return self._stop(event)
            case Started():
                return self._begin(event)
            case Finished():
                return self._finish(event)
            case _:
                return b""

    def eof(self) -> bytes:
        """Return the line after the last event."""
        return b"data: [DONE]\n\n"

    def fail(self, error: HttpResponse) -> bytes:
        """Return the last event of a stream that fails."""
        said = msgspec.json.decode(error.body)["message"]
        return _write_frame("message-end", {"finish_reason": "ERROR", "usage": {}, "error": said})

    def _begin(self, started: Started) -> bytes:
        message = {
            "role": "assistant",
            "content": [],
            "tool_plan": "",
            "tool_calls": [],
            "citations": [],
        }
        id = started.id or _id(self._answering)
        return _write_frame("message-start", {"message": message}, id=id)

    def _start(self, start: PartStart) -> bytes:
        if start.kind == "tool_call":
            function = {"name": start.name, "arguments": ""}
            return self._call(
                "tool-call-start", {"id": start.id, "type": "function", "function": function}
            )
        if start.kind == "text":
            return self._content("content-start", {"type": "text", "text": ""})
        if start.kind == "thinking" and self._answering.shown:
            return self._content("content-start", {"type": "thinking", "thinking": ""})
        return b""

    def _delta(self, event: TextDelta | ThinkingDelta | ToolDelta) -> bytes:
        match event:
            case TextDelta():
                return self._content("content-delta", {"text": event.text})
            case ThinkingDelta():
                shown = self._answering.shown
                return self._content("content-delta", {"thinking": event.text}) if shown else b""
            case ToolDelta():
                return self._call("tool-call-delta", {"function": {"arguments": event.json}})

    def _stop(self, end: PartEnd) -> bytes:
        whole = end.index not in self._told
        match end.part:
            case ToolCall() as call:
                text = _call(call)["function"]["arguments"]
                said = self._delta(ToolDelta(end.index, text)) if whole else b""
                number, self._calls = self._calls, self._calls + 1
                return said + _write_frame("tool-call-end", index=number)
            case Text() as part:
                said = self._delta(TextDelta(end.index, part.text)) if whole and part.text else b""
                cited = b"".join(
                    self._write_citation(n, each) for n, each in enumerate(_citations(part))
                )
                return said + cited + self._content_end()
            case Thinking() as part if self._answering.shown:
                said = b""
                if whole and part.text:
                    said = self._delta(ThinkingDelta(end.index, part.text))
                return said + self._content_end()
            case _:
                return b""

    def _write_citation(self, number: int, citation: Json) -> bytes:
        said = _write_frame("citation-start", {"message": {"citations": citation}}, index=number)
        return said + _write_frame("citation-end", index=number)

    def _content_end(self) -> bytes:
        number, self._contents = self._contents, self._contents + 1
        return _write_frame("content-end", index=number)

    def _content(self, name: str, content: Json) -> bytes:
        return _write_frame(name, {"message": {"content": content}}, index=self._contents)

    def _call(self, name: str, call: Json) -> bytes:
        return _write_frame(name, {"message": {"tool_calls": call}}, index=self._calls)

    def _finish(self, finished: Finished) -> bytes:
        reason = finished.raw_finish or _reason(finished.finish, finished.extras)
        delta: dict[str, Json] = {"finish_reason": reason}
        if (counts := _counts(finished.usage)) is not None:
            delta["usage"] = counts
        return _write_frame("message-end", delta)


def _write_frame(name: str, delta: Json = None, **more: Json) -> bytes:
    said: dict[str, Json] = {"type": name, **more}
    if delta is not None:
        said["delta"] = delta
    return b"event: " + name.encode() + b"\ndata: " + dump_json(said).encode() + b"\n\n"


def _write_part(part: Json, *, shown: bool) -> Json:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Thinking() if shown and part.text:
            return {"type": "thinking", "thinking": part.text}
        case _:
            return None


def _call(call: ToolCall) -> Json:
    arguments = call.arguments
    text = arguments if isinstance(arguments, str) else dump_json(arguments)
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": text},
    }


def _citations(part: Text) -> list[Json]:
    def page(found: WebPage) -> Json:
        document = {"url": found.url, "title": found.title}
        source = {"type": "document", "id": found.url, "document": document}
        return {"start": 0, "end": len(part.text), "text": part.text, "sources": [source]}

    return convert_citations(part.citations, own=_is_own, page=page)


def _is_own(citation: Json) -> bool:
    return "start" in citation and "end" in citation


def _reason(finish: str, extras: Json) -> str:
    if finish == "stop" and isinstance(extras, dict) and extras.get("stop_sequence") is not None:
        return "STOP_SEQUENCE"
    return _REASONS.get(finish, "COMPLETE")


def _counts(usage: Usage) -> Json:
    """Return the counts twice, as the service does; None if nothing is known."""
    if usage == Usage():
        return None
    given = (usage.input or 0) + (usage.cache_write or 0)
    made = (usage.output or 0) + (usage.thinking or 0)
    tokens = {"input_tokens": given + (usage.cache_read or 0), "output_tokens": made}
    if usage.thinking is not None:
        tokens["reasoning_tokens"] = usage.thinking
    said: dict[str, Json] = {
        "billed_units": {"input_tokens": given, "output_tokens": made},
        "tokens": tokens,
    }
    if usage.cache_read is not None:
        said["cached_tokens"] = usage.cache_read
    return said


def _id(answering: ReplyContext[None]) -> str:
    digest = hashlib.blake2b(answering.seed, digest_size=16).digest()
    return str(uuid.UUID(bytes=digest, version=4))
