"""How long a model may send nothing before it has failed is a setting of its route."""

import asyncio

import pytest
from tests.gateway.asgi import came

import pondero
from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.exchange import Timeouts
from pondero.gateway.config.model import GatewayConfig, GatewayRoute
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext


class Patient:
    """The emulator, and how long each request would have waited for it."""

    needs_key = False

    def __init__(self) -> None:
        self._emulator = Emulator(any_model=True)
        self.waits: list[Timeouts] = []

    async def send(self, request: HttpRequest, timeouts: Timeouts):
        self.waits.append(timeouts)
        return await self._emulator.send(request, timeouts)

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize(
    ("seconds", "stream", "waits"),
    [
        (None, True, 60),
        (None, False, 300),
        (240, True, 240),
        (240, False, 300),  # a whole answer comes at the end of all its thinking
        (900, False, 900),
        (5, True, 5),
    ],
)
def test_a_model_may_send_nothing_for_as_long_as_its_route_says(seconds, stream, waits):
    service = Patient()
    route = GatewayRoute("*", ("anthropic:claude-opus-5",), first_byte_seconds=seconds)
    context = GatewayContext(GatewayConfig(routes=(route,)), service)
    client = pondero.Client(keys={"anthropic": "a-clients-key"})
    request = client.prepare("claude-opus-5", "Hello?", stream=stream).request

    assert asyncio.run(came(App(context), request)).status == 200
    assert [each.first_byte for each in service.waits] == [waits]
