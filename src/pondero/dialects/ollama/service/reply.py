"""Writes answers in the server's exact shape: one object, or one object a line."""

from collections.abc import Sequence
from datetime import UTC, datetime

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
    TokenLogprob,
    ToolCall,
    Usage,
    dump_json,
)
from pondero.dialects.dialect import ReplyContext
from pondero.dialects.token_logprobs import write_logprobs

from .errors import JSON
from .parse import Context

_AT = "2026-11-15T12:00:00.000000000Z"  # fixed, so that the same question gets the same bytes
_LINES = "application/x-ndjson"
_CUT = ("length", "exhausted", "context_full")
_NANOSECONDS = 10_000_000  # per token


def reply(answering: ReplyContext[Context], reply: Reply) -> HttpResponse:
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
    lines = Lines(answering)
    lines.model = reply.model or lines.model
    finished = Finished(reply.finish, reply.usage, reply.raw_finish)
    tokens = [each for part in parts if isinstance(part, Text) for each in part.logprobs]
    body = dump_json(lines.line(said, tokens) | _end(finished)).encode()
    return HttpResponse(200, {"content-type": JSON}, body)


def stream(answering: ReplyContext[Context]) -> "Stream":
    """Return an encoder for one streamed answer."""
    return Stream(answering)


def call_id(digest: str) -> str:
    """Return a call's id in the server's form."""
    return f"call_{digest[:8]}"


def _format_time(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.000000000Z"


class Lines:
    """Writes lines of one answer: with a message, or with its fields at the top."""

    def __init__(self, answering: ReplyContext[Context]) -> None:
        self.model: str = answering.request.model
        self._generates = answering.context.generates
        self._top = answering.top_logprobs
        self._at = _AT if answering.created is None else _format_time(answering.created)

    def line(
        self, message: dict[str, Json], tokens: Sequence[TokenLogprob] = ()
    ) -> dict[str, Json]:
        """Return a line that adds this to the answer."""
        line: dict[str, Json] = {"model": self.model, "created_at": self._at}
        if self._generates:
            rest = {key: value for key, value in message.items() if key != "content"}
            line |= {"response": message["content"], **rest}
        else:
            line["message"] = {"role": "assistant", **message}
        if tokens and self._top is not None:
            line["logprobs"] = write_logprobs(tokens, self._top, spells=True)
        return {**line, "done": False}


class Stream:
    """Events to lines; a call comes whole."""

    def __init__(self, answering: ReplyContext[Context]) -> None:
        self._lines = Lines(answering)
        self._shown = answering.shown
        self._calls = 0
        self._told: set[int] = set()  # parts that had a delta
        self._weighed = 0  # tokens of the open part whose log probabilities were told

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers this stream is sent with."""
        return {"content-type": _LINES}

    def feed(self, event: Event) -> bytes:
        """Return the line of an event; most have none."""
        match event:
            case TextDelta():
                self._told.add(event.index)
                self._weighed += len(event.logprobs)
                return self._write_message({"content": event.text}, event.logprobs)
            case ThinkingDelta():
                self._told.add(event.index)
                thought = {"content": "", "thinking": event.text}
                return self._write_message(thought) if self._shown else b""
            case PartEnd():
                return self._end(event)
            case Started():
                self._lines.model = event.model or self._lines.model
            case Finished():
                return _write_line(self._lines.line({"content": ""}) | _end(event))
            case _:
                pass
        return b""

    def eof(self) -> bytes:
        """Return nothing: the line that says done was the last."""
        return b""

    def fail(self, error: HttpResponse) -> bytes:
        """Return the line of an error in a stream that began well."""
        return error.body + b"\n"

    def _end(self, event: PartEnd) -> bytes:
        weighed, self._weighed = self._weighed, 0
        match event.part:
            case Text() as text if event.index in self._told and text.logprobs[weighed:]:
                return self._write_message({"content": ""}, text.logprobs[weighed:])
            case ToolCall() as call:
                self._calls += 1
                return self._write_message(
                    {"content": "", "tool_calls": [_call(call, self._calls - 1)]}
                )
            case Text() | Thinking() as part if event.index not in self._told and part.text:
                if isinstance(part, Text):
                    return self.feed(TextDelta(event.index, part.text, part.logprobs))
                return self.feed(ThinkingDelta(event.index, part.text))
        return b""  # a picture is nothing that clients of this wire read

    def _write_message(
        self, message: dict[str, Json], tokens: Sequence[TokenLogprob] = ()
    ) -> bytes:
        return _write_line(self._lines.line(message, tokens))


def _write_line(line: dict[str, Json]) -> bytes:
    return dump_json(line).encode() + b"\n"


def _end(finished: Finished) -> dict[str, Json]:
    reason = "length" if finished.finish in _CUT else "stop"
    end: dict[str, Json] = {"done": True, "done_reason": finished.raw_finish or reason}
    return end | _counts(finished.usage)


def _counts(usage: Usage) -> dict[str, Json]:
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
    # The wire has objects only: any other value is the one field of an object.
    arguments = call.arguments if isinstance(call.arguments, dict) else {"input": call.arguments}
    function = {"index": number, "name": call.name, "arguments": arguments}
    return {"function": function} if call.minted else {"id": call.id, "function": function}
