"""WebSockets: which paths have them, and one that a client opens or has open.

A handler gets a ``SocketOpening``, decides by its head, and accepts or rejects it. The key was
checked before. An upgrade at any other path is answered with 426, over HTTP.
"""

from asyncio import Event, ensure_future, wait
from asyncio import Task as AsyncTask
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ...asgi import Message, Receive, Send
from ...canon import HttpRequest, HttpResponse
from .arrival import Arrival
from .context import GatewayContext, Requester

STOPPING = "pondero.stopping"
"""In the scope of a socket: the event that is set when the server begins to stop."""
RESTART = 1012
"""The close code of a server that stops: the client can connect again at once."""
FAILED = 1011
LEFT = 1006
"""The code of a connection that was lost; it is never sent."""
AHEAD = 4096
"""Maximum messages that are read before a handler asks for them."""
AHEAD_BYTES = 1 << 20
"""Bytes of such messages after which no more are read."""


class SocketEnd(Exception):
    """The socket is closed; ``code`` and ``reason`` are the client's, or ours if we closed it."""

    def __init__(self, code: int, reason: str = "") -> None:
        super().__init__(f"closed with {code} {reason}".rstrip())
        self.code = code
        self.reason = reason


class Socket:
    """An accepted socket; text is ``str`` and binary data is ``bytes``.

    When the server stops, an answer may go on until its end, and ``receive`` closes the socket.
    """

    def __init__(self, receive: Receive, send: Send, stopping: Event) -> None:
        self._receive = receive
        self._send = send
        self._stopping = stopping
        self._ahead: deque[str | bytes] = deque()
        self._ahead_bytes = 0
        self._ended = Event()
        self._reading: AsyncTask[Message] | None = None
        self.closed: SocketEnd | None = None

    async def receive(self) -> str | bytes:
        """Return the next message; raises SocketEnd, also if the server stops."""
        if self._ahead:
            message = self._ahead.popleft()
            self._ahead_bytes -= len(message)
            return message
        stops = ensure_future(self._stopping.wait())
        try:
            await wait((stops, self._read()), return_when="FIRST_COMPLETED")
        finally:
            stops.cancel()
        if self.closed is None and self._stopping.is_set():
            await self.close(RESTART, "the gateway restarts")
        return await self._take()

    async def wait_until_left(self) -> None:
        """Return when the client has left; some messages of it are kept for ``receive``.

        Of a client that sends more than that, it is known when the next message is sent to it.
        """
        while self.closed is None and len(self._ahead) < AHEAD and self._ahead_bytes < AHEAD_BYTES:
            await wait((self._read(),))
            try:
                message = await self._take()
            except SocketEnd:
                return
            self._ahead.append(message)
            self._ahead_bytes += len(message)
        await self._ended.wait()

    async def send(self, data: str | bytes) -> None:
        """Send a message, when the client has room for it; raises SocketEnd."""
        if self.closed is not None:
            raise self.closed
        kind = "text" if isinstance(data, str) else "bytes"
        try:
            await self._send({"type": "websocket.send", kind: data})
        except (OSError, RuntimeError):
            raise self._end(LEFT) from None

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close the socket; it may be closed already."""
        if self.closed is not None:
            return
        self._end(code, reason)
        if self._reading is not None:
            self._reading.cancel()
        try:
            await self._send({"type": "websocket.close", "code": code, "reason": reason})
        except (OSError, RuntimeError):
            return

    @property
    def is_stopping(self) -> bool:
        """Return whether the server stops, so that no new answer should begin."""
        return self._stopping.is_set()

    def _read(self) -> "AsyncTask[Message]":
        """Return the task that waits for the next message, which outlives who waits for it."""
        if self._reading is None:
            self._reading = ensure_future(_await(self._receive()))
        return self._reading

    async def _take(self) -> str | bytes:
        if self.closed is not None:
            raise self.closed
        reading, self._reading = self._read(), None
        message = await reading
        if message["type"] == "websocket.disconnect":
            raise self._end(message.get("code") or LEFT, message.get("reason") or "")
        text: str | None = message.get("text")
        data: bytes = message.get("bytes") or b""
        return text if text is not None else data

    def _end(self, code: int, reason: str = "") -> SocketEnd:
        self.closed = self.closed or SocketEnd(code, reason)
        self._ended.set()
        return self.closed


class SocketOpening:
    """A socket that a client asks for, with a valid key; accept or reject it."""

    def __init__(self, arrival: Arrival, send: Send) -> None:
        self._arrival = arrival
        self._send = send
        self.socket: Socket | None = None

    @property
    def id(self) -> str:
        """Return the id of this request for records."""
        return self._arrival.id

    @property
    def head(self) -> HttpRequest:
        """Return the head of the request."""
        return self._arrival.head

    @property
    def subprotocols(self) -> tuple[str, ...]:
        """Return what the client offers, in its order."""
        return tuple(self._arrival.scope.get("subprotocols") or ())

    async def accept(
        self, subprotocol: str | None = None, headers: Mapping[str, str] | None = None
    ) -> Socket:
        """Accept the socket and return it."""
        pairs = [
            (name.encode("latin-1"), value.encode("latin-1", "replace"))
            for name, value in (headers or {}).items()
        ]
        self._arrival.writer.begun = True
        stopping = self._arrival.scope.get(STOPPING) or Event()
        self.socket = Socket(self._arrival.receive, self._send, stopping)
        await self._send({"type": "websocket.accept", "subprotocol": subprotocol, "headers": pairs})
        return self.socket

    async def reject(self, response: HttpResponse) -> None:
        """Answer with a response instead."""
        await self._arrival.writer.whole(response)


SocketHandler = Callable[[GatewayContext, SocketOpening, Requester], Awaitable[None]]

SOCKETS: dict[str, SocketHandler] = {}
"""Who answers a socket, by its path."""
MATCHERS: list[tuple[Callable[[str], bool], SocketHandler]] = []
"""Who answers sockets at paths that a function knows."""


def find_handler(path: str) -> SocketHandler | None:
    """Return who answers a socket at a path; None if there is none."""
    found = SOCKETS.get(path)
    return found or next((handler for matches, handler in MATCHERS if matches(path)), None)


def has_socket(path: str) -> bool:
    """Return whether there is a socket at a path."""
    return find_handler(path) is not None


def write_as_response(send: Send) -> Send:
    """Return a function that sends a response instead of accepting a socket."""

    async def send_response(message: Message) -> None:
        await send({**message, "type": f"websocket.{message['type']}"})

    return send_response


async def run_handler(
    handler: SocketHandler, opening: SocketOpening, *, gateway: GatewayContext, requester: Requester
) -> None:
    """Let a handler answer; whatever happens to it, an accepted socket is closed with a code.

    What it raises before it accepts is raised here.
    """
    code = FAILED
    try:
        await handler(gateway, opening, requester)
        code = 1000
    except SocketEnd:
        pass
    except BaseException as error:
        if not isinstance(error, Exception):  # cancelled: the drain is over
            code = RESTART
        raise
    finally:
        if opening.socket is not None:
            await opening.socket.close(code)


async def _await(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
