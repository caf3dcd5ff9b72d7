"""State shared in Redis, atomic by ``lua/``; while it is lost, each replica counts alone."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from secrets import token_hex
from typing import Any

from ...canon import dump_json, load_json
from ..config.model import GatewayKey
from ..quotas.quota import Quota, QuotaUse
from ..quotas.usage_counter import LocalUsageCounter, QuotaShortfall, find_window, now_ms
from .answer_cache import LocalAnswerCache
from .breakers import FAILURES, PROBE, REST, WITHIN, Breakers
from .keys import Rows, load_key
from .redis_link import PREFIX, Argument, RedisLink, SharedStateLost

HOLD = 90.0
"""Seconds before the reservation of a dead process expires."""
_OWED = 1_000
_RESERVATIONS = "reservations"
_BREAKERS = "breakers"
_KEYS = "keys"
_VERSION = "keys:version"


class RedisUsageCounter:
    """Counts for all replicas; ``hold``: seconds before an unconfirmed reservation expires."""

    def __init__(self, link: RedisLink, *, hold: float = HOLD) -> None:
        self._link = link
        self._hold = hold
        self._local = LocalUsageCounter()
        self._alone: set[str] = set()  # requests admitted while Redis was unreachable
        self._open: set[str] = set()
        self._owed: dict[str, Sequence[QuotaUse]] = {}
        self._telling: set[asyncio.Future[None]] = set()
        self._renewing: asyncio.Task[None] | None = None
        link.on_return.append(self._send_owed)

    async def reserve(self, id: str, uses: Sequence[QuotaUse]) -> QuotaShortfall | None:
        """Reserve all of these, or none."""
        rows = [
            (int(each.bound.rolling), each.bound.per, each.bound.most, each.amount) for each in uses
        ]
        try:
            answer = await self._run("reserve", uses, [id, int(self._hold * 1000), *_flat(rows)])
        except SharedStateLost:
            self._alone.add(id)
            return await self._local.reserve(id, uses)
        if answer:
            at, taken, wait = (int(each) for each in answer)
            return QuotaShortfall(uses[at].bound, taken, uses[at].amount, wait / 1000)
        self._open.add(id)
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.ensure_future(self._renew())
        return None

    def settle(self, id: str, uses: Sequence[QuotaUse]) -> None:
        """Correct a reservation; if Redis is unreachable, later."""
        self._open.discard(id)
        if id in self._alone:
            self._alone.discard(id)
            self._local.settle(id, uses)
        self._owed[id] = uses
        if self._link.is_away and len(self._owed) > _OWED:
            self._owed = {token_hex(12): _sum_uses(self._owed.values())}
            return
        telling = asyncio.ensure_future(self._send_use(id, uses))
        self._telling.add(telling)
        telling.add_done_callback(self._telling.discard)

    async def wait_until_counted(self) -> None:
        """Wait until Redis has the use, or is unreachable."""
        await asyncio.gather(*self._telling)

    async def current_use(self, bounds: Sequence[Quota]) -> list[int]:
        """Return the current use of each quota, by all replicas."""

        async def read(redis: Any) -> list[dict[bytes, bytes]]:
            pipeline = redis.pipeline(transaction=False)
            for each in bounds:
                pipeline.hgetall(PREFIX + each.name)
            found: list[dict[bytes, bytes]] = await pipeline.execute()
            return found

        try:
            found = await self._link.ask(read)
        except SharedStateLost:
            return await self._local.current_use(bounds)
        spans = [find_window(each, int(self._link.now or now_ms())) for each in bounds]
        return [
            sum(int(count) for slot, count in slots.items() if int(slot) >= span.since)
            for slots, span in zip(found, spans, strict=True)
        ]

    async def aclose(self) -> None:
        """Send Redis the use it does not have yet, and stop."""
        if self._renewing is not None:
            self._renewing.cancel()
        await self.wait_until_counted()
        await self._send_owed()

    async def _send_owed(self) -> None:
        """Send Redis the use of requests while it was unreachable."""
        for id, uses in list(self._owed.items()):
            await self._send_use(id, uses)

    async def _send_use(self, id: str, uses: Sequence[QuotaUse]) -> None:
        """Send Redis a request's use; if it is unreachable, keep it for later."""
        rows = [(int(each.bound.rolling), each.bound.per, each.amount) for each in uses]
        with suppress(SharedStateLost):
            await self._run("settle", uses, [id, *_flat(rows)])
            self._owed.pop(id, None)

    async def _renew(self) -> None:
        """Extend the reservations of requests that still run."""
        while self._open:
            await asyncio.sleep(self._hold / 3)
            if ids := list(self._open):
                with suppress(SharedStateLost):
                    await self._link.run("renew", [_RESERVATIONS], [int(self._hold * 1000), *ids])

    async def _run(self, name: str, uses: Sequence[QuotaUse], arguments: Sequence[Argument]) -> Any:
        keys = [_RESERVATIONS, *(each.bound.name for each in uses)]
        return await self._link.run(name, keys, arguments)


def _flat(rows: Iterable[Sequence[Argument]]) -> list[Argument]:
    return [value for row in rows for value in row]


def _sum_uses(several: Iterable[Sequence[QuotaUse]]) -> Sequence[QuotaUse]:
    sums: dict[Quota, int] = {}
    for uses in several:
        for each in uses:
            sums[each.bound] = sums.get(each.bound, 0) + each.amount
    return [QuotaUse(bound, amount) for bound, amount in sums.items()]


class RedisAnswerCache:
    """The answer cache of all replicas; unused entries expire."""

    def __init__(self, link: RedisLink, local: LocalAnswerCache, *, seconds: float) -> None:
        self._link = link
        self._local = local
        self._seconds = max(1, round(seconds))

    async def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the values of these keys, and extend their time."""
        names = list(keys)

        async def read(redis: Any) -> list[bytes | None]:
            pipeline = redis.pipeline(transaction=False)
            for name in names:
                pipeline.getex(_make_answer_key(name), ex=self._seconds)
            found: list[bytes | None] = await pipeline.execute()
            return found

        try:
            values = await self._link.ask(read)
        except SharedStateLost:
            return await self._local.get(names)
        return {name: value for name, value in zip(names, values, strict=True) if value is not None}

    async def put(self, items: Mapping[str, bytes]) -> None:
        """Store these values."""

        async def write(redis: Any) -> None:
            pipeline = redis.pipeline(transaction=False)
            for name, value in items.items():
                pipeline.set(_make_answer_key(name), value, ex=self._seconds)
            await pipeline.execute()

        try:
            await self._link.ask(write)
        except SharedStateLost:
            await self._local.put(items)


def _make_answer_key(name: str) -> str:
    return f"{PREFIX}answer:{name}"


class RedisSnapshot:
    """What a replica reads from Redis at the start of each request, in one round trip.

    ``version`` counts the changes of run-time keys; ``troubled`` has the deployments with recent
    failures, so the others need no further request.
    """

    def __init__(self, link: RedisLink) -> None:
        self._link = link
        self.version: bytes | None = None
        self.troubled: Mapping[str, Any] = {}

    async def look(self) -> None:
        """Read it; raises SharedStateLost."""

        async def read(redis: Any) -> list[Any]:
            pipeline = redis.pipeline(transaction=False)
            pipeline.get(PREFIX + _VERSION)
            pipeline.hgetall(PREFIX + _BREAKERS)
            found: list[Any] = await pipeline.execute()
            return found

        self.version, troubled = await self._link.ask(read)
        self.troubled = {name.decode(): load_json(row, dict) for name, row in troubled.items()}


class RedisBreakers:
    """The breakers of all replicas; while Redis is unreachable, each has its own."""

    def __init__(self, link: RedisLink, snapshot: RedisSnapshot) -> None:
        self._link = link
        self._snapshot = snapshot
        self._local = Breakers()

    async def is_open(self, name: str) -> bool:
        """Return whether a deployment is paused; False once after the pause, for the probe."""
        if not self._link.is_away and name not in self._snapshot.troubled:
            return False
        try:
            return bool(await self._step("ask", name))
        except SharedStateLost:
            return await self._local.is_open(name)

    async def record_success(self, name: str) -> None:
        """Clear its failures."""
        await self._local.record_success(name)
        if name in self._snapshot.troubled:
            with suppress(SharedStateLost):
                await self._step("well", name)

    async def record_failure(self, name: str) -> None:
        """Record a failure."""
        try:
            await self._step("failed", name)
        except SharedStateLost:
            await self._local.record_failure(name)

    async def cancel_probe(self, name: str) -> None:
        """End a probe that tells nothing about the deployment."""
        await self._local.cancel_probe(name)
        if name in self._snapshot.troubled:
            with suppress(SharedStateLost):
                await self._step("left", name)

    def states(self) -> dict[str, str]:
        """Return every deployment with recent failures, as this replica last saw it."""
        if self._link.is_away:
            return self._local.states()
        return {
            name: "closed" if not row.get("opened") else "probing" if row.get("probing") else "open"
            for name, row in self._snapshot.troubled.items()
        }

    async def _step(self, step: str, name: str) -> Any:
        times = [int(seconds * 1000) for seconds in (WITHIN, REST, PROBE)]
        return await self._link.run("breaker", [_BREAKERS], [step, name, FAILURES, *times])


class RedisKeys:
    """Run-time keys of all replicas, checked at each request; kept while Redis is lost."""

    def __init__(self, link: RedisLink, snapshot: RedisSnapshot | None = None) -> None:
        self._link = link
        self._snapshot = snapshot
        self._read: tuple[bytes | None, Rows] = (None, {})

    async def rows(self) -> Rows:
        """Return the current keys."""
        version = self._snapshot.version if self._snapshot is not None else b"unknown"
        if version != self._read[0]:
            with suppress(SharedStateLost):
                found = await self._link.ask(lambda redis: redis.hgetall(PREFIX + _KEYS))
                rows = {name.decode(): load_key(row) for name, row in found.items()}
                self._read = (version, rows)
        return self._read[1]

    async def put(self, key: GatewayKey) -> None:
        """Store a key; raises SharedStateLost."""
        await self._change("hset", key.name, dump_json(key))

    async def remove(self, name: str) -> None:
        """Delete a key; raises SharedStateLost."""
        await self._change("hdel", name)

    async def _change(self, command: str, *values: str) -> None:
        async def write(redis: Any) -> None:
            pipeline = redis.pipeline(transaction=True)
            pipeline.execute_command(command, PREFIX + _KEYS, *values)
            pipeline.incr(PREFIX + _VERSION)
            *_, version = await pipeline.execute()
            if self._snapshot is not None:
                self._snapshot.version = b"%d" % version

        await self._link.ask(write)
