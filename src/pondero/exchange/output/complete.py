"""Completes a schema that is not enforced with keywords that say nothing, but must be there."""

from ...canon import Json

_NAMED = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_SEVERAL = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = (
    *("items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else"),
    *("unevaluatedItems", "unevaluatedProperties", "additionalItems"),
)


def complete_root(schema: dict[str, Json]) -> dict[str, Json]:
    """Return an equal schema of arguments: ``properties`` at its root, ``items`` in its arrays."""
    made = complete_arrays(schema)
    return made if "properties" in made else {**made, "properties": {}}


def complete_arrays(schema: Json) -> Json:
    """Return an equal schema whose arrays all have ``items``; the very same if they had.

    Further items of a tuple are any, too, and what requires keys has ``properties``.
    """
    if not isinstance(schema, dict):
        return schema
    changed = {word: new for word, old in schema.items() if (new := _complete(word, old)) != old}
    if _is_array(schema) and "items" not in schema:
        changed["items"] = {}
    if schema.get("required") is not None and "properties" not in schema:
        changed["properties"] = {}
    return {**schema, **changed} if changed else schema


def _complete(word: str, value: Json) -> Json:
    if word in _NAMED and isinstance(value, dict):
        return {name: complete_arrays(each) for name, each in value.items()}
    if word in _SEVERAL and isinstance(value, list):
        return [complete_arrays(each) for each in value]
    return complete_arrays(value) if word in _SINGLE else value


def _is_array(schema: dict[str, Json]) -> bool:
    kind = schema.get("type")
    return kind == "array" or (isinstance(kind, list) and "array" in kind)
