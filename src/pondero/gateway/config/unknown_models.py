"""Models of the configuration that the catalog does not have: new ones, or misspelt ones.

The gateway serves them, so they are no mistakes; ``serve`` and ``serve --check`` warn of them.
"""

from collections.abc import Iterator, Sequence

from ...catalog import Lookup, ModelEntry, did_you_mean
from ...store import has_prices, price_most
from ..requests.routed_request import is_unknown
from .model import GatewayConfig, LevelRules
from .reader import locate
from .routing import Routing, allows_name


def find_uncatalogued(config: GatewayConfig, routing: Routing, lookup: Lookup) -> list[str]:
    """Return a sentence for each model that is not in the catalog: where, and what it means."""
    found: dict[str, str] = {}
    for place, models, match in _iter_targets(config):
        entries = {name: routing.find_entry(name) for name in models}
        for name, entry in entries.items():
            # A server of the user's own has models that only that server knows.
            if not entry.inferred or entry.provider.auth == "none" or name in found:
                continue
            is_alone = all(map(is_unknown, entries.values()))
            holders = _list_binding(config, match)
            effect = _describe_effect(entry, holders, is_alone=is_alone)
            guess = _guess(name, entry, lookup)
            found[name] = f"{locate(config, *place)}{name!r} is not in the catalog; {guess}{effect}"
    return list(found.values())


def _iter_targets(
    config: GatewayConfig,
) -> Iterator[tuple[tuple[str | int, ...], Sequence[str], str | None]]:
    """Yield where models are named, which, and the name of their route; None: of any route."""
    for number, route in enumerate(config.routes):
        yield ("route", number, "to"), route.to, route.match
    for number, rule in enumerate(config.rules):
        yield ("rule", number, "to"), rule.to, None


def _list_binding(config: GatewayConfig, match: str | None) -> list[str]:
    """Return who has level rules that hold for requests to a route."""
    keys = [key for key in config.keys if match is None or allows_name(key, match)]
    groups = {key.group for key in keys}
    named: list[tuple[str, LevelRules]] = [
        *((f"route {each.match}", each.thinking) for each in config.routes if each.match == match),
        *((f"key {each.name}", each.thinking) for each in keys),
        *((f"group {each.name}", each.thinking) for each in config.groups if each.name in groups),
    ]
    return [name for name, rules in named if rules.binds]


def _describe_effect(entry: ModelEntry, holders: Sequence[str], *, is_alone: bool) -> str:
    if is_unknown(entry) and holders:
        said = f"under the level rules of {', '.join(holders)} "
        said += "every request to it gets 403" if is_alone else "it is not asked"
        return f"{said}, because nothing is known of it that could be limited"
    said = f"it is asked like {entry.like}" if entry.like else "it is asked without a level"
    if has_prices() and price_most(entry.provider.name, entry.model, 1, 1) is None:
        said += ", and its cost is unknown"
    return said


def _guess(name: str, entry: ModelEntry, lookup: Lookup) -> str:
    known = [each.model for each in lookup.entries(entry.provider.name)]
    # Without the prefix, which makes any two names alike.
    guess = did_you_mean(entry.model, known)
    return guess.replace("'", f"'{name.removesuffix(entry.model)}", 1)
