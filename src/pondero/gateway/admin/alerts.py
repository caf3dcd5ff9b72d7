"""What needs the operator's attention now, for the console and for the webhook.

Both find budgets, paused models and keys that expire in the same way. The console counts failed
requests, and those that a budget had no room for, in the ledger, of all processes; the webhook
those of this process, which costs no query after its start.
"""

from asyncio import to_thread
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from msgspec import Struct

from ...errors import StoreError
from ..config.model import GatewayKey
from ..observability.error_watch import ENOUGH, RECENT, describe_failed
from ..observability.ledger_database import LedgerDatabase
from ..quotas.quota import Holder, Quota, find_quotas, format_amount
from ..server.context import GatewayContext
from ..state.breakers import PAUSED
from ..state.redis_link import SharedStateLost

_STILL = 0.05  # of a budget: an alert holds so far below its share, so that it does not flicker
_DAY = 86_400.0


class Alert(Struct, frozen=True, kw_only=True):
    """One alert, with the key, the group, the route or the model that it is about.

    ``id``: the same for as long as it holds, in all processes.
    """

    id: str
    kind: str
    text: str
    key: str | None = None
    group: str | None = None
    route: str | None = None
    model: str | None = None


async def find_alerts(gateway: GatewayContext) -> list[Alert]:
    """Return all alerts for the console; those of the watch are this process's own."""
    paused = _find_paused(gateway)
    names = [each.model for each in paused]
    failing = [*paused, *_list_failing(await _count_failed(gateway), names)]
    await _read_refusals(gateway)
    budgets = await find_spent(gateway)
    spent = {each.id.partition(":")[2] for each in budgets if each.kind == "budget_without_room"}
    worst = [
        each
        for each in budgets
        if each.kind == "budget_without_room" or each.id.partition(":")[2] not in spent
    ]
    return [*failing, *worst, *await _find_expiring(gateway), *_list_watched(gateway)]


async def find_own_alerts(gateway: GatewayContext, *, raised: Iterable[str] = ()) -> list[Alert]:
    """Return all alerts as far as this process knows them, without a query to the ledger.

    ``raised``: the ids of those that hold already.
    """
    share = gateway.config.alerts.error_share
    failing = gateway.error_watch.find_failing(share, gateway.now())
    away = (
        [Alert(id="state_away", kind="state_away", text="the shared state is unreachable")]
        if gateway.shared.is_away
        else []
    )
    return [
        *_find_paused(gateway),
        *_list_failing(failing, ()),
        *await find_spent(gateway, raised=frozenset(raised)),
        *await _find_expiring(gateway),
        *away,
    ]


def _list_watched(gateway: GatewayContext) -> list[Alert]:
    return [
        Alert(
            id=f"{each.kind}:{each.route}:{each.model}",
            kind=each.kind,
            text=each.text,
            route=each.route or None,
            model=each.model,
        )
        for each in gateway.dial_watch.alarms
    ]


# -- budgets --------------------------------------------------------------------------------------


async def find_spent(
    gateway: GatewayContext, *, raised: frozenset[str] = frozenset()
) -> list[Alert]:
    """Return the budgets of keys, groups and routes that are nearly used, or used up."""
    config = gateway.config
    holders: list[tuple[Holder, dict[str, str]]] = [
        *((key, {"key": key.name}) for key in await _list_keys(gateway)),
        *((group, {"group": group.name}) for group in config.groups),
        *((route, {"route": route.match}) for route in config.routes),
    ]
    budgets = [
        (quota, about)
        for holder, about in holders
        for quota in find_quotas(holder)
        if not quota.rolling
    ]
    used = await gateway.state.current_use([quota for quota, _ in budgets])
    found: list[Alert] = []
    now = gateway.now()
    for (quota, about), taken in zip(budgets, used, strict=True):
        nearly, spent = f"budget_nearly_used:{quota.name}", f"budget_without_room:{quota.name}"
        share = config.alerts.budget_share - (_STILL if nearly in raised else 0)
        text = _describe(quota, taken)
        if taken >= share * quota.most:
            found.append(Alert(id=nearly, kind="budget_nearly_used", text=text, **about))
        if taken >= quota.most or gateway.refusal_watch.has_refused(quota, now):
            rest = "" if taken >= quota.most else f"; {_describe_rest(quota, taken)}"
            found.append(Alert(id=spent, kind="budget_without_room", text=text + rest, **about))
    return found


async def _read_refusals(gateway: GatewayContext) -> None:
    """Learn which budgets had no room for a request of another process."""
    if gateway.ledger is None:
        return
    offline = gateway.is_offline
    with suppress(StoreError):  # the console says so itself
        await to_thread(gateway.refusal_watch.read, gateway.ledger, gateway.now(), offline=offline)


def _describe(quota: Quota, taken: int) -> str:
    percent = 100 * taken // quota.most  # rounded down: 100% is all of it
    return f"{percent}% of {format_amount(quota.unit, quota.most)} per {quota.per} is used"


def _describe_rest(quota: Quota, taken: int) -> str:
    return f"the {format_amount(quota.unit, quota.most - taken)} left was too little for a request"


# -- models ---------------------------------------------------------------------------------------


def _find_paused(gateway: GatewayContext) -> list[Alert]:
    return [
        Alert(
            id=f"breaker_open:{name}",
            kind="breaker_open",
            text="paused, as its service asked"
            if state == PAUSED
            else "paused after repeated failures",
            model=name,
        )
        for name, state in gateway.breakers.states().items()
        if state != "closed"
    ]


def _list_failing(texts: Mapping[str, str], paused: Sequence[str | None]) -> list[Alert]:
    return [
        Alert(id=f"upstream_failing:{name}", kind="upstream_failing", text=text, model=name)
        for name, text in texts.items()
        if name not in paused
    ]


async def _count_failed(gateway: GatewayContext) -> Mapping[str, str]:
    if gateway.ledger is None:
        return {}
    since, share = gateway.now() - 60 * RECENT, gateway.config.alerts.error_share
    try:
        return await to_thread(
            _query_failed, gateway.ledger, since, share, offline=gateway.is_offline
        )
    except StoreError:
        return {}  # the console says so itself


def _query_failed(
    database: LedgerDatabase, since: float, share: float, *, offline: bool
) -> dict[str, str]:
    found: Sequence[tuple[str, int, int]] = [
        (model, count, int(failed))
        for model, count, failed in database.rows(
            "SELECT provider || ':' || model, count(*), "
            "sum(CASE WHEN ended = 'failed' THEN 1 ELSE 0 END) FROM pondero_receipts "
            "WHERE at >= ? AND offline = ? AND model IS NOT NULL GROUP BY 1 ORDER BY 1",
            (since, int(offline)),
        )
    ]
    return {
        model: describe_failed(failed, count)
        for model, count, failed in found
        if count >= ENOUGH and failed >= share * count
    }


# -- keys -----------------------------------------------------------------------------------------


async def _list_keys(gateway: GatewayContext) -> Sequence[GatewayKey]:
    """Return all keys; while those of run time are unknown, other alerts go on."""
    try:
        return await gateway.keys.all()
    except SharedStateLost:
        return gateway.config.keys


async def _find_expiring(gateway: GatewayContext) -> list[Alert]:
    """Return the keys that expire soon; not those that are blocked, or have expired."""
    now, days = gateway.now(), gateway.config.alerts.expiry_days
    return [
        Alert(
            id=f"key_expires:{key.name}:{key.expires.isoformat()}",
            kind="key_expires",
            text=f"expires at {_format_time(key.expires)}",
            key=key.name,
        )
        for key in await _list_keys(gateway)
        if key.expires is not None
        and not key.blocked
        and 0 < key.expires.timestamp() - now <= days * _DAY
    ]


def _format_time(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
