"""Keys made and blocked while the gateway runs: at once, everywhere, and never their text."""

import asyncio
import json
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from tests.gateway.asgi import came

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.errors import BadParameter, StoreError
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    RateLimitRule,
    ServerConfig,
    SpendBudget,
)
from pondero.gateway.config.secrets import find_holder, hash_key
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.state.keys import (
    EditConflict,
    FileKeys,
    KeyConflict,
    KeyRing,
    KeyStore,
    KeysUnreadable,
    LocalKeys,
    dump_key,
    find_revision,
    load_key,
)
from pondero.gateway.state.redis import RedisKeys
from pondero.gateway.state.redis_link import RedisLink, SharedStateLost
from pondero.gateway.state.shared_state import make_shared_state

OWN = GatewayKey("own", hash_key("the-text-of-own"))
ROUTE = GatewayRoute("opus", ("anthropic:claude-opus-5",))
BODY = {
    "model": "opus",
    "max_tokens": 2000,
    "messages": [{"role": "user", "content": "What is 17 * 23?"}],
}


def asked(key: str, **more: object) -> HttpRequest:
    """Return a question under a key."""
    headers = {"x-api-key": key, "content-type": "application/json"}
    body = json.dumps({**BODY, **more}).encode()
    return HttpRequest("POST", "http://gateway/v1/messages", headers, body)


def test_a_made_key_works_at_once_and_a_blocked_one_does_not():
    async def run() -> list[int]:
        gate = GatewayContext(GatewayConfig(routes=(ROUTE,), keys=(OWN,)), Emulator())
        app = App(gate)
        made = await gate.keys.make("ci")
        statuses = [(await came(app, asked("pnd_nobody"))).status]
        for change in (None, True, False):
            if change is not None:
                await gate.keys.block("ci", blocked=change)
            statuses.append((await came(app, asked(made))).status)
        await gate.keys.remove("ci")
        statuses.append((await came(app, asked(made))).status)
        statuses.append((await came(app, asked("the-text-of-own"))).status)
        await gate.keys.block("own")
        statuses.append((await came(app, asked("the-text-of-own"))).status)
        return statuses

    assert asyncio.run(run()) == [401, 200, 401, 200, 401, 200, 401]


def test_a_key_stored_with_the_old_name_of_a_budget_is_read():
    stored = '{"name":"ci","hash":"sha256:0","budget":{"money":5.0,"per":"day"}}'
    assert load_key(stored).budget == SpendBudget(cost=5.0, per="day")


def test_a_key_stored_without_a_maximum_of_its_cost_is_read():
    stored = '{"name":"ci","hash":"sha256:0","budget":{"cost":1e300,"per":"day"}}'
    assert load_key(stored).budget == SpendBudget(cost=1e9, per="day")


def test_a_key_that_was_stored_with_no_list_of_models_may_use_all_of_them():
    stored = '{"name":"ci","hash":"sha256:0","models":[]}'
    assert load_key(stored).models is None
    assert load_key('{"name":"ci","hash":"sha256:0"}').models is None


@pytest.mark.parametrize("models", [None, (), ("opus", "claude-*")])
def test_a_stored_key_keeps_its_models_and_an_earlier_version_allows_no_more(models):
    stored = dump_key(GatewayKey("ci", "sha256:0", models=models))
    assert load_key(stored).models == models
    listed = json.loads(stored)["models"]  # empty means all to an earlier version
    assert (not listed) == (models is None)
    assert not any(fnmatchcase("opus", each) for each in listed) or models


def test_what_one_process_changes_holds_in_the_others(tmp_path):
    """Two stores over one file stand for two processes."""

    async def run() -> None:
        path = tmp_path / "keys.db"
        own = (OWN,)
        one, other = (KeyRing(lambda: own, FileKeys(path)) for _ in range(2))
        assert [key.name for key in await other.all()] == ["own"]
        assert not path.exists()
        text = await one.make("ci", {"thinking": {"cap": "low"}, "limit": {"requests": 3}})
        found = find_holder(await other.all(), text)
        assert found is not None
        assert (found.name, found.thinking.cap, found.limit) == (
            "ci",
            "low",
            RateLimitRule(requests=3),
        )
        assert await other.all() is await other.all(), "nothing is read again without a change"
        for name in ("own", "ci"):
            await one.block(name)
            assert {key.name for key in await other.all() if key.blocked} == {name}
            await other.block(name, blocked=False)
            assert not any(key.blocked for key in await one.all())
        assert text.encode() not in b"".join(each.read_bytes() for each in tmp_path.iterdir())

    asyncio.run(run())


Stores = Callable[[], AbstractAsyncContextManager[tuple[KeyStore, KeyStore]]]


@pytest.fixture(params=["memory", "file", "redis"])
def open_stores(request, tmp_path) -> Stores:
    """Return a function that opens the keys twice, as two processes do."""

    @asynccontextmanager
    async def open_both() -> AsyncIterator[tuple[KeyStore, KeyStore]]:
        path = tmp_path / "keys.db"
        if request.param == "redis":
            links = [RedisLink(request.getfixturevalue("redis").url) for _ in range(2)]
            try:
                yield RedisKeys(links[0]), RedisKeys(links[1])
            finally:
                for link in links:
                    await link.aclose()
        elif request.param == "file":
            yield FileKeys(path), FileKeys(path)
        else:
            yield (LocalKeys(),) * 2

    return open_both


class Overtaken:
    """A store whose first write comes after a change of someone else."""

    def __init__(self, store: KeyStore, other: Callable[[], Awaitable[object]]) -> None:
        self.rows, self.remove, self._put = store.rows, store.remove, store.put
        self._add = store.add
        self._other: Callable[[], Awaitable[object]] | None = other

    async def put(self, key: GatewayKey, *, before: GatewayKey | None = None) -> None:
        other, self._other = self._other, None
        if other is not None:
            await other()
        await self._put(key, before=before)

    async def add(self, key: GatewayKey) -> None:
        other, self._other = self._other, None
        if other is not None:
            await other()
        await self._add(key)


def test_of_two_processes_that_make_a_key_of_one_name_one_does(open_stores: Stores) -> None:
    async def run() -> None:
        async with open_stores() as (one, other):
            ring = KeyRing(tuple, one)
            await ring.make("first")

            late = KeyRing(tuple, Overtaken(other, lambda: ring.make("ci", {"admin": True})))
            with pytest.raises(KeyConflict, match="'ci' exists already"):
                await late.make("ci")
            (key,) = [each for each in await late.all() if each.name == "ci"]
            assert key.admin, "the key that was shown works"

            await ring.remove("ci")
            await late.make("ci")
            assert len(await ring.all()) == 2

    asyncio.run(run())


def test_changes_of_two_processes_at_the_same_time_both_hold(open_stores: Stores) -> None:
    async def run() -> None:
        async with open_stores() as (one, other):
            ring = KeyRing(tuple, one)
            await ring.make("ci")

            late = KeyRing(tuple, Overtaken(other, lambda: ring.change("ci", {"models": ["opus"]})))
            edit = await late.change("ci", {"limit": {"requests": 3}})

            (key,) = await ring.all()
            assert (key.models, key.limit) == (("opus",), RateLimitRule(requests=3))
            assert (edit.after, edit.revision) == (key, find_revision(key))

    asyncio.run(run())


def test_a_change_that_is_overtaken_is_rejected_if_it_names_a_revision(open_stores: Stores) -> None:
    async def run() -> None:
        async with open_stores() as (one, other):
            ring = KeyRing(tuple, one)
            await ring.make("ci")
            (seen,) = await ring.all()

            late = KeyRing(tuple, Overtaken(other, lambda: ring.change("ci", {"models": ["opus"]})))
            with pytest.raises(EditConflict, match="'ci' was changed meanwhile"):
                await late.change("ci", {"models": ["gpt-*"]}, revision=find_revision(seen))

            (key,) = await ring.all()
            assert key.models == ("opus",)

    asyncio.run(run())


def test_the_file_wins_over_what_is_kept_of_another_key_of_its_name():
    """A key under a blocked one's name, with another hash, is another key."""

    async def run() -> None:
        store = LocalKeys()
        await store.put(GatewayKey("own", hash_key("an-older-one"), blocked=True))
        assert await KeyRing(lambda: (OWN,), store).all() == (OWN,)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("own", {}),
        ("", {}),
        ("ci", {"thinking": {"cap": "hihg"}}),
        ("ci", {"limit": {}}),
        ("ci", {"budget": {"cost": -1}}),
        ("ci", {"budget": {"cost": 1e300}}),
        ("ci", {"budget": {"cost": float("inf")}}),
        ("ci", {"expires": "0001-01-01T00:00:00+14:00"}),
        ("ci", {"expires": "9999-12-31T23:59:59-14:00"}),
        ("ci", {"colour": "red"}),
        ("ci", {"hash": 3, "models": "opus"}),
    ],
)
def test_a_key_that_cannot_be_is_not_made(name, rules):
    async def run() -> None:
        keys = KeyRing(lambda: (OWN,), LocalKeys())
        with pytest.raises(BadParameter):
            await keys.make(name, rules)
        assert await keys.all() == (OWN,)

    asyncio.run(run())


def test_what_stands_in_the_file_is_changed_there():
    async def run() -> None:
        keys = KeyRing(lambda: (OWN, GatewayKey("out", hash_key("x"), blocked=True)), LocalKeys())
        with pytest.raises(BadParameter, match=r"gateway\.toml"):
            await keys.remove("own")
        with pytest.raises(BadParameter, match=r"gateway\.toml"):
            await keys.block("out", blocked=False)
        with pytest.raises(BadParameter, match="unknown key 'nobody'"):
            await keys.block("nobody")

    asyncio.run(run())


@pytest.mark.parametrize(
    "name", ["", " ", "a\nb", "a\tb", "a\x00b", "a\x7fb", "a\u2028b", "a" * 129]
)
def test_a_name_must_fit_in_one_line_of_a_record(name):
    ring = KeyRing(tuple, LocalKeys())
    with pytest.raises(BadParameter, match="a key's name"):
        asyncio.run(ring.make(name))


def test_a_key_stored_under_an_older_rule_for_names_is_read():
    assert load_key(b'{"name": "two\\nlines", "hash": "sha256:00"}').name == "two\nlines"


def test_a_made_key_can_expire():
    async def run(expires: object, now: float) -> tuple[int, bytes]:
        gate = GatewayContext(GatewayConfig(routes=(ROUTE,)), Emulator())
        vars(gate)["now"] = lambda: now
        key = await gate.keys.make("ci", {"expires": expires})
        answer = await came(App(gate), asked(key))
        return answer.status, answer.body

    last_second = 1_801_439_999.0  # 2027-01-31T23:59:59Z
    assert asyncio.run(run("2027-01-31", last_second))[0] == 200
    status, body = asyncio.run(run("2027-01-31", last_second + 1))
    assert (status, b"expired at 2027-01-31 23:59 UTC" in body) == (401, True)
    assert asyncio.run(run("2027-01-31T12:00:00+01:00", last_second))[0] == 401
    assert asyncio.run(run("2027-01-31T23:59:59.5", last_second))[0] == 200
    for wrong in ("soon", 5, "2027-13-01", ["2027-01-31"]):
        with pytest.raises(BadParameter, match="invalid key"):
            asyncio.run(run(wrong, 0))


def test_a_key_that_expires_is_stored_and_read_again(tmp_path):
    async def run() -> list[GatewayKey]:
        store = FileKeys(tmp_path / "keys.db")
        await KeyRing(tuple, store).make("ci", {"expires": "2027-01-31", "metrics": True})
        store.close()
        again = FileKeys(tmp_path / "keys.db")
        rows = list((await again.rows()).values())
        again.close()
        return rows

    (key,) = asyncio.run(run())
    assert key.metrics
    assert key.expires is not None
    assert key.expires.timestamp() == pytest.approx(1_801_440_000, abs=1)


@pytest.mark.parametrize(
    "content", [b"", b"not a database", b"SQLite format 3\x00" + b"\xff" * 4096, None]
)
def test_keys_that_cannot_be_read_reject_every_request(tmp_path, content):
    """A damaged, emptied or unreadable file had keys, so no client has access without one."""
    path = tmp_path / "keys" / "gateway-keys.db"

    async def run() -> list[int]:
        store = FileKeys(path)
        await KeyRing(tuple, store).make("ci")
        store.close()
        for each in path.parent.glob(f"{path.name}-*"):
            each.unlink()
        path.unlink()
        if content is None:
            path.mkdir()
        else:
            path.write_bytes(content)
        shared = make_shared_state(ServerConfig(), keys=FileKeys(path))
        app = App(GatewayContext(GatewayConfig(routes=(ROUTE,)), Emulator(), shared=shared))
        listed = (
            HttpRequest("GET", f"http://127.0.0.1{place}", {"host": "127.0.0.1"})
            for place in ("/v1/models", "/admin/keys")
        )
        return [(await came(app, each)).status for each in (asked("pnd_any"), *listed)]

    assert set(asyncio.run(run())) <= {503, 529}


async def _ask_keyless(store: FileKeys) -> int:
    shared = make_shared_state(ServerConfig(), keys=store)
    app = App(GatewayContext(GatewayConfig(routes=(ROUTE,)), Emulator(), shared=shared))
    return (await came(app, asked(""))).status


def _empty_table(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DELETE FROM keys")


def _drop_table(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DROP TABLE keys")
        database.execute("PRAGMA user_version = 0")


def _replace_by_another(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE notes (text TEXT)")


@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize("lose", [_empty_table, _drop_table, _replace_by_another, Path.unlink])
def test_a_file_that_lost_its_keys_rejects_every_request(tmp_path, lose, running):
    path = tmp_path / "gateway-keys.db"

    async def run() -> int:
        store = FileKeys(path)
        await KeyRing(tuple, store).make("ci")
        await store.rows()
        if not running:
            store.close()
        lose(path)
        return await _ask_keyless(store if running else FileKeys(path))

    assert asyncio.run(run()) in (503, 529)


def test_a_key_file_of_an_earlier_version_is_guarded_once_it_was_read(tmp_path):
    path = tmp_path / "gateway-keys.db"

    async def run() -> int:
        store = FileKeys(path)
        await KeyRing(tuple, store).make("ci")
        store.close()
        path.with_name("gateway-keys.db.in-use").unlink()
        assert await _ask_keyless(FileKeys(path)) == 401
        _empty_table(path)
        return await _ask_keyless(FileKeys(path))

    assert asyncio.run(run()) in (503, 529)


def test_a_copy_of_the_key_file_alone_has_every_key(tmp_path):
    """A backup of the one file, without its write-ahead log, while the gateway runs."""
    path, copy = tmp_path / "gateway-keys.db", tmp_path / "backup.db"

    async def run() -> None:
        store = FileKeys(path)
        ring = KeyRing(lambda: (OWN,), store)
        await ring.make("ci")
        await ring.block("own")
        copy.write_bytes(path.read_bytes())
        found = await FileKeys(copy).rows()
        assert {name: key.blocked for name, key in found.items()} == {"ci": False, "own": True}
        store.close()

    asyncio.run(run())


def test_a_made_key_is_stored_as_its_hash_alone(tmp_path):
    path = tmp_path / "gateway-keys.db"
    store = FileKeys(path)
    text = asyncio.run(KeyRing(tuple, store).make("ci"))
    store.close()

    stored = b"".join(each.read_bytes() for each in tmp_path.iterdir())
    assert hash_key(text).encode() in stored
    assert text.encode() not in stored


def test_the_last_key_of_a_file_can_be_removed_on_purpose(tmp_path):
    path = tmp_path / "gateway-keys.db"

    async def run() -> None:
        store = FileKeys(path)
        ring = KeyRing(tuple, store)
        await ring.make("ci")
        assert {each.stat().st_mode & 0o777 for each in tmp_path.iterdir()} == {0o600}
        await ring.remove("ci")
        assert await _ask_keyless(store) == 200
        assert await _ask_keyless(FileKeys(path)) == 200

    asyncio.run(run())


def test_a_first_key_holds_at_once_in_a_gateway_that_looked_for_keys_long_ago(tmp_path):
    async def run() -> None:
        path = tmp_path / "keys.db"
        store = FileKeys(path)
        for _ in range(3):
            os.utime(tmp_path, (10**9, 10**9))  # the folder did not change for years
            assert [await store.rows() for _ in range(3)] == [{}, {}, {}]
            await KeyRing(tuple, FileKeys(path)).make("first")
            assert list(await store.rows()) == ["first"]
            await KeyRing(tuple, FileKeys(path)).remove("first")
            path.unlink()

    asyncio.run(run())


def test_a_mark_of_keys_counts_at_once_in_a_gateway_that_looked_for_keys_long_ago(tmp_path):
    async def run() -> None:
        store = FileKeys(tmp_path / "keys.db")
        os.utime(tmp_path, (10**9, 10**9))
        assert [await store.rows() for _ in range(3)] == [{}, {}, {}]
        (tmp_path / "keys.db.in-use").touch()
        with pytest.raises(KeysUnreadable):
            await store.rows()

    asyncio.run(run())


def test_a_link_to_a_key_file_that_comes_later_is_found_within_a_second(tmp_path, monkeypatch):
    async def run() -> None:
        (tmp_path / "here").mkdir()
        (tmp_path / "here" / "keys.db").symlink_to(tmp_path / "keys.db")
        os.utime(tmp_path / "here", (10**9, 10**9))
        store = FileKeys(tmp_path / "here" / "keys.db")
        assert [await store.rows() for _ in range(3)] == [{}, {}, {}]
        await KeyRing(tuple, FileKeys(tmp_path / "keys.db")).make("first")
        now = time.monotonic()
        monkeypatch.setattr("pondero.gateway.state.keys.monotonic", lambda: now + 1.1)
        assert list(await store.rows()) == ["first"]

    asyncio.run(run())


def test_a_restored_key_file_is_read_by_a_running_gateway(tmp_path):
    path = tmp_path / "gateway-keys.db"

    async def run() -> None:
        running = FileKeys(path)
        ring = KeyRing(lambda: (OWN,), running)
        await ring.block("own")
        backup = path.read_bytes()
        await ring.block("own", blocked=False)
        assert [key.blocked for key in await ring.all()] == [False]
        path.unlink()
        path.write_bytes(backup)
        assert [key.blocked for key in await ring.all()] == [True]
        await KeyRing(lambda: (OWN,), FileKeys(path)).block("own", blocked=False)
        assert [key.blocked for key in await ring.all()] == [False], "a change reaches it"

    asyncio.run(run())


@pytest.mark.parametrize("size", [0, 100, 5000, 9000, 20_000])
def test_a_first_key_on_a_full_disk_locks_nobody_out(tmp_path, size):
    """The system lets no file grow beyond a size."""
    resource = pytest.importorskip("resource")
    path = tmp_path / "gateway-keys.db"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    async def run() -> None:
        store = FileKeys(path)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            with pytest.raises((StoreError, SharedStateLost)):
                await KeyRing(tuple, store).make("ci")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert await _ask_keyless(store) == 200
        assert await _ask_keyless(FileKeys(path)) == 200

    asyncio.run(run())
