"""Checks values against a JSON Schema, for ``pondero ask --schema`` and the judge ``json_schema``.

The library jsonschema does the work. Two rules are ours: a schema is read alone, so a reference to
another document is an error and is never fetched; and an unknown keyword is an error, because a
constraint that is ignored would let a wrong answer pass.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from typing import Any

from ...canon import Json
from ...errors import BadParameter

_ANNOTATIONS = {
    "$schema", "$id", "id", "$comment", "$defs", "definitions", "$anchor", "$dynamicAnchor",
    "$recursiveAnchor", "$vocabulary", "title", "description", "default", "examples", "deprecated",
    "readOnly", "writeOnly", "then", "else", "minContains", "maxContains",
}  # fmt: skip
# Formats that need no further package, so that a verdict is the same on every machine.
_FORMATS = ("date", "email", "ipv4", "ipv6", "regex", "uuid")
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.IGNORECASE)
_LONGEST_VALUE = 200


class SchemaCheck:
    """Checks values against one schema of draft 2020-12, or of the draft that ``$schema`` names.

    Raises BadParameter if the schema is invalid; unless ``ignores_unknown``, also if it has an
    unknown keyword.
    """

    def __init__(self, schema: Json, *, ignores_unknown: bool = False) -> None:
        from jsonschema import SchemaError  # noqa: PLC0415 - slow, and few commands need it
        from referencing import Registry  # noqa: PLC0415

        if not isinstance(schema, dict | bool):
            message = f"invalid JSON schema {schema!r}; use an object, true or false"
            raise BadParameter(message)
        validator_class = _choose_validator(schema)
        try:
            validator_class.check_schema(schema)
            _check_subschemas(schema, validator_class, ignores_unknown=ignores_unknown)
        except SchemaError as error:
            message = f"invalid JSON schema: {_describe(error)}"
            raise BadParameter(message) from None
        except RecursionError:
            raise BadParameter("invalid JSON schema: it is nested too deeply") from None
        # An empty registry resolves references inside the schema only; the default one downloads.
        self._validator = validator_class(
            schema, registry=Registry(), format_checker=_make_format_checker()
        )

    def find_problem(self, value: Json) -> str | None:
        """Return the most telling error in a value and its path, or None if the value is valid."""
        from jsonschema.exceptions import best_match  # noqa: PLC0415

        try:
            error = best_match(self._validator.iter_errors(value))
        except RecursionError:
            return "$: value and schema are nested too deeply to be checked"
        return None if error is None else _describe(error)


def _choose_validator(schema: Json) -> Any:
    from jsonschema import Draft202012Validator  # noqa: PLC0415
    from jsonschema.validators import extend, validator_for  # noqa: PLC0415

    named = isinstance(schema, dict) and isinstance(schema.get("$schema"), str)
    found = validator_for(schema, Draft202012Validator) if named else Draft202012Validator
    return extend(found, {"multipleOf": _iter_multiple_errors})


def _iter_multiple_errors(_: object, factor: Any, value: Any, _schema: Json) -> Iterator[Exception]:
    """Check ``multipleOf`` in decimal: to jsonschema, 0.3 is not a multiple of 0.1."""
    from fractions import Fraction  # noqa: PLC0415

    from jsonschema import ValidationError  # noqa: PLC0415

    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    is_infinite = value in (float("inf"), float("-inf"))  # 1e999 is valid JSON
    if is_infinite or (Fraction(repr(value)) / Fraction(repr(factor))).denominator != 1:
        yield ValidationError(f"{value!r} is not a multiple of {factor!r}")


@cache
def _make_format_checker() -> Any:
    from jsonschema import FormatChecker  # noqa: PLC0415

    checker = FormatChecker(_FORMATS)
    checker.checks("date-time", raises=ValueError)(_is_date_time)
    return checker


def _is_date_time(value: object) -> bool:
    """Return whether a text is a date and time with its offset (RFC 3339, section 5.6)."""
    if not isinstance(value, str):
        return True
    return bool(_DATE_TIME.fullmatch(value) and datetime.fromisoformat(value.upper()))


def _check_subschemas(schema: Json, validator_class: Any, *, ignores_unknown: bool) -> None:
    """Reject unknown keywords, and references that lead out of the schema or round in a circle."""
    from referencing import Registry  # noqa: PLC0415
    from referencing.exceptions import Unresolvable  # noqa: PLC0415
    from referencing.jsonschema import specification_with  # noqa: PLC0415

    known = validator_class.VALIDATORS.keys() | _ANNOTATIONS
    dialect = specification_with(validator_class.META_SCHEMA["$schema"])
    root = dialect.create_resource(schema)
    waiting = [(root, Registry().resolver_with_root(root))]
    schemas: list[Json] = []
    references: list[tuple[str, Any]] = []
    while waiting:
        resource, resolver = waiting.pop()
        schemas.append(resource.contents)
        if isinstance(resource.contents, dict):
            unknown = resource.contents.keys() - known
            if unknown and not ignores_unknown:
                message = f"the schema has {min(unknown)!r}, a keyword that is not checked"
                raise BadParameter(message)
            references += [
                (resource.contents[word], resolver)
                for word in ("$ref", "$dynamicRef")
                if word in resource.contents
            ]
        waiting += [(each, resolver.in_subresource(each)) for each in resource.subresources()]
    for pointer, resolver in references:
        try:
            _check_reference(pointer, resolver, {id(each) for each in schemas})
        except Unresolvable:
            message = f"the schema refers to {pointer!r}, which it does not contain"
            raise BadParameter(message) from None


def _check_reference(pointer: str, resolver: Any, schemas: set[int]) -> None:
    """Follow a chain of ``$ref``; raise BadParameter if it does not end at a schema."""
    found, passed = resolver.lookup(pointer), set[int]()
    while isinstance(found.contents, dict) and "$ref" in found.contents:
        if id(found.contents) in passed:
            message = f"the schema refers to {pointer!r}, which leads back to itself"
            raise BadParameter(message)
        passed.add(id(found.contents))
        found = found.resolver.lookup(found.contents["$ref"])
    if not isinstance(found.contents, bool) and id(found.contents) not in schemas:
        message = f"the schema refers to {pointer!r}, which is not a schema"
        raise BadParameter(message)


def _describe(error: Any) -> str:
    """Return the path, the value and what is wanted, as in ``$.age: -1 is less than ...``."""
    value, wanted = repr(error.instance), error.validator_value
    if error.validator is None:  # the schema is ``false``
        message = f"{value} is not allowed here"
    else:
        message = "; ".join(dict.fromkeys([error.message, *(e.message for e in error.context)]))
    if len(value) > _LONGEST_VALUE:
        message = message.replace(value, f"{value[:_LONGEST_VALUE]}...")
    if type(wanted) in (str, int, float) and str(wanted) not in message:
        message += f" ({error.validator} {wanted!r})"  # "'A' is too short" does not name the limit
    return f"{error.json_path}: {message}"
