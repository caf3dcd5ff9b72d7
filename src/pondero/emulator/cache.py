"""The prompt cache of a service: what was read before is read again for less.

A plain rule for all: a prompt is a row of pieces (tools, system, the parts of every message), and
a beginning of at least 1,024 tokens may be found again, by the same model at the same level. Where
the caller marks beginnings, those are written and found; elsewhere all are found by themselves, in
steps of 128 tokens.
"""

from collections import deque
from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from ..canon import Json, Usage
from ..dialects import Accepted
from .tokens import Piece, pieces

_LEAST = 1_024
_STEP = 128
_KEPT = 10_000  # beginnings


class _Place(NamedTuple):
    """A beginning of a prompt: what it is known by, its tokens, and whether it is marked."""

    digest: bytes
    tokens: int
    marked: bool


class PromptCache:
    """What was read by one emulator, as digests."""

    def __init__(self) -> None:
        self._order: deque[bytes] = deque()
        self._seen: set[bytes] = set()

    def counted(self, accepted: Accepted[Json], usage: Usage, *, service: str) -> Usage:
        """Return the counts with what was read and written apart, and know it all from now on."""
        given = usage.input or 0
        if accepted.caches == "never" or given < _LEAST:
            return usage
        places = [place for place in _places(accepted, service) if place.tokens >= _LEAST]
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
        """Forget everything."""
        self._order.clear()
        self._seen.clear()

    def _keep(self, digest: bytes) -> None:
        if digest in self._seen:
            return
        self._seen.add(digest)
        self._order.append(digest)
        if len(self._order) > _KEPT:
            self._seen.discard(self._order.popleft())


def _places(accepted: Accepted[Json], service: str) -> Iterator[_Place]:
    """Yield every beginning of a prompt; each is bound to all before it, to model and level."""
    intent = accepted.intent
    seed = (service, accepted.request.model, intent.kind, intent.level, intent.tokens)
    digest, tokens = blake2b(msgspec.json.encode(seed), digest_size=16).digest(), 0
    for piece in pieces(accepted.request):
        digest = blake2b(digest + _said(piece), digest_size=16).digest()
        tokens += piece.tokens
        yield _Place(digest, tokens, _mark(piece) is not None)


def _mark(piece: Piece) -> object:
    return getattr(piece.value, "cache", None)


def _said(piece: Piece) -> bytes:
    """Return what a piece says; a mark may come and go."""
    value = (
        piece.value if _mark(piece) is None else msgspec.structs.replace(piece.value, cache=None)
    )
    return f"{piece.role}\0".encode() + msgspec.json.encode(value)
