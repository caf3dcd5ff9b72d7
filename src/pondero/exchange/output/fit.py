"""Fits a JSON schema to the rules of a service; lists the changes, or says why it cannot."""

import re
from collections.abc import Mapping

from msgspec import Struct
from msgspec.json import encode

from ...canon import Json
from ...dialects import SchemaRules
from .references import (
    Unfit,
    find_recursive,
    follow_reference,
    has_type,
    name_root,
    without_definitions,
)
from .size import check_size

WRAPPER = "result"
_DROPPED = frozenset(("$schema", "$id", "$comment", "discriminator", "deprecated"))
_OUTSIDE = frozenset(("readOnly", "writeOnly", "examples"))
_UNIONS = ("anyOf", "oneOf", "allOf")
_ROOT_WORDS = frozenset((*_UNIONS, "enum", "const", "not", "$ref"))
_LOOKS_AROUND = re.compile(r"\(\?<?[=!]")
_TYPES: Mapping[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
    dict: "object",
    list: "array",
}
_OWN_PLACE = re.compile(r"#(?!/(\$defs|definitions)/)")
_NULL = {"type": "null"}


class FittedSchema(Struct, frozen=True):
    """A schema that a service takes, and what was changed, in words.

    ``nulls``: optional keys became required, so that null stands for a missing one.
    """

    schema: dict[str, Json]
    changes: tuple[str, ...] = ()
    wrapped: bool = False
    nulls: bool = False


def fit_schema(schema: Json, rules: SchemaRules) -> FittedSchema:
    """Return the schema as the service takes it; raises Unfit if it cannot be expressed."""
    if not isinstance(schema, dict):
        raise Unfit("the schema is true or false")
    fitting = _Fitting(name_root(schema), rules)
    made, wrapped = fitting.run()
    check_size(made, rules)
    return FittedSchema(made, fitting.changes, wrapped, nulls=fitting.nulls)


def wrap_schema(schema: dict[str, Json]) -> dict[str, Json]:
    """Return an object that has a value of this schema as its only key."""
    root, definitions = without_definitions(schema)
    return {
        "type": "object",
        "properties": {WRAPPER: root},
        "required": [WRAPPER],
        "additionalProperties": False,
        **definitions,
    }


def fit_root(schema: Json) -> tuple[dict[str, Json], bool]:
    """Return a schema of arguments whose root is an object, and whether it had to be wrapped.

    The rest stays as it is: a schema that is not enforced is taken as it is.
    """
    if not isinstance(schema, dict):
        return {"type": "object"}, False
    if has_type(schema, "object") and _ROOT_WORDS.isdisjoint(schema):
        return {**schema, "type": "object"}, False
    if "type" not in schema and _ROOT_WORDS.isdisjoint(schema):
        return {"type": "object", **schema}, False
    try:
        named = name_root(schema)
        root, definitions = without_definitions(named)
        opened = _Fitting(named, SchemaRules()).open_root(root)
    except Unfit:
        return wrap_schema(_move_references(schema)), True
    if opened is not root:
        return {"type": "object", **opened, **definitions}, False
    return wrap_schema(_move_references(schema)), True


def _move_references(schema: Json) -> Json:
    """Return the schema with its references to its own places as they are inside the wrapper."""
    if isinstance(schema, list):
        return [_move_references(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _move_references(value) for key, value in schema.items()}
    pointer = made.get("$ref")
    if isinstance(pointer, str) and _OWN_PLACE.match(pointer):
        made["$ref"] = f"#/properties/{WRAPPER}{pointer[1:]}"
    return made


def is_object(schema: Mapping[str, Json]) -> bool:
    """Return whether a schema allows objects only, and says so at its root."""
    kind = schema.get("type")
    return kind == "object" or (kind is None and "properties" in schema)


class _Fitting:
    """One schema on its way; collects what changes."""

    def __init__(self, schema: dict[str, Json], rules: SchemaRules) -> None:
        self._schema = schema
        self._rules = rules
        self._described: dict[str, None] = {}
        self._notes: dict[str, None] = {}
        self.nulls = False

    @property
    def changes(self) -> tuple[str, ...]:
        """Return the changes in words."""
        told = ", ".join(self._described)
        return (*((f"in the description only: {told}",) if told else ()), *self._notes)

    def run(self) -> tuple[dict[str, Json], bool]:
        """Return the fitted schema, and whether its root was wrapped."""
        root, definitions = without_definitions(self._schema)
        find_recursive(self._schema, self._rules.recursion)
        root = self.open_root(root)
        wrapped = self._rules.wraps and (not is_object(root) or not _ROOT_WORDS.isdisjoint(root))
        made = self._node(root)
        fitted = {
            word: {name: self._node(each) for name, each in several.items()}
            for word, several in definitions.items()
        }
        if wrapped:
            self._notes["the root is wrapped in an object"] = None
            return wrap_schema({**made, **fitted}), True
        if self._rules.wraps:
            made.setdefault("type", "object")
        return {**made, **fitted}, False

    def open_root(self, root: dict[str, Json]) -> dict[str, Json]:
        """Return a root that is a reference or allOf as what it means, if that is an object."""
        if not self._rules.wraps:
            return root
        found, seen = root, set[str]()
        while "$ref" in found and found["$ref"] not in seen:
            seen.add(found["$ref"])
            beside = {key: value for key, value in found.items() if key != "$ref"}
            found = {**follow_reference(self._schema, found["$ref"]), **beside}
        if "allOf" in found:
            found = self._merge(found)
        return found if is_object(found) and _ROOT_WORDS.isdisjoint(found) else root

    def _node(self, schema: Json) -> dict[str, Json]:
        if schema is True or schema == {}:
            if not self._rules.any_value:
                raise Unfit("a value may be of any type")
            return {}
        if not isinstance(schema, dict):
            raise Unfit("a part of the schema allows no value")
        if "$ref" in schema:
            return self._reference(schema)
        if "allOf" in schema and not self._rules.all_of:
            schema = self._merge(schema)
            if "$ref" in schema:
                return self._reference(schema)
        made = self._translate(schema)
        self._fit_object(made)
        self._fit_array(made)
        self._fit_inner(made)
        return self._describe(made)

    def _reference(self, schema: dict[str, Json]) -> dict[str, Json]:
        follow_reference(self._schema, schema["$ref"])
        pointer = {"$ref": schema["$ref"]}
        beside = {
            key: value
            for key, value in schema.items()
            if key != "$ref" and key not in _DROPPED and not _is_default_none(key, value)
        }
        if not beside or not self._rules.ref_word:
            return {**beside, **pointer}
        kept = {key: beside[key] for key in beside if key in ("description", "title")}
        more = {key: value for key, value in beside.items() if key not in kept}
        self._described |= dict.fromkeys(more)
        return {self._rules.ref_word: [pointer], **_add_words(kept, more)}

    def _translate(self, schema: dict[str, Json]) -> dict[str, Json]:
        """Return the schema in the words that the service knows."""
        rules = self._rules
        made = {key: value for key, value in schema.items() if key not in _DROPPED}
        if "oneOf" in made and not rules.one_of:
            self._join_unions(made)
        if "const" in made and not rules.const:
            made["enum"] = [made.pop("const")]
        values = made.get("enum")
        if isinstance(values, list):
            self._fit_enum(made, values)
        if not rules.any_value and not {"type", "enum", "const", *_UNIONS} & made.keys():
            kind = _guess_type(made)
            if kind is None:
                raise Unfit("a value may be of any type")
            made["type"] = kind
        return made

    def _join_unions(self, made: dict[str, Json]) -> None:
        if "anyOf" in made:
            raise Unfit("it has anyOf and oneOf in one place")
        made["anyOf"] = made.pop("oneOf")
        self._notes["oneOf is sent as anyOf"] = None

    def _fit_enum(self, made: dict[str, Json], values: list[Json]) -> None:
        kinds = {_TYPES.get(type(value), "") for value in values}
        taken = self._rules.enum_types
        if taken and not all(type(value) in taken for value in values):
            self._described["enum"] = None
            made |= _add_words(made, {"enum": made.pop("enum")})
        if "type" not in made and "" not in kinds and kinds:
            made["type"] = kinds.pop() if len(kinds) == 1 else sorted(kinds)

    def _fit_object(self, made: dict[str, Json]) -> None:
        rules, properties = self._rules, made.get("properties")
        if not has_type(made, "object") and properties is None:
            return
        made.setdefault("type", "object")
        if not rules.closed:
            return
        more = made.get("additionalProperties")
        free = more is not None and more is not False
        if free or made.get("patternProperties") or (not properties and more is not False):
            raise Unfit("an object may have any keys, and the service takes listed ones only")
        made["additionalProperties"] = False
        made.pop("patternProperties", None)
        made["properties"] = properties = dict(properties or {})
        required = [name for name in made.get("required") or () if name in properties]
        if len(required) < len(made.get("required") or ()):
            raise Unfit("an object requires a key that its properties do not describe")
        if rules.all_required:
            for name in properties:
                if name not in required:
                    properties[name] = self._make_nullable(properties[name])
            required = list(properties)
        made["required"] = required

    def _make_nullable(self, schema: Json) -> Json:
        if not isinstance(schema, dict):
            raise Unfit("a value may be of any type")
        if allows_null(self._schema, schema):
            return schema
        self.nulls = True
        text = {key: schema[key] for key in ("description",) if key in schema}
        bare = {
            key: value
            for key, value in schema.items()
            if key not in text and not _is_default_none(key, value)
        }
        return {"anyOf": [bare, _NULL], **text}

    def _fit_array(self, made: dict[str, Json]) -> None:
        rules = self._rules
        if not has_type(made, "array"):
            return
        if not rules.tuples and ("prefixItems" in made or isinstance(made.get("items"), list)):
            raise Unfit("it has a list whose places have different types")
        if not rules.any_value and "items" not in made:
            raise Unfit("a value may be of any type")
        most, least = rules.max_min_items, made.get("minItems")
        if most is not None and isinstance(least, int | float) and least > most:
            self._described["minItems"] = None
            made |= _add_words(made, {"minItems": made.pop("minItems")})

    def _fit_inner(self, made: dict[str, Json]) -> None:
        """Fit the schemas inside, each in its place."""
        for word in ("properties", "patternProperties"):
            if isinstance(several := made.get(word), dict):
                made[word] = {name: self._node(each) for name, each in several.items()}
        for word in (*_UNIONS, "prefixItems"):
            if isinstance(options := made.get(word), list):
                made[word] = [self._node(each) for each in options]
        if isinstance(made.get("items"), dict):
            made["items"] = self._node(made["items"])
        elif made.get("items") is True and not self._rules.any_value:
            raise Unfit("a value may be of any type")
        if isinstance(made.get("additionalProperties"), dict):
            made["additionalProperties"] = self._node(made["additionalProperties"])

    def _describe(self, made: dict[str, Json]) -> dict[str, Json]:
        """Move the keywords that the service does not take into the description."""
        rules, moved = self._rules, dict[str, Json]()
        for key in list(made):
            value = made[key]
            named = key == "format" and rules.formats and value not in rules.formats
            looks = key == "pattern" and rules.closed and _LOOKS_AROUND.search(str(value))
            if _is_default_none(key, value) and "default" in rules.described:
                del made[key]
            elif key in rules.described or named or looks or (rules.closed and key in _OUTSIDE):
                moved[key] = made.pop(key)
        self._described |= dict.fromkeys(key for key in moved if key not in ("default", "examples"))
        return _add_words(made, moved)

    def _merge(self, schema: dict[str, Json]) -> dict[str, Json]:
        """Return a schema with allOf as one schema without it."""
        parts = [each for each in schema["allOf"] if isinstance(each, dict)]
        rest = {key: value for key, value in schema.items() if key != "allOf"}
        if len(parts) != len(schema["allOf"]):
            raise Unfit("it has true or false in allOf")
        if len(parts) == 1 and not rest.keys() & parts[0].keys() - {"description", "title"}:
            return {**parts[0], **rest}
        merged = rest
        for part in parts:
            meant = part
            if "$ref" in part and len(part) == 1:
                meant = follow_reference(self._schema, part["$ref"])
            if "allOf" in meant:
                meant = self._merge(meant)
            merged = _merge_two(merged, meant)
        return merged


def _merge_two(left: dict[str, Json], right: dict[str, Json]) -> dict[str, Json]:
    merged = dict(left)
    for key, value in right.items():
        if key == "properties" and isinstance(before := left.get(key), dict):
            if any(before[name] != value[name] for name in before.keys() & value.keys()):
                raise Unfit("allOf describes one key twice")
            merged[key] = {**before, **value}
        elif key == "required" and isinstance(left.get(key), list):
            merged[key] = list(dict.fromkeys((*left[key], *value)))
        elif key in ("title", "description") and key in left:
            continue
        elif key in left and left[key] != value:
            raise Unfit(f"allOf has two values of {key}")
        else:
            merged[key] = value
    return merged


def allows_null(root: Mapping[str, Json], schema: Json, seen: frozenset[str] = frozenset()) -> bool:
    """Return whether null is a value of a schema."""
    if not isinstance(schema, dict):
        return schema is True
    pointer = schema.get("$ref")
    if isinstance(pointer, str):
        return pointer not in seen and allows_null(
            root, follow_reference(root, pointer), seen | {pointer}
        )
    if "const" in schema or "enum" in schema:
        return None in (schema.get("enum") or [schema.get("const")])
    for word in ("anyOf", "oneOf"):
        if isinstance(options := schema.get(word), list):
            return any(allows_null(root, each, seen) for each in options)
    if isinstance(every := schema.get("allOf"), list):
        return all(allows_null(root, each, seen) for each in every)
    return "type" not in schema or has_type(schema, "null")


def _guess_type(schema: Mapping[str, Json]) -> str | None:
    if "properties" in schema:
        return "object"
    return "array" if "items" in schema else None


def _is_default_none(key: str, value: Json) -> bool:
    return key == "default" and value is None


def _add_words(schema: Mapping[str, Json], moved: Mapping[str, Json]) -> dict[str, Json]:
    """Add keywords to a description, as ``{minimum: 0}``."""
    made = dict(schema)
    if moved:
        told = ", ".join(f"{key}: {encode(value).decode()}" for key, value in moved.items())
        before = made.get("description")
        space = f"{before}\n\n" if isinstance(before, str) and before else ""
        made["description"] = f"{space}{{{told}}}"
    return made
