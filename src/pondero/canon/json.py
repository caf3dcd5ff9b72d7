"""Canon values as JSON text and back without loss, merged JSON objects, and escapes for terminals.

Numbers, signatures and lone surrogates survive; two adjacent surrogates become one character.
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
    "\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069"  # line separators and direction marks
    "\\ud800-\\udfff]"  # lone surrogates: UTF-8 cannot encode them
)


def dump_json(value: Any) -> str:
    """Encode a value as JSON; keeps lone surrogates and huge numbers."""
    return encode_json(value).decode()


def encode_json(value: Any) -> bytes:
    """Encode a value as ``dump_json`` does, into UTF-8."""
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, OverflowError):
        import json  # noqa: PLC0415 - only for what msgspec refuses

        whole = msgspec.to_builtins(value, builtin_types=())
        return json.dumps(whole, separators=(",", ":")).encode()


def load_json(text: str | bytes, kind: type[Kind]) -> Kind:
    """Decode a dumped value into this type; raises ValueError if it does not fit."""
    try:
        return decode_json(text, kind)
    except msgspec.DecodeError as error:
        if isinstance(error, msgspec.ValidationError):
            raise
        import json  # noqa: PLC0415 - only for what msgspec refuses

        return convert_json(json.loads(text), kind)


def merge_json(below: Mapping[str, Json], above: Mapping[str, Json]) -> dict[str, Json]:
    """Merge two objects recursively; ``above`` wins. Neither argument changes."""
    both = dict(below)
    for key, value in above.items():
        under = both.get(key)
        if under is not None and isinstance(under, Mapping) and isinstance(value, Mapping):
            both[key] = merge_json(under, value)
        else:
            both[key] = value
    return both


def get_path(value: Json, path: Iterable[str]) -> Json:
    """Return the value at a path of keys, or None."""
    for key in path:
        if value is None:
            return None
        if type(value) is not dict and not isinstance(value, Mapping):  # the first is far quicker
            return None
        value = value.get(key)
    return value


def escape_controls(text: str) -> str:
    r"""Replace control characters by their JSON escapes, so that a terminal only shows them.

    An escape becomes the six characters ``\u001b``. Newlines, tabs and visible characters stay; a
    carriage return before a newline is dropped.
    """
    return _STEERING.sub(_escape_control, text)


def _escape_control(found: re.Match[str]) -> str:
    character = found[0]
    return "\n" if character == "\r\n" else f"\\u{ord(character):04x}"
