"""Sessions in memory, in a file and in Redis: one law for all three."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.gateway.redis_server import RedisServer

from pondero.errors import StoreError
from pondero.gateway.state.redis_link import PREFIX, RedisLink, SharedStateLost
from pondero.gateway.state.sessions import FileSessions, LocalSessions, RedisSessions

IDS = st.sampled_from(["a", "b", "c"])
STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "find", "remove", "wait"]), IDS, st.integers(1, 5)),
    max_size=20,
)


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.kill()


@given(steps=STEPS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_an_entry_is_there_once_until_its_end(tmp_path_factory, kind, steps):
    now = [1000.0]
    path = tmp_path_factory.mktemp("sessions") / "sessions.db"
    stores = (
        [LocalSessions(lambda: now[0])]
        if kind == "memory"
        else [FileSessions(path, clock=lambda: now[0]) for _ in range(2)]  # two workers
    )
    known: dict[str, tuple[float, bytes]] = {}

    async def walk() -> None:
        for number, (step, id, value) in enumerate(steps):
            store = stores[number % len(stores)]
            there = id in known and known[id][0] > now[0]
            if step == "add":
                added = await store.add(id, bytes([number]), value)
                assert added is not there
                if added:
                    known[id] = (now[0] + value, bytes([number]))
            elif step == "find":
                assert await store.find(id) == (known[id][1] if there else None)
            elif step == "remove":
                await store.remove(id)
                known.pop(id, None)
            else:
                now[0] += value

    asyncio.run(walk())


def test_replicas_share_an_entry_its_end_and_its_removal(redis):
    async def walk() -> None:
        links = [RedisLink(redis.url) for _ in range(2)]
        first, second = (RedisSessions(link) for link in links)
        assert await first.add("a", b"one", 60)
        assert not await second.add("a", b"two", 60)
        assert await second.find("a") == b"one"
        left = await links[0].send("KEYS", f"{PREFIX}session:*")
        assert len(left) == 1
        assert b"session:a" not in left[0]  # who reads Redis has no cookie
        assert 0 < await links[0].send("PTTL", left[0]) <= 60_000
        await second.remove("a")
        assert await first.find("a") is None
        for link in links:
            await link.aclose()

    asyncio.run(walk())


def test_while_redis_is_lost_nobody_is_signed_in(tmp_path):
    async def walk() -> None:
        server = RedisServer(tmp_path)
        server.start()
        link = RedisLink(server.url)
        store = RedisSessions(link)
        await store.add("a", b"one", 60)
        server.kill()
        with pytest.raises(SharedStateLost):
            await store.find("a")
        await link.aclose()

    asyncio.run(walk())


def test_a_file_has_no_cookie_in_it_and_is_for_its_owner_alone(tmp_path: Path):
    path = tmp_path / "sessions.db"
    asyncio.run(FileSessions(path).add("the-secret-of-a-cookie", b"value", 60))
    assert path.stat().st_mode & 0o077 == 0
    written = b"".join(each.read_bytes() for each in tmp_path.iterdir())
    assert b"the-secret-of-a-cookie" not in written


def test_a_folder_that_cannot_be_used_signs_nobody_in(tmp_path: Path):
    (tmp_path / "file").write_text("")
    store = FileSessions(tmp_path / "file" / "sessions.db")
    with pytest.raises(StoreError):
        asyncio.run(store.add("a", b"one", 60))
