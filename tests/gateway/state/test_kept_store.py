"""Every store of answers keeps the same promises: memory, Redis, SQLite and PostgreSQL."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.gateway.postgres import Postgres
from tests.gateway.redis_server import RedisServer

from pondero.errors import Overloaded
from pondero.gateway.observability.ledger_database import PostgresDatabase, SqliteDatabase
from pondero.gateway.state.kept_store import KeptStore, LocalKeptStore, measure_entry
from pondero.gateway.state.layered_store import LayeredStore
from pondero.gateway.state.redis_kept_store import RedisKeptStore
from pondero.gateway.state.redis_link import RedisLink, SharedStateLost
from pondero.gateway.state.sql_kept_store import _FORM, SCHEMA, SqlKeptStore

KINDS = ("memory", "redis", "sqlite", "postgresql")
SECONDS = 100.0


class Clock:
    """A time that tests set, in seconds."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now

    @property
    def milliseconds(self) -> int:
        return int(self.now * 1000)


Make = Callable[..., KeptStore]
closing: list[Callable[[], Awaitable[None]]] = []


def run(body: Coroutine[Any, Any, Any]) -> Any:
    """Run a test, and close in its loop what it has opened."""

    async def run_and_close() -> Any:
        try:
            return await body
        finally:
            while closing:
                await closing.pop()()

    return asyncio.run(run_and_close())


@pytest.fixture(params=KINDS)
def make(request: Any, clock: Clock, tmp_path: Any) -> Make:
    """Return a function that opens the store; each call is another process."""
    kind = request.param
    shared: dict[str, Any] = {}
    if kind == "redis":
        server: RedisServer = request.getfixturevalue("redis")
    elif kind == "postgresql":
        postgres: Postgres = request.getfixturevalue("postgres")
        shared["address"] = postgres.make()

    def open_store(size: int = 1 << 20) -> KeptStore:
        limits: dict[str, Any] = {"seconds": SECONDS, "size": size}
        if kind == "memory":
            return shared.setdefault("store", LocalKeptStore(**limits, clock=clock))
        if kind == "redis":
            link = RedisLink(server.url, clock=lambda: clock.milliseconds)
            closing.append(link.aclose)
            return RedisKeptStore(link, **limits)
        if kind == "sqlite":
            database: Any = SqliteDatabase(tmp_path / "kept.db", SCHEMA)
        else:
            database = PostgresDatabase(shared["address"], SCHEMA, form=_FORM, what="the store")
        store = SqlKeptStore(database, **limits, clock=clock)
        closing.append(store.aclose)
        return store

    return open_store


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_what_one_process_stores_another_finds_and_deletes(make: Make) -> None:
    async def body() -> None:
        one, other = make(), make()
        await one.put({"a": b'{"x": 1}', "b": b"\x00\xff"})
        assert await other.get(["a", "b", "c"]) == {"a": b'{"x": 1}', "b": b"\x00\xff"}
        await other.put({"a": b"2"})
        assert await one.get(["c", "a"]) == {"a": b"2"}
        await other.delete(["a", "missing"])
        assert await one.get(["a", "b"]) == {"b": b"\x00\xff"}
        assert await one.get([]) == {}

    run(body())


def test_what_nobody_uses_is_gone_and_a_use_extends_its_time(make: Make, clock: Clock) -> None:
    async def body() -> None:
        store = make()
        await store.put({"used": b"1", "unused": b"2"})
        for _ in range(5):
            clock.now += SECONDS * 0.6
            assert await store.get(["used"]) == {"used": b"1"}
        assert await store.get(["unused"]) == {}
        clock.now += SECONDS + 1
        assert await store.get(["used"]) == {}
        assert await store.swap("used", None, b"new")
        assert await store.get(["used"]) == {"used": b"new"}

    run(body())


def test_of_too_much_the_oldest_go_first(make: Make, clock: Clock) -> None:
    async def body() -> None:
        value = b"x" * 1_000
        store = make(5 * measure_entry("n0", value))
        for number in range(12):
            clock.now += 61  # a database looks once a minute
            await store.put({f"n{number}": value})
        found = await store.get([f"n{number}" for number in range(12)])
        assert "n11" in found
        assert len(found) <= 5

    run(body())


def test_a_value_is_replaced_only_if_nobody_else_has_done_so(make: Make) -> None:
    async def body() -> None:
        one, other = make(), make()
        assert await one.swap("c", None, b"1")
        assert not await other.swap("c", None, b"2")
        assert await other.swap("c", b"1", b"2")
        assert not await one.swap("c", b"1", b"3")
        assert await one.get(["c"]) == {"c": b"2"}

    run(body())


def test_no_change_is_lost_if_many_change_one_value(make: Make) -> None:
    async def add(store: KeptStore, word: bytes) -> None:
        while True:
            old = (await store.get(["list"])).get("list")
            if await store.swap("list", old, (old or b"") + word):
                return

    async def body() -> bytes:
        stores = [make() for _ in range(3)]
        words = [bytes([65 + number]) for number in range(9)]
        await asyncio.gather(*(add(stores[at % 3], word) for at, word in enumerate(words)))
        return (await stores[0].get(["list"]))["list"]

    assert sorted(run(body())) == list(range(65, 74))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=10)
@given(st.dictionaries(st.text(min_size=1, alphabet="abcdef0123456789"), st.binary(max_size=300)))
def test_any_bytes_come_back_as_they_were(make: Make, values: dict[str, bytes]) -> None:
    async def body() -> dict[str, bytes]:
        store = make()
        await store.put(values)
        return await store.get(values)

    assert run(body()) == values


def test_a_store_that_is_away_fails_closed(redis: RedisServer) -> None:
    redis.kill()

    async def body() -> None:
        link = RedisLink(redis.url)
        closing.append(link.aclose)
        store = RedisKeptStore(link, seconds=SECONDS, size=1 << 20)
        with pytest.raises(SharedStateLost):
            await store.get(["a"])

    run(body())


def test_a_database_that_is_away_fails_closed() -> None:
    database = PostgresDatabase("postgresql://x@127.0.0.1:1/none", SCHEMA, what="the store")
    store = SqlKeptStore(database, seconds=SECONDS, size=1 << 20)

    async def body() -> None:
        with pytest.raises(Overloaded, match="the store of answers is unreachable"):
            await store.get(["a"])

    run(body())


class HungDatabase:
    """A database that answers nothing until ``go``."""

    def __init__(self) -> None:
        self.go = threading.Event()

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        self.go.wait(60)
        return []

    def write(self, sql: str, rows: Sequence[Sequence[Any]]) -> int:
        self.go.wait(60)
        return 0

    def probe(self) -> None:
        self.go.wait(60)

    def close(self) -> None:
        self.go.set()


def test_while_a_database_hangs_nobody_else_waits_and_each_use_ends_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pondero.gateway.state.sql_kept_store.WRITING", 0.5)

    async def body() -> None:
        store = SqlKeptStore(HungDatabase(), seconds=SECONDS, size=1 << 20)
        uses = [store.get(["a"]) for _ in range(40)] + [store.put({"a": b"1"}) for _ in range(40)]
        begun = asyncio.gather(*uses, return_exceptions=True)
        await asyncio.sleep(0)
        async with asyncio.timeout(20):
            assert await asyncio.to_thread(int) == 0  # as a host's name is looked up
            assert not begun.done()
            found = await begun
        assert {type(each) for each in found} == {Overloaded}
        await store.aclose()

    run(body())


def test_a_connection_sees_what_all_have_and_keeps_its_own_for_itself() -> None:
    async def body() -> None:
        far = LocalKeptStore(seconds=SECONDS, size=1 << 20)
        near = LocalKeptStore(seconds=SECONDS, size=1 << 20)
        both = LayeredStore(near, far)
        await far.put({"all": b"1"})
        await both.put({"own": b"2"})
        assert await both.get(["all", "own"]) == {"all": b"1", "own": b"2"}
        assert await far.get(["own"]) == {}
        assert await both.swap("all", b"1", b"3")
        assert await far.get(["all"]) == {"all": b"3"}

    run(body())


def test_what_waits_can_be_read_replaced_and_deleted():
    async def run() -> list[object]:
        store = LocalKeptStore(seconds=SECONDS, size=1 << 20)
        for name in "abc":
            store.put_later(partial(dict, {name: b"old"}), 3)
        found: list[object] = [await store.get("a"), await store.swap("b", b"old", b"new")]
        store.put_later(partial(dict, {"d": b"old"}), 3)
        await store.delete("cd")
        return [*found, await store.get("abcd")]

    assert asyncio.run(run()) == [{"a": b"old"}, True, {"a": b"old", "b": b"new"}]
