"""``[[key]]``: who may send requests, and what each may do."""

import re
from typing import Any

from .endpoint_section import check_endpoints
from .examples import EXAMPLES
from .model import HASH, GatewayKey, GatewayRoute, find_name_problem, parse_expiry
from .rows import ConfigRows, Place

_DIGEST = re.compile(rf"{HASH}[0-9a-f]{{64}}")


def read_keys(rows: ConfigRows, routes: tuple[GatewayRoute, ...]) -> tuple[GatewayKey, ...]:
    """Return all keys; raises BadConfig."""
    keys = tuple(_read_key(rows, place, row, routes) for place, row in rows.rows("key"))
    _check_names(rows, keys)
    return keys


def _read_key(
    rows: ConfigRows, place: Place, row: dict[str, Any], routes: tuple[GatewayRoute, ...]
) -> GatewayKey:
    if "expires" in row:
        try:
            row = {**row, "expires": parse_expiry(row["expires"])}
        except ValueError:
            cure = f"write {EXAMPLES['expires']}"
            raise rows.error((*place, "expires"), "invalid expires", cure) from None
    key = rows.build_with_rules(row, GatewayKey, place)
    if (problem := find_name_problem(key.name)) is not None:
        raise rows.error((*place, "name"), problem, f"write {EXAMPLES['name']}")
    if not _DIGEST.fullmatch(key.hash):
        cure = f"write {EXAMPLES['hash']}; it begins with {HASH}"
        raise rows.error((*place, "hash"), "this is not the hash of a key", cure)
    rows.check_bounds(key, place)
    check_endpoints(rows, key, place)
    for model in (key.models or ()) if routes else ():
        rows.check_reachable(model, routes, (*place, "models"))
    return key


def _check_names(rows: ConfigRows, keys: tuple[GatewayKey, ...]) -> None:
    columns = {"name": [key.name for key in keys], "hash": [key.hash for key in keys]}
    for field, values in columns.items():
        for number, value in enumerate(values):
            if value in values[:number]:
                problem = f"an earlier key has this {field} too"
                raise rows.error(("key", number, field), problem, "remove one, or make another key")
