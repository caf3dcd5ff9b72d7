"""Writes answers in the service's exact shape (the Messages wire sheet, sections 3 and 4).

The emulator calls ``reply`` for a whole answer and ``stream`` for a streamed one; gateways will.
"""

from hashlib import sha256

from msgspec.json import encode

from pondero.canon import (
    Event,
    Finished,
    HttpResponse,
    Json,
    Other,
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
    UsageNow,
)
from pondero.dialects.dialect import Answering

from .parse import Context
from .types import NAME

_STOPS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "exhausted": "max_tokens",
    "tool_calls": "tool_use",
    "paused": "pause_turn",
    "refusal": "refusal",
    "content_filter": "refusal",
    "context_full": "model_context_window_exceeded",
}
_PING = b'event: ping\ndata: {"type": "ping"}\n\n'


def reply(answering: Answering[Context], answer: Reply) -> HttpResponse:
    """Return the whole answer."""
    blocks = _Blocks(answering)
    body = {
        **blocks.head(answer.model),
        "content": [block for part in answer.message.parts for block in blocks.of(part)],
        **_end(answer.finish, answer.raw_finish, answer.extras, answer.safety),
        "usage": _usage(answer.usage),
    }
    headers = {"content-type": "application/json", "request-id": blocks.request_id}
    return HttpResponse(200, headers, encode(body))


def stream(answering: Answering[Context]) -> "Stream":
    """Return an encoder for one streamed answer."""
    return Stream(answering)


def call_id(digest: str) -> str:
    """Return the id of a call as the service makes them."""
    return f"toolu_01{digest[:22]}"


class Stream:
    """Events in, server-sent events out."""

    def __init__(self, answering: Answering[Context]) -> None:
        self._blocks = _Blocks(answering)
        self._shown = answering.shown
        self._usage = Usage()
        self._begun: dict[int, int] = {}

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers this stream is sent with."""
        kind = "text/event-stream; charset=utf-8"
        return {"content-type": kind, "request-id": self._blocks.request_id}

    def feed(self, event: Event) -> bytes:
        """Return the frames that say this event."""
        match event:
            case Started():
                return self._start(event)
            case PartStart():
                return b""  # what a block begins with is known at its first delta
            case TextDelta():
                return self._delta(event.index, {"type": "text_delta", "text": event.text})
            case ThinkingDelta():
                delta = {"type": "thinking_delta", "thinking": event.text}
                return self._delta(event.index, delta) if self._shown else b""
            case ToolDelta():
                return b""  # a call is written whole, at its end
            case PartEnd():
                return self._end(event)
            case UsageNow():
                self._usage = event.usage
            case Finished():
                return self._finish(event)
        return b""

    def eof(self) -> bytes:
        """Return nothing: message_stop is the end."""
        return b""

    def fail(self, error: HttpResponse) -> bytes:
        """Return the event of an error after all was well."""
        return b"event: error\ndata: %b\n\n" % error.body

    def _start(self, event: Started) -> bytes:
        usage = _usage(self._usage) | {"output_tokens": 1}
        ending = _end("stop", None, None, None) | {"stop_reason": None}
        message = {**self._blocks.head(event.model), "content": [], **ending, "usage": usage}
        return _frame({"type": "message_start", "message": message}) + _PING

    def _open(self, index: int, block: Json) -> bytes:
        self._begun[index] = len(self._begun)
        at = self._begun[index]
        return _frame({"type": "content_block_start", "index": at, "content_block": block})

    def _delta(self, index: int, delta: Json) -> bytes:
        if not delta.get("text", delta.get("thinking")):
            return b""
        opened = b""
        if index not in self._begun:
            opened = self._open(index, _EMPTY[delta["type"]])
        return opened + self._more(index, delta)

    def _more(self, index: int, delta: Json) -> bytes:
        at = self._begun[index]
        return _frame({"type": "content_block_delta", "index": at, "delta": delta})

    def _end(self, event: PartEnd) -> bytes:
        frames = b""
        for block in self._blocks.of(event.part):
            frames += self._closing(event.index, block)
            stop = {"type": "content_block_stop", "index": self._begun[event.index]}
            frames += _frame(stop)
        return frames

    def _closing(self, index: int, block: Json) -> bytes:
        """Return what is still to be said of a block: all of it, or its last deltas."""
        begun = index in self._begun
        match block["type"]:
            case "thinking":
                opened = b"" if begun else self._open(index, _EMPTY["thinking_delta"])
                if not begun and block["thinking"]:
                    whole = {"type": "thinking_delta", "thinking": block["thinking"]}
                    opened += self._more(index, whole)
                if not block["signature"]:
                    return opened
                signed = {"type": "signature_delta", "signature": block["signature"]}
                return opened + self._more(index, signed)
            case "text":
                opened = b"" if begun else self._open(index, _EMPTY["text_delta"])
                if not begun and block["text"]:
                    opened += self._more(index, {"type": "text_delta", "text": block["text"]})
                for citation in block.get("citations") or []:
                    opened += self._more(index, {"type": "citations_delta", "citation": citation})
                return opened
            case "tool_use" | "server_tool_use":
                opened = self._open(index, block | {"input": {}})
                for piece in ("", *_halves(encode(block["input"]).decode())):
                    delta = {"type": "input_json_delta", "partial_json": piece}
                    opened += self._more(index, delta)
                return opened
        return self._open(index, block)

    def _finish(self, event: Finished) -> bytes:
        ending = _end(event.finish, event.raw_finish, event.extras, event.safety)
        usage = _usage(event.usage)
        return _frame({"type": "message_delta", "delta": ending, "usage": usage}) + _frame(
            {"type": "message_stop"}
        )


_EMPTY: dict[str, Json] = {
    "text_delta": {"type": "text", "text": ""},
    "thinking_delta": {"type": "thinking", "thinking": "", "signature": ""},
}


class _Blocks:
    """Parts as blocks, sealed in order: a seal may cover the blocks before it."""

    def __init__(self, answering: Answering[Context]) -> None:
        self._answering = answering
        self._written: list[Json] = []
        digest = sha256(answering.seed).hexdigest()
        self._id = f"msg_01{digest[:22]}"
        self.request_id = f"req_01{digest[22:44]}"

    def head(self, model: str | None) -> dict[str, Json]:
        """Return what a message begins with."""
        dropped = [
            {"type": "thinking_dropped", "path": path, "reason": "prefix_binding_mismatch"}
            for path in self._answering.context.dropped
        ]
        return {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "model": model or self._answering.request.model,
            **({"input_transformations": dropped} if dropped else {}),
        }

    def of(self, part: Part) -> list[Json]:
        """Return the block of a part; none for what this wire cannot say."""
        match part:
            case Text():
                block: Json = {"type": "text", "text": part.text}
                if part.citations:
                    block["citations"] = list(part.citations)
            case Thinking():
                block = self._thinking(part)
            case ToolCall():
                block = self._call(part)
            case Other() if part.dialect == NAME:
                block = part.raw
            case _:
                block = None
        if block is None:
            return []
        self._written.append(block)
        return [block]

    def _thinking(self, part: Thinking) -> Json:
        """Return thinking with its seal; None where nothing would be in the block."""
        shown = part.text if self._answering.shown and not part.redacted else ""
        seal = self._answering.seal(part, shown, self._written)
        if part.redacted:
            return None if seal is None else {"type": "redacted_thinking", "data": seal}
        if seal is None and not shown:
            return None
        return {"type": "thinking", "thinking": shown, "signature": seal or ""}

    def _call(self, part: ToolCall) -> Json:
        """Return a call; its seal, if any, is further fields of the block."""
        block = {
            "type": "tool_use",
            "id": part.id,
            "name": part.name,
            "input": part.arguments if isinstance(part.arguments, dict) else {},
        }
        further = self._answering.seal(part, "", self._written)
        return block | further if isinstance(further, dict) else block


def _frame(event: Json) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (event["type"].encode(), encode(event))


def _halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [half for half in (text[:middle], text[middle:]) if half]


def _end(finish: str, raw: str | None, extras: Json, safety: Json) -> dict[str, Json]:
    stop = raw or _STOPS.get(finish, "end_turn")
    sequence = (extras or {}).get("stop_sequence")
    if sequence is not None:
        stop = "stop_sequence"
    details = safety if stop == "refusal" else None
    return {"stop_reason": stop, "stop_sequence": sequence, "stop_details": details}


def _usage(usage: Usage) -> dict[str, Json]:
    written, read = usage.cache_write or 0, usage.cache_read or 0
    counts: dict[str, Json] = {
        "input_tokens": usage.input or 0,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
        "output_tokens": (usage.output or 0) + (usage.thinking or 0),
        "service_tier": "standard",
    }
    if usage.thinking is not None:
        counts["output_tokens_details"] = {"thinking_tokens": usage.thinking}
    return counts
