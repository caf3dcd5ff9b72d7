"""The law of reservations: no interleaving uses more than the budget and what it says beside it.

Replicas reserve, settle, vanish and lose Redis in any order; a real Redis is killed, paused, emptied
and made read-only, it begins again from an old file, and its clock jumps. The judge knows nothing of
slots, epochs or scripts: it adds up what was admitted and served, day by day.
"""

import asyncio
import signal
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec import Struct
from tests.gateway.redis_server import RedisServer, redis_server

from pondero.gateway.quotas.quota import Quota, QuotaUse
from pondero.gateway.quotas.usage_counter import LocalUsageCounter, UsageCounter
from pondero.gateway.state import redis_link, redis_usage_counter
from pondero.gateway.state.pending_use import PendingUse
from pondero.gateway.state.redis_link import RedisLink, SharedStateLost
from pondero.gateway.state.redis_usage_counter import RedisUsageCounter

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="stops processes")

MOST = 100
BUDGET = Quota("key ci", "tokens", MOST, "day", rolling=False)
DAY = 86_400_000
NOON = int(datetime(2031, 5, 14, 12, tzinfo=UTC).timestamp() * 1000)


class Request(Struct):
    """A request that was admitted: what it may use, then what it used, and on which day."""

    id: str
    replica: int
    day: int
    reserved: int
    used: int | None = None
    alone: bool = False

    @property
    def counted(self) -> int:
        """Return what a budget must count for it: a request that never ended may be served."""
        return self.reserved if self.used is None else self.used


class Clock:
    now = NOON

    def __call__(self) -> int:
        return self.now


class Law(RuleBasedStateMachine):
    """What both counters obey; ``_refuses`` says whether they count without a shared state."""

    _refuses = True

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.requests: list[Request] = []
        self.counters: dict[int, UsageCounter] = {}
        self.lives = 0
        self.asked = 0
        self.losses = 0  # of data that no replica could give back
        self.loop = asyncio.new_event_loop()

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def start(self) -> None:
        self.counters[self.lives] = self.make_counter()
        self.lives += 1

    def make_counter(self) -> UsageCounter:
        return LocalUsageCounter(self.clock)

    def is_lost(self, _replica: int) -> bool:
        return False

    def today(self) -> int:
        return self.clock.now // DAY

    def open_requests(self) -> list[Request]:
        return [r for r in self.requests if r.used is None and r.replica in self.counters]

    @rule(which=st.integers(0, 9), amount=st.integers(0, 60))
    def reserve(self, which: int, amount: int) -> None:
        names = sorted(self.counters)
        if not names:
            return
        replica = names[which % len(names)]
        self.asked += 1
        id, day = f"request-{self.asked}", self.today()
        before = self.is_lost(replica)
        try:
            full = self.run(self.counters[replica].reserve(id, [QuotaUse(BUDGET, amount)]))
        except SharedStateLost:
            assert self._refuses
            assert self.is_lost(replica)
            return
        if full is None:
            alone = before or self.is_lost(replica)
            assert not (alone and self._refuses)
            self.requests.append(Request(id, replica, day, amount, alone=alone))

    @precondition(lambda self: self.open_requests())
    @rule(which=st.integers(0, 99), share=st.floats(0, 1))
    def settle(self, which: int, share: float) -> None:
        several = self.open_requests()
        request = several[which % len(several)]
        request.used = round(request.reserved * share)
        self.run(self.settle_use(request))

    async def settle_use(self, request: Request) -> None:
        counter = self.counters[request.replica]
        for _ in range(2):  # the second says nothing new
            counter.settle(request.id, [QuotaUse(BUDGET, request.counted)])
        await counter.wait_until_counted()

    @rule(jump=st.sampled_from([-3 * DAY, -DAY, -3_600_000, 1, 3_600_000, DAY, 40 * DAY]))
    def move_clock(self, jump: int) -> None:
        self.clock.now += jump

    @invariant()
    def no_day_uses_more_than_its_budget(self) -> None:
        for day in {each.day for each in self.requests}:
            todays = [each for each in self.requests if each.day == day]
            shared = sum(each.counted for each in todays if not each.alone)
            assert shared <= MOST * (1 + self.losses)
            for life in range(self.lives):  # the stated factor of ``allow``: once for each life
                own = sum(r.counted for r in todays if r.alone and r.replica == life)
                assert own <= MOST

    def teardown(self) -> None:
        self.loop.close()


class LocalLaw(Law):
    """The counter in memory, by one process: its count is exact at any time."""

    @initialize()
    def begin(self) -> None:
        self.start()

    @invariant()
    def it_counts_exactly(self) -> None:
        if self.counters:
            todays = sum(each.counted for each in self.requests if each.day == self.today())
            assert self.run(self.counters[0].current_use([BUDGET])) == [todays]


class RedisLaw(Law):
    """Several replicas over one Redis, which reject what they cannot reserve."""

    redis: RedisServer
    folder: Path

    def __init__(self) -> None:
        super().__init__()
        self.links: dict[int, RedisLink] = {}
        self.broken: str | None = None
        self.has_left = False  # a replica, and with it what it alone had seen
        self.lost_data = False
        self.redis.start_if_gone()
        self.redis.empty()
        self.redis.forget_file()
        for each in self.folder.glob("gateway-use-*"):
            each.unlink()
        self.start()
        self.start()

    def start(self) -> None:
        super().start()
        self.run(self.look())

    def make_counter(self) -> UsageCounter:
        link = self.links[self.lives] = RedisLink(self.redis.url, clock=self.clock)
        pending = PendingUse(self.redis.url, self.folder)
        return RedisUsageCounter(link, alone=not self._refuses, pending=pending)

    def is_lost(self, replica: int) -> bool:
        return self.links[replica].is_away

    @precondition(lambda self: len(self.counters) < 4)
    @rule()
    def join(self) -> None:
        self.start()

    @precondition(lambda self: len(self.counters) > 1)
    @rule(which=st.integers(0, 9), gently=st.booleans())
    def leave(self, which: int, gently: bool) -> None:
        """End a replica: as a crash does, or after its requests."""
        replica = sorted(self.counters)[which % len(self.counters)]
        if gently:
            for request in [r for r in self.open_requests() if r.replica == replica]:
                request.used = 0
                self.run(self.settle_use(request))
            self.run(self.counters[replica].aclose())
        else:
            self.lost_data |= self.is_lost(replica)  # it alone had its own use
        self.has_left = True
        del self.counters[replica]
        self.run(self.links.pop(replica).aclose())

    @precondition(lambda self: self.broken is None)
    @rule(how=st.sampled_from(["killed", "read-only", "full"]))
    def lose_redis(self, how: str) -> None:
        self.broken = how
        if how == "killed":
            self.redis.kill()
            self.lose_data()
        elif how == "read-only":
            self.redis.command("REPLICAOF", "127.0.0.1", 1)
        else:
            self.redis.command("CONFIG", "SET", "maxmemory", "1")

    @precondition(lambda self: self.broken is not None)
    @rule()
    def heal_redis(self) -> None:
        match self.broken:
            case "killed":
                self.redis.start()
            case "read-only":
                self.redis.command("REPLICAOF", "NO", "ONE")
            case _:
                self.redis.command("CONFIG", "SET", "maxmemory", "0")
        self.broken = None
        self.run(self.wait_for_return())
        self.run(self.look())

    async def wait_for_return(self) -> None:
        async with asyncio.timeout(20):
            while any(link.is_away for link in self.links.values()):  # noqa: ASYNC110 - of Redis
                await asyncio.sleep(0.005)

    @initialize(saves=st.booleans())
    def begin(self, saves: bool) -> None:
        if saves:
            self.save_redis()

    @precondition(lambda self: self.broken is None)
    @rule()
    def save_redis(self) -> None:
        """Let Redis write its file: if it is killed later, it begins again with these data."""
        self.redis.command("SAVE")

    @precondition(lambda self: self.broken is None)
    @rule()
    def restart_redis(self) -> None:
        """Restart it between two requests, so that no replica sees it away."""
        self.redis.kill()
        self.lose_data()
        self.redis.start()
        self.run(self.look())

    @precondition(lambda self: self.broken is None)
    @rule()
    def empty_redis(self) -> None:
        self.redis.empty()
        self.lose_data()
        self.run(self.look())

    @precondition(lambda self: self.broken is None)
    @rule(what=st.sampled_from(["budget:*", "epoch", "process", "replicas"]))
    def remove_entries(self, what: str) -> None:
        """Take entries and leave the others, as an eviction does."""
        for name in self.redis.command("KEYS", f"pondero:{what}"):
            self.redis.command("DEL", name)
        if what == "budget:*":
            self.lose_data()
        self.lost_data |= what == "process"  # then it is taken for a restart from an old file
        self.run(self.look_for_losses())

    @precondition(lambda self: self.broken is None)
    @rule()
    def remove_reservations(self) -> None:
        """Take them while their requests run; nothing that was counted is lost."""
        for name in self.redis.command("KEYS", "pondero:reservations:*"):
            self.redis.command("DEL", name)

    async def look_for_losses(self) -> None:
        """Let a replica notice, as its next request does, and the others look."""
        for counter in self.counters.values():
            self.asked += 1
            with suppress(SharedStateLost):
                assert await counter.reserve(f"look-{self.asked}", [QuotaUse(BUDGET, 0)]) is None
        await self.look()

    def lose_data(self) -> None:
        """Note it; the replicas that live give back all that they saw, and others take it along."""
        self.lost_data = True
        self.losses += self.has_left

    async def look(self) -> None:
        """Let each replica see Redis, as its next request does."""
        for link in self.links.values():
            with suppress(SharedStateLost):
                await link.adopt()

    @precondition(lambda self: self.broken is None and not self.lost_data)
    @invariant()
    def redis_counts_exactly(self) -> None:
        """Unless data was lost for good, it has all use once, that of vanished replicas too."""
        if any(link.is_away for link in self.links.values()):
            return
        if any(self.folder.glob("gateway-use-*")):  # the next start sends it
            return
        for counter in self.counters.values():
            self.run(counter.wait_until_counted())
            todays = sum(each.counted for each in self.requests if each.day == self.today())
            assert self.run(counter.current_use([BUDGET])) == [todays]

    @precondition(lambda self: self.broken is None and not self.has_left)
    @invariant()
    def redis_counts_no_less(self) -> None:
        """Whatever Redis lost: the replicas that saw it give it back."""
        if any(link.is_away for link in self.links.values()):
            return
        for counter in self.counters.values():
            self.run(counter.wait_until_counted())
        for counter in self.counters.values():
            todays = sum(each.counted for each in self.requests if each.day == self.today())
            assert self.run(counter.current_use([BUDGET]))[0] >= todays

    def teardown(self) -> None:
        if self.broken is not None:
            self.heal_redis()
        for counter, link in zip(self.counters.values(), self.links.values(), strict=True):
            with suppress(SharedStateLost):
                self.run(counter.aclose())
            self.run(link.aclose())
        super().teardown()


class AllowLaw(RedisLaw):
    """Replicas that count alone while Redis is lost."""

    _refuses = False


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mapping[str, Any]]:
    monkeypatch.setattr(redis_link, "AWAY", 0.01)
    monkeypatch.setattr(redis_usage_counter, "PATIENCE", 0)  # replicas vanish all the time
    with redis_server(tmp_path) as server:
        yield {"redis": server, "folder": tmp_path}


def _check(law: type[Law], **members: Any) -> None:
    machine: Any = type(law.__name__, (law,), members)
    machine.TestCase.settings = settings(
        settings(),
        stateful_step_count=30,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    machine.TestCase().runTest()


def test_the_counter_in_memory_obeys():
    _check(LocalLaw)


def test_replicas_that_refuse_without_redis_obey(servers):
    _check(RedisLaw, **servers)


def test_replicas_that_count_alone_without_redis_obey(servers):
    _check(AllowLaw, **servers)
