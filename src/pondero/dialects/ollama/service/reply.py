"""Writes answers in the server's exact shape: one object, or one object a line."""

import msgspec

from pondero.canon import (
    Event,
    Finished,
    HttpResponse,
    Json,
    PartEnd,
    Reply,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    Usage,
)
from pondero.dialects.dialect import Answering

from .errors import JSON

_AT = "2026-11-15T12:00:00.000000000Z"  # fixed, so that the same question gets the same bytes
_LINES = "application/x-ndjson"
_NANOSECONDS = 10_000_000  # per token


def reply(answering: Answering[None], reply: Reply) -> HttpResponse:
    """Return the whole answer."""
    parts = reply.message.parts
    said: dict[str, Json] = {
        "content": "".join(part.text for part in parts if isinstance(part, Text))
    }
    thoughts = (part.text for part in parts if isinstance(part, Thinking) and answering.shown)
    if thinking := "".join(thoughts):
        said["thinking"] = thinking
    if calls := [_call(call, number) for number, call in enumerate(reply.message.tool_calls)]:
        said["tool_calls"] = calls
    model = reply.model or answering.request.model
    finished = Finished(reply.finish, reply.usage, reply.raw_finish)
    body = msgspec.json.encode(_line(model, said) | _end(finished))
    return HttpResponse(200, {"content-type": JSON}, body)


def stream(answering: Answering[None]) -> "Stream":
    """Return an encoder for one streamed answer."""
    return Stream(answering)


def call_id(digest: str) -> str:
    """Return a call's id in the server's form."""
    return f"call_{digest[:8]}"


class Stream:
    """Events to lines; a call comes whole."""

    def __init__(self, answering: Answering[None]) -> None:
        self._model = answering.request.model
        self._shown = answering.shown
        self._calls = 0

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers this stream is sent with."""
        return {"content-type": _LINES}

    def feed(self, event: Event) -> bytes:
        """Return the line of an event; most have none."""
        match event:
            case TextDelta():
                return self._said({"content": event.text})
            case ThinkingDelta() if self._shown:
                return self._said({"content": "", "thinking": event.text})
            case PartEnd(part=ToolCall() as call):
                self._calls += 1
                return self._said({"content": "", "tool_calls": [_call(call, self._calls - 1)]})
            case Started():
                self._model = event.model or self._model
            case Finished():
                return _written(_line(self._model, {"content": ""}) | _end(event))
            case _:
                pass
        return b""

    def eof(self) -> bytes:
        """Return nothing: the line that says done was the last."""
        return b""

    def fail(self, error: HttpResponse) -> bytes:
        """Return the line of an error in a stream that began well."""
        return error.body + b"\n"

    def _said(self, message: dict[str, Json]) -> bytes:
        return _written(_line(self._model, message))


def _line(model: str, message: dict[str, Json]) -> dict[str, Json]:
    said = {"role": "assistant", **message}
    return {"model": model, "created_at": _AT, "message": said, "done": False}


def _written(line: dict[str, Json]) -> bytes:
    return msgspec.json.encode(line) + b"\n"


def _end(finished: Finished) -> dict[str, Json]:
    reason = "length" if finished.finish in ("length", "exhausted") else "stop"
    end: dict[str, Json] = {"done": True, "done_reason": finished.raw_finish or reason}
    return end | _counts(finished.usage)


def _counts(usage: Usage) -> dict[str, Json]:
    """Return the counts: the prompt, and thinking and answer in one."""
    if usage == Usage():
        return {}
    prompt = (usage.input or 0) + (usage.cache_read or 0) + (usage.cache_write or 0)
    made = (usage.output or 0) + (usage.thinking or 0)
    return {
        "total_duration": (prompt + made) * _NANOSECONDS,
        "load_duration": 0,
        "prompt_eval_count": prompt,
        "prompt_eval_duration": prompt * _NANOSECONDS,
        "eval_count": made,
        "eval_duration": made * _NANOSECONDS,
    }


def _call(call: ToolCall, number: int) -> Json:
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    function = {"index": number, "name": call.name, "arguments": arguments}
    return {"function": function} if call.minted else {"id": call.id, "function": function}
