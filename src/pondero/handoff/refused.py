"""What services did not take: seals of their own are known by a mark, not by themselves."""

from hashlib import blake2b

from msgspec import Struct

from ..canon import Seal
from .surrogates import texts


class Refusal(Struct, frozen=True, omit_defaults=True):
    """What a model at a provider refused: seals, by their marks, or a request, in its words."""

    provider: str
    model: str
    message: str = ""
    seals: tuple[str, ...] = ()


def mark(text: str) -> str:
    """Return a short mark of a seal's text, the same every time."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def is_refused(seal: Seal, marks: frozenset[str]) -> bool:
    """Return whether a text of this seal is among the marked ones."""
    return bool(marks) and any(mark(text) in marks for text in texts(seal.value))
