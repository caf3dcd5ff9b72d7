"""Fills the counts of a process again at its start, and what it knows of budgets, from the ledger.

With ``state = "memory"`` a new process has counted nothing, but the ledger knows what was used in
the windows that are still open. Limits of clients per second and minute begin again: they are over
soon. Those of accounts go on, because their services do not begin again; only a second is shorter
than a start.
"""

import logging
from asyncio import Task, ensure_future, sleep, to_thread, wait
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from ...errors import StoreError
from ..observability.ledger import Ledger
from ..observability.ledger_database import LedgerDatabase
from ..server.context import GatewayContext
from ..state.redis_link import SharedStateLost
from .quota import (
    Holder,
    Quota,
    Unit,
    find_length,
    find_quotas,
    find_window,
    name_account_holder,
    name_arrival_span,
)
from .usage_counter import LocalUsageCounter

LOG = logging.getLogger("pondero.gateway")

PATIENCE = 10.0
"""Seconds that a start waits for the ledger; what it says later is counted later."""
_AGAIN = 5.0  # seconds before a ledger that failed is asked again
_LOOK = 1.0  # second between two looks whether records that were left behind are in the ledger
_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000  # milliseconds
_LONG = {"hour": _HOUR, "day": _DAY}  # of the rate limits that outlast a restart
_ARRIVAL_SPANS = frozenset(
    map(name_arrival_span, ("minute", "hour", "day"))
)  # likewise, of accounts
_UNITS: tuple[Unit, ...] = ("requests", "tokens", "thinking_tokens", "money")
_SQL = (
    "SELECT key, key_group, route, max(minute), sum(CASE WHEN tries > 0 THEN 1 ELSE 0 END), "
    "sum(coalesce(input, 0) + coalesce(cache_read, 0) + coalesce(cache_write, 0) "
    "+ coalesce(output, 0) + coalesce(thinking, 0)), sum(coalesce(thinking, 0)), "
    "sum(coalesce(cost, 0)) FROM pondero_receipts "
    "WHERE minute >= ? AND minute < ? AND at < ? AND offline = ? "
    "GROUP BY key, key_group, route, minute / {step}"
)
# Each try counts, for the account that was asked last. What was sent later counts for longer.
_SQL_OF_ACCOUNTS = (
    "SELECT deployment, max(at + coalesce(last_try, seconds)), sum(tries), "
    "sum(coalesce(input, 0) + coalesce(cache_read, 0) + coalesce(cache_write, 0) "
    "+ coalesce(output, 0) + coalesce(thinking, 0)) FROM pondero_receipts "
    "WHERE minute >= ? AND minute < ? AND at < ? AND offline = ? "
    "AND deployment IS NOT NULL AND tries > 0 GROUP BY deployment, {moment}"
)


class EarlierUse(Struct, frozen=True):
    """What was used of a quota before this process began; ``at``: when, in milliseconds."""

    quota: Quota
    at: int
    amount: int


async def restore_counts(gateway: GatewayContext, ledger: Ledger | None) -> Task[None] | None:
    """Count what earlier processes used, and wait for it ``PATIENCE`` seconds at most.

    A ledger that does not answer by then is asked again until it does: that work is returned.
    """
    counter = gateway.state
    if ledger is None or not isinstance(counter, LocalUsageCounter):
        return None
    quotas = await _list_quotas(gateway)
    if not quotas:
        return None
    restoring = ensure_future(_restore(gateway, ledger, counter, quotas))
    await wait((restoring,), timeout=PATIENCE)
    if restoring.done():
        return None
    LOG.warning("the ledger does not say what budgets have used; they count without it so far")
    return restoring


async def _list_quotas(gateway: GatewayContext) -> list[Quota]:
    """Return all quotas whose windows outlast a restart."""
    config = gateway.config
    try:
        keys = await gateway.keys.all()
    except SharedStateLost:  # requests are rejected until they are known
        keys = config.keys
    holders: tuple[Holder, ...] = (*keys, *config.groups, *config.routes)
    quotas = [quota for each in holders for quota in find_quotas(each)]
    quotas += (quota for each in config.deployments for quota in gateway.accounts.quotas(each.name))
    return [
        quota
        for quota in quotas
        if not quota.rolling or quota.per in _LONG or quota.per in _ARRIVAL_SPANS
    ]


async def _restore(
    gateway: GatewayContext, ledger: Ledger, counter: LocalUsageCounter, quotas: Sequence[Quota]
) -> None:
    began, offline = gateway.now(), not gateway.transport.needs_key
    while not await to_thread(ledger.recovered.wait, _LOOK):
        pass
    while True:
        rows = EarlierRows(ledger.database, int(gateway.now() * 1000), began, offline)
        try:
            found = await to_thread(rows.find_use, quotas)
        except StoreError:  # the ledger's own log says why
            await sleep(_AGAIN)
        else:
            for use in found:
                counter.add_earlier(use.quota, use.at, use.amount)
            return


async def restore_refusals(gateway: GatewayContext, ledger: Ledger | None) -> None:
    """Learn which budgets had no room for a request of an earlier process.

    Only alerts depend on it, so a start need not wait for it.
    """
    if ledger is None:
        return
    offline, watch = not gateway.transport.needs_key, gateway.refusal_watch
    while not await to_thread(ledger.recovered.wait, _LOOK):
        pass
    while True:
        watch.read_again()  # what was left behind came late
        try:
            await to_thread(watch.read, ledger.database, gateway.now(), offline=offline)
        except StoreError:
            await sleep(_AGAIN)
        else:
            return


class EarlierRows(Struct, frozen=True):
    """The rows of requests that began before a moment, in seconds.

    ``now``, in milliseconds, decides which windows are open. ``offline``: only rows of emulated
    answers count, or else only the others.
    """

    database: LedgerDatabase
    now: int
    before: float
    offline: bool

    def find_use(self, quotas: Iterable[Quota]) -> list[EarlierUse]:
        """Return the use of each quota in its open window; raises StoreError."""
        quotas = set(quotas)
        budgets = {each: find_window(each, self.now).since for each in quotas if not each.rolling}
        limits = {
            each: self.now - _LONG[each.per]
            for each in quotas
            if each.per in _LONG and each.rolling
        }
        accounts = [each for each in quotas if each.per in _ARRIVAL_SPANS]
        # Calendar periods begin with an hour; a rolling window needs to know the minute.
        return [
            *self._iter_use(budgets, step=60),
            *self._iter_use(limits, step=1),
            *self._iter_account_use(accounts),
        ]

    def _iter_use(self, windows: Mapping[Quota, int], *, step: int) -> Iterator[EarlierUse]:
        if not windows:
            return
        first = min(windows.values()) // _MINUTE
        for row in self._iter_rows(_SQL.format(step=step), first):
            yield from _share_out(row, windows)

    def _iter_account_use(self, quotas: Iterable[Quota]) -> Iterator[EarlierUse]:
        """Yield what accounts were asked; a limit per minute needs to know the second."""
        by_length: dict[float, list[Quota]] = {}
        for each in quotas:
            by_length.setdefault(find_length(each), []).append(each)
        for length, limits in by_length.items():
            since = self.now - int(length * 1000)
            is_short = since > self.now - _HOUR
            sql = _SQL_OF_ACCOUNTS.format(moment="CAST(at AS BIGINT)" if is_short else "minute")
            # One may have waited a minute for an account that failed before it was sent.
            for name, sent, *sums in self._iter_rows(sql, since // _MINUTE - 1):
                at, taken = int(sent * 1000), dict(zip(_UNITS[:2], map(int, sums), strict=True))
                for quota in limits:
                    is_its = quota.holder == name_account_holder(name)
                    if is_its and at > since and taken[quota.unit]:
                        yield EarlierUse(quota, min(at, self.now), taken[quota.unit])

    def _iter_rows(self, sql: str, first: int) -> Iterator[Sequence[Any]]:
        """Yield the sums of rows from a minute on, a day at a time: a query has a deadline."""
        for begin in range(first, self.now // _MINUTE + 1, _DAY // _MINUTE):
            values = (begin, begin + _DAY // _MINUTE, self.before, int(self.offline))
            yield from self.database.rows(sql, values)


def _share_out(row: Sequence[Any], windows: Mapping[Quota, int]) -> Iterator[EarlierUse]:
    """Yield what a sum is of each quota; one of a rate limit counts from the end of its minute."""
    key, group, route, minute, *sums = row
    holders = {f"key {key}", f"group {group}", f"route {route}"}
    amounts = dict(zip(_UNITS, map(int, sums), strict=True))
    for quota, since in windows.items():
        at = (int(minute) + quota.rolling) * _MINUTE
        if quota.holder in holders and at >= since and amounts[quota.unit]:
            yield EarlierUse(quota, at, amounts[quota.unit])
