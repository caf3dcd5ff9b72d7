"""References inside a schema: what they mean, and where a schema contains itself."""

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from ...canon import Json

DEFINITIONS = ("$defs", "definitions")
_LOCAL = re.compile(r"#/(\$defs|definitions)/([^/]+)")
_ROOT = "answer"
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")


class Unfit(Exception):
    """A schema that a service cannot be given; the text says why."""


def has_type(schema: Mapping[str, Json], name: str) -> bool:
    """Return whether a schema names a type."""
    kind = schema.get("type")
    return kind == name or (isinstance(kind, list) and name in kind)


def without_definitions(schema: Mapping[str, Json]) -> tuple[dict[str, Json], dict[str, Json]]:
    """Return a schema's root, and its definitions."""
    root = {key: value for key, value in schema.items() if key not in DEFINITIONS}
    beside = {word: schema[word] for word in DEFINITIONS if isinstance(schema.get(word), dict)}
    return root, {word: several for word, several in beside.items() if several}


def follow_reference(root: Mapping[str, Json], pointer: Json) -> dict[str, Json]:
    """Return the definition that a reference names; raises Unfit if there is none."""
    found = _LOCAL.fullmatch(pointer) if isinstance(pointer, str) else None
    defined = root.get(found[1]) if found else None
    name = found[2].replace("~1", "/").replace("~0", "~") if found else ""
    meant = defined.get(name) if isinstance(defined, dict) else None
    if not isinstance(meant, dict):
        raise Unfit(f"it refers to {pointer!r}, which is not one of its definitions")
    return meant


def name_root(schema: dict[str, Json]) -> dict[str, Json]:
    """Return the schema with a definition of its root, if it refers to that as ``#``."""
    if not any(each.get("$ref") == "#" for each in _iter_all(schema)):
        return schema
    word = "definitions" if "definitions" in schema else "$defs"
    several = schema.get(word) or {}
    name = next(
        name for name in (_ROOT, *(f"{_ROOT}{n}" for n in range(99))) if name not in several
    )
    pointer = f"#/{word}/{name}"
    renamed = _rename(schema, pointer)
    root, definitions = without_definitions(renamed)
    return {"$ref": pointer, **definitions, word: {**definitions.get(word, {}), name: root}}


def _rename(schema: Json, pointer: str) -> Json:
    if isinstance(schema, list):
        return [_rename(each, pointer) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _rename(value, pointer) for key, value in schema.items()}
    return {**made, "$ref": pointer} if made.get("$ref") == "#" else made


def inline(schema: dict[str, Json]) -> dict[str, Json]:
    """Return the schema without references; raises Unfit if it contains itself."""
    named = name_root(schema)
    find_recursive(named, "nowhere")
    root, _ = without_definitions(named)
    made: dict[str, Json] = _inline(root, named)
    return made


def _inline(schema: Json, root: Mapping[str, Json]) -> Json:
    if isinstance(schema, list):
        return [_inline(each, root) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if isinstance(pointer := schema.get("$ref"), str):
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**follow_reference(root, pointer), **beside}
        return _inline(schema, root)
    return {key: _inline(value, root) for key, value in schema.items()}


def find_recursive(
    schema: Mapping[str, Json], allowed: Literal["anywhere", "optional", "nowhere"]
) -> None:
    """Raise Unfit if a definition contains itself where the service does not allow it."""
    if allowed == "anywhere":
        return
    edges = {
        f"#/{word}/{name}": set(_iter_references(each, skip_optional=allowed == "optional"))
        for word in DEFINITIONS
        for name, each in (schema.get(word) or {}).items()
    }
    for name, nearest in edges.items():
        waiting, seen = list(nearest), set[str]()
        while waiting:
            other = waiting.pop()
            if other == name:
                where = " in a key that is required" if allowed == "optional" else ""
                raise Unfit(f"{name.rpartition('/')[2]} contains itself{where}")
            if other not in seen:
                seen.add(other)
                waiting += edges.get(other, ())


def iter_inner(schema: Mapping[str, Json]) -> Iterator[tuple[Json, bool]]:
    """Yield the schemas directly inside one, and whether each is an optional key's."""
    required = schema.get("required") or ()
    for word in ("properties", "patternProperties"):
        several = schema.get(word)
        for name, each in several.items() if isinstance(several, dict) else ():
            yield each, name not in required
    for word in _LISTS:
        options = schema.get(word)
        for each in options if isinstance(options, list) else ():
            yield each, False
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            yield schema[word], False


def _iter_references(schema: Json, *, skip_optional: bool) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    if isinstance(schema.get("$ref"), str):
        yield schema["$ref"]
    for inner, optional in iter_inner(schema):
        if not (optional and skip_optional):
            yield from _iter_references(inner, skip_optional=skip_optional)


def _iter_all(schema: Json) -> Iterator[dict[str, Json]]:
    if isinstance(schema, dict):
        yield schema
        for each in schema.values():
            yield from _iter_all(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from _iter_all(each)
