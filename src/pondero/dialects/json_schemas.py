"""JSON schemas as services that compile them read them: what is inside, references, and counts."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from ..canon import Json
from .claude import Reject

_OPTIONALS, _UNIONS = 24, 16
_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})


def iter_schemas(schema: Json, *, definitions: bool = True) -> Iterator[Mapping[str, Json]]:
    """Yield a schema and those inside it, with its definitions unless told otherwise."""
    if not isinstance(schema, Mapping):
        return
    yield schema
    for key in ("properties", *(("$defs", "definitions") if definitions else ())):
        inner = schema.get(key)
        for each in inner.values() if isinstance(inner, Mapping) else ():
            yield from iter_schemas(each, definitions=definitions)
    for key in ("anyOf", "allOf", "oneOf", "prefixItems"):
        inner = schema.get(key)
        for each in inner if isinstance(inner, list) else ():
            yield from iter_schemas(each, definitions=definitions)
    yield from iter_schemas(schema.get("items"), definitions=definitions)


def check_references(schema: Json, at: str, reject: Reject) -> None:
    """Reject references to nothing or to elsewhere, and definitions that contain themselves."""
    defined = {
        f"#/{key}/{name}": inner
        for key in ("$defs", "definitions")
        if isinstance(schema, Mapping) and isinstance(schema.get(key), Mapping)
        for name, inner in schema[key].items()
    }
    for reference in _references(schema):
        if reference == "#":
            reject("circular_schema", at=at, name="#")
        if reference not in defined:
            reject("schema_reference", at=at, reference=reference)
    meant = {name: _references(inner) for name, inner in defined.items()}
    for name in meant:
        if _reaches(name, meant):
            reject("circular_schema", at=at, name=name.rpartition("/")[2])


def _references(schema: Json) -> list[str]:
    return [str(each["$ref"]) for each in iter_schemas(schema) if "$ref" in each]


def _reaches(name: str, meant: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a definition leads back to itself."""
    chain, seen = [name], {name}
    while chain:
        for other in meant.get(chain.pop(), ()):
            if other == name:
                return True
            if other not in seen:
                seen.add(other)
                chain.append(other)
    return False


def has_least_items(schema: Mapping[str, Json], least: int) -> bool:
    """Return whether a list must have at least so many items."""
    wanted = schema.get("minItems")
    return schema.get("type") == "array" and isinstance(wanted, int | float) and wanted >= least


def check_size(schemas: Sequence[Json], reject: Reject) -> None:
    """Reject schemas with too many optional or union-typed parameters, in one request together.

    Definitions do not count (pydantic-ai 2.66.0, observed live).
    """
    optional = unions = 0
    for schema in schemas:
        for inner in iter_schemas(schema, definitions=False):
            properties, required = inner.get("properties"), inner.get("required")
            for name, each in properties.items() if isinstance(properties, Mapping) else ():
                optional += not isinstance(required, list) or name not in required
                unions += _is_union(each)
    if optional > _OPTIONALS:
        reject("optional_parameters", found=optional, most=_OPTIONALS)
    if unions > _UNIONS:
        reject("union_parameters", found=unions, most=_UNIONS)


def _is_union(schema: Json) -> bool:
    return isinstance(schema, Mapping) and (
        isinstance(schema.get("type"), list) or "anyOf" in schema
    )


# -- is it a schema at all? ------------------------------------------------------------------


def is_valid(schema: Json) -> bool:
    """Return whether a schema fits the meta-schema of draft 2020-12."""
    if isinstance(schema, bool):
        return True
    if not isinstance(schema, Mapping):
        return False
    return all(_WORDS[word](value) for word, value in schema.items() if word in _WORDS)


def make_valid(schema: Json) -> Json:
    """Return an equal schema of draft 2020-12; what has no meaning there is left out.

    Lists of ``items``, switches of a bound, capital types and null words are of other drafts.
    """
    if not isinstance(schema, Mapping):
        return schema if isinstance(schema, bool) else {}
    made = {word: _make_inside_valid(word, value) for word, value in _modernise(schema).items()}
    kept = {word: value for word, value in made.items() if _fits(word, value)}
    return schema if kept == schema else kept


def _fits(word: str, value: Json) -> bool:
    return word not in _WORDS or _WORDS[word](value)


def _make_inside_valid(word: str, value: Json) -> Json:
    holds = _WORDS.get(word)
    if holds is is_valid:
        return make_valid(value)
    if holds is _are_named_schemas and isinstance(value, Mapping):
        return {name: make_valid(each) for name, each in value.items()}
    if holds is _are_schemas and isinstance(value, list):
        return [make_valid(each) for each in value]
    return value


def _modernise(schema: Mapping[str, Json]) -> dict[str, Json]:
    made = dict(schema)
    if isinstance(made.get("items"), list):
        made["prefixItems"] = made.pop("items")
        if "additionalItems" in made:
            made["items"] = made.pop("additionalItems")
    for beyond, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(made.get(beyond), bool) and made.pop(beyond) and bound in made:
            made[beyond] = made.pop(bound)
    for word in ("type", "required"):
        if isinstance(made.get(word), list):
            texts = (each for each in made[word] if isinstance(each, str))
            made[word] = list(dict.fromkeys(texts))
    if isinstance(made.get("type"), str):
        made["type"] = made["type"].lower()
    return made


def find_misfit(schema: Json) -> str | None:
    """Return what is wrong with the frame of a schema, as OpenAI says it; None if nothing is."""
    for inner in iter_schemas(schema):
        for word, (fits, text) in _FRAME.items():
            if word in inner and not fits(inner[word]):
                return text.format(value=inner[word])
    return None


def _is_type(value: Json) -> bool:
    listed = value if isinstance(value, list) else [value]
    return _are_unique(listed) and bool(listed) and all(each in _TYPES for each in listed)


def _are_unique(value: Json) -> bool:
    """Return whether this is a list of different strings."""
    return (
        isinstance(value, list)
        and all(isinstance(each, str) for each in value)
        and len(set(value)) == len(value)
    )


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Json) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_flag(value: Json) -> bool:
    return isinstance(value, bool)


def _is_list(value: Json) -> bool:
    return isinstance(value, list)


def _are_schemas(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(is_valid(each) for each in value)


def _are_named_schemas(value: Json) -> bool:
    return isinstance(value, Mapping) and all(is_valid(each) for each in value.values())


_WORDS: Mapping[str, Callable[[Json], bool]] = {
    "type": _is_type,
    "required": _are_unique,
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    "multipleOf": lambda value: _is_number(value) and value > 0,
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _is_count),
    **dict.fromkeys(("minProperties", "maxProperties", "minContains", "maxContains"), _is_count),
    **dict.fromkeys(("title", "description", "format", "pattern"), _is_text),
    **dict.fromkeys(("$ref", "$id", "$schema", "$comment", "$anchor"), _is_text),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), _is_flag),
    **dict.fromkeys(("enum", "examples"), _is_list),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _are_schemas),
    **dict.fromkeys(
        ("properties", "$defs", "definitions", "patternProperties"), _are_named_schemas
    ),
    **dict.fromkeys(("items", "additionalProperties", "contains", "propertyNames"), is_valid),
    **dict.fromkeys(("not", "if", "then", "else", "unevaluatedProperties"), is_valid),
}
_FRAME: Mapping[str, tuple[Callable[[Json], bool], str]] = {
    "type": (_is_type, "{value!r} is not valid under any of the given schemas"),
    "required": (_is_list, "{value!r} is not of type 'array'"),
    "properties": (lambda value: isinstance(value, Mapping), "{value!r} is not of type 'object'"),
}
