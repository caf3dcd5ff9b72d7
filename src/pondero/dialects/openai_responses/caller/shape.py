"""A value of the shape it must have, or Malformed with its path."""

from pondero.canon import Json
from pondero.errors import Malformed


def as_dict(value: Json, *, at: str) -> dict[str, Json]:
    """Return the value if it is an object."""
    if not isinstance(value, dict):
        raise Malformed(f"expected an object, got {type(value).__name__}", path=at)
    return value


def as_text(value: Json, *, at: str) -> str:
    """Return the value if it is text; nothing at all reads as no text."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Malformed(f"expected text, got {type(value).__name__}", path=at)
    return value


def as_list(value: Json, *, at: str) -> list[Json]:
    """Return the value if it is a list; nothing at all reads as an empty one."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise Malformed(f"expected a list, got {type(value).__name__}", path=at)
    return value
