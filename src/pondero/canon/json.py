"""Canon values as JSON text and back without loss, and one JSON object laid over another.

Every seal, every number and every half of a surrogate pair survives. Two halves that stand side by
side come back as the one character they are. ``escape_controls`` is for everything that writes to a
screen.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from .decoder import convert_json, decode_json
from .parts import Json

Kind = TypeVar("Kind")

_STEERING = re.compile(
    "\r\n|[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f"  # C0, DEL and C1; tab and newline stay
    "\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069"  # line separators, and what turns text round
    "\\ud800-\\udfff]"  # lone surrogates: no terminal can be sent one
)


def dump_json(value: Any) -> str:
    """Return a value as JSON; lone surrogates and huge numbers are kept."""
    try:
        return msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, OverflowError):
        import json  # noqa: PLC0415 - only for what msgspec refuses

        return json.dumps(msgspec.to_builtins(value, builtin_types=()), separators=(",", ":"))


def load_json(text: str | bytes, kind: type[Kind]) -> Kind:
    """Return a dumped value as this type; raises ValueError where it is of another."""
    try:
        return decode_json(text, kind)
    except msgspec.DecodeError as error:
        if isinstance(error, msgspec.ValidationError):
            raise
        import json  # noqa: PLC0415 - only for what msgspec refuses

        return convert_json(json.loads(text), kind)


def merge_json(below: Mapping[str, Json], above: Mapping[str, Json]) -> dict[str, Json]:
    """Return both merged, object by object; ``above`` wins. Neither argument changes."""
    both = dict(below)
    for key, value in above.items():
        under = both.get(key)
        if under is not None and isinstance(under, Mapping) and isinstance(value, Mapping):
            both[key] = merge_json(under, value)
        else:
            both[key] = value
    return both


def get_path(value: Json, path: Iterable[str]) -> Json:
    """Return what stands at a path of keys; None where nothing does."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def escape_controls(text: str) -> str:
    r"""Return a text that a terminal only shows: each control character as JSON spells it.

    An escape becomes the six characters ``\u001b``. Newlines and tabs stay; a carriage return
    before a newline is left out. What is visible already stays as it is.
    """
    return _STEERING.sub(_spelled, text)


def _spelled(found: re.Match[str]) -> str:
    character = found[0]
    return "\n" if character == "\r\n" else f"\\u{ord(character):04x}"
