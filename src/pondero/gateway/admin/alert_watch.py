"""Sends alerts to the webhook: each once when it is raised, and once when it is over.

Every few seconds each process looks at what it knows. Processes with a shared state agree on who
sends an alert, so that one of them does. No request waits for any of this.
"""

import logging
from asyncio import sleep
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from ..observability.dial_watch import Alarm
from ..server.context import GatewayContext
from ..state.redis_link import SharedStateLost
from .alerts import Alert, find_own_alerts

LOG = logging.getLogger("pondero.gateway")

EVERY = 5.0
"""Seconds between two looks."""
CLAIMED = 60.0
"""Seconds for which a process that died still keeps others from sending an alert."""


class AlertWatch:
    """Compares what holds now with what held before.

    ``send`` must not wait; it is given what to call, from any thread, when an alert was taken.
    ``is_ledger_away``: whether the ledger took no rows at the last try.
    """

    def __init__(
        self,
        gateway: GatewayContext,
        send: Callable[[Alarm, Callable[[], None]], None],
        *,
        is_ledger_away: Callable[[], bool] = bool,
    ) -> None:
        self._gateway = gateway
        self._send = send
        self._is_ledger_away = is_ledger_away
        self._raised: dict[str, Alarm] = {}
        self._taken: deque[str] = deque()  # by the receiver, since the last look

    async def run(self) -> None:
        """Look again and again, until it is cancelled; a failure is logged."""
        while True:
            await sleep(EVERY)
            try:
                await self.look()
            except Exception:
                LOG.exception("alerts could not be found")

    async def look(self) -> None:
        """Send what is raised or over since the last look."""
        with suppress(SharedStateLost):  # which is an alert itself
            await self._gateway.shared.look()
        wanted = self._gateway.config.alerts.kinds
        found = {
            id: alarm for id, alarm in await self._find() if not wanted or alarm.kind in wanted
        }
        claims = self._gateway.shared.claims
        while self._taken:
            if (id := self._taken.popleft()) in self._raised:
                await claims.note_done(id, CLAIMED)
        for id, alarm in found.items():
            if await claims.take(id, CLAIMED):
                self._send(alarm, partial(self._taken.append, id))
        for id, alarm in self._raised.items():
            if id not in found and await claims.give_back(id):
                self._send(_end(alarm, self._gateway.now()), _ignore)
        self._raised = {id: self._raised.get(id, alarm) for id, alarm in found.items()}

    async def _find(self) -> list[tuple[str, Alarm]]:
        now = self._gateway.now()
        alerts = await find_own_alerts(self._gateway, raised=self._raised)
        if self._is_ledger_away():
            text = "the ledger takes no rows; requests wait on disk"
            alerts.append(Alert(id="ledger_away", kind="ledger_away", text=text))
        watched = self._gateway.dial_watch.alarms
        return [
            *((each.id, _make_alarm(each, now)) for each in alerts),
            *((f"{each.kind}:{each.route}:{each.model}", each) for each in watched),
        ]


def _ignore() -> None:
    """Take no note: what is over is sent once, or not at all."""


def _make_alarm(alert: Alert, now: float) -> Alarm:
    return Alarm(
        kind=alert.kind,
        route=alert.route or "",
        model=alert.model or "",
        key=alert.key or "",
        group=alert.group or "",
        text=_name_subject(alert) + alert.text,
        at=now,
        requests=0,
    )


def _name_subject(alert: Alert) -> str:
    subjects = {"key": alert.key, "group": alert.group, "route": alert.route, "": alert.model}
    return "".join(f"{kind} {name}: ".lstrip() for kind, name in subjects.items() if name)


def _end(alarm: Alarm, now: float) -> Alarm:
    return replace(alarm, is_over=True, at=now)
