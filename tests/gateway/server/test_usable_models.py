"""``/ready`` is a 503 while no model can be asked, and 200 again before one has to be."""

import asyncio
import json
import sys
from typing import Any

import pytest
from tests.gateway.asgi import came
from tests.gateway.canned import Canned
from tests.gateway.redis_server import RedisServer

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayRoute,
    ProviderOverride,
    ServerConfig,
)
from pondero.gateway.server import readiness
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.state.breakers import FAILURES, PROBE, REST, Breakers
from pondero.gateway.state.redis import RedisBreakers, RedisSnapshot
from pondero.gateway.state.redis_link import RedisLink
from pondero.transport import aws_signing

CLAUDE, GEMINI = "anthropic:claude-opus-5", "google:gemini-3-flash-preview"
ROUTES = (GatewayRoute(match="opus", to=(CLAUDE,)), GatewayRoute(match="flash", to=(GEMINI,)))
READY = (200, {"status": "ready"})
AWAY = (503, {"status": "not ready", "away": ["deployments"]})


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    monkeypatch.setattr(readiness, "_FRESH", 0)


@pytest.fixture
def keys(monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "a-key-0123456789")


def gate_of(config: GatewayConfig, transport: Any = None) -> App:
    return App(GatewayContext(config, transport or Canned([])))


async def ready(app: App) -> tuple[int, Any]:
    found = await came(app, HttpRequest("GET", "http://g/ready", {"host": "127.0.0.1"}))
    return found.status, json.loads(found.body)


async def fail(app: App, name: str) -> None:
    for _ in range(FAILURES):
        await app.gateway.breakers.record_failure(name)


@pytest.mark.usefixtures("keys")
def test_it_is_ready_until_every_model_is_paused_and_again_when_a_probe_is_due():
    async def walk() -> None:
        app = gate_of(GatewayConfig(routes=ROUTES))
        now = [0.0]
        breakers = Breakers(lambda: now[0])
        app.gateway.breakers = breakers
        assert await ready(app) == READY
        await fail(app, CLAUDE)
        assert await ready(app) == READY
        await fail(app, GEMINI)
        assert await ready(app) == AWAY
        now[0] = REST  # nothing but a request can find out whether a service works again
        assert await ready(app) == READY
        assert await ready(app) == READY  # and asking is no probe
        assert not await breakers.is_open(CLAUDE)
        assert not await breakers.is_open(GEMINI)
        assert await ready(app) == AWAY  # both probes are under way
        now[0] += PROBE
        assert await ready(app) == READY
        await breakers.record_success(CLAUDE)
        assert await ready(app) == READY

    asyncio.run(walk())


def test_without_any_providers_key_it_is_not_ready(monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    async def walk() -> None:
        app = gate_of(GatewayConfig(routes=ROUTES))
        assert await ready(app) == AWAY
        monkeypatch.setenv("GEMINI_API_KEY", "a-key-0123456789")
        assert await ready(app) == READY
        await fail(app, GEMINI)
        assert await ready(app) == AWAY  # the other one has no key

    asyncio.run(walk())


def test_a_reference_that_leads_nowhere_is_no_key(monkeypatch, tmp_path):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key-0123456789")
    own = {"anthropic": ProviderOverride(key=f"file:{tmp_path / 'key'}")}

    async def walk() -> None:
        app = gate_of(GatewayConfig(routes=ROUTES[:1], providers=own))
        assert await ready(app) == AWAY
        (tmp_path / "key").write_text("a-key-0123456789")
        assert await ready(app) == READY

    asyncio.run(walk())


def test_an_emulator_needs_no_key(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)

    async def walk() -> None:
        app = gate_of(GatewayConfig(routes=ROUTES), Emulator(any_model=True))
        assert await ready(app) == READY

    asyncio.run(walk())


def test_without_routes_a_provider_with_a_key_is_enough(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key-0123456789")

    async def walk() -> None:
        config = GatewayConfig(ServerConfig(), open=frozenset({"anthropic", "google"}))
        app = gate_of(config)
        assert await ready(app) == READY
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        monkeypatch.delenv("GEMINI_API_KEY", raising=False)
        monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
        assert await ready(app) == AWAY

    asyncio.run(walk())


def test_replicas_agree_on_what_is_paused_and_on_when_a_probe_is_due(tmp_path):
    server = RedisServer(tmp_path)
    server.start()
    now = [1_800_000_000_000]

    async def walk() -> None:
        link = RedisLink(server.url, clock=lambda: now[0])
        snapshot = RedisSnapshot(link)
        breakers = RedisBreakers(link, snapshot)
        for _ in range(FAILURES):
            await breakers.record_failure(CLAUDE)
        await snapshot.look()
        assert breakers.is_resting(CLAUDE)
        assert not breakers.is_resting(GEMINI)
        now[0] += int(REST * 1000)
        assert not breakers.is_resting(CLAUDE)
        assert not await breakers.is_open(CLAUDE)  # the probe
        await snapshot.look()
        assert breakers.is_resting(CLAUDE)
        await link.aclose()

    try:
        asyncio.run(walk())
    finally:
        server.kill()


def test_a_model_whose_requests_cannot_be_signed_is_not_there(monkeypatch):
    """Bedrock without a key needs an extra: a gateway that lacks it answered 200 before."""
    model = "bedrock:us.anthropic.claude-sonnet-4-6"
    routes = (GatewayRoute(match="sonnet", to=(model,)),)
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
    aws_signing._session.cache_clear()
    app = gate_of(GatewayConfig(routes=routes))
    assert asyncio.run(ready(app)) == READY
    monkeypatch.setitem(sys.modules, "botocore.exceptions", None)
    assert asyncio.run(ready(app)) == AWAY
    aws_signing._session.cache_clear()
