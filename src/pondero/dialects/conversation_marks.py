"""Where clients of an API say which conversation a request belongs to."""

from collections.abc import Callable

from msgspec import Struct

from ..canon import Json

FieldPath = tuple[str, ...]


def read_name(value: Json) -> str | None:
    """Return a value that is a name; None for anything else."""
    return value if isinstance(value, str) and value else None


class ConversationMarks(Struct, frozen=True, kw_only=True):
    """The marks of conversations in requests, the first that is there counts.

    ``headers`` are names in small letters. ``fields`` are paths in the body; ``read`` returns the
    conversation that a field's value names, and None if it names none.
    """

    headers: tuple[str, ...] = ()
    fields: tuple[FieldPath, ...] = ()
    read: Callable[[Json], str | None] = read_name
