"""Accounts that fail or are paused: how soon they are left alone, and when they are asked again."""

import asyncio
import json
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
    open_state,
)

from pondero.canon import HttpRequest
from pondero.gateway.config.model import GatewayRoute, ServerConfig
from pondero.gateway.server.app import App
from pondero.gateway.state.breakers import REST

SERVER = ServerConfig(ledger="off", log="off")


async def ask(app: App, text: str, model: str = "pool") -> Came:
    body = {"model": model, "max_tokens": 1500, "messages": [{"role": "user", "content": text}]}
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
        async with open_state(SERVER, address, clock) as state:
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


@pytest.mark.parametrize(("delay", "rest"), [(3.0, 3.0), (0.5, 0.5), (900.0, 60.0)])
@pytest.mark.parametrize("status", [503, 529])
def test_a_failing_account_is_left_alone_for_as_long_as_its_service_says(
    monkeypatch, address, status, delay, rest
):
    async def run() -> None:
        clock = Clock()
        north, south = Account("north"), Account("south")
        service = FourAccounts(clock, north, south)
        deployments = deploy("anthropic", (north, south))
        models = ("claude-opus-5", "claude-haiku-4-5")
        async with open_state(SERVER, address, clock) as state:
            app, gateway = make_gateway(
                service,
                deployments,
                models[0],
                monkeypatch=monkeypatch,
                shared=state,
                balance="order",
            )
            to = (f"north:{models[1]}", f"south:{models[1]}")
            other = GatewayRoute("other", to, balance="order")
            routes = (*gateway.config.routes, other)
            gateway.reconfigure(replace(gateway.config, routes=routes))
            north.next_rejections = [(status, {"retry-after": str(delay)})]
            for number in range(20):
                assert (await ask(app, f"question {number}")).status == 200
            assert len(north.bodies) == 1
            clock.now += rest - 0.1
            assert (await ask(app, "still too early")).status == 200
            assert len(north.bodies) == 1
            await ask(app, "another model of this account", model="other")
            assert len(north.bodies) == 2
            clock.now += 0.2
            for number in range(3):
                assert (await ask(app, f"later {number}")).status == 200
            assert len(north.bodies) == 5

    asyncio.run(run())


def test_a_client_is_told_how_long_all_accounts_rest(monkeypatch, address):
    async def run() -> None:
        clock = Clock()
        accounts = (Account("north"), Account("south"))
        service = FourAccounts(clock, *accounts)
        async with open_state(SERVER, address, clock) as state:
            app, _ = make_gateway(
                service,
                deploy("anthropic", accounts),
                "claude-opus-5",
                monkeypatch=monkeypatch,
                shared=state,
            )
            for account in accounts:
                account.next_rejections = [(503, {"retry-after": "40"})]
            assert (await ask(app, "a question")).status == 503
            clock.now += 10
            answer = await ask(app, "another question")
            assert answer.status == 529  # how this API says that a service is overloaded
            assert answer.headers["retry-after"] == "30"
            assert [len(each.bodies) for each in accounts] == [1, 1]

    asyncio.run(run())


@pytest.mark.parametrize("failure", [(401, 1), (402, 1), (500, 6)])
@pytest.mark.parametrize("death", ["gone", 401, 500])
def test_an_account_that_is_paused_on_a_guess_is_asked_if_no_other_answers(
    monkeypatch, address, failure, death
):
    async def run() -> None:
        clock = Clock()
        north, south = Account("north"), Account("south")
        service = FourAccounts(clock, north, south)
        async with open_state(SERVER, address, clock) as state:
            app, gateway = make_gateway(
                service,
                deploy("anthropic", (north, south)),
                "claude-opus-5",
                monkeypatch=monkeypatch,
                shared=state,
            )
            gateway.jitter = Random(1).random  # type: ignore[misc]  # the same dice in every run
            south.status, times = failure
            for number in range(40):
                if len(south.bodies) < times:
                    assert (await ask(app, f"south fails {number}")).status == 200
            south.status = None  # it is healthy again, and nobody knows it
            north.is_dead, north.status = death == "gone", None if death == "gone" else int(death)
            before = len(south.bodies)
            for number in range(5):
                answer = await ask(app, f"north fails {number}")
                assert answer.status == 200, answer.body
                assert answer.headers["x-pondero-deployment"] == "south"
            assert len(south.bodies) == before + 5

    asyncio.run(run())


def test_if_all_accounts_are_dead_the_client_gets_the_error_of_a_service(monkeypatch, address):
    async def run() -> None:
        clock = Clock()
        accounts = (Account("north"), Account("south"))
        service = FourAccounts(clock, *accounts)
        async with open_state(SERVER, address, clock) as state:
            app, _ = make_gateway(
                service,
                deploy("anthropic", accounts),
                "claude-opus-5",
                monkeypatch=monkeypatch,
                shared=state,
            )
            for each in accounts:
                each.status = 401
            for number in range(2):
                answer = await ask(app, f"question {number}")
                assert answer.status == 502
                assert json.loads(answer.body)["error"]["message"] == "no"  # the service's own
            assert [len(each.bodies) for each in accounts] == [2, 2]

    asyncio.run(run())


def test_an_account_that_failed_once_is_asked_again_if_the_others_have_no_room(monkeypatch):
    async def run() -> None:
        accounts = (Account("north"), Account("south"))
        service = FourAccounts(Clock(), *accounts)
        app, gateway = make_gateway(
            service,
            deploy("anthropic", accounts),
            "claude-opus-5",
            monkeypatch=monkeypatch,
            balance="order",
            retries=2,
        )
        await gateway.breakers.pause("south:claude-opus-5", 40)
        accounts[0].next_rejections = [(500, {})] * 2
        answer = await ask(app, "a question")
        assert (answer.status, answer.headers["x-pondero-deployment"]) == (200, "north")
        assert [len(each.bodies) for each in accounts] == [3, 0]

    asyncio.run(run())
