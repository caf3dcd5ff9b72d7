"""A typed reading of JSON, with misfits told the way the service tells them."""

import re
from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec import DecodeError, Raw, ValidationError
from msgspec.json import decode

from .errors import refuse

T = TypeVar("T")

_PLACE = re.compile(r"^(.*?)(?: - at `(?:key in )?\$(.*)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`")
_EXPECTED = re.compile(r"Expected `(.*)`, got `.*`")
_LEAST = re.compile(r"Expected `int` >= (\d+)")
_PATTERN = re.compile(r"Expected `str` matching regex '(.*)'")
_TAG = re.compile(r"Invalid value '(.*)'", re.DOTALL)
_NAMES: Mapping[str, str] = {
    "int": "a valid integer",
    "float": "a valid number",
    "bool": "a valid boolean",
    "str": "a valid string",
    "array": "a valid list",
    "object": "a valid dictionary or object to extract fields from",
}
# The service puts a union's tag into the path of what is inside.
_UNIONS = {"thinking"}


def typed(raw: bytes | Raw, kind: type[T], at: str = "") -> T:
    """Return the JSON as this type, or raise the refusal that says where it does not fit."""
    try:
        return decode(raw, type=kind)
    except ValidationError as error:
        raise refuse(_told(str(error), at, raw)) from None
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise refuse(f"The request body is not valid JSON: {error}") from None


def _told(error: str, at: str, raw: bytes | Raw) -> str:
    found = _PLACE.match(error)
    said, place = (found[1], found[2] or "") if found else (error, "")
    path = _path(at, place, raw)
    if unknown := _UNKNOWN.match(said):
        return f"{_join(path, unknown[1])}: Extra inputs are not permitted"
    if missing := _MISSING.match(said):
        return f"{_join(path, missing[1])}: Field required"
    if least := _LEAST.match(said):
        return f"{path}: Input should be greater than or equal to {least[1]}"
    if pattern := _PATTERN.match(said):
        return f"{path}: String should match pattern '{pattern[1]}'"
    if expected := _EXPECTED.match(said):
        kinds = [_NAMES.get(kind.strip(), kind) for kind in expected[1].split("|")]
        return f"{path or 'body'}: Input should be {' or '.join(k for k in kinds if k != 'null')}"
    if tag := _TAG.match(said):
        return f"{path}: Input tag '{tag[1]}' does not match any of the expected tags"
    return f"{path or 'body'}: {said}"


def _path(at: str, place: str, raw: bytes | Raw) -> str:
    names = [name for name in re.split(r"[.\[\]]+", place) if name]
    if names and names[0] in _UNIONS:
        whole: Any = decode(raw)
        tag = whole.get(names[0], {}).get("type") if isinstance(whole, dict) else None
        if isinstance(tag, str) and names[1:2] != ["type"]:
            names.insert(1, tag)
    return ".".join([*([at] if at else []), *names])


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
