"""Renders a prompt as services do, and finds the places at which its prefix can be cached."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import NamedTuple, get_args

import msgspec
from msgspec.structs import replace

from ..canon import CacheBreakpoint, Json, Message, Request, Text, Thinking, ToolResult, UnknownPart
from ..dialects import AcceptedRequest, Layer, PromptPrefix
from .tokens import BYTES, CountedPiece, iter_pieces

_LEAST_STEP = 128  # tokens between two places inside a text
_LAYERS: tuple[Layer, ...] = get_args(Layer)


class CachePlace(NamedTuple):
    """The end of a prefix; ``mark``: the breakpoint there, ``block``: the block that it ends.

    A place inside a block has the number of that block, and ``ends`` is false.
    """

    digest: bytes
    tokens: int
    block: int
    ends: bool
    layer: Layer
    mark: CacheBreakpoint | None = None


def find_places(
    accepted: AcceptedRequest[Json], prefix: PromptPrefix, provider: str
) -> list[CachePlace]:
    """Return the places of a prompt from its beginning on; breakpoints are on their blocks."""
    rules = prefix.rules
    step = 0 if rules.how == "breakpoints" else max(rules.step, _LEAST_STEP) * BYTES
    chain = _Chain(make_digest(provider, prefix.account, accepted.request.model), step)
    by_layer = _arrange(accepted.request, prefix)
    updates = sorted(prefix.updates.items())
    for layer in _LAYERS:
        chain.add_setting(layer, select_settings(prefix, layer))
        for piece in by_layer[layer]:
            while layer == "messages" and updates and updates[0][0] <= piece.number:
                chain.add_setting(layer, updates.pop(0)[1])
            chain.add_piece(*take_mark(piece, prefix.mark_field))
    return _mark_end(chain.places, prefix.end)


def select_settings(prefix: PromptPrefix, layer: Layer) -> Json:
    """Return the settings that are rendered in front of a layer."""
    renders = prefix.rules.renders
    return [[name, prefix.settings.get(name)] for name, at in renders.items() if at == layer]


def make_digest(*values: Json) -> bytes:
    """Return the digest of some values."""
    return blake2b(msgspec.json.encode(values), digest_size=16).digest()


def make_piece_digest(piece: CountedPiece) -> bytes:
    """Return the digest of a piece."""
    return _extend(b"", _encode(piece))


class _Chain:
    """Digests a prompt piece by piece; ``step``: bytes between two places inside a text."""

    def __init__(self, seed: bytes, step: int) -> None:
        self.places: list[CachePlace] = []
        self._digest = seed
        self._step = step
        self._tokens = self._block = 0

    def add_setting(self, layer: Layer, value: Json) -> None:
        self._digest = make_digest(self._digest.hex(), layer, value)

    def add_piece(self, piece: CountedPiece, mark: CacheBreakpoint | None) -> None:
        if _is_empty(piece):
            if mark is not None and self.places:
                self.places[-1] = self.places[-1]._replace(mark=mark)
            return
        text, rest = _split_text(piece) if self._step else (b"", _encode(piece))
        if text:
            self._digest = _extend(self._digest, f"{piece.role}\0{piece.envelope}\0".encode())
        begun = self._tokens + piece.envelope
        for end in range(self._step, len(text), self._step) if self._step else ():
            self._digest = _extend(self._digest, text[end - self._step : end])
            self._place(piece.layer, begun + end // BYTES, ends=False)
        left = text[(len(text) - 1) // self._step * self._step :] if text else b""
        self._digest = _extend(self._digest, left + rest)
        self._tokens += piece.tokens
        self._place(piece.layer, self._tokens, ends=True, mark=mark)
        self._block += 1

    def _place(
        self, layer: Layer, tokens: int, *, ends: bool, mark: CacheBreakpoint | None = None
    ) -> None:
        self.places.append(CachePlace(self._digest, tokens, self._block, ends, layer, mark))


def _extend(digest: bytes, data: bytes) -> bytes:
    return blake2b(digest + data, digest_size=16).digest()


def _arrange(request: Request, prefix: PromptPrefix) -> Mapping[Layer, list[CountedPiece]]:
    searches = prefix.rules.renders.get("web_search", "tools")
    names = frozenset(prefix.settings.get("web_search") or ())
    hidden = _find_spoken(request.messages) if prefix.rules.strips(request.model) else 0
    found: dict[Layer, list[CountedPiece]] = {layer: [] for layer in _LAYERS}
    for piece in iter_pieces(request):
        if isinstance(piece.value, Thinking) and piece.number < hidden:
            continue
        late = piece.layer == "tools" and getattr(piece.value, "name", None) in names
        found[searches if late else piece.layer].append(piece)
    return found


def _find_spoken(messages: tuple[Message, ...]) -> int:
    """Return the number of the last message in which the user says something new."""
    spoken = (
        number
        for number in reversed(range(len(messages)))
        if messages[number].role == "user"
        and any(not isinstance(part, ToolResult) for part in messages[number].parts)
    )
    return next(spoken, 0)


# -- breakpoints ---------------------------------------------------------------------------------


def take_mark(piece: CountedPiece, field: str) -> tuple[CountedPiece, CacheBreakpoint | None]:
    """Return a piece without its breakpoint, and the breakpoint: moving one changes no prompt."""
    value = piece.value
    mark: CacheBreakpoint | None = getattr(value, "cache", None)
    if mark is not None:
        piece = piece._replace(value=replace(value, cache=None))
    raw: Json = getattr(value, "raw", None)
    if field and isinstance(raw, dict) and field in raw:
        ttl = raw[field].get("ttl") if isinstance(raw[field], dict) else None
        mark = mark or CacheBreakpoint(ttl)
        left = {name: inner for name, inner in raw.items() if name != field}
        piece = piece._replace(value=replace(piece.value, raw=left))
    if isinstance(value, ToolResult):
        inner = [part for part in value.content if getattr(part, "cache", None) is not None]
        if inner:
            content = tuple(
                replace(part, cache=None) if part in inner else part for part in value.content
            )
            mark = mark or getattr(inner[-1], "cache", None)
            piece = piece._replace(value=replace(piece.value, content=content))
    return piece, mark


def _mark_end(places: list[CachePlace], mark: CacheBreakpoint | None) -> list[CachePlace]:
    """Set a breakpoint on the last block, unless it has one."""
    if mark is not None and places and places[-1].mark is None:
        places[-1] = places[-1]._replace(mark=mark)
    return places


def _is_empty(piece: CountedPiece) -> bool:
    return isinstance(piece.value, UnknownPart) and piece.value.raw == {}


# -- bytes ---------------------------------------------------------------------------------------


def _split_text(piece: CountedPiece) -> tuple[bytes, bytes]:
    """Return a text and the rest of its piece; for all but texts, the whole piece is the rest."""
    value = piece.value
    if not isinstance(value, Text):
        return b"", _encode(piece)
    bare = piece._replace(value=replace(value, text=""))
    return value.text.encode("utf-8", "replace"), _encode(bare)


def _encode(piece: CountedPiece) -> bytes:
    head = f"{piece.role}\0{piece.envelope}\0".encode()
    try:
        return head + msgspec.json.encode(piece.value)
    except UnicodeEncodeError:  # a lone surrogate
        return head + repr(piece.value).encode("utf-8", "replace")
