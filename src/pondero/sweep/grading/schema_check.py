"""Checks a value against a JSON Schema, for the judge ``json_schema`` and ``pondero ask --schema``.

It knows the words that check a value (draft 2020-12). A schema with another such word is refused:
a check that leaves one out would call a wrong answer right.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...canon import Json
from ...errors import BadParameter

_TYPES: dict[str, Callable[[Json], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: _is_number(value) and (isinstance(value, int) or value.is_integer()),
}
_SILENT = {
    "$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "default",
    "examples", "deprecated", "readOnly", "writeOnly", "format", "then", "else", "$anchor",
}  # fmt: skip


def find_problem(schema: Json, value: Json) -> str | None:
    """Return the first thing wrong with a value, and where; None where it fits the schema."""
    return next(_problems(schema, value, "$", schema), None)


def _problems(schema: Json, value: Json, at: str, root: Json) -> Iterator[str]:
    if isinstance(schema, bool):
        if not schema:
            yield f"{at}: nothing is allowed here"
        return
    if not isinstance(schema, Mapping):
        message = f"a schema is an object or a truth value, not {schema!r}"
        raise BadParameter(message)
    for word, wanted in schema.items():
        if word in _CHECKS:
            if not _CHECKS[word](value, wanted):
                yield f"{at}: {word} {wanted!r} does not hold for {value!r}"
        elif word in _NESTED:
            yield from _NESTED[word](schema, value, at, root)
        elif word not in _SILENT:
            message = f"the schema has {word!r}, which is not checked here"
            raise BadParameter(message)


# -- words that look at the value alone ------------------------------------------------------------


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same(one: Json, other: Json) -> bool:
    """Return whether two values are equal JSON: 1 is 1.0, and true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _typed(value: Json, wanted: Json) -> bool:
    return any(_TYPES[kind](value) for kind in ([wanted] if isinstance(wanted, str) else wanted))


def _unique(value: Json, wanted: Json) -> bool:
    if not wanted or not isinstance(value, list):
        return True
    return not any(_same(a, b) for n, a in enumerate(value) for b in value[:n])


def _multiple(value: Json, wanted: Any) -> bool:
    from fractions import Fraction  # noqa: PLC0415 - rare

    if not _is_number(value):
        return True
    if value in (math.inf, -math.inf):  # 1e999 is JSON
        return False
    return (Fraction(str(value)) / Fraction(str(wanted))).denominator == 1


def _when(kind: Callable[[Json], bool], holds: Callable[[Any, Any], bool]) -> Any:
    return lambda value, wanted: not kind(value) or holds(value, wanted)


_text, _list, _object = _TYPES["string"], _TYPES["array"], _TYPES["object"]
_CHECKS: dict[str, Callable[[Json, Json], bool]] = {
    "type": _typed,
    "enum": lambda value, wanted: any(_same(value, each) for each in wanted),
    "const": _same,
    "minimum": _when(_is_number, lambda value, wanted: value >= wanted),
    "maximum": _when(_is_number, lambda value, wanted: value <= wanted),
    "exclusiveMinimum": _when(_is_number, lambda value, wanted: value > wanted),
    "exclusiveMaximum": _when(_is_number, lambda value, wanted: value < wanted),
    "multipleOf": _multiple,
    "minLength": _when(_text, lambda value, wanted: len(value) >= wanted),
    "maxLength": _when(_text, lambda value, wanted: len(value) <= wanted),
    "pattern": _when(_text, lambda value, wanted: re.search(wanted, value) is not None),
    "minItems": _when(_list, lambda value, wanted: len(value) >= wanted),
    "maxItems": _when(_list, lambda value, wanted: len(value) <= wanted),
    "uniqueItems": _unique,
    "required": _when(_object, lambda value, wanted: all(key in value for key in wanted)),
    "minProperties": _when(_object, lambda value, wanted: len(value) >= wanted),
    "maxProperties": _when(_object, lambda value, wanted: len(value) <= wanted),
}


# -- words that look into the value ----------------------------------------------------------------


def _properties(schema: Any, value: Json, at: str, root: Json) -> Iterator[str]:
    """Check ``properties``, ``patternProperties`` and ``additionalProperties`` together."""
    if not isinstance(value, dict):
        return
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for key, inner in value.items():
        place = f"{at}.{key}"
        matching = [each for pattern, each in patterns.items() if re.search(pattern, key)]
        if key in named:
            matching.append(named[key])
        for each in matching or [schema.get("additionalProperties", True)]:
            yield from _problems(each, inner, place, root)


def _items(schema: Any, value: Json, at: str, root: Json) -> Iterator[str]:
    if not isinstance(value, list):
        return
    first = schema.get("prefixItems", [])
    for number, inner in enumerate(value):
        each = first[number] if number < len(first) else schema.get("items", True)
        yield from _problems(each, inner, f"{at}[{number}]", root)


def _all_of(schema: Any, value: Json, at: str, root: Json) -> Iterator[str]:
    for each in schema["allOf"]:
        yield from _problems(each, value, at, root)


def _fits(schema: Json, value: Json, root: Json) -> bool:
    return next(_problems(schema, value, "$", root), None) is None


def _some_of(word: str) -> Callable[[Any, Json, str, Json], Iterator[str]]:
    """Check ``anyOf``, ``oneOf`` or ``not`` by how many of its schemas fit."""

    def check(schema: Any, value: Json, at: str, root: Json) -> Iterator[str]:
        listed = schema[word] if isinstance(schema[word], list) else [schema[word]]
        fitting = sum(_fits(each, value, root) for each in listed)
        good = {"anyOf": fitting > 0, "oneOf": fitting == 1, "not": fitting == 0}[word]
        if not good:
            yield f"{at}: {word} does not hold; {fitting} of {len(listed)} fit"

    return check


def _condition(schema: Any, value: Json, at: str, root: Json) -> Iterator[str]:
    branch = "then" if _fits(schema["if"], value, root) else "else"
    yield from _problems(schema.get(branch, True), value, at, root)


def _reference(schema: Any, value: Json, at: str, root: Json) -> Iterator[str]:
    pointer, found = schema["$ref"], root
    if not pointer.startswith("#"):
        message = f"the schema refers to {pointer!r}; this judge reads one schema alone"
        raise BadParameter(message)
    for step in filter(None, pointer[1:].split("/")):
        found = found[step.replace("~1", "/").replace("~0", "~")]
    yield from _problems(found, value, at, root)


_NESTED: dict[str, Callable[[Any, Json, str, Json], Iterator[str]]] = {
    "properties": _properties,
    "additionalProperties": _properties,
    "patternProperties": _properties,
    "items": _items,
    "prefixItems": _items,
    "allOf": _all_of,
    "anyOf": _some_of("anyOf"),
    "oneOf": _some_of("oneOf"),
    "not": _some_of("not"),
    "if": _condition,
    "$ref": _reference,
}
