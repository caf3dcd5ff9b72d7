"""What is counted against limits and budgets, by this process and by a real Redis, is the same."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pondero.gateway.quotas.quota import Quota, QuotaUse, find_window
from pondero.gateway.quotas.usage_counter import LocalUsageCounter, UsageCounter
from pondero.gateway.state.redis_link import RedisLink
from pondero.gateway.state.redis_usage_counter import RedisUsageCounter

LENGTHS = {"second": 1_000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000}
START = int(datetime(2031, 1, 30, tzinfo=UTC).timestamp() * 1000)


class Clock:
    def __init__(self, now: int = START) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


def limit(most: int, per: str = "minute", unit: str = "tokens") -> Quota:
    return Quota("key ci", unit, most, per, rolling=True)  # type: ignore[arg-type]  # a unit


def budget(most: int, per: str = "month", unit: str = "tokens") -> Quota:
    return Quota("key ci", unit, most, per, rolling=False)  # type: ignore[arg-type]  # a unit


# -- windows --------------------------------------------------------------------------------------


@given(st.integers(0, int(datetime(2199, 12, 31, tzinfo=UTC).timestamp() * 1000)))
def test_a_budget_turns_where_the_calendar_does(now):
    at = datetime.fromtimestamp(now / 1000, UTC)
    hour = at.replace(minute=0, second=0, microsecond=0)
    day = hour.replace(hour=0)
    starts = {
        "hour": hour,
        "day": day,
        "week": day - timedelta(days=at.weekday()),
        "month": day.replace(day=1),
    }
    for per, start in starts.items():
        span = find_window(budget(1, per), now)
        assert span.slot == int(start.timestamp() * 1000)
        end = datetime.fromtimestamp(span.ends(span.slot) / 1000, UTC)
        assert find_window(budget(1, per), span.ends(span.slot)).slot == span.ends(span.slot)
        assert (end - start).days in {"hour": (0,), "day": (1,), "week": (7,)}.get(
            per, range(28, 32)
        )


@given(st.integers(START, START + 10**6))
def test_the_wait_of_a_limit_per_minute_is_a_fiftieth_longer_at_most(now):
    window = find_window(limit(1), now)
    assert 60_000 <= window.ends(window.slot) - now <= 61_200


every_quota = [limit(10**9, per) for per in LENGTHS] + [
    budget(10**9, per) for per in ("hour", "day", "week", "month")
]


@given(st.sampled_from(every_quota), st.integers(0, 4 * 10**12), st.floats(0, 1))
def test_a_window_is_that_of_every_moment_until_it_turns(quota, now, share):
    span = find_window(quota, now)
    assert span.begins <= now < span.turns
    moment = span.begins + int((span.turns - 1 - span.begins) * share)
    again = find_window(quota, moment)
    assert (again.since, again.slot, again.last) == (span.since, span.slot, span.last)
    assert find_window(quota, span.turns).slot != span.slot
    assert find_window(quota, span.begins - 1).slot != span.slot


def _sum_anew(counter: LocalUsageCounter, quota: Quota, now: int) -> int:
    span, slots = find_window(quota, now), counter._slots.get(quota.name)
    counts = {} if slots is None else slots.counts
    return sum(count for slot, count in counts.items() if span.since <= slot <= span.last)


jumps = st.one_of(
    st.integers(0, 3_000),
    st.integers(-100_000, 100_000),
    st.sampled_from([-3_600_000, 3_600_000, 86_400_000, -86_400_000, 40 * 86_400_000]),
)
uses = st.tuples(jumps, st.integers(0, 50), st.integers(0, 3), st.integers(0, 50))


@given(st.sampled_from(every_quota), st.lists(uses, max_size=150))
@example(limit(10**9, "second"), [(20, 1, number % 4, 2) for number in range(150)])
@example(limit(10**9, "second"), [(-20, 1, number % 4, 2) for number in range(150)])
def test_the_sum_that_is_kept_is_the_sum_of_the_slots(quota, moves):
    """Whatever the clock does, and however late a reservation is settled."""

    async def run() -> None:
        clock = Clock()
        counter, open_ids = LocalUsageCounter(clock), list[str]()
        for number, (later, amount, settled, took) in enumerate(moves):
            clock.now = max(0, clock.now + later)
            assert await counter.reserve(str(number), [QuotaUse(quota, amount)]) is None
            open_ids.append(str(number))
            for id in open_ids[:settled]:
                counter.settle(id, [QuotaUse(quota, took)])
            del open_ids[:settled]
            assert counter.recent_use([quota]) == [_sum_anew(counter, quota, clock.now)]

    asyncio.run(run())


takes = st.lists(st.tuples(st.integers(0, 40_000), st.integers(1, 9)), max_size=60)


@given(st.sampled_from(["second", "minute"]), st.integers(1, 20), takes)
@example("second", 1, [(19, 1), (999, 1)])  # at the end of a slot, and all but a length later
@example("minute", 1, [(1_199, 1), (59_999, 1)])
def test_no_span_of_its_length_sees_more_than_a_limit(per, most, moves):
    """Held against a list of everything that was let in."""

    async def run() -> None:
        clock = Clock()
        state = LocalUsageCounter(clock)
        let_in: list[tuple[int, int]] = []
        for number, (later, amount) in enumerate(moves):
            clock.now += later
            full = await state.reserve(str(number), [QuotaUse(limit(most, per), amount)])
            within = [n for at, n in let_in if at > clock.now - LENGTHS[per]]
            if full is None:
                let_in.append((clock.now, amount))
                assert sum(within) + amount <= most
            elif amount <= most:
                clock.now += round(full.wait * 1000)
                assert (
                    await state.reserve(f"{number}x", [QuotaUse(limit(most, per), amount)]) is None
                )
                let_in.append((clock.now, amount))

    asyncio.run(run())


sendings = st.lists(
    st.tuples(st.integers(0, 700), st.integers(1, 9), st.integers(0, 2)), max_size=60
)


@given(st.integers(1, 20), sendings)
@example(1, [(19, 1, 0), (500, 1, 1), (999, 1, 0)])
def test_no_span_sees_more_than_a_limit_of_what_was_sent_after_its_reservation(most, moves):
    """Each reservation is renewed when it is sent: some other requests later."""

    async def run() -> None:
        clock, bound = Clock(), limit(most, "second")
        state = LocalUsageCounter(clock)
        sent: list[tuple[int, int]] = []
        waiting: list[tuple[str, int, int]] = []  # the id, the amount, and when it was reserved
        for number, (later, amount, leave) in enumerate(moves):
            clock.now += later
            if await state.reserve(str(number), [QuotaUse(bound, amount)]) is None:
                waiting.append((str(number), amount, clock.now))
            for id, held, since in waiting[:leave]:
                if clock.now - since < LENGTHS["second"]:  # else its room may be another one's
                    state.renew(id, [bound])
                    sent.append((clock.now, held))
            del waiting[:leave]
        for at, _ in sent:
            assert sum(n for then, n in sent if at <= then < at + LENGTHS["second"]) <= most

    asyncio.run(run())


# -- one state and the other ----------------------------------------------------------------------

BOUNDS = (
    limit(5, "second", "requests"),
    limit(30, "minute"),
    budget(90, "day"),
    budget(200, "month", "thinking_tokens"),
    budget(150, "week", "money"),
)
WAITS = [0, 7, 500, 61_000, 3_600_000, 86_400_000 * 9, -500, -3_600_000, -86_400_000 * 9]
"""Milliseconds; a clock may jump back."""
amounts = st.lists(st.integers(0, 12), min_size=len(BOUNDS), max_size=len(BOUNDS))
moves = st.lists(
    st.tuples(st.just("reserve"), amounts)
    | st.tuples(st.just("settle"), amounts)
    | st.tuples(st.just("renew"), amounts)
    | st.tuples(st.just("wait"), st.sampled_from(WAITS)),
    min_size=1,
    max_size=25,
)


async def _played(
    state: UsageCounter, clock: Clock, played: Sequence[tuple[str, object]]
) -> list[object]:
    said: list[object] = []
    open_: list[str] = []
    for number, (move, value) in enumerate(played):
        if move == "wait":
            clock.now += value  # type: ignore[operator]  # a wait is a number
            continue
        takings = [QuotaUse(b, a) for b, a in zip(BOUNDS, value, strict=True)]  # type: ignore[call-overload]  # amounts
        if move == "reserve":
            full = await state.reserve(f"{clock.now}-{number}", takings)
            said.append(full)
            if full is None:
                open_.append(f"{clock.now}-{number}")
        elif open_ and move == "renew":
            state.renew(open_[-1], [each for each in BOUNDS if each.rolling])
            await state.wait_until_counted()
        elif open_:
            state.settle(open_.pop(0), takings)
            await state.wait_until_counted()
        said.append(await state.current_use(BOUNDS))
    return said


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(moves, st.integers(0, 40 * 86_400_000))
def test_redis_counts_as_this_process_does(redis, played, later):
    async def run() -> None:
        redis.empty()
        here, there = Clock(START + later), Clock(START + later)
        link = RedisLink(redis.url, clock=there)
        shared = RedisUsageCounter(link)
        expected = await _played(LocalUsageCounter(here), here, played)
        assert await _played(shared, there, played) == expected
        await shared.aclose()
        await link.aclose()

    asyncio.run(run())


def test_a_reservation_of_a_dead_worker_counts_as_used(redis):
    """The service may have served its request; if it was only asleep, its answer corrects that."""

    async def run() -> None:
        clock = Clock()
        links = [RedisLink(redis.url, clock=clock) for _ in range(2)]
        died, lives = (RedisUsageCounter(link) for link in links)
        bound = budget(100, "week")
        assert await died.reserve("a", [QuotaUse(bound, 70)]) is None
        clock.now += 86_400_000
        full = await lives.reserve("b", [QuotaUse(bound, 70)])
        assert full is not None
        assert (full.taken, full.amount) == (70, 70)
        died.settle("a", [QuotaUse(bound, 25)])  # it was only asleep
        await died.wait_until_counted()
        assert await lives.reserve("b", [QuotaUse(bound, 70)]) is None
        assert await lives.current_use([bound]) == [95]
        for state, link in zip((died, lives), links, strict=True):
            await state.aclose()
            await link.aclose()

    asyncio.run(run())


def test_what_is_sent_twice_counts_once(redis):
    """The connection may break after Redis has done it and before it says so."""

    async def run() -> None:
        link = RedisLink(redis.url)
        state = RedisUsageCounter(link)
        bound = budget(100)
        for _ in range(2):
            assert await state.reserve("a", [QuotaUse(bound, 60)]) is None
        for _ in range(2):
            state.settle("a", [QuotaUse(bound, 40)])
            await state.wait_until_counted()
        assert await state.current_use([bound]) == [40]
        await state.aclose()
        await link.aclose()

    asyncio.run(run())


@pytest.mark.parametrize("bound", [budget(100), limit(100, "day")])
def test_a_redis_that_begins_again_with_an_old_file_gets_the_counts_back(redis, bound):
    async def run() -> None:
        links = [RedisLink(redis.url) for _ in range(2)]
        busy, idle = (RedisUsageCounter(link, alone=False) for link in links)
        assert await idle.reserve("a", [QuotaUse(bound, 10)]) is None
        redis.command("SAVE")
        assert await busy.reserve("b", [QuotaUse(bound, 70)]) is None
        busy.settle("b", [QuotaUse(bound, 60)])
        await busy.wait_until_counted()
        redis.kill()
        redis.start()
        assert await idle.reserve("c", [QuotaUse(bound, 5)]) is None  # it knows nothing of b
        assert await busy.reserve("d", [QuotaUse(bound, 30)]) is not None
        assert await idle.current_use([bound]) == [75]
        idle.settle("a", [QuotaUse(bound, 7)])
        await idle.wait_until_counted()
        assert await busy.current_use([bound]) == [72]
        for state, link in zip((busy, idle), links, strict=True):
            await state.aclose()
            await link.aclose()

    try:
        asyncio.run(run())
    finally:
        redis.forget_file()


@pytest.mark.parametrize("where", ["here", "redis"])
@pytest.mark.parametrize("jump", [86_400_000, 400 * 86_400_000])
def test_a_clock_that_jumps_neither_frees_a_budget_nor_locks_it(request, where, jump):
    async def run() -> None:
        clock, link = Clock(), None
        state: UsageCounter = LocalUsageCounter(clock)
        if where == "redis":
            link = RedisLink(request.getfixturevalue("redis").url, clock=clock)
            state = RedisUsageCounter(link)
        bounds = [budget(10, "day"), limit(10, "minute")]
        uses = [QuotaUse(each, 10) for each in bounds]
        assert await state.reserve("a", uses) is None
        clock.now += jump
        assert await state.reserve("b", uses) is None, "another day has a budget of its own"
        clock.now -= jump
        assert await state.reserve("c", uses[:1]) is not None, "the old day finds its count again"
        assert await state.reserve("d", uses[1:]) is not None
        clock.now -= jump
        assert await state.reserve("e", uses) is None, "a day in the future locks nothing"
        clock.now += jump - 10_000
        full = await state.reserve("f", uses[1:])
        assert full is not None, "a short jump back frees no limit"
        assert full.wait <= 2 * 60 + 2
        if link is not None:
            await link.aclose()

    asyncio.run(run())


@pytest.mark.parametrize("jump", [-4_000_000, -90_000, 90_000, 4_000_000])
def test_a_clock_of_the_machine_that_jumps_frees_no_rate_limit(jump):
    """A jump of 90 seconds let each account have its limit per minute again."""
    wall, steady = Clock(), Clock()

    async def run() -> None:
        counter = LocalUsageCounter(wall, steady)
        uses = [QuotaUse(limit(2), 1), QuotaUse(budget(3, "hour"), 1)]
        assert await counter.reserve("one", uses) is None
        assert await counter.reserve("two", uses) is None
        wall.now += jump
        steady.now += 1_000
        full = await counter.reserve("three", uses)
        assert full is not None
        assert full.bound.rolling
        assert 58 < full.wait < 61
        counter.settle("two", [QuotaUse(each.bound, 0) for each in uses])
        assert counter.recent_use([limit(2)]) == [1]
        steady.now += 61_000
        assert counter.recent_use([limit(2)]) == [0]

    asyncio.run(run())


# -- a reload -------------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("change", ["name", "period"])
def test_those_that_have_not_reloaded_use_the_count_that_the_others_use(request, shared, change):
    """Requests that waited for room, and slower workers, had a whole limit of their own."""
    before = Quota("deployment eu", "tokens", 6, "minute after arrival", rolling=True)
    after = (
        Quota("deployment west", "tokens", 6, "minute after arrival", rolling=True)
        if change == "name"
        else Quota("deployment eu", "tokens", 6, "hour after arrival", rolling=True)
    )

    async def run(reloaded: UsageCounter, other: UsageCounter, clock: Clock) -> None:
        async def reserve(counter: UsageCounter, id: str, quota: Quota, amount: int = 1) -> bool:
            return await counter.reserve(id, [QuotaUse(quota, amount)]) is None

        assert await reserve(other, "long", before, 4)
        clock.now += 2_000
        reloaded.carry(before, after)
        await reloaded.wait_until_counted()
        assert await reserve(other, "waited", before)
        assert await reserve(reloaded, "new", after)
        assert not await reserve(other, "too much", before)
        assert not await reserve(reloaded, "too much", after)
        clock.now += 2_000
        other.renew("waited", [before])
        other.settle("long", [QuotaUse(before, 2)])
        await other.wait_until_counted()
        assert await reloaded.current_use([after]) == [4]
        assert await reserve(reloaded, "two", after, 2)
        assert not await reserve(reloaded, "three", after)
        reloaded.carry(after, before)  # back again
        await reloaded.wait_until_counted()
        assert not await reserve(other, "four", after)
        assert not await reserve(other, "four", before)
        clock.now += 3_700_000
        assert await reserve(other, "later", before, 6)

    async def main() -> None:
        clock = Clock()
        if not shared:
            counter = LocalUsageCounter(clock)
            await run(counter, counter, clock)
            return
        redis = request.getfixturevalue("redis")
        redis.empty()
        one, other = (RedisLink(redis.url, clock=clock) for _ in range(2))
        await run(RedisUsageCounter(one), RedisUsageCounter(other), clock)
        await one.aclose()
        await other.aclose()

    asyncio.run(main())
