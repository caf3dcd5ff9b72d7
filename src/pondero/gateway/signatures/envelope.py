"""Envelopes: parts of an answer that only the gateway understands, as a text for the client.

Padded standard base64, which some SDKs check; clients may return it URL-safe or unpadded.
"""

import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator

from msgspec import MsgspecError, Struct, field

from ...canon import Json, Origin, Part, Signature, dump_json, load_json

DIALECT = "pondero"
"""The dialect of a signature whose value is an envelope."""

_MARK = b"pndEv1"
_OPENING = b64encode(_MARK).decode()  # six bytes are eight characters: the start of every envelope

# Maximum inflated size: a few kilobytes of deflate can contain gigabytes of zeros.
_RATIO = 64
_LEAST = 1 << 16


class EnvelopeThinking(Struct, frozen=True, omit_defaults=True, tag="thinking", tag_field="is"):
    """Thinking at its place in the answer; ``text`` None: the client stores it itself."""

    at: int
    signature: Signature | None = field(default=None, name="seal")
    redacted: bool = False
    text: str | None = None


class EnvelopeCall(Struct, frozen=True, omit_defaults=True, tag="call", tag_field="is"):
    """A tool call: ``id`` is the client's, ``own`` the model's."""

    at: int
    id: str
    own: str
    name: str
    signature: Signature | None = field(default=None, name="seal")
    minted: bool = False


class EnvelopeText(Struct, frozen=True, omit_defaults=True, tag="text", tag_field="is"):
    """The signature of a text; ``number`` counts the answer's texts as the client sees them."""

    at: int
    number: int
    signature: Signature | None = field(default=None, name="seal")


class EnvelopeHidden(Struct, frozen=True, omit_defaults=True, tag="part", tag_field="is"):
    """A part that the client does not see."""

    at: int
    part: Part


Entry = EnvelopeThinking | EnvelopeCall | EnvelopeText | EnvelopeHidden


class Envelope(Struct, frozen=True, omit_defaults=True):
    """The origin of an answer, its id, and entries for its parts."""

    origin: Origin
    answer: str
    entries: tuple[Entry, ...] = ()


def pack_envelope(envelope: Envelope) -> str:
    """Return an envelope as text, the same every time."""
    value = dump_json(envelope).encode()
    data = _deflate(value, 6)
    if len(value) > _max_inflated(len(data)):  # ``open_envelope`` would take it for a bomb
        data = _deflate(value, 0)
    return b64encode(_MARK + data).decode()


def contains_envelope(body: bytes) -> bool:
    """Return whether a body contains something like an envelope."""
    return _OPENING.encode() in body


def open_envelope(text: str) -> Envelope | None:
    """Return the envelope in a text; None for any other text, however broken."""
    if not text.startswith(_OPENING):
        return None
    try:
        standard = text.rstrip("=").replace("-", "+").replace("_", "/").encode("ascii")
        data = b64decode(standard + b"=" * (-len(standard) % 4), validate=True)[len(_MARK) :]
        value = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, _max_inflated(len(data)))
        return load_json(value, Envelope)  # fails if it was cut off
    except (MsgspecError, RecursionError, ValueError, zlib.error):
        return None


def iter_envelopes(value: Json) -> Iterator[str]:
    """Yield the texts in a signature's value that look like envelopes."""
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
