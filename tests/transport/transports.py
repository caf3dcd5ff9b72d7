"""The transports that the tests take in turn, each on its event loop."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import uvloop

from pondero.canon import HttpRequest
from pondero.exchange import AsyncResponse, Timeouts
from pondero.transport import AsyncHttpTransport, FastTransport

R = TypeVar("R")


class ByLibrary(FastTransport):
    """The fast transport, with aiohttp for everything, as if there were a proxy everywhere."""

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> AsyncResponse:
        """Send a request; return once the response's head has arrived."""
        proxy = self._settings.proxies.proxy_for(request.url)
        return await self._library(proxy).send(request, timeouts, proxy=proxy)


AWAITED: dict[str, Any] = {
    "async": AsyncHttpTransport,
    "fast": FastTransport,
    "fast-uvloop": FastTransport,
    "aiohttp": ByLibrary,
}
KINDS = ["sync", *AWAITED]


def run(kind: str, work: Coroutine[Any, Any, R]) -> R:
    """Run a coroutine on the event loop of a kind of transport."""
    factory = uvloop.new_event_loop if kind.endswith("uvloop") else None
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(work)
