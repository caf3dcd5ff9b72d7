"""A service that knows what it served: every dialect, hidden thinking, faults, and its own count.

It is written from the wire sheets and shares no code with the gateway. Each request is a
``Served`` row: the tokens that left the service before the answer ended or broke off. As the real
services do, it stops at the output limit of the request, sends counts in a Chat stream only if
asked, and multiplies answers by ``n`` and ``candidateCount``.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from msgspec import Struct

from pondero.canon import HttpRequest, ResponseHead
from pondero.errors import Unreachable

PROMPT = 12
"""Tokens of every prompt."""
WORDS = ("Seventeen ", "times ", "twenty-three ", "is ", "391", ".")
"""The pieces of an answer, each of two tokens."""
EACH = 2


class Script(Struct, frozen=True, kw_only=True):
    """How the service takes one request.

    ``status``: the error it answers with. ``cut``: after how many frames the connection breaks.
    ``ends``: whether a cut looks like an end (True) or is a lost connection.
    """

    thinking: int = 0
    status: int = 200
    cut: int | None = None
    ends: bool = False


class Served(Struct):
    """What one request took from the service."""

    model: str
    input: int = 0
    output: int = 0
    thinking: int = 0
    answers: int = 1
    closed: bool = False

    @property
    def total(self) -> int:
        return self.input + self.output + self.thinking


class CountingService:
    """A transport to a service; ``scripts`` are used up first, then every answer is whole."""

    needs_key = False

    def __init__(self, scripts: list[Script] | None = None) -> None:
        self.scripts = scripts if scripts is not None else []
        self.served: list[Served] = []
        self.bodies: list[dict[str, Any]] = []

    async def send(self, request: HttpRequest, timeouts: object) -> "_Answer":
        script = self.scripts.pop(0) if self.scripts else Script()
        body = json.loads(request.body)
        api = _api(request.url)
        row = Served(str(body.get("model") or request.url.rpartition("/")[2]))
        self.served.append(row)
        self.bodies.append(body)
        if script.status != 200:
            error = {"error": {"message": "no", "type": "server_error", "code": "x"}}
            return _Answer(script.status, {}, iter([json.dumps(error).encode()]), Script(), row)
        streams, answers, limit, make = _read(api, request.url, body)
        row.input, row.answers = PROMPT, answers
        return _Answer(200, _HEADERS[streams], make(script, row, limit, body), script, row)

    async def aclose(self) -> None:
        """Nothing is open."""


_HEADERS = {
    None: {"content-type": "application/json"},
    "sse": {"content-type": "text/event-stream"},
    "ndjson": {"content-type": "application/x-ndjson"},
}


class _Answer:
    def __init__(
        self,
        status: int,
        headers: dict[str, str],
        frames: Iterator[bytes],
        script: Script,
        row: Served,
    ) -> None:
        self.head = ResponseHead(status, headers)
        self._frames = frames
        self._script = script
        self._row = row

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for number, frame in enumerate(self._frames):
            if number == self._script.cut:
                if self._script.ends:
                    return
                raise Unreachable("the connection was reset")
            yield frame

    async def aclose(self) -> None:
        self._row.closed = True


def _api(url: str) -> str:
    path = url.partition("?")[0]
    for ending, api in _PATHS.items():
        if path.endswith(ending):
            return api
    raise AssertionError(url)


_PATHS = {
    "/chat/completions": "chat",
    "/responses": "responses",
    "/messages": "messages",
    "enerateContent": "gemini",
    "/interactions": "interactions",
    "/api/chat": "ollama",
    "/v2/chat": "cohere",
}
_Make = Callable[[Script, Served, float, dict[str, Any]], Iterator[bytes]]


def _read(api: str, url: str, body: dict[str, Any]) -> tuple[str | None, int, float, _Make]:
    """Return how to answer: the framing, the number of answers, the output limit, the writer."""
    config = body.get("generationConfig") or {}
    options = body.get("options") or {}
    settings = body.get("generation_config") or {}
    limit = {
        "chat": body.get("max_completion_tokens") or body.get("max_tokens"),
        "responses": body.get("max_output_tokens"),
        "messages": body.get("max_tokens"),
        "gemini": config.get("maxOutputTokens"),
        "interactions": settings.get("max_output_tokens"),
        "ollama": options.get("num_predict"),
        "cohere": body.get("max_tokens"),
    }[api]
    answers = {"chat": body.get("n"), "gemini": config.get("candidateCount")}.get(api) or 1
    whole, stream = _WRITERS[api]
    asks = "streamGenerate" in url if api == "gemini" else bool(body.get("stream"))
    framing = ("ndjson" if api == "ollama" else "sse") if asks else None
    return framing, answers, float("inf") if limit is None else limit, stream if asks else whole


def _think(script: Script, row: Served, limit: float) -> None:
    row.thinking += int(min(script.thinking, limit)) * row.answers


def _words(row: Served, limit: float) -> Iterator[str]:
    """Yield the words of an answer, counted as they leave; n answers say the same at once."""
    for word in WORDS:
        if (row.output + row.thinking) // row.answers + EACH > limit:
            return
        row.output += EACH * row.answers
        yield word


def _sse(value: Any, event: str | None = None) -> bytes:
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {json.dumps(value)}\n\n".encode()


# -- Chat Completions ----------------------------------------------------------------------------


def _chat_usage(row: Served) -> dict[str, Any]:
    return {
        "prompt_tokens": row.input,
        "completion_tokens": row.output + row.thinking,
        "total_tokens": row.total,
        "completion_tokens_details": {"reasoning_tokens": row.thinking},
    }


def _chat(script: Script, row: Served, limit: float, body: dict[str, Any]) -> Iterator[bytes]:
    _think(script, row, limit)
    text = "".join(_words(row, limit))
    choices = [
        {"index": at, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        for at in range(row.answers)
    ]
    base = {"id": "c1", "object": "chat.completion", "created": 1, "model": row.model}
    yield json.dumps({**base, "choices": choices, "usage": _chat_usage(row)}).encode()


def _chat_stream(
    script: Script, row: Served, limit: float, body: dict[str, Any]
) -> Iterator[bytes]:
    base = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": row.model}
    asked = (body.get("stream_options") or {}).get("include_usage") is True
    null = {"usage": None} if asked else {}

    def chunk(delta: Any, finish: str | None = None) -> bytes:
        choices = [
            {"index": at, "delta": delta, "finish_reason": finish} for at in range(row.answers)
        ]
        return _sse({**base, "choices": choices, **null})

    _think(script, row, limit)
    yield chunk({"role": "assistant", "content": ""})
    for word in _words(row, limit):
        yield chunk({"content": word})
    yield chunk({}, "stop")
    if asked:
        yield _sse({**base, "choices": [], "usage": _chat_usage(row)})
    yield b"data: [DONE]\n\n"


# -- Responses -----------------------------------------------------------------------------------


def _response(row: Served, text: str, status: str = "completed") -> dict[str, Any]:
    message = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }
    done = status == "completed"
    usage = {
        "input_tokens": row.input,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": row.output + row.thinking,
        "output_tokens_details": {"reasoning_tokens": row.thinking},
        "total_tokens": row.total,
    }
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": status,
        "model": row.model,
        "output": [message] if done else [],
        "usage": usage if done else None,
    }


def _responses(script: Script, row: Served, limit: float, body: dict[str, Any]) -> Iterator[bytes]:
    _think(script, row, limit)
    text = "".join(_words(row, limit))
    if body.get("background"):  # the answer is written later, and is charged all the same
        yield json.dumps(_response(row, text, "queued")).encode()
    else:
        yield json.dumps(_response(row, text)).encode()


def _responses_stream(
    script: Script, row: Served, limit: float, body: dict[str, Any]
) -> Iterator[bytes]:
    def event(kind: str, **fields: Any) -> bytes:
        return _sse({"type": kind, **fields}, kind)

    _think(script, row, limit)
    yield event("response.created", response=_response(row, "", "in_progress"))
    item = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}
    yield event("response.output_item.added", output_index=0, item=item)
    text = {"type": "output_text", "text": ""}
    yield event("response.content_part.added", output_index=0, content_index=0, part=text)
    said = ""
    for word in _words(row, limit):
        said += word
        yield event("response.output_text.delta", output_index=0, content_index=0, delta=word)
    yield event("response.output_text.done", output_index=0, content_index=0, text=said)
    whole = _response(row, said)
    yield event("response.output_item.done", output_index=0, item=whole["output"][0])
    yield event("response.completed", response=whole)


# -- Messages ------------------------------------------------------------------------------------


def _messages_usage(row: Served) -> dict[str, Any]:
    return {
        "input_tokens": row.input,
        "output_tokens": row.output + row.thinking,
        "output_tokens_details": {"thinking_tokens": row.thinking},
    }


def _messages(script: Script, row: Served, limit: float, body: dict[str, Any]) -> Iterator[bytes]:
    _think(script, row, limit)
    content = [{"type": "text", "text": "".join(_words(row, limit))}]
    base = {"id": "msg_1", "type": "message", "role": "assistant", "model": row.model}
    ends = {"stop_reason": "end_turn", "stop_sequence": None, "usage": _messages_usage(row)}
    yield json.dumps({**base, "content": content, **ends}).encode()


def _messages_stream(
    script: Script, row: Served, limit: float, body: dict[str, Any]
) -> Iterator[bytes]:
    def event(kind: str, **fields: Any) -> bytes:
        return _sse({"type": kind, **fields}, kind)

    _think(script, row, limit)
    base = {"id": "msg_1", "type": "message", "role": "assistant", "model": row.model}
    first = {"input_tokens": row.input, "output_tokens": 1}
    empty: dict[str, Any] = {
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": first,
    }
    yield event("message_start", message={**base, **empty})
    yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    for word in _words(row, limit):
        yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": word})
    yield event("content_block_stop", index=0)
    ending = {"stop_reason": "end_turn", "stop_sequence": None}
    yield event("message_delta", delta=ending, usage=_messages_usage(row))
    yield event("message_stop")


# -- Gemini --------------------------------------------------------------------------------------


def _gemini_body(row: Served, text: str, finish: str | None) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": text}]}
    ends = {"finishReason": finish} if finish else {}
    candidates = [{"content": content, "index": at, **ends} for at in range(row.answers)]
    usage = {
        "promptTokenCount": row.input,
        "candidatesTokenCount": row.output,
        "thoughtsTokenCount": row.thinking,
        "totalTokenCount": row.total,
    }
    return {"candidates": candidates, "usageMetadata": usage, "modelVersion": "g"}


def _gemini(script: Script, row: Served, limit: float, body: dict[str, Any]) -> Iterator[bytes]:
    _think(script, row, limit)
    text = "".join(_words(row, limit))
    yield json.dumps(_gemini_body(row, text, "STOP")).encode()


def _gemini_stream(
    script: Script, row: Served, limit: float, body: dict[str, Any]
) -> Iterator[bytes]:
    _think(script, row, limit)
    for word in _words(row, limit):
        yield _sse(_gemini_body(row, word, None))
    yield _sse(_gemini_body(row, "", "STOP"))


# -- Interactions --------------------------------------------------------------------------------


def _interaction(row: Served, status: str, **more: Any) -> dict[str, Any]:
    base = {"id": "v1_1", "object": "interaction", "model": row.model, "status": status}
    usage = {
        "total_input_tokens": row.input,
        "total_output_tokens": row.output,
        "total_thought_tokens": row.thinking,
        "total_tokens": row.total,
    }
    return {**base, **({"usage": usage} if status == "completed" else {}), **more}


def _interactions(
    script: Script, row: Served, limit: float, body: dict[str, Any]
) -> Iterator[bytes]:
    _think(script, row, limit)
    content = [{"type": "text", "text": "".join(_words(row, limit))}]
    late = body.get("background") or body.get("service_tier") == "deferred"
    steps = [{"type": "thought", "signature": "cw=="}, {"type": "model_output", "content": content}]
    whole = _interaction(row, "queued", steps=[]) if late else None
    yield json.dumps(whole or _interaction(row, "completed", steps=steps)).encode()


def _interactions_stream(
    script: Script, row: Served, limit: float, body: dict[str, Any]
) -> Iterator[bytes]:
    def event(kind: str, **fields: Any) -> bytes:
        return _sse({"event_type": kind, **fields}, kind)

    _think(script, row, limit)
    yield event("interaction.created", interaction=_interaction(row, "in_progress"))
    yield event("interaction.status_update", interaction_id="v1_1", status="in_progress")
    yield event("step.start", index=0, step={"type": "thought"})
    signature = {"type": "thought_signature", "signature": "cw=="}
    yield event("step.delta", index=0, delta=signature)
    yield event("step.stop", index=0)
    yield event("step.start", index=1, step={"type": "model_output"})
    for word in _words(row, limit):
        yield event("step.delta", index=1, delta={"type": "text", "text": word})
    yield event("step.stop", index=1)
    yield event("interaction.completed", interaction=_interaction(row, "completed"))
    yield b"event: done\ndata: [DONE]\n\n"


# -- Ollama --------------------------------------------------------------------------------------


def _ollama_frame(row: Served, text: str, *, done: bool) -> bytes:
    frame: dict[str, Any] = {
        "model": row.model,
        "created_at": "2026-11-16T00:00:00Z",
        "message": {"role": "assistant", "content": text},
        "done": done,
    }
    if done:
        frame |= {"done_reason": "stop", "prompt_eval_count": row.input}
        frame |= {"eval_count": row.output + row.thinking}
    return json.dumps(frame).encode() + b"\n"


def _ollama(script: Script, row: Served, limit: float, body: dict[str, Any]) -> Iterator[bytes]:
    text = "".join(_words(row, limit))
    yield _ollama_frame(row, text, done=True)


def _ollama_stream(
    script: Script, row: Served, limit: float, body: dict[str, Any]
) -> Iterator[bytes]:
    for word in _words(row, limit):
        yield _ollama_frame(row, word, done=False)
    yield _ollama_frame(row, "", done=True)


# -- Cohere --------------------------------------------------------------------------------------


def _cohere_usage(row: Served) -> dict[str, Any]:
    counts = {"input_tokens": row.input, "output_tokens": row.output + row.thinking}
    return {"billed_units": counts, "tokens": counts}


def _cohere(script: Script, row: Served, limit: float, body: dict[str, Any]) -> Iterator[bytes]:
    content = [{"type": "text", "text": "".join(_words(row, limit))}]
    message = {"role": "assistant", "content": content}
    whole = {"id": "c1", "finish_reason": "COMPLETE", "message": message}
    yield json.dumps({**whole, "usage": _cohere_usage(row)}).encode()


def _cohere_stream(
    script: Script, row: Served, limit: float, body: dict[str, Any]
) -> Iterator[bytes]:
    def event(kind: str, **fields: Any) -> bytes:
        return _sse({"type": kind, **fields}, kind)

    yield event("message-start", id="c1", delta={"message": {"role": "assistant", "content": []}})
    begun = {"message": {"content": {"type": "text", "text": ""}}}
    yield event("content-start", index=0, delta=begun)
    for word in _words(row, limit):
        yield event("content-delta", index=0, delta={"message": {"content": {"text": word}}})
    yield event("content-end", index=0)
    yield event("message-end", delta={"finish_reason": "COMPLETE", "usage": _cohere_usage(row)})


_WRITERS: dict[str, tuple[_Make, _Make]] = {
    "chat": (_chat, _chat_stream),
    "responses": (_responses, _responses_stream),
    "messages": (_messages, _messages_stream),
    "gemini": (_gemini, _gemini_stream),
    "interactions": (_interactions, _interactions_stream),
    "ollama": (_ollama, _ollama_stream),
    "cohere": (_cohere, _cohere_stream),
}
