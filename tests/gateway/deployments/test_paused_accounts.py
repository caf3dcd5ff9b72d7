"""Accounts that fail or are paused: how soon they are left alone, and when they are asked again."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest
from msgspec.structs import replace
from tests.gateway.asgi import Came, came
from tests.gateway.four_accounts import (
    Account,
    Clock,
    FourAccounts,
    deploy,
    make_gateway,
    make_state,
)

from pondero.canon import HttpRequest
from pondero.gateway.config.model import ServerConfig
from pondero.gateway.server.app import App
from pondero.gateway.state.breakers import REST
from pondero.gateway.state.redis import RedisBreakers, RedisSnapshot
from pondero.gateway.state.redis_link import RedisLink
from pondero.gateway.state.shared_state import SharedState

SERVER = ServerConfig(ledger="off", log="off")


@asynccontextmanager
async def open_state(url: str | None, clock: Clock) -> AsyncIterator[SharedState]:
    """Yield a state with breakers of this process, or of all replicas on a Redis."""
    state = make_state(SERVER, clock)
    if url is not None:
        link = RedisLink(url, clock=clock.milliseconds)
        snapshot = RedisSnapshot(link)
        state = replace(
            state,
            breakers=RedisBreakers(link, snapshot),
            look=snapshot.look,
            is_lost=lambda: link.is_away,
            close=link.aclose,
        )
    try:
        yield state
    finally:
        await state.aclose()


@pytest.fixture(params=["here", "redis"])
def address(request) -> str | None:
    """Return the address of an empty Redis; None for the state of one process."""
    if request.param == "here":
        return None
    redis = request.getfixturevalue("redis")
    redis.empty()
    return redis.url


async def ask(app: App, text: str) -> Came:
    body = {"model": "pool", "max_tokens": 1500, "messages": [{"role": "user", "content": text}]}
    headers = {"content-type": "application/json"}
    request = HttpRequest("POST", "http://gateway/v1/messages", headers, json.dumps(body).encode())
    return await came(app, request)


@pytest.mark.parametrize("balance", ["sticky", "spread", "order"])
def test_an_account_whose_breaker_opened_is_asked_again_after_its_rest(
    monkeypatch, address, balance
):
    async def run() -> None:
        clock = Clock()
        north, south = Account("north"), Account("south")
        service = FourAccounts(clock, north, south)
        deployments = deploy("anthropic", (north, south), (9.0, 1.0))
        async with open_state(address, clock) as state:
            app, gateway = make_gateway(
                service,
                deployments,
                "claude-opus-5",
                monkeypatch=monkeypatch,
                shared=state,
                balance=balance,
            )
            gateway.jitter = Random(1).random  # type: ignore[misc]  # the same dice in every run
            north.status = 500
            for number in range(20):
                assert (await ask(app, f"it fails {number}")).status == 200
            assert len(north.bodies) == 5
            clock.now += REST
            for number in range(20):  # one probe tells that it still fails
                assert (await ask(app, f"it fails again {number}")).status == 200
            assert len(north.bodies) == 6
            north.status = None
            clock.now += REST
            service.served.clear()
            for number in range(40):
                assert (await ask(app, f"it is back {number}")).status == 200
            assert service.served["north"] >= 30
            assert "north:claude-opus-5" not in gateway.breakers.states()

    asyncio.run(run())
