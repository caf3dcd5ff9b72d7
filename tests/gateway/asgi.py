"""Calls the gateway's application in process, without a socket."""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pondero.canon import HttpRequest
from pondero.gateway.server.app import App


class Came(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


async def came(
    app: App,
    http: HttpRequest,
    on_start: Callable[[], None] | None = None,
    leave_at: bytes | None = None,
    on_piece: Callable[[bytes], None] | None = None,
) -> Came:
    """Return the whole answer to a request; ``on_start`` is called as it begins.

    ``leave_at``: the client leaves when it has got this. ``on_piece`` is given each piece of it.
    """
    parts = urlsplit(http.url)
    sent: list[Any] = []
    gone = asyncio.Event()
    waiting = [{"type": "http.request", "body": http.body, "more_body": False}]

    async def receive():
        if waiting:
            return waiting.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        if on_start is not None and not sent:
            on_start()
        sent.append(message)
        if on_piece is not None and message.get("body"):
            on_piece(message["body"])
        if leave_at is not None and leave_at in message.get("body", b""):
            gone.set()
            await asyncio.sleep(60)  # until the server notices

    scope = {
        "type": "http",
        "method": http.method,
        "path": parts.path,
        "raw_path": parts.path.encode(),
        "query_string": parts.query.encode(),
        "headers": [(k.encode(), v.encode()) for k, v in http.headers.items()],
    }
    if leave_at is None:
        await app(scope, receive, send)
    else:  # in a task of its own, which the server cancels
        await asyncio.wait({asyncio.ensure_future(app(scope, receive, send))})
    start, *rest = sent
    headers = {k.decode(): v.decode() for k, v in start["headers"]}
    return Came(start["status"], headers, b"".join(each["body"] for each in rest))
