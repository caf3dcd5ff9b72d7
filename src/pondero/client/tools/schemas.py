"""JSON Schema from types, for a tool's arguments and for ``output=``."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from ...canon import Json, pydantic_adapter, union_members
from ...errors import BadParameter


def make_schema(kind: Any) -> dict[str, Json]:
    """Return the schema of a type; pydantic makes those of its models."""
    own = getattr(kind, "model_json_schema", None)
    if own is None and (adapter := pydantic_adapter(kind)) is not None:
        own = adapter.json_schema
    if own is not None:
        own_schema: dict[str, Json] = close_schema(own())
        return own_schema
    try:
        (schema,), components = msgspec.json.schema_components(
            (kind,), ref_template="#/$defs/{name}"
        )
    except TypeError:
        if members := union_members(kind):
            return _join_schemas(members)
        message = (
            f"{kind!r} has no JSON schema: a part of it is no type that JSON has, or a union whose "
            "members look alike; use pydantic's types, or give a JSON schema"
        )
        raise BadParameter(message) from None
    name = schema.get("$ref", "").removeprefix("#/$defs/")
    if name in components and not _mentions(components[name], name):
        schema = {key: value for key, value in components.pop(name).items() if key != "title"}
    closed: dict[str, Json] = close_schema(schema)
    if components:
        closed["$defs"] = {name: close_schema(each) for name, each in components.items()}
    return closed


def _join_schemas(members: Iterable[Any]) -> dict[str, Json]:
    """Return the schema of a union: any of its members'."""
    options: list[Json] = []
    definitions: dict[str, Json] = {}
    for each in members:
        schema = make_schema(each)
        for name, meant in schema.pop("$defs", {}).items():
            if definitions.setdefault(name, meant) != meant:
                raise BadParameter(f"two types of the union are called {name!r}; rename one")
        options.append(schema)
    joined: dict[str, Json] = {"anyOf": options}
    return {**joined, "$defs": definitions} if definitions else joined


def close_schema(schema: Json) -> Json:
    """Forbid other keys in objects, and add a type to enums of strings."""
    if isinstance(schema, Mapping):
        made = {key: close_schema(value) for key, value in schema.items()}
        if isinstance(made.get("properties"), dict) and made.get("type") == "object":
            made.setdefault("additionalProperties", False)
        words = made.get("enum")
        if isinstance(words, list) and all(isinstance(word, str) for word in words):
            made.setdefault("type", "string")
        return made
    return [close_schema(each) for each in schema] if isinstance(schema, list) else schema


def _mentions(schema: Json, name: str) -> bool:
    if isinstance(schema, Mapping):
        return schema.get("$ref") == f"#/$defs/{name}" or any(
            _mentions(each, name) for each in schema.values()
        )
    return isinstance(schema, list) and any(_mentions(each, name) for each in schema)
