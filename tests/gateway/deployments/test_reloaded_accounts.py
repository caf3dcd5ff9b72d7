"""A new configuration changes limits, names and weights; what accounts have used stays counted."""

import asyncio
import json
from random import Random
from typing import Any

from msgspec.structs import replace
from tests.gateway.asgi import came
from tests.gateway.four_accounts import (
    Account,
    Clock,
    FourAccounts,
    deploy,
    make_gateway,
    open_state,
)

from pondero.canon import HttpRequest
from pondero.gateway.config.model import Deployment, GatewayRoute, RateLimitRule, ServerConfig
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

SERVER = ServerConfig(ledger="off", log="off")


async def ask(app: App, text: str) -> int:
    body = {"model": "pool", "max_tokens": 1500, "messages": [{"role": "user", "content": text}]}
    headers = {"content-type": "application/json"}
    request = HttpRequest("POST", "http://gateway/v1/messages", headers, json.dumps(body).encode())
    return (await came(app, request)).status


def reload(gateway: GatewayContext, *deployments: Deployment) -> None:
    """Use these deployments, in a route to all of them."""
    to = tuple(f"{each.name}:claude-opus-5" for each in deployments)
    route = GatewayRoute(match="pool", to=to, retries=0)
    gateway.reconfigure(replace(gateway.config, routes=(route,), deployments=deployments))


def limit(deployments: tuple[Deployment, ...], rule: RateLimitRule) -> tuple[Deployment, ...]:
    return tuple(replace(each, limit=rule) for each in deployments)


def test_a_reload_that_changes_the_period_or_the_name_keeps_the_counts(monkeypatch, address):
    async def run() -> None:
        clock = Clock()
        service = FourAccounts(clock, Account("north"), Account("south"))
        plain = deploy("anthropic", tuple(service.accounts.values()))
        async with (
            open_state(SERVER, address, clock) as one,
            open_state(SERVER, address, clock) as other,
        ):
            first = limit(plain, RateLimitRule(requests=6, per="minute"))
            # Replicas on one Redis each reload.
            replicas = [
                make_gateway(service, first, "claude-opus-5", monkeypatch=monkeypatch, shared=state)
                for state in ((one, other) if address else (one,))
            ]
            app = replicas[0][0]

            async def count_served(times: int, text: str) -> int:
                statuses = [
                    await ask(replicas[number % len(replicas)][0], f"{text} {number}")
                    for number in range(times)
                ]
                await asyncio.gather(*(each.state.wait_until_counted() for _, each in replicas))
                return statuses.count(200)

            def reload_all(deployments: tuple[Deployment, ...]) -> None:
                for _, gateway in replicas:
                    reload(gateway, *deployments)

            assert await count_served(13, "per minute") == 12
            clock.now += 2
            reload_all(limit(plain, RateLimitRule(requests=6, per="hour")))
            assert await count_served(3, "per hour") == 0
            clock.now += 2
            reload_all(limit(plain, RateLimitRule(requests=8, per="minute")))
            assert await count_served(6, "per minute again") == 4
            renamed = (replace(plain[0], name="west"), plain[1])  # the same key
            reload_all(limit(renamed, RateLimitRule(requests=8, per="minute")))
            assert await count_served(3, "by another name") == 0
            clock.now += 75
            assert await count_served(17, "later") == 16
            assert await ask(app, "one too many") == 429

    asyncio.run(run())


def test_a_request_that_has_begun_keeps_its_account_and_its_limit(monkeypatch):
    """It got a 404, or went to its account without being counted."""

    async def run() -> None:
        clock = Clock()
        service = FourAccounts(clock, Account("north"))
        plain = limit(deploy("anthropic", (Account("north"),)), RateLimitRule(requests=3))
        app, gateway = make_gateway(service, plain, "claude-opus-5", monkeypatch=monkeypatch)
        renamed = (replace(plain[0], name="west"),)
        order = gateway.order_models

        def order_and_reload(*arguments: Any) -> Any:
            turns = order(*arguments)
            reload(gateway, *renamed)
            return turns

        assert await ask(app, "before") == 200
        with monkeypatch.context() as patch:
            patch.setattr(gateway, "order_models", order_and_reload)
            assert await ask(app, "in the middle") == 200
        assert [await ask(app, f"after {number}") for number in range(2)] == [200, 429]

    asyncio.run(run())


def test_new_weights_hold_from_the_next_conversation_on(monkeypatch):
    async def run() -> None:
        accounts = (Account("north"), Account("south"), Account("east"))
        service = FourAccounts(Clock(), *accounts)
        plain = deploy("anthropic", accounts)
        app, gateway = make_gateway(service, plain, "claude-opus-5", monkeypatch=monkeypatch)
        gateway.jitter = Random(1).random  # type: ignore[misc]  # the same dice in every run

        async def count(weights: tuple[float, ...], text: str) -> list[int]:
            pairs = zip(plain, weights, strict=True)
            reload(gateway, *(replace(each, weight=weight) for each, weight in pairs))
            service.served.clear()
            for number in range(100):
                assert await ask(app, f"{text} {number}") == 200
            return [service.served[each.name] for each in accounts]

        assert min(await count((1.0, 1.0, 1.0), "alike")) >= 28
        north, south, east = await count((8.0, 1.0, 1.0), "north most")
        assert north <= 88
        assert min(south, east) >= 5
        north, south, east = await count((1.0, 1.0, 8.0), "east most")
        assert east <= 88
        assert min(north, south) >= 5

    asyncio.run(run())
