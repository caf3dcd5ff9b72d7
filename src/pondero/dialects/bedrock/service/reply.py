"""Writes answers in the service's exact shape: whole, or as a stream of binary frames."""

from collections.abc import Mapping

from msgspec.json import encode

from pondero.canon import (
    Event,
    Finish,
    Finished,
    HttpResponse,
    Json,
    PartEnd,
    PartStart,
    Reply,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
    Usage,
)
from pondero.dialects.dialect import ReplyContext
from pondero.framing import write_aws_event

from .errors import request_id
from .parse import Context
from .parts import BlockWriter, call_start

_STOPS: Mapping[Finish, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "exhausted": "max_tokens",
    "tool_calls": "tool_use",
    "refusal": "content_filtered",
    "content_filter": "content_filtered",
    "context_full": "model_context_window_exceeded",
    "error": "malformed_model_output",
    "paused": "end_turn",
    "other": "end_turn",
}
_LATENCY = {"latencyMs": 100}
_PADDING = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_DETAILS = "/usage/output_tokens_details"


def reply(answering: ReplyContext[Context], reply: Reply) -> HttpResponse:
    """Return the whole answer."""
    writer = BlockWriter(answering)
    content = [block for part in reply.message.parts for block in writer.blocks(part)]
    body = {
        "metrics": _LATENCY,
        "output": {"message": {"content": content, "role": "assistant"}},
        **_end(answering.context, reply.finish, reply.raw_finish, reply.usage),
        "usage": _usage(reply.usage),
    }
    headers = {"content-type": "application/json", "x-amzn-requestid": _id(answering)}
    return HttpResponse(200, headers, encode(body))


def call_id(digest: str) -> str:
    """Make a call's id in the service's form."""
    return f"tooluse_{digest[:22]}"


class Stream:
    """Writes one answer as binary frames; only a call has a start frame of its own."""

    def __init__(self, answering: ReplyContext[Context]) -> None:
        self._answering = answering
        self._writer = BlockWriter(answering)
        self._begun: dict[int, int] = {}  # the place of each part that has a block
        self._open: int | None = None  # the part whose block is open
        self._argued = False  # the open call has had arguments
        self._frames = 0

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers this stream is sent with."""
        kind = "application/vnd.amazon.eventstream"
        return {"content-type": kind, "x-amzn-requestid": _id(self._answering)}

    def feed(self, event: Event) -> bytes:
        """Return the frames of this event."""
        match event:
            case Started():
                return self._frame("messageStart", {"role": "assistant"})
            case TextDelta() if event.text:
                return self._delta(event.index, {"text": event.text})
            case ThinkingDelta() if event.text and self._answering.shown:
                return self._delta(event.index, {"reasoningContent": {"text": event.text}})
            case ToolDelta() if event.json and event.index == self._open:
                self._argued = True
                return self._delta(event.index, {"toolUse": {"input": event.json}})
            case PartStart() if event.kind == "tool_call":
                kind, start = call_start({"toolUseId": event.id or "", "name": event.name or ""})
                return self._at(event.index, kind, start)
            case PartEnd():
                return self._end(event)
            case Finished():
                return self._finish(event)
        return b""

    def eof(self) -> bytes:
        """Return no bytes: the metadata frame was the last."""
        return b""

    def fail(self, error: HttpResponse) -> bytes:
        """Return the frame of an error in the middle of a stream."""
        name = error.headers.get("x-amzn-errortype", "InternalServerException")
        headers = {
            ":exception-type": name[:1].lower() + name[1:],
            ":content-type": "application/json",
            ":message-type": "exception",
        }
        return write_aws_event(headers, error.body)

    def _frame(self, kind: str, said: Json) -> bytes:
        self._frames += 1
        padding = _PADDING[: 3 + self._frames * 7 % (len(_PADDING) - 3)]
        headers = {
            ":event-type": kind,
            ":content-type": "application/json",
            ":message-type": "event",
        }
        return write_aws_event(headers, encode({**said, "p": padding}))

    def _at(self, index: int, kind: str, said: Json) -> bytes:
        closed = b""
        if self._open != index:
            closed = self._close()
            self._open, self._argued = index, False
            self._begun.setdefault(index, len(self._begun))
        return closed + self._frame(kind, {"contentBlockIndex": self._begun[index], **said})

    def _close(self) -> bytes:
        if self._open is None:
            return b""
        place, self._open = self._begun[self._open], None
        return self._frame("contentBlockStop", {"contentBlockIndex": place})

    def _delta(self, index: int, delta: Json) -> bytes:
        return self._at(index, "contentBlockDelta", {"delta": delta})

    def _end(self, event: PartEnd) -> bytes:
        index, part, frames = event.index, event.part, b""
        begun = index in self._begun
        for block in self._writer.blocks(part):
            if begun and self._open != index:
                continue
            for kind, said in self._writer.rest(block, begun=begun):
                frames += self._at(index, kind, said)
            if begun and isinstance(part, ToolCall) and not self._argued:
                given = encode(block["toolUse"]["input"]).decode()
                frames += self._delta(index, {"toolUse": {"input": given}})
        return frames + self._close() if self._open == index else frames

    def _finish(self, event: Finished) -> bytes:
        ending = _end(self._answering.context, event.finish, event.raw_finish, event.usage)
        told = {"metrics": _LATENCY, "usage": _usage(event.usage)}
        end = self._close() + self._frame("messageStop", ending)
        return end + self._frame("metadata", told)


def _id(answering: ReplyContext[Context]) -> str:
    return request_id(answering.seed)


def _end(context: Context, finish: Finish, raw: str | None, usage: Usage) -> dict[str, Json]:
    ending: dict[str, Json] = {"stopReason": raw or _STOPS[finish]}
    if _DETAILS in context.paths and context.signed and usage.thinking is not None:
        counted = {"output_tokens_details": {"thinking_tokens": usage.thinking}}
        ending["additionalModelResponseFields"] = {"usage": counted}
    return ending


def _usage(usage: Usage) -> dict[str, Json]:
    output = (usage.output or 0) + (usage.thinking or 0)
    given, read, written = usage.input or 0, usage.cache_read or 0, usage.cache_write or 0
    return {
        "inputTokens": given,
        "outputTokens": output,
        "totalTokens": given + output + read + written,
        "cacheReadInputTokens": read,
        "cacheWriteInputTokens": written,
    }
