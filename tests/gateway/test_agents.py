"""Requests of real agent programs through the gateway to every back: all of them are taken."""

import json

import anyio
import pytest
from tests.dialects.test_agents import TALKS, _keyed, _talk
from tests.gateway.asgi import came
from tests.gateway.upstream import BACKS

from pondero.dialects import get_dialect
from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayRoute
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

pytestmark = pytest.mark.recordings


def _app(back: str) -> tuple[App, Emulator]:
    emulator = Emulator()
    config = GatewayConfig(routes=(GatewayRoute(match="*", to=(BACKS[back],), retries=0),))
    return App(GatewayContext(config, emulator)), emulator


@pytest.mark.parametrize("back", BACKS)
@pytest.mark.parametrize("sent", TALKS, ids=[sent["id"] for sent in TALKS])
def test_a_keyed_is_taken_by_every_back(sent, back):
    app, emulator = _app(back)
    http = _keyed(sent)
    answer = anyio.run(came, app, http)
    entries = emulator.log.entries
    refusals = [entry.refusal for entry in entries if entry.refusal]
    assert answer.status == 200, (answer.body[:500], refusals)
    asked = get_dialect(_talk(sent) or "").service().parse(http).request
    body = json.dumps(entries[-1].body)
    if back != "ollama":
        for tool in asked.tools:
            if tool.kind == "function":
                assert f'"{tool.name}"' in body, tool.name
