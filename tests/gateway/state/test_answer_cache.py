"""What the local memory keeps, for how long, and how much of it."""

import asyncio
from functools import partial

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


def test_what_waits_is_found_at_once_and_made_once():
    made: list[str] = []

    def make(key: str) -> dict[str, bytes]:
        made.append(key)
        return {key: b"x"}

    async def run() -> tuple[list[str], dict[str, bytes], dict[str, bytes]]:
        memory = LocalAnswerCache()
        assert memory.put_later(partial(make, "a"), 1)
        assert memory.put_later(partial(make, "b"), 1)
        before = [*made]
        return before, await memory.get(["a", "b"]), memory.find_known(["b"])

    assert asyncio.run(run()) == ([], {"a": b"x", "b": b"x"}, {"b": b"x"})
    assert made == ["a", "b"]


def test_what_waits_expires_with_what_was_stored_at_the_same_time():
    async def run() -> list[dict[str, bytes]]:
        clock = Clock()
        memory = LocalAnswerCache(seconds=60, clock=clock)
        memory.put_later(lambda: {"a": b"1"}, 1)
        await memory.put({"b": b"2"})
        clock.now += 50
        memory.put_later(lambda: {"c": b"3"}, 1)
        clock.now += 20
        return [await memory.get("abc")]

    assert asyncio.run(run()) == [{"c": b"3"}]


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abcdefgh"), st.integers(0, 500))))
def test_what_waits_replaces_and_is_replaced_in_the_order_of_its_coming(puts):
    async def run() -> None:
        memory, last = LocalAnswerCache(size=1 << 20), dict[str, bytes]()
        for waits, key, length in puts:
            last[key] = b"x" * length
            if waits:
                memory.put_later(partial(dict, {key: last[key]}), length)
            else:
                await memory.put({key: last[key]})
        assert await memory.get("abcdefgh") == last

    asyncio.run(run())


def test_few_answers_wait_and_no_large_ones():
    made: list[int] = []

    def make(number: int) -> dict[str, bytes]:
        made.append(number)
        return {str(number): b"x"}

    memory = LocalAnswerCache(size=1 << 20)
    for number in range(200):
        memory.put_later(partial(make, number), 10)
    assert 200 - 64 < len(made) < 200
    memory.put_later(partial(make, 200), 1 << 20)
    assert made == [*range(201)]


def test_an_answer_that_cannot_be_kept_takes_no_other_along(caplog):
    def fail() -> dict[str, bytes]:
        raise ValueError("this one is broken")

    memory = LocalAnswerCache()
    memory.put_later(lambda: {"a": b"1"}, 1)
    memory.put_later(fail, 1)
    memory.put_later(lambda: {"b": b"2"}, 1)
    assert memory.find_known("ab") == {"a": b"1", "b": b"2"}
    assert "this one is broken" in caplog.text
