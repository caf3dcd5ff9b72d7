"""What needs the operator's attention now: the watch, quotas nearly used, services that fail."""

from asyncio import to_thread
from collections.abc import Sequence

from msgspec import Struct

from ...errors import StoreError
from ..observability.ledger_database import LedgerDatabase
from ..quotas.quota import BILLION, Quota, find_quotas
from ..server.context import GatewayContext
from ..state.breakers import PAUSED

NEARLY = 0.8
"""The share of a budget from which there is an alert."""
SHARE = 0.1
"""The share of failed requests of a model from which there is an alert."""
ENOUGH = 10
"""Requests to a model before there is an alert about those that failed."""
RECENT = 15
"""Minutes in which failed requests are counted."""


class Alert(Struct, frozen=True, kw_only=True):
    """One alert, with the key, the route or the model that it is about.

    ``kind``: ``dial_deaf``, ``thinks_though_off``, ``exhausted``, ``budget_nearly_used`` or
    ``upstream_failing``.
    """

    kind: str
    text: str
    key: str | None = None
    route: str | None = None
    model: str | None = None


async def find_alerts(gateway: GatewayContext) -> list[Alert]:
    """Return all alerts; those of the watch are this process's own."""
    watched = [
        Alert(kind=each.kind, text=each.text, route=each.route or None, model=each.model)
        for each in gateway.dial_watch.alarms
    ]
    return [*await _find_failing(gateway), *await _find_spent(gateway), *watched]


async def _find_spent(gateway: GatewayContext) -> list[Alert]:
    """Return the budgets of keys and routes that are nearly used, or used up."""
    alerts = []
    for key in await gateway.keys.all():
        spent = await _list_spent(gateway, find_quotas(key, None))
        alerts += [Alert(kind="budget_nearly_used", text=text, key=key.name) for text in spent]
    for route in gateway.config.routes:
        spent = await _list_spent(gateway, find_quotas(None, route))
        alerts += [Alert(kind="budget_nearly_used", text=text, route=route.match) for text in spent]
    return alerts


async def _list_spent(gateway: GatewayContext, quotas: Sequence[Quota]) -> list[str]:
    budgets = [quota for quota in quotas if not quota.rolling]
    used = await gateway.state.current_use(budgets)
    return [
        _describe(quota, taken)
        for quota, taken in zip(budgets, used, strict=True)
        if taken >= NEARLY * quota.most
    ]


def _describe(quota: Quota, taken: int) -> str:
    share = f"{taken / quota.most:.0%}"
    if quota.unit == "money":
        return f"{share} of ${quota.most / BILLION:,.2f} per {quota.per} is used"
    unit = quota.unit.replace("_", " ")
    return f"{share} of {quota.most:,} {unit} per {quota.per} is used"


async def _find_failing(gateway: GatewayContext) -> list[Alert]:
    """Return the models that are paused after failures, or of which many requests fail."""
    texts = {
        name: "paused, as its service asked"
        if state == PAUSED
        else "paused after repeated failures"
        for name, state in gateway.breakers.states().items()
        if state != "closed"
    }
    if gateway.ledger is not None:
        try:
            since = gateway.now() - 60 * RECENT
            texts = {**await to_thread(_count_failed, gateway.ledger, since), **texts}
        except StoreError:
            pass  # the console says so itself
    return [Alert(kind="upstream_failing", text=text, model=name) for name, text in texts.items()]


def _count_failed(database: LedgerDatabase, since: float) -> dict[str, str]:
    found = database.rows(
        "SELECT provider || ':' || model, count(*), "
        "sum(CASE WHEN ended = 'failed' THEN 1 ELSE 0 END) FROM pondero_receipts "
        "WHERE at >= ? AND model IS NOT NULL GROUP BY 1 ORDER BY 1",
        (since,),
    )
    return {
        model: f"{failed / count:.0%} of {count:,} requests failed in the last {RECENT} minutes"
        for model, count, failed in ((model, count, int(failed)) for model, count, failed in found)
        if count >= ENOUGH and failed >= SHARE * count
    }
