"""``decode``: reads the raw bytes of an answer, of any dialect."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from ..canon import (
    Assembler,
    Event,
    LevelUpdate,
    Message,
    ResponseHead,
    Signature,
    ToolResult,
    Usage,
)
from ..dialects import NAMES, AnswerContext, Caller, get_dialect
from ..errors import BadParameter, PonderoError, ServiceError, WireError
from ..framing import UNREADABLE
from .strange_answer import score_dialects


class Decoded(Struct, frozen=True):
    """A decoded answer; ``error`` is set if it was cut, broken or an error.

    >>> said = b'{"role": "assistant", "content": "391"}'
    >>> body = b'{"model": "qwen3", "message": ' + said + b', "done": true}'
    >>> pondero.decode(body).message.text
    '391'
    """

    dialect: str
    message: Message
    model: str | None = None
    finish: str | None = None
    raw_finish: str | None = None
    usage: Usage | None = None
    error: PonderoError | None = None

    @property
    def text(self) -> str:
        """Return the visible text."""
        return self.message.text

    @property
    def thinking(self) -> str:
        """Return the readable thinking, with a blank line between its parts."""
        return self.message.thinking

    @property
    def seals(self) -> list[tuple[int, str, Signature]]:
        """Return the signatures to send back, each with its part's index and kind."""
        return [
            (place, str(part.__struct_config__.tag), part.signature)
            for place, part in enumerate(self.message.parts)
            if not isinstance(part, ToolResult | LevelUpdate) and part.signature is not None
        ]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; the keys are a stable contract."""
        calls = [
            {"id": c.id, "name": c.name, "arguments": c.arguments} for c in self.message.tool_calls
        ]
        seals = [
            {"part": n, "kind": kind, **msgspec.to_builtins(seal)} for n, kind, seal in self.seals
        ]
        return {
            "dialect": self.dialect,
            "model": self.model,
            "text": self.text,
            "thinking": [part.text for part in self.message.thinking_parts if part.text],
            "tool_calls": calls,
            "finish": self.finish,
            "raw_finish": self.raw_finish,
            "usage": self.usage.to_json() if self.usage else None,
            "seals": seals,
            "error": _describe_error(self.error) if self.error else None,
        }


def decode(
    data: bytes | bytearray | memoryview,
    *,
    dialect: str | None = None,
    stream: bool | None = None,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Decoded:
    """Decode a whole body or a stream; by default its bytes tell ``dialect`` and ``stream``.

    >>> said = b'{"role": "assistant", "content": "391"}'
    >>> body = b'{"model": "qwen3", "message": ' + said + b', "done": true}'
    >>> answer = pondero.decode(body)
    >>> answer.dialect, answer.text, answer.model
    ('ollama', '391', 'qwen3')
    """
    try:
        body = bytes(memoryview(data))
    except TypeError:
        message = f"decode takes bytes, not {type(data).__name__}; use text.encode()"
        raise BadParameter(message) from None
    streamed = _is_stream(body) if stream is None else stream
    name = dialect or _guess_dialect(body, streamed=streamed)
    head = ResponseHead(status, {key.lower(): value for key, value in (headers or {}).items()})
    assembler = Assembler()
    error = _feed(assembler, _iter_events(_find_caller(name), head, body, streamed=streamed))
    finished, started = assembler.finished, assembler.started
    return Decoded(
        dialect=name,
        message=assembler.message(),
        model=(finished.model if finished else None) or (started.model if started else None),
        finish=finished.finish if finished else None,
        raw_finish=finished.raw_finish if finished else None,
        usage=finished.usage if finished else None,
        error=error,
    )


def _iter_events(
    wire: Caller, head: ResponseHead, body: bytes, *, streamed: bool
) -> Iterator[Event]:
    if head.status >= 400:
        raise wire.error(head, body)
    if not streamed:
        yield from wire.decode(head, body, AnswerContext())
        return
    reader = wire.stream(head, AnswerContext())
    yield from reader.feed(body)
    yield from reader.eof()


def _feed(assembler: Assembler, events: Iterator[Event]) -> PonderoError | None:
    try:
        for event in events:
            assembler.feed(event)
    except (ServiceError, WireError) as error:
        return error
    return None


def _find_caller(name: str) -> Caller:
    if name not in NAMES:
        raise BadParameter(f"unknown dialect {name!r}; use {' '.join(NAMES)}")
    return get_dialect(name).caller()


def _is_stream(body: bytes) -> bool:
    try:
        whole = msgspec.json.decode(body)
    except UNREADABLE:
        return True
    return isinstance(whole, list) and len(whole) > 1


def _guess_dialect(body: bytes, *, streamed: bool) -> str:
    scores = score_dialects(body, streamed=streamed)
    best = max(scores, key=lambda name: scores[name])
    if not scores[best]:
        names = " ".join(NAMES)
        message = f"the API of this data was not recognised; name it (--dialect D): {names}"
        raise BadParameter(message)
    return best


def _describe_error(error: PonderoError) -> dict[str, Any]:
    said = error if isinstance(error, ServiceError) else None
    return {
        "type": type(error).__name__,
        "category": error.category,
        "status": said.status if said else None,
        "code": said.code if said else None,
        "message": str(error),
        "retry_after": said.retry_after if said else None,
    }
