"""Any asyncio transport as an ASGI application; also the ASGI types and sockets of our servers.

The emulator's server and the gateway use it. If the client disconnects, the answer ends at once; if
the answer breaks off, the connection ends.
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
"""Default limit for the bytes of a request."""


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket; raises BadParameter if the address is not available."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), port), family=family, backlog=2048)
    except OSError as error:
        why = os.strerror(error.errno).lower() if error.errno and error.errno > 0 else str(error)
        message = f"cannot listen on {host} port {port}: {why}; try another --host or --port"
        raise BadParameter(message) from None


def address(bound: socket.socket) -> str:
    """Return the base URL of a listening socket.

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
    """Return an application; ``origin`` replaces scheme and host, ``biggest`` limits a body."""

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        body = await _read_body(receive, biggest)
        if body is None:
            await send({"type": "http.response.start", "status": 413, "headers": []})
            await send({"type": "http.response.body", "body": b"the request is too large"})
            return
        request = HttpRequest(scope["method"], _url(scope, origin), _headers(scope), body)
        await _while_connected(receive, _answer(transport, request, send))

    return app


async def _answer(transport: AsyncTransport, request: HttpRequest, send: Send) -> None:
    try:
        answer = await transport.send(request, _PATIENT)
    except TransportError:
        # ASGI cannot reject a connection; a head without a body comes closest.
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
    """Yield the pieces, then an empty one unless they break off."""
    try:
        async for piece in pieces:
            if piece:
                yield piece
    except TransportError:
        return
    yield b""


async def _while_connected(receive: Receive, work: Any) -> None:
    import asyncio  # noqa: PLC0415 - only if a loop is running

    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_wait_for_disconnect(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _read_body(receive: Receive, biggest: int) -> bytes | None:
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
