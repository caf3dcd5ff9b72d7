"""The limits of JSON schemas that the service compiles to a grammar.

These are the schemas of strict tools and of structured answers. rules.accept calls this.
"""

from collections.abc import Iterator, Mapping, Sequence

from pondero.canon import Json

from .errors import refuse

_UNSUPPORTED: Mapping[str, Sequence[str]] = {
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "string": ("minLength", "maxLength"),
    "array": ("maxItems", "uniqueItems"),
}
_OPTIONALS, _UNIONS, _STRICT_TOOLS = 24, 16, 20


def check_tools(tools: Sequence[Json]) -> None:
    """Refuse functions whose schema is no object, and strict ones that are too complex."""
    strict = []
    for at, tool in enumerate(tools):
        if tool.get("type") not in (None, "custom"):
            continue
        schema, path = tool["input_schema"], f"tools.{at}.custom"
        if "type" not in schema:
            raise refuse(f"{path}.input_schema.type: Field required")
        if schema["type"] != "object":
            raise refuse(f"{path}.input_schema.type: Input should be 'object'")
        if tool.get("strict"):
            check_shape(schema, path)
            strict.append(schema)
    if len(strict) > _STRICT_TOOLS:
        raise refuse(
            f"Too many strict tools ({len(strict)}). The maximum number of strict tools supported "
            f"is {_STRICT_TOOLS}. Try reducing the number of tools marked as strict."
        )
    _check_size([inner for schema in strict for inner in _within(schema)])


def check_shape(schema: Json, at: str) -> None:
    """Refuse a schema that cannot be compiled to a grammar."""
    _check_circles(schema, at)
    for inner in _within(schema):
        kind = inner.get("type")
        if kind == "object" and inner.get("additionalProperties") is not False:
            raise refuse(
                f"{at}: For 'object' type, 'additionalProperties' must be explicitly set to false"
            )
        properties = inner.get("properties", {})
        if not _is_plain(properties):
            raise refuse(f"{at}: For 'object' type, property 'properties' is not supported")
        for name in _UNSUPPORTED.get(str(kind), ()):
            if name in inner:
                raise refuse(f"{at}: For '{kind}' type, property '{name}' is not supported")


def _is_plain(properties: Json) -> bool:
    return isinstance(properties, Mapping) and all(
        isinstance(each, Mapping) for each in properties.values()
    )


def _check_size(schemas: Sequence[Mapping[str, Json]]) -> None:
    optional = unions = 0
    for schema in schemas:
        properties = schema.get("properties") or {}
        required = schema.get("required") or []
        optional += sum(name not in required for name in properties)
        unions += sum(
            isinstance(each.get("type"), list) or "anyOf" in each for each in properties.values()
        )
    if optional > _OPTIONALS:
        raise refuse(
            f"Schemas contains too many optional parameters ({optional}), which would make grammar "
            "compilation inefficient. Reduce the number of optional parameters in your tool "
            f"schemas (limit: {_OPTIONALS})."
        )
    if unions > _UNIONS:
        raise refuse(
            f"Schemas contains too many parameters with union types ({unions} parameters with type "
            "arrays or anyOf). This causes exponential compilation cost. Reduce the number of "
            f"nullable or union-typed parameters (limit: {_UNIONS} parameters with unions)."
        )


def _within(schema: Json) -> Iterator[Mapping[str, Json]]:
    """Yield a schema and every one inside it."""
    if not isinstance(schema, Mapping):
        return
    yield schema
    for key in ("properties", "$defs", "definitions"):
        inner = schema.get(key)
        for each in inner.values() if isinstance(inner, Mapping) else ():
            yield from _within(each)
    for key in ("anyOf", "allOf", "oneOf", "prefixItems"):
        inner = schema.get(key)
        for each in inner if isinstance(inner, list) else ():
            yield from _within(each)
    yield from _within(schema.get("items"))


def _check_circles(schema: Json, at: str) -> None:
    defined = schema.get("$defs") if isinstance(schema, Mapping) else None
    if not isinstance(defined, Mapping):
        return
    meant = {
        name: [str(each["$ref"]).rpartition("/")[2] for each in _within(inner) if "$ref" in each]
        for name, inner in defined.items()
    }
    for name in meant:
        chain, seen = [name], {name}
        while chain:
            for other in meant.get(chain.pop(), ()):
                if other == name:
                    raise refuse(
                        f"{at}: Invalid schema: Circular reference detected in schema definitions: "
                        f"{name} -> {name}. Self-referencing or mutually-referencing definitions "
                        "are not supported."
                    )
                if other not in seen:
                    seen.add(other)
                    chain.append(other)
