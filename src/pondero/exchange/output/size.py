"""Counts what services limit in a schema: keys, optional keys, unions and levels."""

from collections.abc import Iterable, Iterator
from typing import Any

from ...canon import Json
from ...dialects import SchemaRules
from .references import DEFINITIONS, Unfit, has_type, iter_inner, without_definitions


def count_parameters(schemas: Iterable[Json]) -> tuple[int, int]:
    """Return how many optional keys and how many unions there are, not behind references."""
    optional = unions = 0
    for schema in schemas:
        for each in _iter_nodes(schema):
            properties, required = each.get("properties"), each.get("required") or ()
            for name, inner in properties.items() if isinstance(properties, dict) else ():
                optional += name not in required
                unions += isinstance(inner, dict) and (
                    isinstance(inner.get("type"), list) or "anyOf" in inner
                )
    return optional, unions


def check_size(schema: dict[str, Json], rules: SchemaRules) -> None:
    """Raise Unfit if a schema is larger than the service takes."""
    optional, unions = count_parameters([without_definitions(schema)[0]])
    everything = [without_definitions(schema)[0]]
    everything += [each for word in DEFINITIONS for each in (schema.get(word) or {}).values()]
    levels = max(map(_count_levels, everything))
    properties = sum(
        len(each.get("properties") or ()) for one in everything for each in _iter_nodes(one)
    )
    for found, most, what in (
        (optional, rules.max_optional, "optional keys"),
        (unions, rules.max_unions, "unions"),
        (levels, rules.max_levels, "levels"),
        (properties, rules.max_properties, "keys"),
    ):
        if most is not None and found > most:
            raise Unfit(f"it has {found} {what}, and the service takes {most}")


def _iter_nodes(schema: Json) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for inner, _ in iter_inner(schema):
            yield from _iter_nodes(inner)


def _count_levels(schema: Json) -> int:
    if not isinstance(schema, dict):
        return 0
    own = int(has_type(schema, "object") or has_type(schema, "array"))
    return own + max((_count_levels(inner) for inner, _ in iter_inner(schema)), default=0)
