"""``/ready`` says what is away from its first answer on, and waits for no one who reads."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from threading import Thread
from typing import Any

import pytest
from msgspec.structs import replace
from tests.gateway.asgi import came

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.errors import StoreError
from pondero.gateway.config.model import GatewayConfig, GatewayKey, GatewayRoute, ServerConfig
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.ledger import Ledger
from pondero.gateway.observability.ledger_database import PostgresDatabase
from pondero.gateway.observability.observers import Observers
from pondero.gateway.server import readiness
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.state.redis_link import SharedStateLost

ROUTE = GatewayRoute(match="opus", to=("anthropic:claude-opus-5",))
CONFIG = GatewayConfig(ServerConfig(), (ROUTE,))


async def ask(app: App, place: str) -> tuple[int, Any]:
    found = await came(app, HttpRequest("GET", f"http://g{place}", {"host": "127.0.0.1"}))
    return found.status, json.loads(found.body)


def test_all_who_ask_before_the_first_answer_get_that_answer():
    async def check() -> None:
        gateway = GatewayContext(CONFIG, Emulator(any_model=True))
        looking, go = asyncio.Event(), asyncio.Event()

        async def probe() -> None:
            looking.set()
            await go.wait()
            raise SharedStateLost("away")

        gateway.shared = replace(gateway.shared, probe=probe)
        app = App(gateway)
        first = asyncio.ensure_future(ask(app, "/ready"))
        await looking.wait()
        second = asyncio.ensure_future(ask(app, "/ready"))
        for _ in range(10):
            await asyncio.sleep(0)
        go.set()
        away = (503, {"status": "not ready", "away": ["state"]})
        assert [await first, await second] == [away, away]

    asyncio.run(check())


@pytest.mark.parametrize("place", ["/health", "/ready"])
def test_a_balancer_may_ask_with_head(place):
    config = replace(CONFIG, keys=(GatewayKey("ci", hash_key("pnd_ci")),))

    async def check() -> None:
        gateway = GatewayContext(config, Emulator(any_model=True))
        found = await came(App(gateway), HttpRequest("HEAD", f"http://g{place}", {"host": "x"}))
        assert (found.status, found.body) == (200, b"")

    asyncio.run(check())


@asynccontextmanager
async def serve(postgres: Any, folder: Any) -> AsyncIterator[tuple[App, PostgresDatabase]]:
    database = PostgresDatabase(postgres.make())
    ledger = Ledger(database, folder)
    gateway = GatewayContext(CONFIG, Emulator(any_model=True), ledger=database)
    try:
        yield App(gateway, Observers(ledger=ledger)), database
    finally:
        ledger.close()


def test_a_slow_query_of_the_console_does_not_make_it_not_ready(postgres, tmp_path, monkeypatch):
    monkeypatch.setattr(readiness, "_FRESH", 0)

    def read(database: PostgresDatabase) -> None:
        with pytest.raises(StoreError):
            database.rows("SELECT pg_sleep(60)")

    async def check() -> None:
        async with serve(postgres, tmp_path) as (app, database):
            assert await ask(app, "/ready") == (200, {"status": "ready"})
            reader = Thread(target=read, args=(database,))
            reader.start()
            while reader.is_alive():
                assert await ask(app, "/ready") == (200, {"status": "ready"})
                await asyncio.sleep(0.1)
            assert await ask(app, "/ready") == (200, {"status": "ready"})  # while reads rest

    asyncio.run(check())


@pytest.mark.parametrize(
    "place",
    [
        *("requests?search=%00", "requests?key=a%00b", "requests/%00", "figures?route=%00"),
        *("choices?search=%00", "audit?actor=%00", "audit?subject=a%00"),
    ],
)
def test_a_search_for_what_no_text_has_finds_nothing(postgres, tmp_path, place):
    async def check() -> None:
        async with serve(postgres, tmp_path) as (app, _):
            status, found = await ask(app, f"/admin/{place}")
            assert status == (404 if place == "requests/%00" else 200), found
            assert not found.get("problem")

    asyncio.run(check())
