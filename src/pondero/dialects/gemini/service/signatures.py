"""Thought signatures: opaque, bound to the deployment (pydantic-ai live probe, 2026-10-27)."""

import base64
import hashlib
from collections.abc import Sequence

import msgspec

from pondero.canon import EMULATED, Json, LevelUpdate, Part, Text, ToolCall, ToolResult
from pondero.dialects.dialect import Signer

from .protobuf import from_base64
from .words import NAME

_SECRET = b"pondero emulator: thought signatures"
_MARK = b"\x0a\x50\x01" + base64.b64decode(EMULATED)
_OLD_MARK = b"\x0a\x50"  # of signatures in histories on disk from before the emulator's mark
_NONCE = 16
_STAND_INS = (b"skip_thought_signature_validator", b"context_engineering_is_the_way_to_go")


def make_signer(provider: str, model: str, *, signs: bool) -> Signer:
    """Return the signer of one answer: it signs the first call, else the end of the last text."""

    def sign_part(part: Part, shown: str, before: Sequence[Json], /) -> Json | None:
        own = None if isinstance(part, ToolResult | LevelUpdate) else part.signature
        if own is not None and own.dialect == NAME:
            return own.value
        signed_before = any("thoughtSignature" in block for block in before)
        ends = isinstance(part, Text) and not shown
        if not signs or signed_before or not (ends or isinstance(part, ToolCall)):
            return None
        return sign(provider, msgspec.json.encode([model, part]).decode())

    return sign_part


def sign(provider: str, *about: str) -> str:
    """Return a signature of this deployment; the same for the same words."""
    nonce = hashlib.blake2b(
        "\0".join(about).encode("utf-8", "replace"), digest_size=_NONCE
    ).digest()
    return base64.b64encode(_MARK + nonce + _proof(provider, nonce)).decode()


def verify_signature(signature: str, provider: str) -> bool:
    """Return whether this deployment made a signature, or it is a documented stand-in."""
    if is_stand_in(signature):
        return True
    found = from_base64(signature) or b""
    mark = _MARK if found.startswith(_MARK) else _OLD_MARK
    nonce, proof = found[len(mark) :][:_NONCE], found[len(mark) + _NONCE :]
    return found.startswith(mark) and proof == _proof(provider, nonce)


def is_stand_in(signature: str) -> bool:
    """Return whether it is a documented word for "no signature", plain or in base64."""
    return (
        signature.encode("utf-8", "replace") in _STAND_INS or from_base64(signature) in _STAND_INS
    )


def _proof(provider: str, nonce: bytes) -> bytes:
    keyed = hashlib.blake2b(nonce, key=_SECRET, person=provider.encode()[:16], digest_size=64)
    return keyed.digest() * 2  # as long as the short ones that were recorded
