"""Quotas in words, and the models whose longest answers a budget or a limit does not cover."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from ...catalog import ModelEntry
from ...store import price_most
from ..config.model import REFERENCES, GatewayConfig, GatewayGroup, GatewayKey, RateLimitRule
from ..config.routing import Routing, allows
from ..config.secrets import read_reference
from .quota import BILLION, Holder, Quota, find_quotas, format_spend

_MILLION = 1_000_000
_UNUSED: Mapping[str, int] = {}
_WORDS = {"requests": "requests", "tokens": "tokens", "thinking_tokens": "thinking tokens"}


class LoweredLimit(Struct, frozen=True, kw_only=True):
    """A model whose answers get this output limit under a budget, unless they ask less.

    ``holder`` has that budget, such as ``key ci`` or ``group research``.
    """

    model: str
    max_tokens: int
    holder: str


def describe_quotas(holder: Holder) -> str:
    """Return the rate limits and budgets of a key, a group or a route; empty if it has none."""
    return ", ".join(_describe(quota) for quota in find_quotas(holder))


def find_forgotten(config: GatewayConfig) -> Sequence[str]:
    """Return who has budgets that begin again with each start: no Redis and no ledger keeps them.

    Raises MissingKey.
    """
    ledger = config.server.ledger
    if ledger.startswith(REFERENCES):
        ledger = read_reference(ledger)
    if config.server.state != "memory" or ledger != "off":
        return ()
    holders: tuple[Holder, ...] = (*config.keys, *config.groups, *config.routes)
    quotas = (quota for each in holders for quota in find_quotas(each) if not quota.rolling)
    return tuple(dict.fromkeys(quota.holder for quota in quotas))


def _describe(quota: Quota) -> str:
    if quota.unit == "money":
        return f"{format_spend(quota.most)} per {quota.per}"
    return f"{quota.most:,} {_WORDS[quota.unit]} per {quota.per}"


def find_lowered_limits(
    key: GatewayKey,
    routing: Routing,
    group: GatewayGroup | None = None,
    taken: Mapping[str, int] = _UNUSED,
) -> Sequence[LoweredLimit]:
    """Return the models of a key whose longest answers no budget of it or its group covers.

    ``taken`` is what is used of each budget, by its name.
    """
    budgets = list_budgets(key, group)
    found: dict[str, LoweredLimit] = {}
    for entry in list_models(key, routing) if budgets else ():
        most = entry.capability.max_output
        if most is None:
            continue
        covered = [
            (limit, quota.holder)
            for quota in budgets
            if (limit := _find_covered(quota, taken.get(quota.name, 0), entry)) is not None
        ]
        least, holder = min(covered, default=(most, ""))
        if least < most:
            found[entry.id] = LoweredLimit(model=entry.id, max_tokens=least, holder=holder)
    return sorted(found.values(), key=lambda each: each.max_tokens)


def find_lone_models(limit: RateLimitRule | None, entries: Iterable[ModelEntry]) -> Sequence[str]:
    """Return the models of which one answer may take a whole limit of tokens.

    A request to one of these runs alone unless it asks for fewer, so it waits until nothing was
    used for a whole period.
    """
    if limit is None or limit.tokens is None:
        return ()
    most = limit.tokens
    return sorted({each.id for each in entries if (each.capability.max_output or 0) >= most})


def list_models(key: GatewayKey, routing: Routing) -> Sequence[ModelEntry]:
    """Return the models that a key may ask, each once: the first of every name."""
    allowed = (
        served.entry for served in routing.names() if allows(key, routing.resolve(served.name))
    )
    return tuple({entry.id: entry for entry in allowed}.values())


def list_budgets(key: GatewayKey, group: GatewayGroup | None) -> list[Quota]:
    """Return the budgets of a key and of its group."""
    return [quota for quota in find_quotas(key, group) if not quota.rolling]


def _find_covered(quota: Quota, taken: int, entry: ModelEntry) -> int | None:
    """Return how many tokens the rest of a budget covers; None if it does not limit them."""
    left = max(0, quota.most - taken)
    if quota.unit != "money":
        return left if quota.unit == "tokens" else None
    price = price_most(entry.provider.name, entry.model, 0, _MILLION)
    return int(left / BILLION / float(price) * _MILLION) if price else None
