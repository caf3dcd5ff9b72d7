"""Reads JSON into the wire's types, and rejects misfits in OpenAI's recorded words."""

import re
from typing import Any, NoReturn, TypeVar, get_args, get_type_hints

import msgspec
from msgspec import Struct

from pondero.canon import Json, convert_json
from pondero.dialects.bodies import UnknownFields

from ..errors import reject, reject_invalid

T = TypeVar("T", bound=Struct)

_AT = re.compile(r"^(.*?)(?: - at `(.*)`)?$", re.DOTALL)
_FIELD = re.compile(r"(unknown|required) field `(.*)`")
_KIND = re.compile(r"Expected `([a-z]+).*`, got `([a-z]+)`")
_BOUND = re.compile(r"Expected `(int|float)` (<=|>=) (-?[\d.]+)")
_LENGTH = re.compile(r"Expected `str` of length (<=|>=) (\d+)")
_PATTERN = re.compile(r"Expected `str` matching regex '(.*)'")
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")
_RANGES = {
    ("int", ">="): "integer_below",
    ("int", "<="): "integer_above",
    ("float", ">="): "decimal_below",
    ("float", "<="): "decimal_above",
}
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
    """Convert a value at this path, or reject it; ``unknown`` lists what is left out instead."""
    try:
        return convert_json(raw, kind)
    except msgspec.ValidationError as error:
        if unknown is not None:
            return _read_leniently(raw, kind, at, unknown)
        what, inner = _locate(error)
        _reject_misfit(what, _join_path(at, inner.removeprefix("$")), raw, inner, kind)


def _read_leniently(raw: Json, kind: type[T], at: str, unknown: UnknownFields) -> T:
    known = unknown.strip_unknown(raw, kind, at=at)
    latest = ("", "$")  # what was wrong with the field left out last, and where
    while True:
        try:
            return convert_json(known, kind)
        except msgspec.ValidationError as error:
            what, inner = _locate(error)
            steps = _STEP.findall(inner.removeprefix("$"))
            if (field := _FIELD.search(what)) and latest[1] == f"{inner}.{field[2]}":
                wrong, place = latest
                _reject_misfit(wrong, _join_path(at, place.removeprefix("$")), raw, place, kind)
            path = _join_path(at, inner.removeprefix("$"))
            if field or not steps or not steps[-1][0]:
                _reject_misfit(what, path, known, inner, kind)
            known, latest = _drop_field(known, steps), (what, inner)
            unknown.paths.append(path.removesuffix("[...]"))  # a value inside a mapping


def _locate(error: msgspec.ValidationError) -> tuple[str, str]:
    found = _AT.match(str(error))
    return (found[1], found[2] or "$") if found else (str(error), "$")


def _drop_field(raw: Json, steps: list[tuple[str, str]]) -> Json:
    (name, number), *rest = steps
    if number:
        place = int(number)
        return [*raw[:place], _drop_field(raw[place], rest), *raw[place + 1 :]]
    if rest:
        return {**raw, name: _drop_field(raw[name], rest)}
    return {key: each for key, each in raw.items() if key != name}


def read_kind(raw: Json, *, at: str, otherwise: str | None = None) -> str:
    """Return the `type` of an object, or reject one without it."""
    kind = raw.get("type", otherwise) if isinstance(raw, dict) else None
    if kind is None:
        reject("missing", param=f"{at}.type")
    if not isinstance(kind, str):
        reject("invalid_type", param=f"{at}.type", wanted="a string", got="another")
    return kind


def _reject_misfit(problem: str, param: str, raw: Json, inner: str, kind: type[Struct]) -> NoReturn:
    if field := _FIELD.search(problem):
        name = _join_path(param, f".{field[2]}")
        reject("unknown_parameter" if field[1] == "unknown" else "missing", param=name)
    value = _value(raw, inner)
    if problem.startswith("Invalid enum value"):
        reject_invalid(value, _words(kind, inner), param=param)
    if bound := _BOUND.search(problem):
        _reject_range(bound, value, param)
    if isinstance(value, str) and (length := _LENGTH.search(problem)):
        rule = "string_above" if length[1] == "<=" else "string_empty"
        reject(rule, param=param, bound=length[2], length=len(value))
    if pattern := _PATTERN.search(problem):
        reject("string_pattern", param=param, bound=pattern[1])
    mismatch = _KIND.search(problem)
    wanted, got = (mismatch[1], mismatch[2]) if mismatch else ("another value", "this one")
    reject("invalid_type", param=param, wanted=_NAMES.get(wanted, wanted), got=_NAMES.get(got, got))


def _reject_range(bound: re.Match[str], value: Json, param: str) -> NoReturn:
    rule = _RANGES[bound[1], bound[2]]
    reject(rule, param=param, bound=f"{float(bound[3]):g}", value=value)


def _join_path(at: str, path: str) -> str:
    return f"{at}{path}" if at else path.removeprefix(".")


def _value(raw: Json, path: str) -> Json:
    for name, number in _STEP.findall(path.removeprefix("$")):
        raw = raw[int(number)] if number else raw.get(name)
    return raw


def _words(kind: type[Struct], path: str) -> tuple[str, ...]:
    hint: Any = kind
    for name, number in _STEP.findall(path.removeprefix("$")):
        inner = _drop_none(hint)
        hint = get_args(inner)[0] if number else get_type_hints(inner)[name]
    return get_args(_drop_none(hint))


def _drop_none(hint: Any) -> Any:
    kinds = [kind for kind in get_args(hint) if kind is not type(None)]
    return kinds[0] if type(None) in get_args(hint) else hint
