"""Checks JSON schemas of functions and of the output as OpenAI does, strict ones in full."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from pondero.canon import Json
from pondero.dialects.json_schemas import find_misfit

from ..errors import reject
from ..types import Create

_MOST_LEVELS, _MOST_PROPERTIES = 10, 5_000
_NOT_AT_ROOT = ("oneOf", "anyOf", "allOf", "enum", "const", "not")
# pydantic-ai 2.66.0, and the composition words that strict schemas lack (2026-11-16); `default` is
# on its list too, but recorded requests to gpt-5.5 and o4-mini with it were accepted.
_FORBIDDEN = (
    *("minLength", "maxLength", "patternProperties", "unevaluatedProperties", "propertyNames"),
    *("minProperties", "maxProperties", "unevaluatedItems", "contains", "minContains"),
    *("maxContains", "uniqueItems", "oneOf", "allOf", "not", "if", "then", "else"),
)
_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)
_LOOK_AROUND = re.compile(r"\(\?<?[=!]")
_TOP_LEVEL = re.compile(r"#(?:/(?:\$defs|definitions)/[^/]+)?")
_UNTYPED = ("type", "$ref", "anyOf", "enum")  # a schema has one of these
_DEFINITIONS = ("$defs", "definitions")

Path = tuple[str, ...]


class _Place(Struct, frozen=True):
    """Where a schema is: what it is for, its name, and the parameter and code of its errors."""

    what: str
    name: str
    param: str
    code: str

    def reject(self, rule: str, **facts: object) -> None:
        """Reject the schema."""
        named = {"what": self.what, "name": self.name, **facts}
        reject(rule, param=self.param, code=self.code, **named)


def check_schemas(create: Create) -> None:
    """Check the schemas of all functions and of the output."""
    for at, tool in iter_functions(create.tools, "tools"):
        place = _Place(
            "function", str(tool["name"]), f"{at}.parameters", "invalid_function_parameters"
        )
        if isinstance(schema := tool.get("parameters"), dict):
            _check(schema, place, strict=tool.get("strict") is True)
    if create.text is not None:
        check_format(create.text.format, "text.format")


def check_format(asked: Json, at: str) -> None:
    """Check the schema of an output format."""
    if not isinstance(asked, dict) or not isinstance(schema := asked.get("schema"), dict):
        return
    place = _Place("response_format", str(asked.get("name")), f"{at}.schema", "invalid_json_schema")
    _check(schema, place, strict=asked.get("strict") is True)


def iter_functions(tools: Json, at: str) -> Iterator[tuple[str, dict[str, Json]]]:
    """Yield the functions among tools, and those in namespaces, with their paths."""
    for number, tool in enumerate(tools or ()):
        if tool.get("type") == "namespace" and isinstance(tool.get("tools"), list):
            yield from iter_functions(tool["tools"], f"{at}[{number}].tools")
        elif tool.get("type") == "function" and isinstance(tool.get("name"), str):
            yield f"{at}[{number}]", tool


def _check(schema: Mapping[str, Json], place: _Place, *, strict: bool) -> None:
    kind, function = schema.get("type"), place.what == "function"
    typed = (strict or (function and schema)) and not _has_root_union(schema)
    if kind not in ("object", None) or (kind is None and typed):
        place.reject("schema_root", got=kind)
    if _has_root_union(schema) and (strict or function):
        place.reject("schema_root_union")
    if function and (misfit := find_misfit(schema)) is not None:
        place.reject("schema_invalid", misfit=misfit)
    if not strict:
        if function:
            _check_loose(schema, place)
        return
    _check_size(schema, place)
    for path, each in _iter_schemas(schema, ()):
        _check_one(path, each, place)


def _check_loose(schema: Mapping[str, Json], place: _Place) -> None:
    """Check a function that is not enforced: nested objects need no properties (recordings)."""
    if schema.get("type") == "object" and "properties" not in schema:
        place.reject("schema_no_properties", context="()")
    for path, each in _iter_schemas(schema, ()):
        if each.get("type") == "array" and "items" not in each:
            place.reject("schema_items", context=repr(path))


def _has_root_union(schema: Mapping[str, Json]) -> bool:
    return any(word in schema for word in _NOT_AT_ROOT)


def _check_one(path: Path, schema: Mapping[str, Json], place: _Place) -> None:
    context = repr(path)
    if "$ref" in schema:
        beside = ", ".join(f"'{word}'" for word in schema if word not in ("$ref", *_DEFINITIONS))
        if beside:
            place.reject("schema_ref_beside", context=context, words=f"{{{beside}}}")
        if not _TOP_LEVEL.fullmatch(str(schema["$ref"])):
            place.reject("schema_ref", context=context)
        return
    for word in _FORBIDDEN:
        if word in schema:
            place.reject("schema_keyword", context=context, word=word)
    if not any(word in schema for word in _UNTYPED):
        place.reject("schema_type", context=context)
    if schema.get("format") is not None and schema["format"] not in _FORMATS:
        place.reject("schema_format", context=context, format=schema["format"])
    if _LOOK_AROUND.search(str(schema.get("pattern", ""))):
        place.reject("schema_pattern", context=context)
    if "array" in _types(schema) and "items" not in schema:
        place.reject("schema_items", context=context)
    if "object" in _types(schema):
        _check_object(context, schema, place)


def _check_object(context: str, schema: Mapping[str, Json], place: _Place) -> None:
    if schema.get("additionalProperties") is not False:
        place.reject("schema_additional", context=context)
    required, known = schema.get("required"), schema.get("properties") or {}
    listed = required if isinstance(required, list) else []
    for name in known:
        if name not in listed:
            place.reject("schema_required", context=context, name_of=name)
    for name in listed:
        if name not in known:
            place.reject("schema_required_extra", context=context, name_of=name)


def _types(schema: Mapping[str, Json]) -> tuple[Any, ...]:
    kind = schema.get("type")
    return tuple(kind) if isinstance(kind, list) else (kind,)


def _iter_schemas(schema: Json, path: Path) -> Iterator[tuple[Path, Mapping[str, Json]]]:
    """Yield a schema and all inside it, from the outside; references are not followed."""
    if not isinstance(schema, dict):
        return
    yield path, schema
    for step, inner in _iter_inner(schema):
        yield from _iter_schemas(inner, (*path, *step))


def _iter_inner(schema: Mapping[str, Json]) -> Iterator[tuple[Path, Json]]:
    for word in ("properties", *_DEFINITIONS):
        if isinstance(inside := schema.get(word), dict):
            yield from (((word, name), each) for name, each in inside.items())
    for word in ("anyOf", "prefixItems"):
        if isinstance(several := schema.get(word), list):
            yield from (((word, str(number)), each) for number, each in enumerate(several))
    if "items" in schema:
        yield ("items",), schema["items"]


def _check_size(schema: Mapping[str, Json], place: _Place) -> None:
    found = (each.get("properties") for _, each in _iter_schemas(schema, ()))
    count = sum(len(each) for each in found if isinstance(each, dict))
    if count > _MOST_PROPERTIES:
        place.reject("schema_properties", count=count, most=_MOST_PROPERTIES)
    if (levels := _levels(schema)) > _MOST_LEVELS:
        place.reject("schema_levels", count=levels, most=_MOST_LEVELS)


def _levels(schema: Json) -> int:
    """Count the objects and arrays inside each other; each definition is counted on its own."""
    if not isinstance(schema, dict):
        return 0
    own = 1 if {"object", "array"} & set(map(str, _types(schema))) else 0
    inside = [(step[0] in _DEFINITIONS, _levels(each)) for step, each in _iter_inner(schema)]
    deepest = max((levels for apart, levels in inside if not apart), default=0)
    return max(own + deepest, *(levels for apart, levels in inside if apart), 0)
