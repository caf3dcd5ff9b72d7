"""What a tool call lacks on some wires: an id, or arguments that are JSON."""

from msgspec import DecodeError
from msgspec.json import Decoder

from .parts import Json

_OBJECT = Decoder(dict[str, Json])


def minted(mark: bytes) -> str:
    """Return an id for a call that came without one: 22 characters, the same for the same mark."""
    from base64 import urlsafe_b64encode  # noqa: PLC0415 - few calls lack an id
    from hashlib import blake2b  # noqa: PLC0415 - loads OpenSSL

    return urlsafe_b64encode(blake2b(mark, digest_size=16).digest())[:22].decode()


def arguments_of(text: str) -> Json:
    """Return a call's arguments: an object, or the text itself where it is none."""
    if text in ("", "null"):
        return {}
    try:
        return _OBJECT.decode(text)
    except (DecodeError, UnicodeError, RecursionError):
        return text
