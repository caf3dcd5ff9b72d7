"""JSON schemas as services that compile them read them: what is inside, references, and counts."""

from collections.abc import Iterator, Mapping, Sequence

from ..canon import Json
from .claude import Reject

_OPTIONALS, _UNIONS = 24, 16


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
