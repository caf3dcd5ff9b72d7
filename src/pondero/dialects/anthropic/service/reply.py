"""Writes answers in the service's exact shape, as recorded; the emulator and gateway call it."""

from collections.abc import Mapping
from hashlib import sha256

from msgspec.json import encode

from pondero.canon import (
    Event,
    Finish,
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
    UnknownPart,
    Usage,
    UsageUpdate,
)
from pondero.dialects.citations import WebPage, convert_citations
from pondero.dialects.dialect import ReplyContext
from pondero.dialects.prompt_cache import CacheReport

from .parse import Context
from .types import NAME

_STOPS: Mapping[Finish, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "exhausted": "max_tokens",
    "tool_calls": "tool_use",
    "paused": "pause_turn",
    "refusal": "refusal",
    "content_filter": "refusal",
    "context_full": "model_context_window_exceeded",
    "error": "end_turn",
    "other": "end_turn",
}
_MEASURED = ("model_changed", "system_changed", "tools_changed", "messages_changed")
_INVALID = "INVALID_JSON"  # key for arguments that are not an object; the parser removes it
PING = b'event: ping\ndata: {"type": "ping"}\n\n'


def reply(answering: ReplyContext[Context], answer: Reply) -> HttpResponse:
    """Return the whole answer."""
    blocks = _Blocks(answering)
    body = {
        **blocks.head(answer.model),
        "content": [block for part in answer.message.parts for block in blocks.write(part)],
        **_end(answer.finish, answer.raw_finish, answer.extras, answer.safety),
        "usage": _usage(answer.usage, answering.cache),
        **_diagnose(answering.cache),
    }
    headers = {"content-type": "application/json", "request-id": blocks.request_id}
    return HttpResponse(200, headers, encode(body))


def make_message_id(seed: bytes) -> str:
    """Make the id of an answer."""
    return f"msg_01{sha256(seed).hexdigest()[:22]}"


def call_id(digest: str) -> str:
    """Make a call's id in the service's form."""
    return f"toolu_01{digest[:22]}"


class Stream:
    """Writes one answer as server-sent events; an empty part writes no block."""

    def __init__(self, answering: ReplyContext[Context]) -> None:
        self._blocks = _Blocks(answering)
        self._shown = answering.shown
        self._cache = answering.cache
        self._usage = Usage()
        self._open: int | None = None  # the part whose block is open
        self._begun: list[int] = []  # the parts that have a block, in its place
        self._argued = False  # the open call has had arguments

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers this stream is sent with."""
        kind = "text/event-stream; charset=utf-8"
        return {"content-type": kind, "request-id": self._blocks.request_id}

    def feed(self, event: Event) -> bytes:
        """Return the frames of this event."""
        match event:
            case TextDelta():
                return self._text_delta(event.index, "text", event.text)
            case ThinkingDelta():
                return self._text_delta(event.index, "thinking", event.text) if self._shown else b""
            case ToolDelta() if event.json and event.index == self._open:
                self._argued = True
                return self._more({"type": "input_json_delta", "partial_json": event.json})
            case PartStart() if event.kind == "tool_call":
                return self._call(event)
            case PartEnd():
                return self._end(event)
            case UsageUpdate():
                self._usage = event.usage
            case Started():
                return self._start(event)
            case Finished():
                return self._finish(event)
        return b""

    def eof(self) -> bytes:
        """Return no bytes: message_stop was the end."""
        return b""

    def fail(self, error: HttpResponse) -> bytes:
        """Return the frame of an error in the middle of a stream."""
        return b"event: error\ndata: %b\n\n" % error.body

    def _start(self, event: Started) -> bytes:
        usage = _usage(self._usage, self._cache) | {"output_tokens": 1}
        ending = _end("stop", None, None, None) | {"stop_reason": None}
        head = self._blocks.head(event.model)
        message = {**head, "content": [], **ending, "usage": usage, **_diagnose(self._cache)}
        return _frame({"type": "message_start", "message": message}) + PING

    def _begin(self, index: int, block: Json) -> bytes:
        closed = self._close()
        self._open, self._argued = index, False
        self._begun.append(index)
        at = len(self._begun) - 1
        return closed + _frame({"type": "content_block_start", "index": at, "content_block": block})

    def _more(self, delta: Json) -> bytes:
        at = len(self._begun) - 1
        return _frame({"type": "content_block_delta", "index": at, "delta": delta})

    def _close(self) -> bytes:
        if self._open is None:
            return b""
        self._open = None
        return _frame({"type": "content_block_stop", "index": len(self._begun) - 1})

    def _text_delta(self, index: int, kind: str, text: str) -> bytes:
        if not text:
            return b""
        if self._open == index:  # nearly all frames of a stream
            return _WORDS[kind] % (len(self._begun) - 1, encode(text))
        begun = self._begin(index, _EMPTY[kind])
        return begun + _WORDS[kind] % (len(self._begun) - 1, encode(text))

    def _call(self, event: PartStart) -> bytes:
        call = ToolCall(event.id or "", event.name or "", {}, event.signature)
        nothing = {"type": "input_json_delta", "partial_json": ""}
        return self._begin(event.index, self._blocks.call(call)) + self._more(nothing)

    def _end(self, event: PartEnd) -> bytes:
        begun, frames = event.index in self._begun, b""
        for block in self._blocks.write(event.part):
            if not begun or self._open == event.index:
                frames += self._rest(event.index, block, begun=begun)
        return frames + self._close() if self._open == event.index else frames

    def _rest(self, index: int, block: Json, *, begun: bool) -> bytes:
        kind = block["type"]
        if kind in ("text", "thinking"):
            opened = b"" if begun else self._begin(index, _EMPTY[kind])
            if not begun:
                opened += self._text_delta(index, kind, block[kind])
            for citation in block.get("citations") or ():
                opened += self._more({"type": "citations_delta", "citation": citation})
            if block.get("signature"):
                signed = {"type": "signature_delta", "signature": block["signature"]}
                opened += self._more(signed)
            return opened
        if kind not in ("tool_use", "server_tool_use"):
            return self._begin(index, block)
        opened = b"" if begun else self._begin(index, block | {"input": {}})
        if not self._argued:
            given = encode(block["input"]).decode()
            opened += self._more({"type": "input_json_delta", "partial_json": given})
        return opened

    def _finish(self, event: Finished) -> bytes:
        ending = _end(event.finish, event.raw_finish, event.extras, event.safety)
        last = {"type": "message_delta", "delta": ending, "usage": _usage(event.usage, self._cache)}
        return self._close() + _frame(last) + _frame({"type": "message_stop"})


_EMPTY: dict[str, Json] = {
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
}


class _Blocks:
    """Writes parts as blocks, in order: a signature may cover the blocks before it."""

    def __init__(self, answering: ReplyContext[Context]) -> None:
        self._answering = answering
        self._written: list[Json] = []
        digest = sha256(answering.seed).hexdigest()
        self._id = make_message_id(answering.seed)
        self.request_id = f"req_01{digest[22:44]}"

    def head(self, model: str | None) -> dict[str, Json]:
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

    def write(self, part: Part) -> list[Json]:
        """Return the block of a part; empty if this API has none for it."""
        match part:
            case Text():
                block: Json = _text(part)
            case Thinking():
                block = self._thinking(part)
            case ToolCall():
                block = self.call(part)
            case UnknownPart() if part.dialect == NAME:
                block = part.raw
            case _:
                block = None
        if block is None:
            return []
        self._written.append(block)
        return [block]

    def _thinking(self, part: Thinking) -> Json:
        shown = part.text if self._answering.shown and not part.redacted else ""
        signature = self._answering.sign(part, shown, self._written)
        if part.redacted:
            return None if signature is None else {"type": "redacted_thinking", "data": signature}
        if signature is None and not shown:
            return None
        return {"type": "thinking", "thinking": shown, "signature": signature or ""}

    def call(self, part: ToolCall) -> Json:
        """Return a call; its signature, if any, is further fields of the block."""
        given = part.arguments
        block = {
            "type": "tool_use",
            "id": part.id,
            "name": part.name,
            "input": given if isinstance(given, dict) else {_INVALID: given},
        }
        further = self._answering.sign(part, "", self._written)
        return block | further if isinstance(further, dict) else block


def _text(part: Text) -> Json:
    citations = convert_citations(part.citations, own=_is_own_citation, page=_citation)
    if not part.text and not citations:
        return None
    block: Json = {"type": "text", "text": part.text}
    return block | {"citations": citations} if citations else block


def _is_own_citation(citation: Json) -> bool:
    return str(citation.get("type")).endswith("_location")


def _citation(page: WebPage) -> Json:
    cited = {"type": "web_search_result_location", "url": page.url, "title": page.title or None}
    return {**cited, "cited_text": "", "encrypted_index": ""}


_WORDS = {  # nearly all frames of a stream: only the index and the text differ
    kind: b"event: content_block_delta\ndata: "
    b'{"type":"content_block_delta","index":%%d,"delta":{"type":"%b_delta","%b":%%b}}\n\n'
    % (kind.encode(), kind.encode())
    for kind in ("text", "thinking")
}


def _frame(event: Json) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (event["type"].encode(), encode(event))


def _end(finish: Finish, raw: str | None, extras: Json, safety: Json) -> dict[str, Json]:
    stop = raw or _STOPS[finish]
    sequence = extras.get("stop_sequence") if isinstance(extras, dict) else None
    if sequence is not None:
        stop = "stop_sequence"
    own = isinstance(safety, dict) and safety.get("type") == "refusal"
    details = safety if own and stop == "refusal" else None
    return {"stop_reason": stop, "stop_sequence": sequence or None, "stop_details": details}


def _diagnose(cache: CacheReport) -> dict[str, Json]:
    if not cache.diagnosed:
        return {}
    if cache.miss is None:
        return {"diagnostics": None}
    missed = {"cache_missed_input_tokens": cache.missed} if cache.miss in _MEASURED else {}
    return {"diagnostics": {"cache_miss_reason": {"type": cache.miss, **missed}}}


def _usage(usage: Usage, cache: CacheReport) -> dict[str, Json]:
    written, read = usage.cache_write or 0, usage.cache_read or 0
    hour = min(cache.writes.get("1h", 0), written)
    counts: dict[str, Json] = {
        "input_tokens": usage.input or 0,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": written - hour,
            "ephemeral_1h_input_tokens": hour,
        },
        "output_tokens": (usage.output or 0) + (usage.thinking or 0),
        "service_tier": "standard",
    }
    if usage.thinking is not None:
        counts["output_tokens_details"] = {"thinking_tokens": usage.thinking}
    return counts
