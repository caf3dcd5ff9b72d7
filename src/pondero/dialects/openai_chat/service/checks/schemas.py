"""The subset of JSON Schema that OpenAI takes: all of it if strict, little of it otherwise."""

import re
from collections.abc import Iterator

from msgspec import Struct

from pondero.canon import Json
from pondero.dialects.json_schemas import find_misfit

_UNIONS = ("oneOf", "anyOf", "allOf", "enum", "not")
_REFUSED = frozenset(
    {
        *("oneOf", "allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas"),
        *("minLength", "maxLength", "patternProperties", "unevaluatedProperties", "propertyNames"),
        *("minProperties", "maxProperties", "unevaluatedItems", "contains", "minContains"),
        *("maxContains", "uniqueItems", "default"),
    }
)
_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)
_LOOKS_AROUND = re.compile(r"\(\?(?:=|!|<=|<!)")
_DEFINED = re.compile(r"#/(\$defs|definitions)/([^/]+)")
_TYPED = ("type", "anyOf", "enum", "const")

_Context = tuple[str, ...]


class SchemaFault(Struct, frozen=True):
    """The rule that a schema breaks, and the facts of its wording."""

    rule: str
    facts: dict[str, Json]


def find_fault(schema: dict[str, Json], *, strict: bool, function: bool) -> SchemaFault | None:
    """Return the first fault of a schema, None if the service takes it."""
    kind = schema.get("type")
    typed = strict or kind is not None or (function and bool(schema))
    if kind != "object" and typed:
        return SchemaFault("schema_root", {"got": kind})
    if function and (misfit := find_misfit(schema)) is not None:
        return SchemaFault("schema_invalid", {"misfit": misfit})
    if (strict or function) and any(name in schema for name in _UNIONS):
        return SchemaFault("schema_root_union", {})
    if function and not strict and kind == "object" and "properties" not in schema:
        return _fault("schema_no_properties", ())
    found = _walk_strict(schema, (), schema) if strict else _walk_arrays(schema, ())
    return next(found, None) if strict or function else None


def _walk_arrays(node: Json, at: _Context) -> Iterator[SchemaFault]:
    if not isinstance(node, dict):
        return
    if node.get("type") == "array" and "items" not in node:
        yield _fault("schema_items", at)
    for inner, where in _inner(node, at):
        yield from _walk_arrays(inner, where)


def _walk_strict(node: Json, at: _Context, root: dict[str, Json]) -> Iterator[SchemaFault]:
    if isinstance(node, dict) and "$ref" in node:
        yield from _check_reference(node, at, root)
        return
    if not isinstance(node, dict) or not any(name in node for name in _TYPED):
        yield _fault("schema_type", at)
        return
    yield from _check_keywords(node, at)
    types = node.get("type")
    types = types if isinstance(types, list) else [types]
    if "object" in types:
        yield from _check_object(node, at)
    if "array" in types and "items" not in node:
        yield _fault("schema_items", at)
    for inner, where in _inner(node, at):
        yield from _walk_strict(inner, where, root)


def _check_reference(
    node: dict[str, Json], at: _Context, root: dict[str, Json]
) -> Iterator[SchemaFault]:
    beside = {name for name in node if name not in ("$ref", "$defs", "definitions")}
    if beside:
        yield _fault("schema_beside_ref", at, keywords=beside)
    name = node["$ref"]
    found = _DEFINED.fullmatch(name) if isinstance(name, str) else None
    if name != "#" and (found is None or found[2] not in _find_members(root, found[1])):
        yield _fault("schema_ref", at)


def _check_keywords(node: dict[str, Json], at: _Context) -> Iterator[SchemaFault]:
    for name in node:
        if name in _REFUSED:
            yield _fault("schema_keyword", at, keyword=name)
    named = node.get("format")
    if named is not None and str(named) not in _FORMATS:
        yield _fault("schema_format", at, format=named)
    if _LOOKS_AROUND.search(str(node.get("pattern", ""))):
        yield _fault("schema_pattern", at)


def _check_object(node: dict[str, Json], at: _Context) -> Iterator[SchemaFault]:
    if node.get("additionalProperties") is not False:
        yield _fault("schema_additional", at)
    names, required = _find_members(node, "properties"), node.get("required")
    required = required if isinstance(required, list) else []
    for name in names:
        if name not in required:
            yield _fault("schema_required", at, name=name)
    for name in required:
        if name not in names:
            yield _fault("schema_extra_required", at, name=name)


def _inner(node: dict[str, Json], at: _Context) -> Iterator[tuple[Json, _Context]]:
    for place in ("properties", "$defs", "definitions"):
        for name, inner in _find_members(node, place).items():
            yield inner, (*at, place, name)
    if "items" in node:
        yield node["items"], (*at, "items")
    options = node.get("anyOf")
    for number, inner in enumerate(options if isinstance(options, list) else ()):
        yield inner, (*at, "anyOf", str(number))


def _find_members(node: dict[str, Json], place: str) -> dict[str, Json]:
    several = node.get(place)
    return several if isinstance(several, dict) else {}


def _fault(rule: str, at: _Context, **facts: Json) -> SchemaFault:
    return SchemaFault(rule, {"context": at, **facts})
