"""A requester whom this process knows is checked against the shared state before anything is sent."""

import asyncio
import json
from typing import Any

import pytest
from msgspec.structs import replace
from tests.gateway.asgi import Came, came

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayKey, GatewayRoute, ServerConfig
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

OWN = GatewayKey("own", hash_key("text-of-own"))
ROUTE = GatewayRoute("opus", ("anthropic:claude-opus-5",))
QUESTION: dict[str, Any] = {
    "model": "opus",
    "max_tokens": 2000,
    "messages": [{"role": "user", "content": "What is 17 * 23?"}],
}


class Gateway:
    """A replica, and what its service got."""

    def __init__(self, url: str, **server: Any) -> None:
        config = GatewayConfig(
            server=replace(ServerConfig(state=url), **server), routes=(ROUTE,), keys=(OWN,)
        )
        self.service = Emulator()
        self.receipts: list[Receipt] = []
        self.gate = GatewayContext(config, self.service, observers=[self.receipts.append])
        self.app = App(self.gate)

    async def ask(self, key: str, body: bytes | None = None) -> Came:
        headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
        sent = json.dumps(QUESTION).encode() if body is None else body
        return await came(self.app, HttpRequest("POST", "http://g/v1/messages", headers, sent))

    @property
    def served(self) -> int:
        return len(self.service.log.entries)


@pytest.mark.parametrize("body", [None, b"{", b'{"model":"nothing","messages":[]}', b"[]"])
def test_a_key_that_another_replica_blocked_gets_a_401_whatever_it_sends(redis, body):
    """This process still knows it as valid: the shared state has the last word, also on errors."""

    async def run() -> None:
        one, other = Gateway(redis.url), Gateway(redis.url)
        assert (await one.ask("text-of-own")).status == 200
        await other.gate.keys.block("own")
        assert (await one.ask("text-of-own", body)).status == 401
        assert one.served == 1
        assert [each.status for each in one.receipts] == [200, 401]
        await other.gate.keys.block("own", blocked=False)
        assert (await one.ask("text-of-own")).status == 200
        for each in (one, other):
            await each.gate.shared.aclose()

    asyncio.run(run())


def test_rules_that_another_replica_changed_hold_for_the_next_request(redis):
    async def run() -> None:
        one, other = Gateway(redis.url), Gateway(redis.url)
        guest = await one.gate.keys.make("guest")
        assert (await one.ask(guest)).status == 200
        await other.gate.keys.change("guest", {"models": ["nothing"]})
        assert (await one.ask(guest)).status == 403
        await other.gate.keys.change("guest", {"models": None, "budget": {"tokens": 1}})
        assert (await one.ask(guest)).status == 429
        assert one.served == 1
        assert [each.status for each in one.receipts] == [200, 403, 429]
        for each in (one, other):
            await each.gate.shared.aclose()

    asyncio.run(run())


def test_a_key_that_was_just_made_elsewhere_is_known_at_once(redis):
    async def run() -> None:
        one, other = Gateway(redis.url), Gateway(redis.url)
        assert (await one.ask("text-of-own")).status == 200
        guest = await other.gate.keys.make("guest")
        assert (await one.ask(guest)).status == 200
        for each in (one, other):
            await each.gate.shared.aclose()

    asyncio.run(run())


def test_a_request_of_a_blocked_key_leaves_no_reservation(redis):
    async def run() -> None:
        one, other = Gateway(redis.url), Gateway(redis.url)
        guest = await one.gate.keys.make("guest", {"budget": {"tokens": 100_000}})
        assert (await one.ask(guest)).status == 200
        await one.gate.state.wait_until_counted()
        counter = "pondero:budget:tokens:month:key guest"
        before = redis.command("HGETALL", counter)
        await other.gate.keys.block("guest")
        assert (await one.ask(guest)).status == 401
        await one.gate.state.wait_until_counted()
        assert redis.command("HGETALL", counter) == before
        for each in (one, other):
            await each.gate.shared.aclose()

    asyncio.run(run())
