"""Quotas in words, and the models whose longest answers a budget does not cover."""

from collections.abc import Sequence

from msgspec import Struct

from ...canon import Usage
from ...store import price_usage
from ..config.model import GatewayGroup, GatewayKey
from ..config.routing import Routing, allows
from .quota import BILLION, Holder, Quota, find_quotas

_MILLION = 1_000_000
_WORDS = {"requests": "requests", "tokens": "tokens", "thinking_tokens": "thinking tokens"}


class LoweredLimit(Struct, frozen=True, kw_only=True):
    """A model whose answers get this output limit under an unused budget, unless they ask less."""

    model: str
    max_tokens: int


def describe_quotas(holder: Holder) -> str:
    """Return the rate limits and budgets of a key, a group or a route; empty if it has none."""
    return ", ".join(_describe(quota) for quota in find_quotas(holder))


def _describe(quota: Quota) -> str:
    if quota.unit == "money":
        return f"${quota.most / BILLION:,.2f} per {quota.per}"
    return f"{quota.most:,} {_WORDS[quota.unit]} per {quota.per}"


def find_lowered_limits(
    key: GatewayKey, routing: Routing, group: GatewayGroup | None = None
) -> Sequence[LoweredLimit]:
    """Return the models of a key whose longest answers no budget of it or its group covers."""
    budgets = [quota for quota in find_quotas(key, group) if not quota.rolling]
    found: dict[str, LoweredLimit] = {}
    for served in routing.names() if budgets else ():
        entry = served.entry
        most = entry.capability.max_output
        if most is None or entry.id in found or not allows(key, routing.resolve(served.name)):
            continue
        covered = [_find_covered(quota, entry.provider.name, entry.model) for quota in budgets]
        least = min((each for each in covered if each is not None), default=most)
        if least < most:
            found[entry.id] = LoweredLimit(model=entry.id, max_tokens=least)
    return sorted(found.values(), key=lambda each: each.max_tokens)


def _find_covered(quota: Quota, provider: str, model: str) -> int | None:
    """Return how many tokens a whole budget covers; None if it does not limit them."""
    if quota.unit != "money":
        return quota.most if quota.unit == "tokens" else None
    price = price_usage(provider, model, Usage(0, output=_MILLION))
    return int(quota.most / BILLION / float(price) * _MILLION) if price else None
