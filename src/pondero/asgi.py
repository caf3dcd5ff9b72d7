"""Serve any asyncio transport over HTTP, as an ASGI application; the emulator's server uses it.

What the emulator's server and the gateway's share is here too: ASGI's types, and sockets.

The answer ends at once when the client disconnects, and the connection ends when the answer breaks
off.
"""

import math
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from .canon import HttpRequest
from .errors import BadParameter, TransportError
from .exchange import AsyncTransport, Timeouts

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

_PATIENT = Timeouts(math.inf, math.inf, math.inf)
BIGGEST = 64 * 1024 * 1024
"""The most bytes of a request that are read, where a server says nothing else."""


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens; raises BadParameter where it cannot."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), port), family=family, backlog=2048)
    except OSError as error:
        why = os.strerror(error.errno).lower() if error.errno and error.errno > 0 else str(error)
        message = f"cannot listen on {host} port {port}: {why}; try another --host or --port"
        raise BadParameter(message) from None


def address(bound: socket.socket) -> str:
    """Return where a socket listens, as a base address.

    >>> from pondero.emulator import address, bind
    >>> with bind("127.0.0.1", 0) as bound:
    ...     print(address(bound))
    http://127.0.0.1:...
    """
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def make_asgi_app(
    transport: AsyncTransport, *, origin: str | None = None, biggest: int = BIGGEST
) -> Application:
    """Return an ASGI application; ``origin`` replaces scheme and host in the URLs it passes on.

    A request of more than ``biggest`` bytes is refused.
    """

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        body = await _body(receive, biggest)
        if body is None:
            await _plain(send, 413, b"the request is too large")
            return
        request = HttpRequest(scope["method"], _url(scope, origin), _headers(scope), body)
        await _while_connected(receive, _answer(transport, request, send))

    return app


async def _answer(transport: AsyncTransport, request: HttpRequest, send: Send) -> None:
    try:
        answer = await transport.send(request, _PATIENT)
    except TransportError:
        # ASGI cannot refuse a connection; a head with nothing behind it is the nearest.
        await send({"type": "http.response.start", "status": 200, "headers": []})
        return
    try:
        headers = [
            (k.encode("latin-1"), v.encode("latin-1")) for k, v in answer.head.headers.items()
        ]
        start = {"type": "http.response.start", "status": answer.head.status, "headers": headers}
        await send(start)
        async for piece in _whole(answer.__aiter__()):
            await send({"type": "http.response.body", "body": piece, "more_body": bool(piece)})
    finally:
        await answer.aclose()


async def _whole(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the pieces, then an empty one; the empty one is missing where they break off."""
    try:
        async for piece in pieces:
            if piece:
                yield piece
    except TransportError:
        return
    yield b""


async def _while_connected(receive: Receive, work: Any) -> None:
    """Do the work until it is done or the client disconnects."""
    import asyncio  # noqa: PLC0415 - only where there is a loop already

    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _body(receive: Receive, biggest: int) -> bytes | None:
    pieces: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > biggest:
            return None
        more = message["type"] == "http.request" and message.get("more_body", False)
    return b"".join(pieces)


def _url(scope: Message, origin: str | None) -> str:
    path = scope.get("raw_path") or scope["path"].encode()
    query = scope.get("query_string", b"")
    if origin is None:
        host = _headers(scope).get("host", "localhost")
        origin = f"{scope.get('scheme', 'http')}://{host}"
    return f"{origin}{path.decode('latin-1')}{'?' if query else ''}{query.decode('latin-1')}"


def _headers(scope: Message) -> dict[str, str]:
    return {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}


async def _plain(send: Send, status: int, body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": body})
