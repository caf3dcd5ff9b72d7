"""What the local memory keeps, for how long, and how much of it."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from pondero.gateway.state.answer_cache import LocalAnswerCache


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_what_is_not_used_for_its_time_is_forgotten():
    async def run() -> list[dict[str, bytes]]:
        clock = Clock()
        memory = LocalAnswerCache(seconds=60, clock=clock)
        await memory.put({"a": b"1", "b": b"2"})
        found = [await memory.get(["a", "b", "c"])]
        clock.now += 50
        found.append(await memory.get(["a"]))
        clock.now += 50
        found.append(await memory.get(["a", "b"]))
        return found

    assert asyncio.run(run()) == [{"a": b"1", "b": b"2"}, {"a": b"1"}, {"a": b"1"}]


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 500)), max_size=30))
def test_it_never_holds_more_than_its_size_and_the_latest_stays(puts):
    async def run() -> None:
        memory = LocalAnswerCache(size=1000)
        for key, length in puts:
            await memory.put({key: b"x" * length})
            held = await memory.get("abcdefgh")
            assert sum(map(len, held.values())) <= 1000
            assert held[key] == b"x" * length

    asyncio.run(run())


def test_a_value_that_is_too_large_for_it_is_not_kept():
    async def run() -> dict[str, bytes]:
        memory = LocalAnswerCache(size=1000)
        await memory.put({"a": b"x" * 2000})
        return await memory.get(["a"])

    assert asyncio.run(run()) == {}


def test_the_defaults_are_an_hour_and_64_mebibytes():
    async def run() -> tuple[int, int]:
        clock = Clock()
        memory = LocalAnswerCache(clock=clock)
        await memory.put({str(n): bytes(1 << 20) for n in range(70)})
        kept = await memory.get(map(str, range(70)))
        clock.now += 3601
        return len(kept), len(await memory.get(map(str, range(70))))

    assert asyncio.run(run()) == (63, 0)
