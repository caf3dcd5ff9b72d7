"""The envelope: what a client keeps for us of an answer, as a text in a slot of its own wire.

The carrier packs envelopes, and ``returned`` opens them when the client sends the answer back. A
back never sees one. The text is padded base64 of the standard alphabet, because some SDKs check
that much; it may come back in the other alphabet, or without padding.
"""

import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator

from msgspec import MsgspecError, Struct, field

from ...canon import Json, Origin, Part, Signature, dump_json, load_json

DIALECT = "pondero"
"""The dialect of a seal whose value is an envelope: see ``carried``."""

_MARK = b"pndEv1"
_OPENING = b64encode(_MARK).decode()  # six bytes are eight characters: every envelope begins so

# What a text may be inflated to. A few kilobytes of deflate can hold gigabytes of zeros.
_RATIO = 64
_LEAST = 1 << 16


class EnvelopeThinking(Struct, frozen=True, omit_defaults=True, tag="thinking", tag_field="is"):
    """A part of thinking; ``at`` is its place in the answer.

    ``text`` is None where the client has the text beside the slot.
    """

    at: int
    signature: Signature | None = field(default=None, name="seal")
    redacted: bool = False
    text: str | None = None


class EnvelopeCall(Struct, frozen=True, omit_defaults=True, tag="call", tag_field="is"):
    """A tool call: ``id`` is what the client calls it, ``own`` what its maker does."""

    at: int
    id: str
    own: str
    name: str
    signature: Signature | None = field(default=None, name="seal")
    minted: bool = False


class EnvelopeText(Struct, frozen=True, omit_defaults=True, tag="text", tag_field="is"):
    """The seal of a text; ``number`` counts the texts of the answer as the client sees them."""

    at: int
    number: int
    signature: Signature | None = field(default=None, name="seal")


class EnvelopeHidden(Struct, frozen=True, omit_defaults=True, tag="part", tag_field="is"):
    """A part that the client is not shown."""

    at: int
    part: Part


Entry = EnvelopeThinking | EnvelopeCall | EnvelopeText | EnvelopeHidden


class Envelope(Struct, frozen=True, omit_defaults=True):
    """Who answered, a mark of the answer, and what is kept of its parts."""

    origin: Origin
    answer: str
    entries: tuple[Entry, ...] = ()


def pack_envelope(envelope: Envelope) -> str:
    """Return an envelope as text, the same every time."""
    value = dump_json(envelope).encode()
    data = _deflate(value, 6)
    if len(value) > _max_inflated(
        len(data)
    ):  # so regular that ``open_envelope`` would take it for a bomb
        data = _deflate(value, 0)
    return b64encode(_MARK + data).decode()


def contains_envelope(body: bytes) -> bool:
    """Return whether a body has anything in it that looks like an envelope."""
    return _OPENING.encode() in body


def open_envelope(text: str) -> Envelope | None:
    """Return the envelope that a text is; None for any other text, however broken."""
    if not text.startswith(_OPENING):
        return None
    try:
        standard = text.rstrip("=").replace("-", "+").replace("_", "/").encode("ascii")
        data = b64decode(standard + b"=" * (-len(standard) % 4), validate=True)[len(_MARK) :]
        value = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, _max_inflated(len(data)))
        return load_json(value, Envelope)  # which fails where it was cut
    except (MsgspecError, RecursionError, ValueError, zlib.error):
        return None


def iter_envelopes(value: Json) -> Iterator[str]:
    """Yield the texts in the value of a seal that look like envelopes, wherever they stand."""
    return (text for text in iter_strings(value) if text.startswith(_OPENING))


def iter_strings(value: Json) -> Iterator[str]:
    """Yield all strings in a value, in order."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case list() as several:
                waiting += reversed(several)
            case dict() as fields:
                waiting += reversed(fields.values())


def _deflate(value: bytes, level: int) -> bytes:
    deflate = zlib.compressobj(level, wbits=-zlib.MAX_WBITS)
    return deflate.compress(value) + deflate.flush()


def _max_inflated(size: int) -> int:
    return max(_LEAST, size * _RATIO)
