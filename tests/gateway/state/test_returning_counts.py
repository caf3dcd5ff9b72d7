"""Requests that end while a replica gives a Redis that is back what it counted alone."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pondero.gateway.quotas.quota import Quota, QuotaUse
from pondero.gateway.state.redis_link import RedisLink
from pondero.gateway.state.redis_usage_counter import RedisUsageCounter

BUDGET = Quota("key ci", "tokens", 1_000, "month", rolling=False)
LIMIT = Quota("key ci", "tokens", 1_000, "day", rolling=True)
both_kinds = pytest.mark.parametrize("bound", [BUDGET, LIMIT], ids=["budget", "limit"])


class Replica:
    """A counter that loses Redis and finds it again when it is told to."""

    def __init__(self, url: str) -> None:
        self.link: Any = RedisLink(url)
        self.counter: Any = RedisUsageCounter(self.link)

    async def reserve(self, id: str, bound: Quota, amount: int) -> None:
        assert await self.counter.reserve(id, [QuotaUse(bound, amount)]) is None

    def settle(self, id: str, bound: Quota, amount: int) -> None:
        self.counter.settle(id, [QuotaUse(bound, amount)])

    def lose(self) -> None:
        self.link._is_lost = True

    async def find_again(self) -> None:
        await self.link.retry_now()
        await self.counter.wait_until_counted()

    def do_before(self, step: str, work: Callable[[str], None]) -> None:
        """Do something whenever the counter begins this step, with the id of its request."""
        usual: Callable[..., Awaitable[Any]] = getattr(self.counter, step)

        async def run(id: str, *rest: Any) -> Any:
            work(id)
            return await usual(id, *rest)

        setattr(self.counter, step, run)


@asynccontextmanager
async def replicas(url: str) -> AsyncIterator[tuple[Replica, Callable[[Quota], Awaitable[int]]]]:
    """Run one replica that loses Redis, and return what another reads there."""
    one, other = Replica(url), Replica(url)

    async def count(bound: Quota) -> int:
        (found,) = await other.counter.current_use([bound])
        return int(found)

    try:
        yield one, count
    finally:
        for each in (one, other):
            await each.link.aclose()


@both_kinds
def test_use_that_comes_after_the_rest_was_sent_is_sent_too(redis, bound):
    """No other request or loss is needed for that."""

    async def run() -> None:
        async with replicas(redis.url) as (one, count):
            await one.reserve("before", bound, 100)
            one.lose()
            await one.reserve("alone", bound, 100)

            async def end_both() -> None:
                one.settle("before", bound, 7)
                one.settle("alone", bound, 5)

            one.link.on_return.append(end_both)
            await one.find_again()
            assert await count(bound) == 12

    asyncio.run(run())


@both_kinds
def test_a_request_that_ends_while_others_are_sent_counts_once(redis, bound):
    async def run() -> None:
        async with replicas(redis.url) as (one, count):
            await one.reserve("earlier", bound, 1)
            one.settle("earlier", bound, 1)
            await one.counter.wait_until_counted()
            one.lose()
            await one.reserve("first", bound, 100)
            await one.reserve("second", bound, 100)
            ended: list[str] = []

            def end_second(id: str) -> None:
                if id == "first" and not ended:
                    ended.append("second")
                    one.settle("second", bound, 5)

            one.do_before("_join", end_second)
            await one.find_again()
            assert await count(bound) == 1 + 100 + 5
            one.settle("first", bound, 3)
            await one.counter.wait_until_counted()
            assert await count(bound) == 1 + 3 + 5
            assert one.counter.find_reserved("second") == {}

    asyncio.run(run())
