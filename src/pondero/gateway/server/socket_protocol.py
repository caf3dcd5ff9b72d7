"""The server's protocol of one WebSocket, after the HTTP protocol has read and limited its head.

A message has a maximum size, and a maximum number of pieces. A client that answers no pings, or
reads too slowly, is cut off. What it sends is read one message at a time.
"""

from asyncio import Event
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.datastructures import Headers
from websockets.frames import Frame
from websockets.http11 import Request
from websockets.protocol import Protocol as Frames
from websockets.server import ServerProtocol

from .reading_deadline import ReadingDeadline
from .sockets import LEFT, STOPPING

PIECES = 1 << 16
"""Maximum pieces of a message; each costs memory, even if it is empty."""
_PIECE_LIMIT = (1009, "a message has too many pieces")


def make_request(target: bytes, headers: list[tuple[bytes, bytes]]) -> Any:
    """Return a head as the request for a socket; None if it is no valid one."""
    if not target.isascii():
        return None
    read = Headers((name.decode("ascii"), value.decode("latin-1")) for name, value in headers)
    if "content-length" in read or "transfer-encoding" in read:
        return None
    request = Request(target.decode("ascii"), read)
    return request if ServerProtocol().accept(request).status_code == 101 else None


class _SocketProtocol(WebSocketsSansIOProtocol):
    """One WebSocket; ``open`` is its beginning."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._early: bytes | None = b""  # what arrived before the socket was accepted
        self._stopping = Event()
        self._reading = ReadingDeadline()

    def open(self, request: Request) -> None:
        """Give the request to the application; nothing else is read until it accepts."""
        self.transport.pause_reading()
        self.conn.parser = Frames.parse(self.conn)  # of frames: the head has been read
        next(self.conn.parser)
        self.handle_connect(request)
        self.scope[STOPPING] = self._stopping  # type: ignore[literal-required]

    def data_received(self, data: bytes) -> None:
        """Read frames, once the socket is accepted."""
        if self._early is not None:
            self._early += data
            return
        super().data_received(data)

    async def send(self, message: Any) -> None:
        """Send a message of the application; after ``accept``, begin to read."""
        await super().send(message)
        if message["type"] == "websocket.accept" and self._early is not None:
            early, self._early = self._early, None
            self.transport.resume_reading()
            if early:
                super().data_received(early)

    def handle_cont(self, event: Frame) -> None:
        """Take a piece of a message."""
        if len(self.frames) >= PIECES:
            self.conn.fail(*_PIECE_LIMIT)
            self.handle_parser_exception()
            return
        super().handle_cont(event)

    def handle_ping(self) -> None:
        """Answer a ping; a client that does not read gets no answers that would wait for it."""
        pongs = self.conn.data_to_send()
        if self.writable.is_set():
            self.transport.write(b"".join(pongs))

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the application that the client is gone, and whether it said so."""
        if self.handshake_complete and self.conn.close_rcvd is None:
            self.queue.put_nowait({"type": "websocket.disconnect", "code": LEFT})
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Tell the application that the server stops; it closes the socket, soon."""
        self._stopping.set()

    def resume_writing(self) -> None:
        """Note that the client reads."""
        self._reading.reset()
        super().resume_writing()

    def check_deadlines(self, now: float) -> bool:
        """End the connection if the client reads too little for too long."""
        return self._reading.check(self.transport, now, paused=not self.writable.is_set())


def make_socket(config: Any, server_state: Any, app_state: Any) -> Any:
    """Return what reads a socket on; its base class is in an extra, so nothing more is known."""
    return _SocketProtocol(config, server_state, app_state)
