"""What the emulated service puts into opaque slots, and how it recognises its own."""

import base64
import hashlib
import hmac
from collections.abc import Sequence

from pondero.canon import Json, Part, Signature, Thinking, ToolCall
from pondero.dialects.dialect import Signer

from .types import NAME

_SECRET = b"pondero emulates; nothing is protected by this"


def stamp(text: str, *, model: str) -> str:
    """Return a keyed digest: the proof that a thought is the one this model gave."""
    message = f"{model}\0{text}".encode("utf-8", "surrogatepass")
    return base64.b64encode(hmac.digest(_SECRET, message, hashlib.sha256)).decode()


def sealer(model: str) -> Signer:
    """Return the emulated service's sealer for one answer of this model.

    The slot of a thought takes a text, or the whole list of details that was recorded with it; the
    slot of a call takes fields of the call. No seal of this wire covers what stands before it.
    """

    def seal(part: Part, shown: str, _before: Sequence[Json], /) -> Json | None:
        if isinstance(part, Thinking):
            return open_signature(part.signature).get("reasoning_details") or stamp(
                shown, model=model
            )
        if isinstance(part, ToolCall):
            return open_signature(part.signature) or None
        return None

    return seal


def open_signature(seal: Signature | None) -> dict[str, Json]:
    """Return what a seal of this wire holds; another wire's stays shut."""
    if seal is None or seal.dialect != NAME or not isinstance(seal.value, dict):
        return {}
    return seal.value
