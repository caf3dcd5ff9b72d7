"""Schemas of strict tools and of answers, which the service compiles to a grammar."""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import DecodeError
from msgspec.json import decode

from pondero.canon import Json
from pondero.dialects import json_schemas

from .. import types
from ..errors import reject
from ..models import Family
from ..types import decode_strict

_NUMBER = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_UNSUPPORTED: Mapping[str, Sequence[str]] = {
    "integer": _NUMBER,
    "number": _NUMBER,
    "array": ("maxItems",),
}
_STRICT_TOOLS = 20
_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
# What begins a look-around or goes back to a group; escapes and classes of characters hide it.
_PIECE = re.compile(
    r"\\(?P<back>\d)|\\.|\[(?:\\.|[^\]])*\]|(?P<look>\(\?(?:[=!]|<[=!]|P=))", re.DOTALL
)


def check_schemas(body: types.Body, row: Family) -> None:
    """Reject schemas that the model does not compile, or not together."""
    _check_inputs(body, row)
    found = [*_iter_strict(body), *_iter_formats(body)]
    if found and not row.formats:
        reject("no_format", field=found[0][0])
    for at, schema in found:
        _check_schema(schema, at, row)
    strict = list(_iter_strict(body))
    if row.control == "claude":
        if len(strict) > _STRICT_TOOLS:
            reject("strict_tools", found=len(strict), most=_STRICT_TOOLS)
        json_schemas.check_size([schema for _, schema in found], reject)


def _check_inputs(body: types.Body, row: Family) -> None:
    """Reject schemas of tools that are no objects, for Claude also what its own API rejects."""
    for at, union in enumerate(body.tool_config.tools if body.tool_config else ()):
        if "toolSpec" not in union:
            continue
        schema = decode_strict(union["toolSpec"], types.ToolSpec).input_schema.json
        if schema.get("type") != "object":
            reject("tool_root", at=at)
        if row.control != "claude":
            continue
        properties = schema.get("properties")
        if isinstance(properties, Mapping) and not all(map(_KEY.fullmatch, properties)):
            reject("property_keys", at=at)
        if not json_schemas.is_valid(schema):
            reject("invalid_schema", at=at)


def _iter_strict(body: types.Body) -> Iterator[tuple[str, Json]]:
    for at, union in enumerate(body.tool_config.tools if body.tool_config else ()):
        if "toolSpec" in union:
            spec = decode_strict(union["toolSpec"], types.ToolSpec)
            if spec.strict:
                yield f"toolConfig.tools.{at}.toolSpec.strict", spec.input_schema.json


def _iter_formats(body: types.Body) -> Iterator[tuple[str, Json]]:
    config = body.output_config
    if config is None or config.text_format is None:
        return
    try:
        yield "outputConfig.textFormat", decode(config.text_format.structure.json_schema.schema)
    except (DecodeError, UnicodeError, RecursionError):
        reject("format_json")


def _check_schema(schema: Json, at: str, row: Family) -> None:
    claude = row.control == "claude"
    if claude:
        json_schemas.check_references(schema, at, reject)
    for inner in json_schemas.iter_schemas(schema):
        kind = inner.get("type")
        if claude and kind == "object" and inner.get("additionalProperties") is not False:
            reject("open_object", at=at)
        for name in _UNSUPPORTED.get(str(kind), ()):
            if name in inner:
                reject("schema_keyword", at=at, kind=kind, name=name)
        if json_schemas.has_least_items(inner, 2):
            reject("schema_keyword", at=at, kind=kind, name="minItems")
        if kind == "array" and "contains" in inner and not row.contains:
            reject("schema_contains", at=at)
        if _looks_around(str(inner.get("pattern", ""))):
            reject("schema_pattern", at=at, pattern=inner["pattern"])


def _looks_around(pattern: str) -> bool:
    return any(found["back"] or found["look"] for found in _PIECE.finditer(pattern))
