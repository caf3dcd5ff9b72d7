"""What happens when Redis fails, row by row of the table in docs/gateway.md, with a real Redis.

Keys and blocks fail closed, whatever ``on_state_loss`` says. Use is judged by the receipts.
"""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.gateway.asgi import Came, came
from tests.gateway.redis_server import RedisServer, redis_server

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    ServerConfig,
    SpendBudget,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.quotas.quota import find_quotas
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.state.keys import KeyRing
from pondero.gateway.state.shared_state import make_shared_state

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="stops processes")

OWN = GatewayKey("own", hash_key("text-of-own"))
ADMIN = GatewayKey("boss", hash_key("text-of-boss"), admin=True)
ROUTE = GatewayRoute("opus", ("anthropic:claude-opus-5",), retries=0)
QUESTION = {
    "model": "opus",
    "max_tokens": 2000,
    "messages": [{"role": "user", "content": "What is 17 * 23? Think about it."}],
}
BUSY = (503, 529)  # how the client APIs say that a service is unavailable


# -- failures -------------------------------------------------------------------------------------


def _set_password(redis: RedisServer) -> None:
    redis.command("CONFIG", "SET", "requirepass", "another")
    redis.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes", password="another")


def _limit_memory(redis: RedisServer) -> None:
    redis.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
    redis.command("CONFIG", "SET", "maxmemory", "1")


BREAK: Mapping[str, Callable[[RedisServer], Any]] = {
    "unreachable": RedisServer.kill,
    "hung": RedisServer.hang,
    "full": _limit_memory,
    "read-only": lambda redis: redis.command("REPLICAOF", "127.0.0.1", 1),
    "empty": RedisServer.empty,
    "password": _set_password,
}
HEAL: Mapping[str, Callable[[RedisServer], Any]] = {
    "unreachable": RedisServer.start,
    "hung": RedisServer.resume,
    "full": lambda redis: redis.command("CONFIG", "SET", "maxmemory", "0"),
    "read-only": lambda redis: redis.command("REPLICAOF", "NO", "ONE"),
    "empty": lambda redis: None,
    "password": lambda redis: redis.command("CONFIG", "SET", "requirepass", "", password="another"),
}
LOST = [name for name in BREAK if name != "empty"]


@pytest.fixture
def redis(tmp_path: Path, data_dir: Path) -> Iterator[RedisServer]:
    """Return a Redis of this test alone, which it may break."""
    folder = tmp_path / "redis"
    folder.mkdir()
    with redis_server(folder) as server:
        yield server


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for a lost Redis more often."""
    monkeypatch.setattr("pondero.gateway.state.redis_link.AWAY", 0.1)


# -- the gateway ----------------------------------------------------------------------------------


class Replica:
    """A gateway in this process, and the receipts of what it did."""

    def __init__(self, url: str, *keys: GatewayKey, **server: object) -> None:
        config = GatewayConfig(
            server=replace(ServerConfig(state=url), **server), routes=(ROUTE,), keys=keys
        )
        self.receipts: list[Receipt] = []
        self.gate = GatewayContext(
            config,
            Emulator(),
            observers=[self.receipts.append],
            shared=make_shared_state(config.server),
        )
        self._app = App(self.gate)

    async def ask(
        self, key: str | None, path: str = "/v1/messages", body: object = None, method: str = ""
    ) -> Came:
        headers = {"content-type": "application/json", "host": "127.0.0.1"}
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        if path == "/v1/messages":
            body = QUESTION
        data = b"" if body is None else json.dumps(body).encode()
        verb = method or ("GET" if body is None else "POST")
        return await came(self._app, HttpRequest(verb, f"http://gateway{path}", headers, data))

    @asynccontextmanager
    async def runs(self) -> AsyncIterator[None]:
        """Run it as a server does, from its start to its end."""
        events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        said: asyncio.Queue[Any] = asyncio.Queue()
        task = asyncio.ensure_future(self._app({"type": "lifespan"}, events.get, said.put))
        events.put_nowait({"type": "lifespan.startup"})
        await said.get()
        try:
            yield
        finally:
            events.put_nowait({"type": "lifespan.shutdown"})
            await task

    async def status(self, key: str | None, path: str = "/v1/messages") -> int:
        return (await self.ask(key, path)).status

    @property
    def served(self) -> int:
        """Return the tokens of all answers."""
        return sum(each.usage.known_total for each in self.receipts if each.end == "done")


@asynccontextmanager
async def replica(
    redis: RedisServer, *keys: GatewayKey, **server: object
) -> AsyncIterator[Replica]:
    made = Replica(redis.url, *keys, **server)
    try:
        yield made
    finally:
        await made.gate.shared.aclose()


async def until(check: Callable[[], Any]) -> None:
    """Wait for a fact, ten seconds at most."""
    async with asyncio.timeout(10):
        while not await check():  # noqa: ASYNC110 - another process has no event to wait for
            await asyncio.sleep(0.02)


# -- keys and blocks ------------------------------------------------------------------------------

PATHS = ("/v1/messages", "/v1/models", "/admin/keys", "/v1/nothing")


@pytest.mark.parametrize("policy", ["allow", "refuse"])
@pytest.mark.parametrize("how", BREAK)
def test_a_request_without_a_key_is_rejected_while_redis_fails(redis, how, policy):
    """With keys in Redis alone: at once, and after a restart of the gateway."""

    async def run() -> None:
        async with replica(redis, on_state_loss=policy) as first:
            boss = await first.gate.keys.make("boss", {"admin": True})
            guest = await first.gate.keys.make("guest")
            assert await first.status(guest) == 200
            BREAK[how](redis)
            await _check_closed(first, how, policy, boss, guest)
        async with replica(redis, on_state_loss=policy) as again:
            await _check_closed(again, how, policy, boss, guest)
            HEAL[how](redis)
            await until(lambda: _is_status(again, guest, 200))
            for path in PATHS:
                assert await again.status(None, path) == 401, path

    asyncio.run(run())


async def _is_status(gateway: Replica, key: str, status: int) -> bool:
    return await gateway.status(key) == status


async def _check_closed(gateway: Replica, how: str, policy: str, boss: str, guest: str) -> None:
    for shown in (None, "pnd_nobody"):
        for path in PATHS:
            assert await gateway.status(shown, path) in (401, *BUSY), (shown, path)
    served = policy == "allow" or how == "empty"
    for path in ("/v1/messages", "/v1/models"):
        status = await gateway.status(guest, path)
        # A key without quotas needs no reservation: a Redis that can be read is enough for it.
        readable = how in ("full", "read-only")
        assert status == 200 if served else status in BUSY or (readable and status == 200), path
    assert await gateway.status(guest, "/admin/keys") == 403
    assert await gateway.status(boss, "/admin/keys") == 200


@pytest.mark.parametrize("policy", ["allow", "refuse"])
@pytest.mark.parametrize("how", BREAK)
def test_a_blocked_key_stays_blocked_while_redis_fails(redis, how, policy):
    """A key of gateway.toml, blocked at run time: at once, and after a restart of the gateway."""

    async def run() -> None:
        async with replica(redis, OWN, ADMIN, on_state_loss=policy) as first:
            assert await first.status("text-of-own") == 200
            await first.gate.keys.block("own")
            assert await first.status("text-of-own") == 401
            BREAK[how](redis)
            assert await first.status("text-of-own") in (401, *BUSY)
            change = await first.ask(
                "text-of-boss", "/admin/keys/own", {"blocked": False}, method="PATCH"
            )
            if how != "empty":
                assert change.status == 503, "no change while nobody else would learn of it"
            else:
                assert change.status == 200
                await first.gate.keys.block("own")
        async with replica(redis, OWN, ADMIN, on_state_loss=policy) as again:
            assert await again.status("text-of-own") in (401, *BUSY)
            HEAL[how](redis)
            await until(lambda: _is_status(again, "text-of-boss", 200))
            assert await again.status("text-of-own") == 401

    asyncio.run(run())


def test_a_worker_that_alone_lost_redis_learns_blocks_from_the_others(redis, monkeypatch):
    """Its own connection timed out; the worker that blocks a key still reaches Redis."""
    monkeypatch.setattr("pondero.gateway.state.redis_link.AWAY", 600)

    async def run() -> None:
        async with replica(redis, OWN, ADMIN) as first, replica(redis, OWN, ADMIN) as alone:
            assert await first.status("text-of-own") == 200
            assert await alone.status("text-of-own") == 200
            counter: Any = alone.gate.shared.state
            counter._link._lose(TimeoutError())
            assert await alone.status("text-of-own") == 200
            await first.gate.keys.block("own")
            assert await alone.status("text-of-own") == 401
            await first.gate.keys.block("own", blocked=False)
            assert await alone.status("text-of-own") == 200

    asyncio.run(run())


@pytest.mark.parametrize("policy", ["allow", "refuse"])
def test_a_redis_that_begins_again_with_an_old_file_frees_nobody(redis, policy):
    """Its file has no block and nearly no use; the replicas saw both."""
    ci = GatewayKey("ci", hash_key("text-of-ci"), budget=SpendBudget(tokens=9_000, per="month"))

    async def run() -> None:
        async with replica(redis, OWN, ADMIN, ci, on_state_loss=policy) as first:
            assert await first.status("text-of-own") == 200
            assert await first.status("text-of-ci") == 200
            redis.command("SAVE")
            await first.gate.keys.block("own")
            (bound,) = find_quotas(ci, None)
            while await first.status("text-of-ci") == 200:
                await first.gate.shared.state.wait_until_counted()
            before = await first.gate.shared.state.current_use([bound])
            redis.kill()
            redis.start()
            assert await first.status("text-of-own") in (401, *BUSY)
            await until(lambda: _is_status(first, "text-of-boss", 200))
            assert await first.status("text-of-own") == 401
            assert await first.status("text-of-ci") == 429
            assert await first.gate.shared.state.current_use([bound]) == before

    asyncio.run(run())


def test_a_gateway_that_has_never_read_its_keys_rejects_every_request(redis):
    """It cannot know which of them are blocked."""

    async def run() -> None:
        redis.kill()
        async with replica(redis, OWN) as first:
            for key in (None, "text-of-own"):
                for path in PATHS:
                    assert await first.status(key, path) in BUSY, path
            redis.start()
            await until(lambda: _is_status(first, "text-of-own", 200))
            assert await first.status(None) == 401

    asyncio.run(run())


def test_the_removal_of_the_last_key_is_not_taken_for_a_loss(redis):
    """It opens the gateway, at all replicas, also after Redis lost its data; a lost key does not."""

    async def run() -> None:
        async with replica(redis) as one, replica(redis) as other:
            assert await one.status(None) == 200
            await one.gate.keys.make("guest")
            assert [await each.status(None) for each in (one, other)] == [401, 401]
            await other.gate.keys.remove("guest")
            assert [await each.status(None) for each in (one, other)] == [200, 200]
            redis.empty()
            assert [await each.status(None) for each in (one, other)] == [200, 200]

    asyncio.run(run())


def test_of_two_copies_of_a_key_the_later_holds(redis, data_dir, monkeypatch):
    """A replica that was off comes back first to an emptied Redis; then one that knows more."""

    async def run() -> None:
        async with replica(redis, OWN) as slept:
            await slept.gate.keys.make("gone")
            guest = await slept.gate.keys.make("guest")
            assert await slept.status(guest) == 200
        monkeypatch.setenv("PONDERO_DATA_DIR", str(data_dir / "elsewhere"))
        async with replica(redis, OWN) as awake:
            await awake.gate.keys.remove("gone")
            await awake.gate.keys.block("guest")
            redis.empty()
            monkeypatch.setenv("PONDERO_DATA_DIR", str(data_dir))
            async with replica(redis, OWN) as first:
                await first.status(guest)
                await awake.status(guest)
                for each in (first, awake):
                    assert await each.status(guest) == 401
                    assert {key.name for key in await each.gate.keys.all()} == {"own", "guest"}

    asyncio.run(run())


PARTS = ("keys", "keys:changed", "keys:version")
TAKEN = [[name for bit, name in enumerate(PARTS) if number >> bit & 1] for number in range(1, 8)]


@pytest.mark.parametrize("parts", TAKEN, ids="+".join)
def test_a_redis_that_lost_its_keys_alone_gets_them_back(redis, parts):
    """Its epoch stays: an eviction, or a hand, took some entries; a removed key stays removed."""

    async def run() -> None:
        async with replica(redis, OWN) as first:
            guest = await first.gate.keys.make("guest")
            gone = await first.gate.keys.make("gone")
            await first.gate.keys.remove("gone")
            await first.gate.keys.block("own")
            expected = {"text-of-own": 401, guest: 200, gone: 401, "": 401}
            for gateway in ("running", "restarted"):
                redis.command("DEL", *(f"pondero:{part}" for part in parts))
                if gateway == "running":
                    assert {key: await first.status(key) for key in expected} == expected
                    continue
                async with replica(redis, OWN) as again:
                    assert {key: await again.status(key) for key in expected} == expected
            await first.gate.keys.block("guest")
            assert await first.status(guest) == 401
        async with replica(redis) as last:
            assert await last.status(guest) == 401, "later changes have later versions"

    asyncio.run(run())


@pytest.mark.parametrize("parts", [["keys"], ["keys", "keys:version"]], ids="+".join)
def test_keys_that_nobody_can_give_back_open_nothing(redis, data_dir, monkeypatch, parts):
    async def run() -> None:
        async with replica(redis) as first:
            await first.gate.keys.make("guest")
        redis.command("DEL", *(f"pondero:{part}" for part in parts))
        monkeypatch.setenv("PONDERO_DATA_DIR", str(data_dir / "elsewhere"))
        async with replica(redis) as again:
            for path in PATHS:
                assert await again.status(None, path) in BUSY, path

    asyncio.run(run())


@pytest.mark.parametrize("how", ["FLUSHALL", "DEL"])
def test_an_idle_replica_gives_the_keys_back_by_itself(redis, data_dir, monkeypatch, how):
    """Before a new replica, which has no copy, is asked by somebody without a key."""
    monkeypatch.setattr("pondero.gateway.server.app.REFRESH", 0.02)

    async def run() -> None:
        async with replica(redis) as idle, idle.runs():
            guest = await idle.gate.keys.make("guest")
            if how == "DEL":
                redis.command("DEL", "pondero:keys")
            else:
                redis.empty()

            async def is_back() -> bool:
                return bool(redis.command("EXISTS", "pondero:keys"))

            await until(is_back)
            monkeypatch.setenv("PONDERO_DATA_DIR", str(data_dir / "elsewhere"))
            async with replica(redis) as new:
                assert [await new.status(key) for key in (None, guest)] == [401, 200]

    asyncio.run(run())


def test_the_copy_of_the_keys_is_private_and_has_no_text(redis, data_dir):
    async def run() -> str:
        async with replica(redis) as first:
            return await first.gate.keys.make("guest")

    text = asyncio.run(run())
    files = list(data_dir.glob("gateway-keys-*"))
    assert [each.stat().st_mode & 0o777 for each in files] == [0o600]
    assert all(text.encode() not in each.read_bytes() for each in files)


@pytest.mark.parametrize("content", [b"", b"{", b'{"rows":{"guest":"{}"},"changed":{}}', b"\xff"])
def test_a_damaged_copy_of_the_keys_opens_nothing(redis, data_dir, content):
    async def run() -> None:
        async with replica(redis) as first:
            await first.gate.keys.make("guest")
        (copy,) = data_dir.glob("gateway-keys-*")
        copy.write_bytes(content)
        redis.empty()
        async with replica(redis) as again:
            for path in PATHS:
                assert await again.status(None, path) in BUSY, path

    asyncio.run(run())


# -- budgets --------------------------------------------------------------------------------------

BUDGET = 6_000
"""Tokens, room for a few questions; each reserves more than 2,000 and takes less."""
CI = replace(OWN, budget=SpendBudget(tokens=BUDGET, per="month"))


@pytest.mark.parametrize("how", BREAK)
def test_with_refuse_no_failure_of_redis_exceeds_a_budget(redis, how):
    async def run() -> None:
        async with replica(redis, CI, on_state_loss="refuse") as first:
            assert await first.status("text-of-own") == 200
            before = first.served
            await first.gate.state.wait_until_counted()
            BREAK[how](redis)
            answers = [await first.ask("text-of-own") for _ in range(40)]
            if how == "empty":
                assert {each.status for each in answers} == {200, 429}
                assert first.served <= BUDGET
            else:
                assert {each.status for each in answers} == {529}
                error = json.loads(answers[0].body)["error"]
                assert error["type"] == "overloaded_error"
                assert first.served == before
            HEAL[how](redis)
            await until(lambda: _is_answered(first))
            await _check_counted(first)

    asyncio.run(run())


async def _is_answered(gateway: Replica) -> bool:
    return await gateway.status("text-of-own") in (200, 429)


async def _check_counted(*gateways: Replica) -> None:
    """Check that Redis counts what the services served, no more and no less."""
    served = sum(each.served for each in gateways)

    async def is_counted() -> bool:
        state = gateways[0].gate.state
        return await state.current_use(find_quotas(CI, None)) == [served]

    await until(is_counted)


@pytest.mark.parametrize("how", BREAK)
def test_with_allow_each_replica_continues_from_the_count_it_saw(redis, how):
    """The stated factor: the budget once for each replica, and no more."""

    async def run() -> None:
        async with (
            replica(redis, CI, on_state_loss="allow") as one,
            replica(redis, CI, on_state_loss="allow") as other,
        ):
            for each in (one, other):
                assert await each.status("text-of-own") == 200
                await each.gate.state.wait_until_counted()
            BREAK[how](redis)
            async with asyncio.timeout(20):  # with a second for each, these would take longer
                for each in (one, other):
                    statuses = {await each.status("text-of-own") for _ in range(30)}
                    assert statuses <= {200, 429}
            assert one.served + other.served <= (2 if how in LOST else 1) * BUDGET
            for each in (one, other):
                assert each.served <= BUDGET
            HEAL[how](redis)
            await until(lambda: _is_back(one, other))
            if how not in ("empty", "unreachable"):
                await _check_counted(one, other)
            elif how == "unreachable":  # it came back empty; replicas gave back what they saw
                counted = await one.gate.state.current_use(find_quotas(CI, None))
                assert counted[0] >= one.served + other.served

    asyncio.run(run())


async def _is_back(*gateways: Replica) -> bool:
    return not any(each.gate.shared.is_away for each in gateways)


def test_use_is_written_back_without_a_request_and_once(redis):
    """While Redis hangs it may have done what it did not confirm."""

    async def run() -> None:
        async with replica(redis, CI, on_state_loss="allow") as first:
            assert await first.status("text-of-own") == 200
            for _ in range(3):
                redis.hang()
                await first.status("text-of-own")
                redis.resume()
                await until(lambda: _is_back(first))
            await _check_counted(first)

    asyncio.run(run())


@pytest.mark.parametrize("how", ["unreachable", "hung", "full"])
def test_use_that_cannot_be_written_at_the_end_is_sent_at_the_next_start(redis, data_dir, how):
    async def run() -> None:
        async with asyncio.timeout(20):  # also with a Redis that hangs, the end comes
            async with replica(redis, CI, on_state_loss="allow") as first:
                assert await first.status("text-of-own") == 200
                await first.gate.state.wait_until_counted()
                BREAK[how](redis)
                assert await first.status("text-of-own") == 200
        kept = list(data_dir.glob("gateway-use-*"))
        assert [each.stat().st_mode & 0o777 for each in kept] == [0o600]
        HEAL[how](redis)
        for _ in range(2):  # a second start sends nothing again
            async with replica(redis, CI) as again:
                await again.gate.shared.look()
                lost = how == "unreachable"  # Redis lost the first use with all its data
                again.receipts += first.receipts[1:] if lost else first.receipts
                await _check_counted(again)
        assert not list(data_dir.glob("gateway-use-*"))

    asyncio.run(run())


def test_use_that_two_workers_find_on_disk_counts_once(redis):
    """Nor does it count again if the answer of Redis was lost, and it is sent once more."""

    async def run() -> None:
        async with replica(redis, CI, on_state_loss="allow") as first:
            assert await first.status("text-of-own") == 200
            await first.gate.state.wait_until_counted()
            BREAK["full"](redis)
            assert await first.status("text-of-own") == 200
        HEAL["full"](redis)
        async with replica(redis, CI) as one, replica(redis, CI) as other:
            for each in (one, other):  # both have read the file
                await each.gate.shared.look()
            one.receipts += first.receipts
            await _check_counted(one)

    asyncio.run(run())


# -- the rest -------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", BREAK)
def test_requests_are_recorded_and_cached_while_redis_fails(redis, how):
    """The ledger is not in Redis; without Redis, each replica has an answer cache of its own."""

    async def run() -> None:
        async with replica(redis, OWN, on_state_loss="allow") as first:
            assert await first.status("text-of-own") == 200
            BREAK[how](redis)
            for _ in range(2):
                assert await first.status("text-of-own") == 200
            assert [each.end for each in first.receipts] == ["done"] * 3
            await first.gate.memory.put({"a": b"1"})
            assert await first.gate.memory.get(["a"]) == {"a": b"1"}

    asyncio.run(run())


@pytest.mark.parametrize("policy", ["allow", "refuse"])
@pytest.mark.parametrize("how", BREAK)
def test_the_console_shows_what_is_known_while_redis_fails(redis, how, policy):
    async def run() -> None:
        async with replica(redis, CI, ADMIN, on_state_loss=policy) as first:
            assert await first.status("text-of-own") == 200
            await first.gate.state.wait_until_counted()
            BREAK[how](redis)
            await first.status("text-of-own")
            answer = await first.ask("text-of-boss", "/admin/keys")
            assert answer.status == 200
            (bound,) = next(
                each["bounds"] for each in json.loads(answer.body)["keys"] if each["name"] == "own"
            )
            assert bound["taken"] >= first.receipts[0].usage.known_total
            assert await first.status(None, "/health") == 200

    asyncio.run(run())


def test_whether_the_state_is_lost_can_be_asked(redis):
    async def run() -> None:
        async with replica(redis, CI) as first:
            assert not first.gate.shared.is_away
            BREAK["full"](redis)
            await first.status("text-of-own")
            assert first.gate.shared.is_away
            HEAL["full"](redis)
            await until(lambda: _is_back(first))
        assert not make_shared_state(ServerConfig()).is_away

    asyncio.run(run())


def test_the_command_line_names_keys_of_a_redis_that_lost_its_data(redis):
    async def run() -> None:
        async with replica(redis) as first:
            await first.gate.keys.make("guest")
        redis.empty()
        shared = make_shared_state(ServerConfig(state=redis.url))
        assert [key.name for key in await KeyRing(tuple, shared.keys).all()] == ["guest"]
        await shared.aclose()

    asyncio.run(run())
