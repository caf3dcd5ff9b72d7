"""Any asyncio transport as an ASGI application: what it would fetch is what is served.

A client that goes away ends the answer at once; an answer that breaks off ends the connection.
"""

import math
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from ..canon import HttpRequest
from ..errors import TransportError
from ..exchange import AsyncTransport, Timeouts

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

_PATIENT = Timeouts(math.inf, math.inf, math.inf)
_BIGGEST = 64 * 1024 * 1024


def application(transport: AsyncTransport, *, origin: str | None = None) -> Application:
    """Return an ASGI application for HTTP; ``origin`` stands for scheme and host in addresses."""

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        body = await _body(receive)
        if body is None:
            await _plain(send, 413, b"the request is too large")
            return
        request = HttpRequest(scope["method"], _url(scope, origin), _headers(scope), body)
        await _while_there(receive, _answer(transport, request, send))

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
    """Yield the pieces and an empty one where they end well; none where they break off."""
    try:
        async for piece in pieces:
            if piece:
                yield piece
    except TransportError:
        return
    yield b""


async def _while_there(receive: Receive, work: Any) -> None:
    """Do the work until it is done or the client has gone."""
    import asyncio  # noqa: PLC0415 - only where there is a loop already

    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _body(receive: Receive) -> bytes | None:
    pieces: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > _BIGGEST:
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
