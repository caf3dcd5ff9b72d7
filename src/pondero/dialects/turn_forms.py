"""How the turns of a conversation are told apart before they are read."""

from collections.abc import Callable

from msgspec import DecodeError, Raw, Struct

from ..canon import get_decoder


class TurnForm(Struct, frozen=True, kw_only=True):
    """The field with the conversation, and what its turns are, each as the bytes of its JSON.

    ``is_answer`` returns whether a turn is the model's; None for one that is read together with
    others, or that says more than words. What comes before the first turn of an answer is read
    without looking at what follows. ``stand_in`` is a short turn of the user, if what a turn means
    depends on its number, as ids of calls without one do; else None. ``apart`` are long fields that
    are read without looking at the turns, and the turns without them; not so in a request that has
    a field of ``joined``.
    """

    field: str
    is_answer: Callable[[bytes], bool | None]
    stand_in: bytes | None = None
    apart: frozenset[str] = frozenset()
    joined: frozenset[str] = frozenset()


class _Role(Struct):
    role: Raw = Raw(b"")


_ROLE = get_decoder(_Role)


def read_role(turn: bytes) -> bytes:
    """Return the role of a turn as it is written; empty if it has none, or is no object."""
    try:
        return bytes(_ROLE.decode(turn).role)
    except DecodeError:
        return b""
