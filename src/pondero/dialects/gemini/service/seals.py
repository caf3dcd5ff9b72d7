"""Thought signatures as the emulated service makes and checks them.

A real one is opaque bytes that only its own surface reads: so is this. It is bound to the surface,
not to the part, as the service validates no more than that (wire sheet, section 5).
"""

import base64
import hashlib

from .protobuf import from_base64

_SECRET = b"pondero emulator: thought signatures"
_MARK = b"\x0a\x50"
_NONCE = 16
_DUMMIES = (b"skip_thought_signature_validator", b"context_engineering_is_the_way_to_go")


def sign(service: str, *about: str) -> str:
    """Return a signature of this surface; the same for the same words."""
    nonce = hashlib.blake2b(
        "\0".join(about).encode("utf-8", "replace"), digest_size=_NONCE
    ).digest()
    return base64.b64encode(_MARK + nonce + _proof(service, nonce)).decode()


def verified(signature: str, service: str) -> bool:
    """Return whether this surface made a signature, or it is a documented stand-in."""
    if is_dummy(signature):
        return True
    found = from_base64(signature) or b""
    nonce, proof = found[len(_MARK) :][:_NONCE], found[len(_MARK) + _NONCE :]
    return found.startswith(_MARK) and proof == _proof(service, nonce)


def is_dummy(signature: str) -> bool:
    """Return whether it says that there is no signature; the word itself, or base64 of it."""
    return signature.encode("utf-8", "replace") in _DUMMIES or from_base64(signature) in _DUMMIES


def _proof(service: str, nonce: bytes) -> bytes:
    keyed = hashlib.blake2b(nonce, key=_SECRET, person=service.encode()[:16], digest_size=64)
    return keyed.digest() * 2  # as long as the short ones that were recorded
