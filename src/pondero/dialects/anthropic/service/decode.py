"""Reads JSON into the service's types; what does not fit is rejected in its words, or left out."""

import re
from collections.abc import Mapping
from typing import NoReturn, TypeVar

from msgspec import DecodeError, Raw, ValidationError
from msgspec.json import decode, encode

from pondero.canon import (
    Json,
    decode_json,
)
from pondero.dialects.bodies import UnknownFields, describe_invalid_json

from .errors import reject

T = TypeVar("T")
_PLACE = re.compile(r"^(.*?)(?: - at `(?:key in )?\$(.*)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`")
_EXPECTED = re.compile(r"Expected `(.*)`, got `.*`")
_LEAST = re.compile(r"Expected `int` >= (-?\d+)")
_PATTERN = re.compile(r"Expected `str` matching regex '(.*)'")
_TAG = re.compile(r"Invalid (?:enum )?value '(.*)'", re.DOTALL)
_NAMES: Mapping[str, str] = {
    "int": "a valid integer",
    "float": "a valid number",
    "bool": "a valid boolean",
    "str": "a valid string",
    "array": "a valid list",
    "object": "a valid dictionary or object to extract fields from",
}
# Unions whose tag the service puts into the path of a field inside.
_UNIONS = {"thinking"}


def decode_strict(raw: bytes | Raw, kind: type[T], at: str = "") -> T:
    """Return the JSON as this type; raises Rejected with the path that does not fit."""
    try:
        return decode_json(raw, kind)
    except ValidationError as error:
        _reject_misfit(str(error), at, raw)
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        reject("not_json", why=describe_invalid_json(error))


def decode_lenient(data: bytes | Raw, kind: type[T], unknown: UnknownFields, at: str = "") -> T:
    """Return the JSON without fields that do not fit; raises Rejected if the body does not."""
    try:
        return unknown.decode(data, kind, at=at)
    except ValidationError:
        known = UnknownFields().strip_unknown(decode(data), kind)
    while True:
        try:
            return decode_json(encode(known), kind)
        except ValidationError as error:
            if (left := _remove_field(known, str(error))) is None:
                _reject_misfit(str(error), at, encode(known))
            unknown.paths.append(_join(at, left))


def _remove_field(value: Json, error: str) -> str | None:
    """Delete the field that an error names; return its path, or None if it names no field."""
    found = _PLACE.match(error)
    names = _names(found[2] or "") if found else []
    for name in names[:-1]:
        value = value[int(name)] if isinstance(value, list) else value.get(name, {})
    if not names or not isinstance(value, dict) or names[-1] not in value:
        return None
    del value[names[-1]]
    return ".".join(names)


def _reject_misfit(error: str, at: str, raw: bytes | Raw) -> NoReturn:
    found = _PLACE.match(error)
    problem, place = (found[1], found[2] or "") if found else (error, "")
    path = _path(at, place, raw)
    if unknown := _UNKNOWN.match(problem):
        reject("extra_field", path=_join(path, unknown[1]))
    if missing := _MISSING.match(problem):
        reject("missing_field", path=_join(path, missing[1]))
    if least := _LEAST.match(problem):
        reject("too_small", path=path, least=least[1])
    if pattern := _PATTERN.match(problem):
        reject("wrong_pattern", path=path, pattern=pattern[1])
    if expected := _EXPECTED.match(problem):
        kinds = [_NAMES.get(kind.strip(), kind) for kind in expected[1].split("|")]
        meant = " or ".join(kind for kind in kinds if kind != "null")
        reject("wrong_type", path=path or "body", kinds=meant)
    if (tag := _TAG.match(problem)) and path.endswith(".role"):
        reject("role", path=path, role=tag[1])
    if tag:
        reject("wrong_tag", path=path, tag=tag[1])
    reject("wrong_type", path=path or "body", kinds=problem)


def _path(at: str, place: str, raw: bytes | Raw) -> str:
    names = _names(place)
    if names and names[0] in _UNIONS:
        whole: Json = decode(raw)
        union = whole.get(names[0]) if isinstance(whole, dict) else None
        tag = union.get("type") if isinstance(union, dict) else None
        if isinstance(tag, str) and names[1:2] != ["type"]:
            names.insert(1, tag)
    return ".".join([*([at] if at else []), *names])


def _names(place: str) -> list[str]:
    return [name for name in re.split(r"[.\[\]]+", place) if name]


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
