"""Single entries that Redis loses, by eviction or by hand: no replica forgets what it has seen."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.redis_server import RedisServer, redis_server
from tests.gateway.state.test_failures import BUDGET as TOKENS
from tests.gateway.state.test_failures import CI, replica

from pondero.gateway.quotas.quota import Quota, QuotaUse
from pondero.gateway.state.redis_link import RedisLink, SharedStateLost
from pondero.gateway.state.redis_usage_counter import RedisUsageCounter

BUDGET = Quota("key ci", "tokens", 100, "month", rolling=False)
LIMIT = Quota("key ci", "tokens", 100, "day", rolling=True)
OTHER = Quota("key other", "tokens", 100, "month", rolling=False)
both_kinds = pytest.mark.parametrize("bound", [BUDGET, LIMIT], ids=["budget", "limit"])


@asynccontextmanager
async def counters(
    redis: RedisServer, count: int, *, alone: bool = False
) -> AsyncIterator[Sequence[RedisUsageCounter]]:
    """Run some replicas' counters."""
    async with AsyncExitStack() as stack:
        made = []
        for _ in range(count):
            link = RedisLink(redis.url)
            stack.push_async_callback(link.aclose)
            made.append(RedisUsageCounter(link, alone=alone))
            stack.push_async_callback(made[-1].wait_until_counted)
        yield made


class Requests:
    """Requests with ids of their own."""

    def __init__(self) -> None:
        self._made = 0

    async def reserve(self, counter: RedisUsageCounter, *uses: QuotaUse) -> str | None:
        """Return the id of a request that was admitted; the others may have to look first."""
        self._made += 1
        id = f"request-{self._made}"
        with suppress(SharedStateLost):
            return id if await counter.reserve(id, uses) is None else None
        return None

    async def use(self, counter: RedisUsageCounter, *uses: QuotaUse) -> bool:
        """Return whether a request was admitted, which then took all that it reserved."""
        id = await self.reserve(counter, *uses)
        if id is not None:
            counter.settle(id, uses)
            await counter.wait_until_counted()
        return id is not None


def remove(redis: RedisServer, pattern: str) -> None:
    names = redis.command("KEYS", f"pondero:{pattern}")
    assert names, "there must be something to lose"
    redis.command("DEL", *names)


async def count(counter: RedisUsageCounter, bound: Quota) -> int:
    (found,) = await counter.current_use([bound])
    return found


# -- the gateway ----------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["allow", "refuse"])
def test_a_gateway_whose_counts_are_removed_serves_no_more_than_the_budget(redis, policy):
    async def run() -> None:
        async with replica(redis, CI, on_state_loss=policy) as gateway:
            statuses = set()
            for _ in range(40):
                statuses.add(await gateway.status("text-of-own"))
                await gateway.gate.state.wait_until_counted()
                remove(redis, "*budget*")
            assert statuses == {200, 429}
            assert gateway.served <= TOKENS

    asyncio.run(run())


# -- counters -------------------------------------------------------------------------------------


@both_kinds
@pytest.mark.parametrize("alone", [True, False], ids=["allow", "refuse"])
def test_a_removed_counter_frees_nobody(redis, bound, alone):
    async def run() -> None:
        requests = Requests()
        async with counters(redis, 1, alone=alone) as (only,):
            assert await requests.use(only, QuotaUse(bound, 60))
            for _ in range(5):
                remove(redis, f"*{bound.per}*")
                assert not await requests.use(only, QuotaUse(bound, 60))
                assert await count(only, bound) == 60
            assert await requests.use(only, QuotaUse(bound, 40))
            assert await count(only, bound) == 100

    asyncio.run(run())


@both_kinds
def test_use_after_the_loss_counts_in_addition(redis, bound):
    """A replica that has never seen the counter begins it again before the others look."""

    async def run() -> None:
        requests = Requests()
        async with counters(redis, 3) as (one, other, fresh):
            assert await requests.use(one, QuotaUse(bound, 30))
            assert await requests.use(other, QuotaUse(bound, 20))
            remove(redis, f"*{bound.per}*")
            assert await requests.use(fresh, QuotaUse(bound, 25))
            for each in (one, other, one, fresh):
                assert not await requests.use(each, QuotaUse(bound, 80))
            assert await count(fresh, bound) == 75

    asyncio.run(run())


@both_kinds
def test_replicas_that_notice_at_the_same_time_double_nothing(redis, bound):
    async def run() -> None:
        requests = Requests()
        async with counters(redis, 4) as several:
            for each in several:
                assert await requests.use(each, QuotaUse(bound, 10))
            for _ in range(5):
                remove(redis, f"*{bound.per}*")
                use = [QuotaUse(bound, 90)]
                asked = (requests.use(each, *use) for each in several)
                assert not any(await asyncio.gather(*asked))
                assert await count(several[0], bound) == 40

    asyncio.run(run())


@both_kinds
def test_a_request_that_runs_meanwhile_counts_once(redis, bound):
    async def run() -> None:
        requests = Requests()
        async with counters(redis, 2) as (one, other):
            assert await requests.use(other, QuotaUse(bound, 20))
            id = await requests.reserve(one, QuotaUse(bound, 50))
            assert id is not None
            remove(redis, f"*{bound.per}*")
            for _ in range(2):
                one.settle(id, [QuotaUse(bound, 10)])
                await one.wait_until_counted()
            assert await count(one, bound) == 30
            assert not await requests.use(other, QuotaUse(bound, 80))
            assert await count(one, bound) == 30

    asyncio.run(run())


@both_kinds
def test_a_request_that_another_replica_gave_back_counts_once(redis, bound):
    """It runs on while its reservation is given back with the counts."""

    async def run() -> None:
        requests = Requests()
        async with counters(redis, 2) as (one, other):
            id = await requests.reserve(one, QuotaUse(bound, 50))
            assert id is not None
            assert await requests.use(other, QuotaUse(bound, 20))
            remove(redis, f"*{bound.per}*")
            assert not await requests.use(other, QuotaUse(bound, 60))
            assert not await requests.use(one, QuotaUse(bound, 60))
            assert await count(one, bound) == 70
            one.settle(id, [QuotaUse(bound, 10)])
            await one.wait_until_counted()
            assert await count(one, bound) == 30

    asyncio.run(run())


def test_the_loss_of_one_counter_changes_no_other(redis):
    """What a replica saw of an intact counter may be more than it is now: it is not given back."""

    async def run() -> None:
        requests = Requests()
        async with counters(redis, 2) as (one, other):
            id = await requests.reserve(one, QuotaUse(OTHER, 90))
            assert id is not None
            assert await requests.use(other, QuotaUse(OTHER, 1), QuotaUse(BUDGET, 60))
            one.settle(id, [QuotaUse(OTHER, 5)])
            await one.wait_until_counted()
            remove(redis, f"*{BUDGET.holder}")
            assert not await requests.use(other, QuotaUse(BUDGET, 60))
            assert await other.current_use([OTHER, BUDGET]) == [6, 60]

    asyncio.run(run())


@both_kinds
def test_data_that_lost_their_name_alone_are_not_doubled(redis, bound):
    async def run() -> None:
        requests = Requests()
        async with counters(redis, 2) as (one, other):
            for each in (one, other):
                assert await requests.use(each, QuotaUse(bound, 20))
            for name in ("epoch", "process", "epoch"):
                remove(redis, name)
                for each in (one, other):
                    assert not await requests.use(each, QuotaUse(bound, 70))
                assert await count(one, bound) == 40

    asyncio.run(run())


def test_with_refuse_nothing_is_served_until_all_have_given_back(redis):
    """The one that notices knows less than another, which has no request at the moment."""

    async def run() -> None:
        requests = Requests()
        async with counters(redis, 2) as (one, other):
            assert await requests.use(one, QuotaUse(BUDGET, 30))
            assert await requests.use(other, QuotaUse(BUDGET, 60))
            remove(redis, "*budget*")
            for _ in range(3):
                with pytest.raises(SharedStateLost):
                    await one.reserve("early", [QuotaUse(BUDGET, 1)])
            await other._link.adopt()
            full = await one.reserve("late", [QuotaUse(BUDGET, 50)])
            assert full is not None
            assert full.taken == 90

    asyncio.run(run())


def test_with_allow_a_loss_stops_nobody(redis):
    """At most the number of workers times the quota: what each has seen still counts for it."""

    async def run() -> None:
        requests = Requests()
        async with counters(redis, 2, alone=True) as (one, other):
            assert await requests.use(one, QuotaUse(BUDGET, 30))
            assert await requests.use(other, QuotaUse(BUDGET, 60))
            remove(redis, "*budget*")
            assert not await requests.use(one, QuotaUse(BUDGET, 80))
            assert await requests.use(one, QuotaUse(BUDGET, 70))
            assert not await requests.use(other, QuotaUse(BUDGET, 1))
            assert await count(one, BUDGET) == 160

    asyncio.run(run())


def test_with_refuse_all_are_waited_for_if_their_list_is_lost_too(redis):
    async def run() -> None:
        requests = Requests()
        async with counters(redis, 2) as (one, other):
            assert await requests.use(one, QuotaUse(BUDGET, 30))
            assert await requests.use(other, QuotaUse(BUDGET, 60))
            remove(redis, "replicas")
            assert await requests.use(one, QuotaUse(BUDGET, 1))
            remove(redis, "*budget*")
            for _ in range(3):
                assert not await requests.use(one, QuotaUse(BUDGET, 1))

    asyncio.run(run())


@pytest.mark.parametrize("ends", [True, False], ids=["ended", "vanished"])
def test_a_replica_that_is_gone_is_not_waited_for_long(redis, monkeypatch, ends):
    async def run() -> None:
        requests = Requests()
        async with counters(redis, 2) as (one, gone):
            for each in (gone, one):
                assert await requests.use(each, QuotaUse(BUDGET, 30))
            if ends:
                await gone.aclose()
            else:
                monkeypatch.setattr("pondero.gateway.state.redis_usage_counter.PATIENCE", 300)
            remove(redis, "*budget*")
            async with asyncio.timeout(8):
                while not await requests.use(one, QuotaUse(BUDGET, 30)):
                    assert not ends
                    await asyncio.sleep(0.05)
            assert await count(one, BUDGET) == 90

    asyncio.run(run())


# -- reservations ---------------------------------------------------------------------------------


@both_kinds
@pytest.mark.parametrize("used", [10, 70], ids=["less", "more"])
def test_the_use_of_a_request_whose_reservation_is_removed_counts_once(redis, bound, used):
    async def run() -> None:
        requests = Requests()
        async with counters(redis, 1) as (only,):
            id = await requests.reserve(only, QuotaUse(bound, 50))
            assert id is not None
            remove(redis, "reservations:*")
            for _ in range(2):
                only.settle(id, [QuotaUse(bound, used)])
                await only.wait_until_counted()
            assert await count(only, bound) == used

    asyncio.run(run())


@both_kinds
def test_use_that_is_sent_twice_counts_once(redis, bound, monkeypatch):
    """The answer of Redis was lost on its way, so the client's retry sends the script again."""

    async def run() -> None:
        requests = Requests()
        async with counters(redis, 1) as (only,):
            link: Any = only._link
            id = await requests.reserve(only, QuotaUse(bound, 50))
            assert id is not None
            run_script = link.run

            async def run_twice(*arguments: Any) -> Any:
                await run_script(*arguments)
                return await run_script(*arguments)

            monkeypatch.setattr(link, "run", run_twice)
            only.settle(id, [QuotaUse(bound, 10)])
            await only.wait_until_counted()
            assert await count(only, bound) == 10

    asyncio.run(run())


# -- eviction -------------------------------------------------------------------------------------


@pytest.fixture
def evicting(tmp_path: Path) -> Iterator[RedisServer]:
    """Return a Redis of this test alone, whose memory is limited."""
    with redis_server(tmp_path) as server:
        yield server


MOST = 300
AMOUNT = 10
SEVERAL = [Quota(f"key {number}", "tokens", MOST, "month", rolling=False) for number in range(4)]


@pytest.mark.parametrize("alone", [True, False], ids=["allow", "refuse"])
@pytest.mark.parametrize("policy", ["allkeys-lru", "allkeys-random", "volatile-random"])
def test_a_redis_that_evicts_exceeds_no_budget(evicting, policy, alone, monkeypatch):
    """Its answer cache fills it; two replicas ask for more than the budgets, in turn."""
    monkeypatch.setattr("pondero.gateway.state.redis_link.AWAY", 0.01)
    redis = evicting

    async def run() -> dict[str, int]:
        served = dict.fromkeys((each.name for each in SEVERAL), 0)
        requests = Requests()
        async with counters(redis, 2, alone=alone) as several:
            for turn in range(4 * MOST // AMOUNT):
                if turn == 5:
                    used = redis.command("INFO", "memory")["used_memory"]
                    redis.command("CONFIG", "SET", "maxmemory-policy", policy)
                    redis.command("CONFIG", "SET", "maxmemory", used + (100 << 10))
                with suppress(Exception):  # it has no room for more
                    redis.command("SET", f"pondero:answer:{turn}", "x" * 8_000, "EX", 900)
                for each in several:
                    for bound in SEVERAL:
                        with suppress(SharedStateLost):
                            if await requests.use(each, QuotaUse(bound, AMOUNT)):
                                served[bound.name] += AMOUNT
                for each in several:  # as every replica does every few seconds
                    with suppress(SharedStateLost):
                        await each._link.adopt()
        return served

    served = asyncio.run(run())
    assert redis.command("INFO", "stats")["evicted_keys"] > 0
    assert min(served.values()) > 0
    most = MOST * (2 if alone else 1)
    assert {name: amount for name, amount in served.items() if amount > most} == {}
