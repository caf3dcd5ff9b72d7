"""What the tests of the fast transport's own client share: one request, and what became of it."""

import asyncio
from collections.abc import Callable

from tests.transport.loopback import Peer, serving
from tests.transport.transports import run

from pondero.canon import HttpRequest
from pondero.errors import PonderoError
from pondero.exchange import Timeouts
from pondero.transport import FastTransport

LOOPS = ["fast", "fast-uvloop"]
LONG = Timeouts(connect=60, first_byte=60, between_bytes=60)
HEAD = b"HTTP/1.1 200 OK\r\n"


def request(url: str, method: str = "POST", body: bytes = b"{}", **headers: str) -> HttpRequest:
    return HttpRequest(method, f"{url}/v1/x", headers, body)


async def fetched(
    transport: FastTransport, asked: HttpRequest, timeouts: Timeouts = LONG
) -> tuple[int, bytes]:
    answer = await transport.send(asked, timeouts)
    try:
        return answer.head.status, b"".join([piece async for piece in answer])
    finally:
        await answer.aclose()


def outcome(kind: str, script: Callable[[Peer], None], timeouts: Timeouts = LONG) -> object:
    """Return what one request to a server gave: its answer or the error."""

    async def main(url: str) -> object:
        transport = FastTransport()
        try:
            return await asyncio.wait_for(fetched(transport, request(url), timeouts), 60)
        except PonderoError as error:
            return error
        finally:
            await transport.aclose()

    with serving(script) as server:
        return run(kind, main(server.url))


def saying(data: bytes) -> Callable[[Peer], None]:
    """Return a script that answers one request with these bytes, and then waits for the end."""

    def script(peer: Peer) -> None:
        peer.read()
        peer.say(data)
        peer.gone()

    return script
