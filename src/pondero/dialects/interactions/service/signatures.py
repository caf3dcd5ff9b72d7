"""Thought signatures: opaque, bound to the deployment, and not those of generateContent."""

import base64
import binascii
import hashlib
from collections.abc import Sequence

import msgspec

from pondero.canon import EMULATED, Json, LevelUpdate, Part, Thinking, ToolResult
from pondero.dialects.dialect import Signer

from .types import NAME

_SECRET = b"pondero emulator: signatures of interactions"
_MARK = b"\x0a\x24\x01" + base64.b64decode(EMULATED)
_NONCE = 16
_STAND_INS = (b"skip_thought_signature_validator", b"context_engineering_is_the_way_to_go")


def make_signer(provider: str, model: str) -> Signer:
    """Return the signer of one answer: it signs every thought, and nothing else."""

    def sign_part(part: Part, _shown: str, before: Sequence[Json], /) -> Json | None:
        own = None if isinstance(part, ToolResult | LevelUpdate) else part.signature
        if own is not None and own.dialect == NAME:
            return own.value
        if not isinstance(part, Thinking):
            return None
        return sign(provider, msgspec.json.encode([model, part, len(before)]).decode())

    return sign_part


def sign(provider: str, *about: str) -> str:
    """Return a signature of this deployment; the same for the same words."""
    said = "\0".join(about).encode("utf-8", "replace")
    nonce = hashlib.blake2b(said, digest_size=_NONCE).digest()
    return base64.b64encode(_MARK + nonce + _proof(provider, nonce)).decode()


def verify_signature(signature: str, provider: str) -> bool:
    """Return whether this deployment made a signature, or it is a known stand-in."""
    if is_stand_in(signature):
        return True
    found = from_base64(signature) or b""
    nonce, proof = found[len(_MARK) :][:_NONCE], found[len(_MARK) + _NONCE :]
    return found.startswith(_MARK) and proof == _proof(provider, nonce)


def is_stand_in(signature: str) -> bool:
    """Return whether it is a known word for "no signature", plain or in base64."""
    plain = signature.encode("utf-8", "replace")
    return plain in _STAND_INS or from_base64(signature) in _STAND_INS


def from_base64(text: str) -> bytes | None:
    """Return the bytes, of either alphabet, padded or not; None if it is not base64."""
    standard = text.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def _proof(provider: str, nonce: bytes) -> bytes:
    keyed = hashlib.blake2b(nonce, key=_SECRET, person=provider.encode()[:16], digest_size=64)
    return keyed.digest() * 2
