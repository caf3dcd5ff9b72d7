"""Item ids and encrypted thinking, recognised without a store by the keyed digest they carry."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Sequence
from hashlib import blake2b

import msgspec
from msgspec import Struct

from pondero.canon import EMULATED, EMULATED_ID, Json, Part, Thinking, decode_json
from pondero.dialects.dialect import Signer

_KEY = b"pondero emulator, not a secret"
_STEM = blake2b(key=_KEY, digest_size=8)  # a copy is made sooner than one with the key
_SHORT = blake2b(key=_KEY, digest_size=4)
_NO_THOUGHT = 0xFFFF
_ID = re.compile(
    rf"([a-z]+)_((?:{EMULATED_ID})?[0-9a-f]{{16}})([0-9a-f]{{4}})([0-9a-f]{{4}})([01])([0-9a-f]{{8}})"
)
_BEGINNING = "gAAAAA"
_OPENING = f"{_BEGINNING}{EMULATED}"


class ItemId(Struct, frozen=True):
    """The content of an id: the answer, the place in it, the thinking before it, stored or not."""

    stem: str
    place: int
    thought: int | None
    stored: bool


class ThinkingContent(Struct, frozen=True):
    """The content of encrypted thinking."""

    id: str
    text: str
    model: str


def stem_of(seed: bytes, *, emulated: bool = False) -> str:
    """Return the stem that all ids of one answer share; in the emulator's items with its mark."""
    digest = _STEM.copy()
    digest.update(seed)
    stem = digest.hexdigest()
    return f"{EMULATED_ID}{stem}" if emulated else stem


def make_signer(seed: bytes, *, model: str, stored: bool) -> Signer:
    """Return a signer that fills ``encrypted_content``, which is valid only with its item's id."""
    stem = stem_of(seed, emulated=True)

    def sign(part: Part, _shown: str, before: Sequence[Json], /) -> Json | None:
        if not isinstance(part, Thinking):
            return None
        id = write_id("rs", ItemId(stem, len(before), None, stored))
        return encrypt(ThinkingContent(id, part.text, model))

    return sign


def write_id(prefix: str, item_id: ItemId) -> str:
    """Write an id; ``prefix`` names the type of the item."""
    after = item_id.thought
    thought = after if after is not None and after < _NO_THOUGHT else _NO_THOUGHT
    places = (thought << 16 | item_id.place & 0xFFFF).to_bytes(4).hex()
    text = f"{item_id.stem}{places}{'1' if item_id.stored else '0'}"
    return f"{prefix}_{text}{_check(prefix + text)}"


def parse_id(id: str) -> ItemId | None:
    """Parse an id; None if this service did not issue it."""
    found = _ID.fullmatch(id)
    if found is None:
        return None
    prefix, stem, thought, place, stored, digest = found.groups()
    if _check(f"{prefix}{stem}{thought}{place}{stored}") != digest:
        return None
    after = int(thought, 16)
    return ItemId(stem, int(place, 16), None if after == _NO_THOUGHT else after, stored == "1")


def encrypt(content: ThinkingContent) -> str:
    """Return the text for ``encrypted_content``."""
    inside = msgspec.json.encode(content)
    return _OPENING + urlsafe_b64encode(_digest(inside.decode()) + inside).decode()


def decrypt(text: str) -> ThinkingContent | None:
    """Read ``encrypted_content``; None if it was changed or comes from another service."""
    # Histories on disk have content from before the emulator's mark.
    opening = _OPENING if text.startswith(_OPENING) else _BEGINNING
    if not text.startswith(opening):
        return None
    try:
        raw = urlsafe_b64decode(text.removeprefix(opening).encode("ascii"))
        inside = raw[16:].decode()
        if _digest(inside) != raw[:16]:
            return None
        return decode_json(inside, ThinkingContent)
    except (NotBase64, UnicodeError, msgspec.DecodeError):
        return None


def _check(text: str) -> str:
    """Return the digits that tell an id of ours from others."""
    digest = _SHORT.copy()
    digest.update(text.encode())
    return digest.hexdigest()


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), key=_KEY, digest_size=16).digest()
