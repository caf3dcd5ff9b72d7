"""Envelopes: parts of an answer that only the gateway understands, as a text for the client.

An envelope is encrypted and authenticated with a secret of the gateway, and bound to the client
that got it. Padded standard base64, which some SDKs check; clients may return it URL-safe or
unpadded. Its bytes: a mark, the id of the secret, and AES-SIV (RFC 5297) of deflated JSON.

AES-SIV needs no nonce: one secret serves all replicas for years, where random nonces of 96 bits
would have to be replaced after 2**32 envelopes, and the same answer always has the same envelope.
Equal envelopes have equal contents, which is no news to a client: the id of the answer is inside.
Its length tells no more of the thinking than the token counts do, so it may be compressed.
"""

import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import MsgspecError, Struct, field

from ...canon import Json, Origin, Part, Signature, dump_json, load_json
from ...errors import MissingExtra
from ...extras import install_hint
from ...framing import parse_json_or_none
from ..requests.split_body import SplitBody, make_search

DIALECT = "pondero"
"""The dialect of a signature whose value is an envelope."""

# Six bytes are eight characters: the start of every envelope, in either alphabet of base64.
_MARK = b"pndEv2"
_PLAIN_MARK = b"pndEv1"  # neither encrypted nor authenticated, as gateways made them before
_OPENINGS = tuple(b64encode(mark).decode() for mark in (_MARK, _PLAIN_MARK))
_OPENING_BYTES = tuple(opening.encode() for opening in _OPENINGS)

_COMMON_TEXT = _OPENINGS[0][:7]  # of both
_COMMON = _COMMON_TEXT.encode()

_ID_SIZE = 3  # bytes of a secret's id: four characters
_KEY_SIZE = 64  # bytes, for AES-256 in both halves of SIV
_SECRET_ID = re.compile(rb"%b([A-Za-z0-9+/_-]{4})" % _OPENING_BYTES[0])
# A character of a mark as a JSON escape, which no client writes without a purpose.
_ESCAPED = re.compile(
    rb"\\u00(?:%b)"
    % b"|".join(b"%02x" % code for code in sorted(set("".join(_OPENINGS).encode()))),
    re.IGNORECASE,
)

# Maximum inflated size: a few kilobytes of deflate can contain gigabytes of zeros.
_RATIO = 64
_LEAST = 1 << 16
_SMALL_MEMORY = 5  # of zlib, for a value that is shorter than its usual window


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


class EnvelopeCipher:
    """Makes envelopes with the first of some secrets, and opens those made with any of them."""

    def __init__(self, secrets: Sequence[str]) -> None:
        derived = [_derive_key(secret) for secret in secrets]
        self._id = derived[0][0]
        self._ciphers: Mapping[bytes, Any] = dict(reversed(derived))

    def encrypt(self, data: bytes, client: str) -> bytes:
        """Return the bytes of an envelope for a client."""
        head = _MARK + self._id
        closed: bytes = self._ciphers[self._id].encrypt(data, [head, client.encode()])
        return head + closed

    def decrypt(self, data: bytes, client: str) -> bytes | None:
        """Return what is in an envelope; None if this gateway did not make it for this client."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - an extra

        start = len(_MARK) + _ID_SIZE
        head = data[:start]
        cipher = self._ciphers.get(head[len(_MARK) :])
        if cipher is None:
            return None
        try:
            opened: bytes = cipher.decrypt(data[start:], [head, client.encode()])
        except InvalidTag:
            return None
        return opened

    def knows_secrets(self, body: bytes) -> bool:
        """Return whether it has the secrets of all envelopes in a body."""
        if not make_search(body)(_COMMON):
            return True
        lacks = self._lacks_secret
        return not (body.has(lacks) if isinstance(body, SplitBody) else lacks(body))

    def _lacks_secret(self, text: bytes) -> bool:
        for found in _SECRET_ID.finditer(text):
            if b64decode(found[1].translate(_STANDARD)) not in self._ciphers:
                return True
        return False


class ClientEnvelopes(Struct, eq=False):
    """The envelopes of one client.

    ``accepts_plain``: also read those that are neither encrypted nor bound to a client.
    """

    _cipher: EnvelopeCipher
    _client: str
    accepts_plain: bool = False

    @property
    def key(self) -> Hashable:
        """Return what decides which envelopes open, and to what; equal keys open the same."""
        return self._cipher, self._client, self.accepts_plain

    def pack(self, envelope: Envelope) -> str:
        """Return an envelope as text, the same every time."""
        value = dump_json(envelope).encode()
        data = _deflate(value, 6)
        if len(value) > _max_inflated(len(data)):  # ``open`` would take it for a bomb
            data = _deflate(value, 0)
        return b64encode(self._cipher.encrypt(data, self._client)).decode()

    def open(self, text: str) -> Envelope | None:
        """Return the envelope in a text; None for any other text, however broken or foreign."""
        if not text.startswith(_OPENINGS):
            return None
        try:
            standard = text.rstrip("=").encode("ascii").translate(_STANDARD)
            data = self._read(b64decode(standard + b"=" * (-len(standard) % 4), validate=True))
            if data is None:
                return None
            value = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, _max_inflated(len(data)))
            return load_json(value, Envelope)  # fails if it was cut off
        except (MsgspecError, RecursionError, ValueError, zlib.error):
            return None

    def _read(self, data: bytes) -> bytes | None:
        if data.startswith(_MARK):
            return self._cipher.decrypt(data, self._client)
        return data[len(_PLAIN_MARK) :] if self.accepts_plain else None


_STANDARD = bytes.maketrans(b"-_", b"+/")


@lru_cache(maxsize=64)
def _derive_key(secret: str) -> tuple[bytes, Any]:
    """Return the id of a secret, which is public, and its cipher."""
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV  # noqa: PLC0415 - an extra
        from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415 - an extra
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: PLC0415 - an extra
    except ImportError:
        message = f"envelopes need cryptography; {install_hint('gateway')}"
        raise MissingExtra(message) from None
    derive = HKDF(SHA256(), length=_ID_SIZE + _KEY_SIZE, salt=None, info=b"pondero envelope 2")
    made = derive.derive(secret.encode())
    return made[:_ID_SIZE], AESSIV(made[_ID_SIZE:])


def contains_envelope(body: bytes) -> bool:
    """Return whether a body of JSON contains something like an envelope."""
    # One search of a long body; the rest is rare.
    contains = make_search(body)
    if contains(_COMMON) and any(map(contains, _OPENING_BYTES)):
        return True
    if not contains(b"\\u00") or not _ESCAPED.search(body):
        return False
    return any(iter_envelopes(parse_json_or_none(body)))


def iter_envelopes(value: Json) -> Iterator[str]:
    """Yield the texts in a signature's value that contain something like an envelope.

    One with anything before its mark is no signature either: no service made it.
    """
    for text in iter_strings(value):
        if _COMMON_TEXT in text and any(opening in text for opening in _OPENINGS):
            yield text


def has_envelope(value: Json) -> bool:
    """Return whether a text in a part begins like an envelope; a prompt may quote one inside."""
    return any(text.startswith(_OPENINGS) for text in iter_strings(value))


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
    # The usual window takes 256 KiB to prepare, which is most of the work for a short value.
    window = min(zlib.MAX_WBITS, max(9, len(value).bit_length()))
    memory = zlib.DEF_MEM_LEVEL if window == zlib.MAX_WBITS else _SMALL_MEMORY
    deflate = zlib.compressobj(level, wbits=-window, memLevel=memory)
    return deflate.compress(value) + deflate.flush()


def _max_inflated(size: int) -> int:
    return max(_LEAST, size * _RATIO)
