"""Schemas as the service can compile them: for answers of a shape, and for strict tools.

Objects must be closed, and limits of numbers, lengths and lists are refused. A limit becomes words
of the description, as the vendor's own SDK does it (anthropic 2.8.0, ``transform_schema``), so that
the model still reads it. A schema that can be compiled comes back equal.
"""

from collections.abc import Callable, Mapping

from pondero.canon import Json, dump_json

_LIMITS = frozenset(
    {
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "maxItems", "uniqueItems"),
    }
)


def compilable(schema: Json) -> Json:
    """Return a schema that the service takes where it compiles one."""
    if not isinstance(schema, dict):
        return schema
    closed = {
        key: _INSIDE[key](value) if key in _INSIDE else value
        for key, value in schema.items()
        if key not in _LIMITS
    }
    if _is_object(schema):
        closed["additionalProperties"] = False
    told = ", ".join(f"{key}: {dump_json(schema[key])}" for key in schema if key in _LIMITS)
    if told:
        described = schema.get("description")
        before = f"{described}\n\n" if isinstance(described, str) and described else ""
        closed["description"] = f"{before}{{{told}}}"
    return closed


def _is_object(schema: Mapping[str, Json]) -> bool:
    kind = schema.get("type")
    return kind == "object" or (isinstance(kind, list) and "object" in kind)


def _each(value: Json) -> Json:
    return [compilable(each) for each in value] if isinstance(value, list) else compilable(value)


def _named(value: Json) -> Json:
    if not isinstance(value, dict):
        return value
    return {name: compilable(inner) for name, inner in value.items()}


_INSIDE: Mapping[str, Callable[[Json], Json]] = {
    **dict.fromkeys(("items", "anyOf", "oneOf", "allOf", "prefixItems"), _each),
    **dict.fromkeys(("properties", "$defs", "definitions"), _named),
}
