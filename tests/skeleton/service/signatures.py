"""Proofs that the emulated service puts on its thinking, and knows again."""

from collections.abc import Sequence
from hashlib import blake2b

from pondero.canon import Json, Part, Thinking
from pondero.dialects.dialect import Signer

_SECRET = b"the emulated service's own secret"


def sealer(model: str) -> Signer:
    """Return what fills the opaque slots of one answer."""

    def seal(part: Part, shown: str, _before: Sequence[Json], /) -> Json | None:
        return _proof(shown, model) if isinstance(part, Thinking) else None

    return seal


def verified(part: Thinking, model: str) -> bool:
    """Return whether the service made this proof for this thinking."""
    return part.signature is not None and part.signature.value == _proof(part.text, model)


def _proof(text: str, model: str) -> str:
    said = f"{model}\0{text}".encode("utf-8", "replace")
    return blake2b(said, key=_SECRET, digest_size=24).hexdigest()
