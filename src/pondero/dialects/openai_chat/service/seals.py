"""The emulated service's own proof that a thought is the one it gave: a keyed digest of it."""

import base64
import hashlib
import hmac

_SECRET = b"pondero emulates; nothing is protected by this"


def stamp(text: str, *, model: str) -> str:
    """Return the proof for a thought of this model."""
    message = f"{model}\0{text}".encode("utf-8", "surrogatepass")
    return base64.b64encode(hmac.digest(_SECRET, message, hashlib.sha256)).decode()
