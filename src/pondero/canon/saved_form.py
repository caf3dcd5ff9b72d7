"""Messages, replies and chats as JSON texts that programs store: each names its format and version.

Values keep the keys of their types. A reader ignores keys that it does not know; a change that old
readers would get wrong raises ``FORM``.
"""

from typing import Any, TypeVar

import msgspec

from ..errors import BadParameter
from .decoder import convert_json
from .json import dump_json, load_json
from .parts import Json

FORM = 1
"""The version of the formats that this program writes, and the latest that it reads."""

_READERS = {"message": "Message", "reply": "Reply", "chat": "Chat"}
_PREFIX = "pondero."

Kind = TypeVar("Kind")


def dump_saved(noun: str, value: Any, *, without: tuple[str, ...] = ()) -> str:
    """Return a value as JSON text; ``noun`` is the last word of its format's name."""
    fields: dict[str, Json] = msgspec.to_builtins(value, builtin_types=())
    kept = {key: each for key, each in fields.items() if key not in without}
    return dump_json({"format": f"{_PREFIX}{noun}", "version": FORM, **kept})


def parse_saved(noun: str, text: str | bytes) -> dict[str, Json]:
    """Return the JSON object of a saved value, whatever its format; raises BadParameter."""
    try:
        return load_json(text, dict)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadParameter(f"this is not a saved {noun}: {error}") from None


def convert_saved(noun: str, raw: dict[str, Json], kind: type[Kind]) -> Kind:
    """Return the value of a parsed object; raises BadParameter, also for a newer format."""
    named, version = raw.get("format"), raw.get("version")
    other = named.removeprefix(_PREFIX) if isinstance(named, str) else ""
    if other != noun and other in _READERS:
        reader = f"{_READERS[other]}.from_json"
        raise BadParameter(f"this is a saved {other}, not a {noun}; read it with {reader}")
    if named != f"{_PREFIX}{noun}":
        raise BadParameter(f'this is not a saved {noun}: it has no "format": "{_PREFIX}{noun}"')
    if type(version) is not int or not 1 <= version <= FORM:
        newer = "; update pondero" if type(version) is int and version > FORM else ""
        message = f"this {noun} was saved in version {version!r} of its format; this pondero reads"
        raise BadParameter(f"{message} version {FORM}{newer}")
    try:
        return convert_json(raw, kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadParameter(f"this is not a saved {noun}: {error}") from None


def load_saved(noun: str, text: str | bytes, kind: type[Kind]) -> Kind:
    """Return a saved value; raises BadParameter."""
    return convert_saved(noun, parse_saved(noun, text), kind)
