"""A typed reading of JSON, with misfits told the way the service tells them."""

import re
from collections.abc import Mapping
from typing import TypeVar

from msgspec import DecodeError, Raw, ValidationError
from msgspec.json import decode

from pondero.dialects.dialect import Rejected

from .errors import refuse, refuse_key, refuse_value

T = TypeVar("T")

_PLACE = re.compile(r"^(.*?)(?: - at `(?:key in )?\$(.*)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`")
ONE = "exactly one member of the union must be set"
_INDEX = re.compile(r"\[(\d+|\.\.\.)\]")


def typed(raw: bytes | Raw, kind: type[T], at: str = "") -> T:
    """Return the JSON as this type, or raise the refusal that says where it does not fit."""
    try:
        return decode(raw, type=kind)
    except ValidationError as error:
        raise _misfit(str(error), at) from None
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise refuse(
            f"The request body is not valid JSON: {error}", code="SerializationException"
        ) from None


def one_key(union: Mapping[str, Raw], at: str) -> str:
    """Return the one key of a union, or refuse it."""
    if len(union) != 1:
        raise refuse_value(at, ONE)
    return next(iter(union))


def _misfit(error: str, at: str) -> Rejected:
    found = _PLACE.match(error)
    said, place = (found[1], found[2] or "") if found else (error, "")
    path = _INDEX.sub(r".\1", f"{at}{place}").lstrip(".")
    if unknown := _UNKNOWN.match(said):
        return refuse_key(unknown[1], path)
    if missing := _MISSING.match(said):
        return refuse_value(
            f"{path}.{missing[1]}" if path else missing[1], "Member must not be null"
        )
    return refuse_value(path, said)
