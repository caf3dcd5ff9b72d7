"""Finds clients that read too slowly what the server writes, over HTTP or a WebSocket."""

from asyncio import WriteTransport

from .limits import READ_RATE, READ_SECONDS


class ReadingDeadline:
    """What waits for the client of one connection, and since when."""

    __slots__ = ("_unread",)

    def __init__(self) -> None:
        self._unread: tuple[float, int] | None = None  # when the answers stuck, and their bytes

    def reset(self) -> None:
        """Note that the client reads."""
        self._unread = None

    def check(self, transport: WriteTransport, now: float, *, paused: bool) -> bool:
        """Abort a connection whose answers do not get away; return whether it was aborted.

        Nothing is written while the transport has too much or is about to close, so the bytes that
        wait only become fewer, and a connection that is closed ends when they are gone.
        """
        size = transport.get_write_buffer_size() if paused or transport.is_closing() else 0
        if not size:
            self._unread = None
        elif self._unread is None:
            self._unread = (now, size)
        elif now - self._unread[0] >= READ_SECONDS:
            if self._unread[1] - size < READ_SECONDS * READ_RATE:
                transport.abort()
                return True
            self._unread = (now, size)
        return False
