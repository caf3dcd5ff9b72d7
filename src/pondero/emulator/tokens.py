"""Counts tokens (four bytes each) and emulates the prompt cache.

The cache finds a prefix of at least 1,024 tokens for the same model and level: at the caller's
breakpoints, else in steps of 128 tokens.
"""

from collections import deque
from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

import msgspec
from msgspec.json import encode

from ..canon import (
    Blob,
    Image,
    Json,
    Part,
    Request,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
    UnknownPart,
    Usage,
)
from ..dialects import AcceptedRequest

BYTES = 4
_MEDIUM = 258  # Gemini's count for an image; any number would do
_ENVELOPE = 3  # a message's role and its borders


def count_tokens(text: str) -> int:
    """Count the tokens of a text."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES)


def clip(text: str, tokens: int) -> str:
    """Cut a text to a number of tokens."""
    data = text.encode("utf-8", "replace")[: max(tokens, 0) * BYTES]
    return data.decode("utf-8", "ignore")


class CountedPiece(NamedTuple):
    """A tool, a text of the system prompt or a part of a message, and its tokens."""

    role: str
    value: Tool | Part
    tokens: int


def count_request(request: Request) -> int:
    """Count the tokens of a request."""
    empty = sum(not message.parts for message in request.messages)
    return sum(piece.tokens for piece in pieces(request)) + empty * _ENVELOPE


def pieces(request: Request) -> Iterator[CountedPiece]:
    """Yield the pieces of a request; a message's envelope counts with its first part."""
    for tool in request.tools:
        words = count_tokens(tool.name + tool.description)
        yield CountedPiece("tool", tool, words + _json(tool.parameters or tool.raw))
    for text in request.system:
        yield CountedPiece("system", text, _part(text))
    for message in request.messages:
        for number, part in enumerate(message.parts):
            yield CountedPiece(message.role, part, _part(part) + (0 if number else _ENVELOPE))


def count_call(call: ToolCall) -> int:
    """Count the tokens of a call."""
    return count_tokens(call.name) + _json(call.arguments)


def _part(part: Part) -> int:
    match part:
        case Text() | Thinking():
            return count_tokens(part.text)
        case ToolCall():
            return count_call(part)
        case ToolResult():
            return sum(map(_part, part.content))
        case Image() | Blob():
            return _MEDIUM
        case UnknownPart():
            return _json(part.raw)


def _json(value: Json) -> int:
    return 0 if value is None else -(-len(encode(value)) // BYTES)


_LEAST = 1_024
_STEP = 128
_KEPT = 10_000  # beginnings


class _Place(NamedTuple):
    """A prefix of a prompt; ``marked`` if the caller set a breakpoint there."""

    digest: bytes
    tokens: int
    marked: bool


class PromptCache:
    """The digests of prompt prefixes that one emulator has seen."""

    def __init__(self) -> None:
        self._order: deque[bytes] = deque()
        self._seen: set[bytes] = set()

    def apply(self, accepted: AcceptedRequest[Json], usage: Usage, *, provider: str) -> Usage:
        """Split cache reads and writes off the usage, and store the prompt."""
        given = usage.input or 0
        if accepted.caches == "never" or given < _LEAST:
            return usage
        places = [place for place in _places(accepted, provider) if place.tokens >= _LEAST]
        marked = accepted.caches == "marked"
        if marked:
            places = [place for place in places if place.marked]
        read = max((place.tokens for place in places if place.digest in self._seen), default=0)
        for place in places:
            self._keep(place.digest)
        if not marked:
            read -= read % _STEP
            return msgspec.structs.replace(usage, input=given - read, cache_read=read)
        written = max((place.tokens for place in places), default=0) - read
        return msgspec.structs.replace(
            usage, input=given - read - written, cache_read=read, cache_write=written
        )

    def clear(self) -> None:
        """Remove all prefixes."""
        self._order.clear()
        self._seen.clear()

    def _keep(self, digest: bytes) -> None:
        if digest in self._seen:
            return
        self._seen.add(digest)
        self._order.append(digest)
        if len(self._order) > _KEPT:
            self._seen.discard(self._order.popleft())


def _places(accepted: AcceptedRequest[Json], provider: str) -> Iterator[_Place]:
    intent = accepted.intent
    seed = (provider, accepted.request.model, intent.kind, intent.level, intent.tokens)
    digest, tokens = blake2b(msgspec.json.encode(seed), digest_size=16).digest(), 0
    for piece in pieces(accepted.request):
        digest = blake2b(digest + _encode_piece(piece), digest_size=16).digest()
        tokens += piece.tokens
        yield _Place(digest, tokens, _find_breakpoint(piece) is not None)


def _find_breakpoint(piece: CountedPiece) -> object:
    return getattr(piece.value, "cache", None)


def _encode_piece(piece: CountedPiece) -> bytes:
    value = (
        piece.value
        if _find_breakpoint(piece) is None
        else msgspec.structs.replace(piece.value, cache=None)
    )
    return f"{piece.role}\0".encode() + msgspec.json.encode(value)
