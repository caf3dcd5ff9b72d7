"""Item ids and sealed thinking that the emulated service can recognise again.

Real ids of one answer share a stem, and real sealed thinking is opaque; here both carry a keyed
digest, so that a changed or foreign one is told apart from the request alone, with nothing stored.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Sequence
from hashlib import blake2b

import msgspec
from msgspec import Struct

from pondero.canon import Json, Part, Thinking, decode_json
from pondero.dialects.dialect import Signer

_KEY = b"pondero emulator, not a secret"
_NO_THOUGHT = 0xFFFF
_ID = re.compile(r"([a-z]+)_([0-9a-f]{16})([0-9a-f]{4})([0-9a-f]{4})([01])([0-9a-f]{8})")
_OPENING = "gAAAAA"


class Mark(Struct, frozen=True):
    """What an id holds: the answer, the place in it, the thinking before it, stored or not."""

    stem: str
    place: int
    thought: int | None
    stored: bool


class Sealed(Struct, frozen=True):
    """What is inside sealed thinking."""

    id: str
    text: str
    model: str


def stem_of(seed: bytes) -> str:
    """Return the stem that all ids of one answer share."""
    return blake2b(seed, key=_KEY, digest_size=8).hexdigest()


def sealer(seed: bytes, *, model: str, stored: bool) -> Signer:
    """Return the sealer of one answer: it fills ``encrypted_content`` of thinking.

    The sealed text holds the id of its item: neither is accepted together with another.
    """
    stem = stem_of(seed)

    def sealed(part: Part, _shown: str, before: Sequence[Json], /) -> Json | None:
        if not isinstance(part, Thinking):
            return None
        id = issue("rs", Mark(stem, len(before), None, stored))
        return seal(Sealed(id, part.text, model))

    return sealed


def issue(prefix: str, mark: Mark) -> str:
    """Return the id that holds this mark."""
    thought = _NO_THOUGHT if mark.thought is None else mark.thought
    said = f"{mark.stem}{thought:04x}{mark.place & 0xFFFF:04x}{int(mark.stored)}"
    return f"{prefix}_{said}{_digest(prefix + said, 4).hex()}"


def recognise(id: str) -> Mark | None:
    """Return what an id holds; None where it was not issued here."""
    found = _ID.fullmatch(id)
    if found is None:
        return None
    prefix, stem, thought, place, stored, digest = found.groups()
    if _digest(f"{prefix}{stem}{thought}{place}{stored}", 4).hex() != digest:
        return None
    after = int(thought, 16)
    return Mark(stem, int(place, 16), None if after == _NO_THOUGHT else after, stored == "1")


def seal(sealed: Sealed) -> str:
    """Return the text of sealed thinking."""
    inside = msgspec.json.encode(sealed)
    return _OPENING + urlsafe_b64encode(_digest(inside.decode(), 16) + inside).decode()


def unseal(text: str) -> Sealed | None:
    """Return what sealed thinking holds; None where it was changed or not sealed here."""
    if not text.startswith(_OPENING):
        return None
    try:
        raw = urlsafe_b64decode(text.removeprefix(_OPENING).encode("ascii"))
        inside = raw[16:].decode()
        if _digest(inside, 16) != raw[:16]:
            return None
        return decode_json(inside, Sealed)
    except (NotBase64, UnicodeError, msgspec.DecodeError):
        return None


def _digest(text: str, size: int) -> bytes:
    return blake2b(text.encode(), key=_KEY, digest_size=size).digest()
