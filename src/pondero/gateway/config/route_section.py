"""``[[route]]`` and ``[[rule]]``: which models answer a name, and the levels they get."""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

import msgspec
from msgspec.structs import replace

from ...catalog import did_you_mean
from ...errors import UsageError
from ...thinking import parse_auto
from ..purposes.recognisers import list_known_clients
from .deployment_names import split_deployment
from .examples import EXAMPLES
from .model import PURPOSES, GatewayRoute, LevelRules, PurposeRule, RuleMatch
from .rows import ConfigRows, Place

_GLOB = re.compile(r"[*?\[]")
_NAMED_BY = ("client", "model", "route", "key", "purpose")
_RULE_NAME = re.compile(r"[A-Za-z0-9._:/*?\[\]-]{1,64}")  # it is written into a header


def is_glob(match: str) -> bool:
    """Return whether a route's name is a pattern."""
    return bool(_GLOB.search(match))


def read_routes(rows: ConfigRows) -> tuple[GatewayRoute, ...]:
    """Return all routes; raises BadConfig."""
    routes = tuple(_read_route(rows, place, row) for place, row in rows.rows("route"))
    _check_order(rows, routes)
    return routes


def _read_route(rows: ConfigRows, place: Place, row: dict[str, Any]) -> GatewayRoute:
    to = row.get("to")
    row = {**row, "to": [to]} if isinstance(to, str) else row
    route = _without_auto(rows, rows.build_with_rules(row, GatewayRoute, place), place)
    for model in route.to:
        rows.check_model(model, (*place, "to"))
    rows.check_bounds(route, place)
    return route


def _without_auto(rows: ConfigRows, route: GatewayRoute, place: Place) -> GatewayRoute:
    """Return a route whose models have no level: ``auto`` after a name becomes its default."""
    try:
        split = [split_deployment(model, rows.deployments) for model in route.to]
        named = [(each, *rows.lookup.apart(each.model)) for each in split]
    except UsageError as error:
        raise rows.error((*place, "to"), str(error)) from None
    autos = {wish for _, _, wish in named if wish is not None and parse_auto(wish) is not None}
    if not autos:
        return route
    if len({*autos, route.thinking.default} - {None}) > 1:
        cure = 'write one thinking = { default = "auto" } for all of them'
        raise rows.error((*place, "to"), "this route has several defaults", cure)
    to = tuple(
        each.with_model(stem) if wish in autos else model
        for model, (each, stem, wish) in zip(route.to, named, strict=True)
    )
    return replace(route, to=to, thinking=replace(route.thinking, default=autos.pop()))


def _check_order(rows: ConfigRows, routes: tuple[GatewayRoute, ...]) -> None:
    """Raise BadConfig for a route that an earlier one hides."""
    for number, route in enumerate(routes):
        for before, earlier in enumerate(routes[:number]):
            same = earlier.match == route.match
            if same or (is_glob(earlier.match) and fnmatchcase(route.match, earlier.match)):
                line = rows.file.line("route", before, "match")
                cure = "remove one of the two" if same else "put this route before that one"
                problem = f"{route.match!r} is never reached: {earlier.match!r} in line {line} is"
                raise rows.error(("route", number, "match"), f"{problem} tried first", cure)


def read_rules(rows: ConfigRows, routes: tuple[GatewayRoute, ...]) -> tuple[PurposeRule, ...]:
    """Return all rules; raises BadConfig."""
    found: list[PurposeRule] = []
    for place, row in rows.rows("rule"):
        rule = _read_rule(rows, place, row, routes)
        if any(rule.name == earlier.name for earlier in found):
            problem = f"an earlier rule is called {rule.name!r} too, and the first one wins"
            at = (*place, "name" if "name" in row else "when")
            raise rows.error(at, problem, "remove one of the two, or give it another name")
        found.append(rule)
    return tuple(found)


def _read_rule(
    rows: ConfigRows, place: Place, row: dict[str, Any], routes: tuple[GatewayRoute, ...]
) -> PurposeRule:
    to, when = row.get("to"), row.get("when")
    row = {**row, "to": [to]} if isinstance(to, str) else row
    if isinstance(when, Mapping):
        rows.check_fields(when, RuleMatch.__struct_fields__, (*place, "when"))
    rule = rows.build_with_rules(row, PurposeRule, place)
    said = {name: word for name, word in msgspec.structs.asdict(rule.when).items() if word}
    if not said:
        cure = f"write {EXAMPLES['when']}"
        raise rows.error((*place, "when"), "this rule is for no request", cure)
    for name, known in (("purpose", PURPOSES), ("client", list_known_clients())):
        if (word := said.get(name)) is not None and word not in known:
            cure = f"{did_you_mean(word, known)}use {' '.join(known)}"
            raise rows.error((*place, "when", name), f"unknown {name} {word!r}", cure)
    for name in ("model", "route"):
        if routes and name in said:
            rows.check_reachable(said[name], routes, (*place, "when", name))
    for model in rule.to:
        rows.check_model(model, (*place, "to"))
    if not rule.to and rule.thinking == LevelRules():
        cure = 'write thinking = { cap = "low" }, or to = "MODEL"'
        raise rows.error(place, "this rule does nothing", cure)
    name = rule.name or "-".join(said[name] for name in _NAMED_BY if name in said)
    if not _RULE_NAME.fullmatch(name):
        cure = f"write {EXAMPLES['name']}: letters, digits and - _ . : / *, at most 64"
        raise rows.error((*place, "name"), f"invalid name {name[:80]!r}", cure)
    return replace(rule, name=name)
