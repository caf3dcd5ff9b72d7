"""Schemas of tools and of answers; those of strict tools and answers are compiled to a grammar."""

import re
from collections.abc import Mapping, Sequence

from pondero.canon import Json
from pondero.dialects import json_schemas

from ..errors import reject
from .facts import RequestFacts

_NUMBER = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_UNSUPPORTED: Mapping[str, Sequence[str]] = {
    "integer": _NUMBER,
    "number": _NUMBER,
    "array": ("maxItems", "uniqueItems"),
}
_STRICT_TOOLS = 20
_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


def check_schemas(asked: RequestFacts) -> None:
    """Reject schemas that are no objects, cannot be compiled, or together are too complex."""
    strict = _check_tools(asked.raw.get("tools") or ())
    for at, schema in asked.formats:
        check_shape(schema, at)
    if asked.formats:
        _check_answer(asked)
    if len(strict) > _STRICT_TOOLS:
        reject("strict_tools", found=len(strict), most=_STRICT_TOOLS)
    json_schemas.check_size([*strict, *(schema for _, schema in asked.formats)], reject)


def _check_answer(asked: RequestFacts) -> None:
    if not asked.row.formats:
        reject("no_format", model=asked.body.model)
    if asked.body.max_tokens == 0:
        reject("format_without_tokens")


def _check_tools(tools: Sequence[Json]) -> list[Json]:
    """Reject functions whose schema is no object; return the schemas of the strict ones."""
    strict = []
    for at, tool in enumerate(tools):
        if tool.get("type") not in (None, "custom"):
            continue
        schema, path = tool["input_schema"], f"tools.{at}.custom"
        if any(name in schema for name in ("oneOf", "allOf", "anyOf")):
            reject("tool_root_union", path=path)
        if "type" not in schema:
            reject("tool_root", path=path)
        if schema["type"] != "object":
            reject("tool_root_type", path=path)
        if not all(_KEY.fullmatch(name) for name in schema.get("properties") or ()):
            reject("property_keys", path=path)
        if not json_schemas.is_valid(schema):
            reject("invalid_schema", path=path)
        if tool.get("strict"):
            check_shape(schema, path)
            strict.append(schema)
    return strict


def check_shape(schema: Json, at: str) -> None:
    """Reject a schema that cannot be compiled to a grammar."""
    json_schemas.check_references(schema, at, reject)
    for inner in json_schemas.iter_schemas(schema):
        kind = inner.get("type")
        if kind == "object" and inner.get("additionalProperties") is not False:
            reject("open_object", at=at)
        if not _is_plain(inner.get("properties", {})):
            reject("boolean_schema", at=at)
        for name in _UNSUPPORTED.get(str(kind), ()):
            if name in inner:
                reject("schema_keyword", at=at, kind=kind, name=name)
        if json_schemas.has_least_items(inner, 2):
            reject("schema_keyword", at=at, kind=kind, name="minItems")


def _is_plain(properties: Json) -> bool:
    return isinstance(properties, Mapping) and all(
        isinstance(each, Mapping) for each in properties.values()
    )
