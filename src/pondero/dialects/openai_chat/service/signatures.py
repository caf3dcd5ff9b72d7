"""Signatures of the emulated service: how it makes them and recognises its own."""

import base64
import hashlib
import hmac
from collections.abc import Sequence

from pondero.canon import EMULATED, Json, Part, Signature, Thinking, ToolCall
from pondero.dialects.dialect import Signer

from .types import NAME

_SECRET = b"pondero emulates; nothing is protected by this"


def stamp(text: str, *, model: str) -> str:
    """Return a keyed digest, which proves that this model wrote a thought."""
    message = f"{model}\0{text}".encode("utf-8", "surrogatepass")
    digest = base64.b64encode(hmac.digest(_SECRET, message, hashlib.sha256)).decode()
    return f"{EMULATED}{digest}"


def make_signer(model: str) -> Signer:
    """Return the signer for one answer; no signature of this wire covers earlier parts."""

    def sign(part: Part, shown: str, _before: Sequence[Json], /) -> Json | None:
        if isinstance(part, Thinking):
            return open_signature(part.signature).get("reasoning_details") or stamp(
                shown, model=model
            )
        if isinstance(part, ToolCall):
            return open_signature(part.signature) or None
        return None

    return sign


def open_signature(signature: Signature | None) -> dict[str, Json]:
    """Return the content of a signature of this wire; empty for any other."""
    if signature is None or signature.dialect != NAME or not isinstance(signature.value, dict):
        return {}
    return signature.value
