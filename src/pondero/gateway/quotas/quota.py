"""Quotas: a maximum of one unit, for one holder, in one time span.

A rate limit applies to every span of its length, a budget to calendar periods in UTC. Cost is in
billionths of a dollar.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from math import floor
from typing import Literal

from msgspec import Struct
from msgspec.structs import force_setattr

from ..config.model import (
    GatewayGroup,
    GatewayKey,
    GatewayRoute,
    RateLimitRule,
    SpendBudget,
)

BILLION = 1_000_000_000
SLOTS = 50
"""Slots of a rolling window, besides the current one."""

Unit = Literal["requests", "tokens", "thinking_tokens", "money"]
HAS_LEFT = " and has "
"""In the sentence of a rejection: follows ``describe_quota`` of a budget with too little left."""
ALONE = (", and this request alone may take ", ", and the prompt alone needs ")
"""Likewise, of a budget that is too small even when nothing of it is used."""
_WORDS: Mapping[Unit, str] = {
    "requests": "requests",
    "tokens": "tokens",
    "thinking_tokens": "thinking tokens",
    "money": "dollars",
}
_LENGTHS = {"second": 1_000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000}
_HOUR, _DAY = _LENGTHS["hour"], _LENGTHS["day"]
_ARRIVAL = 250  # milliseconds: services count when a request arrives, which may take a connection
_LENGTHS |= {f"{per} after arrival": length + _ARRIVAL for per, length in _LENGTHS.items()}
_MONDAY = 3  # days from a Monday to the first day of 1970


class Quota(Struct, frozen=True):
    """A maximum for a holder, per rolling time span or calendar period.

    ``name`` is that of the counter; changing ``most`` keeps the count.
    """

    holder: str
    unit: Unit
    most: int
    per: str
    rolling: bool
    name: str = ""

    def __post_init__(self) -> None:
        kind = "limit" if self.rolling else "budget"
        force_setattr(self, "name", f"{kind}:{self.unit}:{self.per}:{self.holder}")


def format_spend(billionths: int) -> str:
    """Return an amount for a sentence; one below a dollar has the digits that tell two apart."""
    dollars = billionths / BILLION
    if dollars >= 1:
        return f"${dollars:,.2f}"
    whole, _, digits = f"{dollars:.4f}".partition(".")
    return f"${whole}.{digits[:2]}{digits[2:].rstrip('0')}"


def format_amount(unit: Unit, amount: int) -> str:
    """Return an amount of a unit for a sentence."""
    return format_spend(amount) if unit == "money" else f"{amount:,} {_WORDS[unit]}"


def describe_quota(quota: Quota) -> str:
    """Return whose maximum it is, and how much, as the beginning of a sentence."""
    return f"{quota.holder} may take {format_amount(quota.unit, quota.most)} per {quota.per}"


class QuotaUse(Struct, frozen=True):
    """The amount of a quota that a request uses."""

    bound: Quota
    amount: int


class Window(Struct, frozen=True):
    """The slots that count at a moment: from ``since`` to ``last``; new use goes into ``slot``.

    It is the window of all moments from ``begins`` until ``turns``. ``ends`` returns when a slot
    stops counting. Times are milliseconds since 1970. A slot in the future is one that the clock
    has left behind by jumping back. It counts in a rolling window, for at most one length of it, so
    that a jump neither frees a limit nor locks a client out for ever.
    """

    since: int
    slot: int
    last: int
    begins: int
    turns: int
    ends: Callable[[int], int]


def name_arrival_span(per: str) -> str:
    """Return the span for a limit that is counted elsewhere, when requests arrive there.

    It is longer than the limit's, by the time that a request may be on its way.
    """
    return f"{per} after arrival"


def find_length(quota: Quota) -> float:
    """Return the seconds for which use counts under a rolling quota, at least."""
    return _LENGTHS[quota.per] / 1000


def find_window(quota: Quota, now: int) -> Window:
    """Return the window of a quota at a moment; ``lua/windows.lua`` computes the same."""
    if quota.rolling:
        return _find_rolling(quota.per, now // (_LENGTHS[quota.per] // SLOTS))
    return _find_period(quota.per, now // _HOUR)


@lru_cache(maxsize=64)
def _find_rolling(per: str, slot: int) -> Window:
    width = _LENGTHS[per] // SLOTS
    begins = slot * width

    def end(each: int) -> int:
        return (each + SLOTS + 1) * width

    return Window(slot - SLOTS, slot, slot + SLOTS, begins, begins + width, end)


def find_carried_slot(slot: int, before: Quota, after: Quota, *, now: int) -> int | None:
    """Return the slot in which a rolling count goes on under another quota; None if it has ended.

    Use counts from the end of its slot, which is no earlier than it was; ``lua/carry.lua`` computes
    the same.
    """
    window = find_window(before, now)
    if not window.since <= slot <= window.last:
        return None
    width = _LENGTHS[before.per] // SLOTS
    then = find_window(after, min(now, (slot + 1) * width - 1)).slot
    return then if then >= find_window(after, now).since else None


@lru_cache(maxsize=64)
def _find_period(per: str, hour: int) -> Window:
    """Return the calendar period of an hour since 1970: all of them begin and end with one."""
    start, end = _CALENDAR[per](hour * _HOUR)
    return Window(start, start, start, start, end, lambda _: end)


def _hour(now: int) -> tuple[int, int]:
    start = now - now % _HOUR
    return start, start + _HOUR


def _day(now: int) -> tuple[int, int]:
    start = now - now % _DAY
    return start, start + _DAY


def _week(now: int) -> tuple[int, int]:
    start = (now // _DAY - (now // _DAY + _MONDAY) % 7) * _DAY
    return start, start + 7 * _DAY


def _month(now: int) -> tuple[int, int]:
    return _find_month(now // _DAY)


@lru_cache(maxsize=16)
def _find_month(day: int) -> tuple[int, int]:
    """Return when the month of a day begins and ends; both are asked for with every request."""
    first = datetime.fromtimestamp(day * _DAY // 1000, UTC).replace(day=1)
    after = first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1)
    return floor(first.timestamp()) * 1000, floor(after.timestamp()) * 1000


_CALENDAR = {"hour": _hour, "day": _day, "week": _week, "month": _month}


Holder = GatewayKey | GatewayGroup | GatewayRoute
"""What has rules and quotas of its own."""


def find_quotas(*holders: Holder | None) -> Sequence[Quota]:
    """Return the quotas of a request with these holders: its key, its key's group, its route."""
    limited = [
        each for each in holders if each is not None and (each.limit or each.budget) is not None
    ]
    if len(limited) == 1:
        return _list_quotas(_name_holder(limited[0]), limited[0].limit, limited[0].budget)
    return [
        quota
        for each in limited
        for quota in _list_quotas(_name_holder(each), each.limit, each.budget)
    ]


def counts_cost(quotas: Iterable[Quota]) -> bool:
    """Return whether one of these quotas counts what requests cost."""
    return any(quota.unit == "money" for quota in quotas)


def name_account_holder(deployment: str) -> str:
    """Return the holder of the limits of a deployment's account."""
    return f"deployment {deployment}"


def _name_holder(holder: Holder) -> str:
    if isinstance(holder, GatewayRoute):
        return f"route {holder.match}"
    kind = "group" if isinstance(holder, GatewayGroup) else "key"
    return f"{kind} {holder.name}"


@lru_cache(maxsize=1024)
def _list_quotas(
    holder: str, limit: RateLimitRule | None, budget: SpendBudget | None
) -> Sequence[Quota]:
    found: list[Quota] = []
    if limit is not None:
        if limit.requests is not None:
            found.append(Quota(holder, "requests", limit.requests, limit.per, rolling=True))
        if limit.tokens is not None:
            found.append(Quota(holder, "tokens", limit.tokens, limit.per, rolling=True))
    if budget is not None:
        if budget.cost is not None:  # the unit is part of stored counts, so it keeps its name
            cost = max(1, round(budget.cost * BILLION))  # a share of nothing is no number
            found.append(Quota(holder, "money", cost, budget.per, rolling=False))
        if budget.tokens is not None:
            found.append(Quota(holder, "tokens", budget.tokens, budget.per, rolling=False))
        if (most := budget.thinking_tokens) is not None:
            found.append(Quota(holder, "thinking_tokens", most, budget.per, rolling=False))
    return tuple(found)
