"""A key that expires: it works until that moment, in a running gateway, wherever keys are stored."""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from tests.gateway.asgi import Came, came
from tests.gateway.redis_server import redis_server

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayKey, GatewayRoute, ServerConfig
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.state.shared_state import make_shared_state

ENDS = datetime(2030, 6, 30, 12, tzinfo=UTC)
ADMIN = "pnd_admin"
KEYS = (
    GatewayKey("boss", hash_key(ADMIN), admin=True),
    GatewayKey("ci", hash_key("ci"), expires=ENDS),
)
ROUTE = GatewayRoute("opus", ("anthropic:claude-opus-5",))


@pytest.fixture(params=["memory", "redis"])
def state(request, tmp_path) -> Iterator[str]:
    if request.param == "memory":
        yield "memory"
        return
    with redis_server(tmp_path) as server:
        yield server.url


class Gate:
    """A gateway whose clock is set."""

    def __init__(self, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = ENDS.timestamp() - 1
        monkeypatch.setattr(GatewayContext, "now", staticmethod(lambda: self.now))
        config = GatewayConfig(ServerConfig(state=state), (ROUTE,), keys=KEYS)
        shared = make_shared_state(config.server)
        self.context = GatewayContext(config, Emulator(any_model=True), shared=shared)
        self._app = App(self.context)

    async def ask(self, key: str) -> Came:
        body = {"model": "opus", "max_tokens": 2000, "messages": [{"role": "user", "content": "x"}]}
        headers = {"x-api-key": key, "content-type": "application/json"}
        http = HttpRequest("POST", "http://g/v1/messages", headers, json.dumps(body).encode())
        return await came(self._app, http)

    async def admin(self, method: str, place: str, body: object = None, key: str = ADMIN) -> Came:
        headers = {"host": "127.0.0.1", "authorization": f"Bearer {key}"}
        headers["content-type"] = "application/json"
        data = b"" if body is None else json.dumps(body).encode()
        return await came(self._app, HttpRequest(method, f"http://g/admin/{place}", headers, data))


def test_a_key_works_until_the_moment_it_expires_and_its_holder_learns_why(state, monkeypatch):
    async def check() -> None:
        gate = Gate(state, monkeypatch)
        rules = {"name": "guest", "expires": ENDS.isoformat()}
        guest = json.loads((await gate.admin("POST", "keys", rules)).body)["key"]
        for key, name in (("ci", "ci"), (guest, "guest")):
            gate.now = ENDS.timestamp() - 1
            assert (await gate.ask(key)).status == 200
            gate.now = ENDS.timestamp()
            answer = await gate.ask(key)
            assert answer.status == 401
            message = json.loads(answer.body)["error"]["message"]
            assert message == f"the gateway key {name!r} expired at 2030-06-30 12:00 UTC"
        await gate.context.shared.aclose()

    asyncio.run(check())


def test_a_key_that_expired_works_again_with_a_later_end(state, monkeypatch):
    async def check() -> None:
        gate = Gate(state, monkeypatch)
        rules = {"name": "guest", "expires": "2030-06-29"}
        guest = json.loads((await gate.admin("POST", "keys", rules)).body)["key"]
        assert (await gate.ask(guest)).status == 401
        assert (await gate.admin("PATCH", "keys/guest", {"expires": "2030-07-01"})).status == 200
        assert (await gate.ask(guest)).status == 200
        assert (await gate.admin("PATCH", "keys/guest", {"expires": None})).status == 200
        gate.now = ENDS.timestamp() + 1e9
        assert (await gate.ask(guest)).status == 200
        await gate.context.shared.aclose()

    asyncio.run(check())


@pytest.mark.parametrize("expires", ["soon", "1999-12-31", 5, "2030-02-30", "9999-12-31T00:00Z"])
def test_an_end_that_is_none_is_rejected(expires, monkeypatch):
    gate = Gate("memory", monkeypatch)
    answer = asyncio.run(gate.admin("POST", "keys", {"name": "guest", "expires": expires}))
    assert answer.status == 400
    assert b"invalid key" in answer.body


def test_an_admin_key_that_expired_does_not_open_the_console_to_everybody(monkeypatch):
    gate = Gate("memory", monkeypatch)

    async def check() -> None:
        await gate.admin("POST", "keys", {"name": "boss2", "admin": True, "expires": "2030-06-29"})
        gate.context.config = GatewayConfig(ServerConfig(), (ROUTE,), keys=())
        assert (await gate.admin("GET", "keys", key="none")).status == 401

    asyncio.run(check())
