"""A cap that leaves no room for the answer is reported in the answer's head."""

import json

import anyio
import pytest
from tests.gateway.asgi import came

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayRoute
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

HEADERS = {"content-type": "application/json", "x-api-key": "k"}


@pytest.mark.parametrize(
    ("model", "to"),
    [("opus", "anthropic:claude-opus-5/high"), ("kimi", "moonshot:kimi-k2.5/high")],
)
@pytest.mark.parametrize(("cap", "told"), [(200, True), (8000, False)])
def test_a_cap_below_what_the_model_usually_thinks_is_in_the_head(model, to, cap, told):
    emulator = Emulator()
    routes = (GatewayRoute(model, (to,), retries=0),)
    app = App(GatewayContext(GatewayConfig(routes=routes), emulator))
    body = {"model": model, "max_tokens": cap, "messages": [{"role": "user", "content": "Hello?"}]}
    http = HttpRequest("POST", "http://gate/v1/messages", HEADERS, json.dumps(body).encode())
    answer = anyio.run(came, app, http)
    assert answer.status == 200
    assert ("answer_room:max_tokens" in answer.headers.get("x-pondero-adjustments", "")) is told
    assert emulator.log.entries[-1].body["max_tokens"] == cap
