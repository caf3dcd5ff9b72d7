"""Reads JSON as the service's types, and words what does not fit as the service does."""

import re
from typing import Any, NoReturn, TypeVar

import msgspec

from pondero.canon import Json, convert_json
from pondero.dialects.bodies import UnknownFields, describe_invalid_json, make_lenient_type
from pondero.framing import UNREADABLE

from .errors import reject, reject_early

T = TypeVar("T")

_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>[^`]*)`")
_ENUM = re.compile(r"Invalid (?:enum )?value '(?P<value>[^']*)'")
_PATH = re.compile(r" - at `\$\.?(?P<path>[^`]*)`$")


def read_object(data: bytes) -> dict[str, Any]:
    """Return the JSON object that a body is, or reject it."""
    try:
        raw = msgspec.json.decode(data)
    except UNREADABLE as error:
        reject_early("bad_json", why=describe_invalid_json(error))
    if not isinstance(raw, dict):
        reject_early("bad_json", why="Root element must be a message.")
    return raw


def read(raw: Json, kind: Any, *, at: str = "", unknown: UnknownFields | None = None) -> Any:
    """Return JSON as a type, or reject it; leniently, if ``unknown`` collects."""
    try:
        if unknown is not None:
            return unknown.convert(raw, make_lenient_type(kind), at=at)
        return convert_json(raw, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        _reject_invalid(str(error), at)


def _reject_invalid(message: str, at: str) -> NoReturn:
    found = _PATH.search(message)
    inner = found["path"].replace("[...]", "[]") if found else ""
    why = message[: found.start()] if found else message
    joint = "." if at and inner and not inner.startswith("[") else ""
    path = f"{at}{joint}{inner}"
    if named := _UNKNOWN.match(why):
        place = f" at '{path}'" if path else ""
        reject("unknown_parameter", name=named["name"], at=place)
    if word := _ENUM.match(why):
        reject("enum", value=word["value"], path=path)
    reject("wrong_type", path=path or "request", why=why)
