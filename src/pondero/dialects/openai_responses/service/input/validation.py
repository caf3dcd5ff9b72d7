"""Reads JSON into the wire's types; what does not fit is refused in the service's own words."""

import re
from typing import Any, NoReturn, TypeVar, get_args, get_type_hints

import msgspec
from msgspec import Struct

from pondero.canon import Json, convert_json
from pondero.dialects.bodies import UnknownFields

from ..errors import invalid, missing, refuse
from ..errors import unknown as unknown_field

T = TypeVar("T", bound=Struct)

_AT = re.compile(r"^(.*?)(?: - at `(.*)`)?$", re.DOTALL)
_FIELD = re.compile(r"(unknown|required) field `(.*)`")
_KIND = re.compile(r"Expected `([a-z]+).*`, got `([a-z]+)`")
_BOUND = re.compile(r"Expected `(int|float)` (<=|>=) (-?[\d.]+)")
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")
_NAMES = {
    "int": "an integer",
    "float": "a decimal",
    "str": "a string",
    "bool": "a boolean",
    "array": "an array of objects",
    "object": "an object",
    "null": "null",
}


def read(raw: Json, kind: type[T], *, at: str = "", unknown: UnknownFields | None = None) -> T:
    """Return the value as this type, or refuse it; ``at`` is where in the body it stands.

    With ``unknown`` (the lenient road), two kinds of fields are left out and listed there: those
    the type does not have, and optional ones with a value the type does not allow.
    """
    try:
        return convert_json(raw, kind)
    except msgspec.ValidationError as error:
        if unknown is not None:
            return _read_known(raw, kind, at, unknown)
        what, inner = _located(error)
        _refuse(what, _joined(at, inner.removeprefix("$")), raw, inner, kind)


def _read_known(raw: Json, kind: type[T], at: str, unknown: UnknownFields) -> T:
    """Return the value as this type without what the type does not know, or refuse it."""
    known = unknown.strip_unknown(raw, kind, at=at)
    latest = ("", "$")  # what was wrong with the field left out last, and where
    while True:
        try:
            return convert_json(known, kind)
        except msgspec.ValidationError as error:
            what, inner = _located(error)
            steps = _STEP.findall(inner.removeprefix("$"))
            if (field := _FIELD.search(what)) and latest[1] == f"{inner}.{field[2]}":
                _refuse(latest[0], _joined(at, latest[1].removeprefix("$")), raw, latest[1], kind)
            path = _joined(at, inner.removeprefix("$"))
            if field or not steps or not steps[-1][0]:
                _refuse(what, path, known, inner, kind)
            known, latest = _without(known, steps), (what, inner)
            unknown.paths.append(path.removesuffix("[...]"))  # a value inside a mapping


def _located(error: msgspec.ValidationError) -> tuple[str, str]:
    """Split the message of an error into what is wrong and where, a path that begins with ``$``."""
    found = _AT.match(str(error))
    return (found[1], found[2] or "$") if found else (str(error), "$")


def _without(raw: Json, steps: list[tuple[str, str]]) -> Json:
    """Return a copy of the value without the field at this path."""
    (name, number), *rest = steps
    if number:
        return [
            _without(each, rest) if place == int(number) else each for place, each in enumerate(raw)
        ]
    if rest:
        return {**raw, name: _without(raw[name], rest)}
    return {key: each for key, each in raw.items() if key != name}


def kind_of(raw: Json, *, at: str, otherwise: str | None = None) -> str:
    """Return the `type` of an object, or refuse one that has none."""
    kind = raw.get("type", otherwise) if isinstance(raw, dict) else None
    if kind is None:
        missing(f"{at}.type")
    if not isinstance(kind, str):
        message = f"Invalid type for '{at}.type': expected a string, but got another instead."
        refuse(message, param=f"{at}.type", code="invalid_type")
    return kind


def _refuse(what: str, param: str, raw: Json, inner: str, kind: type[Struct]) -> NoReturn:
    if field := _FIELD.search(what):
        name = _joined(param, f".{field[2]}")
        unknown_field(name) if field[1] == "unknown" else missing(name)
    value = _value(raw, inner)
    if what.startswith("Invalid enum value"):
        invalid(value, _words(kind, inner), param=param)
    if bound := _BOUND.search(what):
        _out_of_range(bound, value, param)
    if mismatch := _KIND.search(what):
        wanted, got = _NAMES.get(mismatch[1], mismatch[1]), _NAMES.get(mismatch[2], mismatch[2])
        message = f"Invalid type for '{param}': expected {wanted}, but got {got} instead."
        refuse(message, param=param, code="invalid_type")
    refuse(f"Invalid '{param}': {what}.", param=param, code="invalid_value")


def _out_of_range(bound: re.Match[str], value: Json, param: str) -> NoReturn:
    noun = "integer" if bound[1] == "int" else "decimal"
    below = bound[2] == ">="
    limit = float(bound[3])
    message = (
        f"Invalid '{param}': {noun} {'below minimum' if below else 'above maximum'} value. "
        f"Expected a value {bound[2]} {limit:g}, but got {value} instead."
    )
    refuse(message, param=param, code=f"{noun}_{'below_min' if below else 'above_max'}_value")


def _joined(at: str, path: str) -> str:
    return f"{at}{path}" if at else path.removeprefix(".")


def _value(raw: Json, path: str) -> Json:
    for name, number in _STEP.findall(path.removeprefix("$")):
        raw = raw[int(number)] if number else raw.get(name)
    return raw


def _words(kind: type[Struct], path: str) -> tuple[str, ...]:
    """Return the words that a field may have, from its type."""
    hint: Any = kind
    for name, number in _STEP.findall(path.removeprefix("$")):
        if number:
            hint = get_args(_without_none(hint))[0]
        else:
            hint = get_type_hints(_without_none(hint))[name]
    return get_args(_without_none(hint))


def _without_none(hint: Any) -> Any:
    kinds = [kind for kind in get_args(hint) if kind is not type(None)]
    return kinds[0] if type(None) in get_args(hint) else hint
