"""``[[endpoint]]``: which provider has what is no conversation; ``endpoints`` of a key."""

import re
from typing import Any

from ...catalog import did_you_mean
from ...dialects import endpoint_names
from .examples import EXAMPLES
from .model import EndpointRoute, GatewayKey
from .rows import ConfigRows, Place

OTHER = "other"
"""The name of all addresses that only a configuration opens."""
_PATH = re.compile(r"/[A-Za-z0-9_.~@:/-]*\*?")


def read_endpoints(rows: ConfigRows) -> tuple[EndpointRoute, ...]:
    """Return the providers of endpoints; raises BadConfig."""
    found: list[EndpointRoute] = []
    for place, row in rows.rows("endpoint"):
        route = _read_endpoint(rows, place, row)
        if any(route.match == earlier.match for earlier in found):
            problem = f"an earlier [[endpoint]] has {route.match!r} too, and the first one wins"
            raise rows.error((*place, "match"), problem, "remove one of the two")
        found.append(route)
    return tuple(found)


def _read_endpoint(rows: ConfigRows, place: Place, row: dict[str, Any]) -> EndpointRoute:
    route = rows.build(row, EndpointRoute, place)
    match, known = route.match, (*endpoint_names(), "*")
    if match.startswith("/"):
        if not _PATH.fullmatch(match) or "//" in match or ".." in match:
            cure = 'write a path such as "/v1/assistants*"; * may only be its last character'
            raise rows.error((*place, "match"), f"invalid path {match[:80]!r}", cure)
    elif match not in known:
        cure = f'{did_you_mean(match, known)}use {" ".join(known)}, or a path such as "/v1/x*"'
        raise rows.error((*place, "match"), f"unknown endpoint {match[:80]!r}", cure)
    providers = rows.lookup.catalog.providers
    if route.to not in providers:
        cure = f"{did_you_mean(route.to, providers)}write a provider, as in {EXAMPLES['to']}"
        raise rows.error((*place, "to"), f"unknown provider {route.to[:80]!r}", cure)
    return route


def check_endpoints(rows: ConfigRows, key: GatewayKey, place: Place) -> None:
    """Raise BadConfig for an unknown name in ``endpoints``."""
    if (problem := find_endpoint_problem(key)) is not None:
        raise rows.error((*place, "endpoints"), *problem)


def list_endpoints() -> tuple[str, ...]:
    """Return the names that ``endpoints`` of a key can have."""
    return (*endpoint_names(), OTHER)


def find_endpoint_problem(key: GatewayKey) -> tuple[str, str] | None:
    """Return what is wrong with ``endpoints`` of a key, and the cure; None if nothing is."""
    known = list_endpoints()
    name = next((each for each in key.endpoints or () if each not in known), None)
    if name is None:
        return None
    cure = f"{did_you_mean(name, known)}use {' '.join(known)}"
    return f"unknown endpoint {name[:80]!r}", cure
