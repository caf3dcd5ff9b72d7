"""Schemas the service can compile; limits move to descriptions, as in anthropic 2.8.0."""

from collections.abc import Callable, Mapping

from pondero.canon import Json, dump_json

_LIMITS = frozenset(
    {
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "maxItems", "uniqueItems"),
    }
)


def make_compilable(schema: Json) -> Json:
    """Return a schema that the service can compile."""
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


def _close_each(value: Json) -> Json:
    return (
        [make_compilable(each) for each in value]
        if isinstance(value, list)
        else make_compilable(value)
    )


def _close_named(value: Json) -> Json:
    if not isinstance(value, dict):
        return value
    return {name: make_compilable(inner) for name, inner in value.items()}


_INSIDE: Mapping[str, Callable[[Json], Json]] = {
    **dict.fromkeys(("items", "anyOf", "oneOf", "allOf", "prefixItems"), _close_each),
    **dict.fromkeys(("properties", "$defs", "definitions"), _close_named),
}
