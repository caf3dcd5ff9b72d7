"""Converts the wire's OpenAPI schemas to JSON Schema; JSON Schema is returned unchanged."""

from collections.abc import Callable, Mapping

from pondero.canon import Json, read_count

from .protobuf import camel, snake

_SIZES = frozenset(
    {"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"}
)
_ONLY_HERE = frozenset({"nullable", "propertyOrdering", "example"})
_NOTHINGS = (("type", "type_unspecified"), ("format", "enum"))  # what they say is said otherwise


def json_schema(schema: Json) -> Json:
    """Return a schema as JSON Schema has it."""
    if not isinstance(schema, dict):
        return schema
    read: dict[str, Json] = {}
    for key, value in schema.items():
        name = _NAMES.get(key) or _find_name(key)
        if name in _ONLY_HERE or (value is None and name in _READ):
            continue
        read[name] = _READ[name](value) if name in _READ else value
    for name, nothing in _NOTHINGS:
        if read.get(name) == nothing:
            del read[name]
    if "example" in schema and "examples" not in schema:
        read["examples"] = [schema["example"]]
    return _nullable(read) if schema.get("nullable") is True else read


def _nullable(schema: dict[str, Json]) -> dict[str, Json]:
    kind = schema.get("type")
    if not isinstance(kind, str):
        return {"anyOf": [schema, {"type": "null"}]}
    values = {"enum": [*schema["enum"], None]} if isinstance(schema.get("enum"), list) else {}
    return {**schema, "type": [kind, "null"], **values}


def _type(value: Json) -> Json:
    if isinstance(value, list):
        return [_type(each) for each in value]
    return value.lower() if isinstance(value, str) else value


def _size(value: Json) -> Json:
    count = read_count(value) if isinstance(value, str) else None
    return value if count is None else count


def _each(value: Json) -> Json:
    return [json_schema(each) for each in value] if isinstance(value, list) else json_schema(value)


def _read_named(value: Json) -> Json:
    if not isinstance(value, dict):
        return value
    return {name: json_schema(inner) for name, inner in value.items()}


_READ: Mapping[str, Callable[[Json], Json]] = {
    "type": _type,
    **dict.fromkeys(("items", "anyOf", "allOf", "oneOf", "prefixItems", "not"), _each),
    **dict.fromkeys(("additionalProperties",), json_schema),
    **dict.fromkeys(("properties", "$defs", "definitions"), _read_named),
    **dict.fromkeys(_SIZES, _size),
}
_SPELT = frozenset(snake(name) for name in (*_READ, *_ONLY_HERE) if not name.startswith("$"))
"""Names that a protocol buffer may spell with underscores."""


def _find_name(key: str) -> str:
    return camel(snake(key)) if snake(key) in _SPELT else key


_NAMES = {key: _find_name(key) for name in (*_READ, *_ONLY_HERE) for key in (name, snake(name))}
"""The usual spellings."""
