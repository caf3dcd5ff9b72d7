"""What an exchange needs of a transport: send a request, read the answer, close it.

HTTP, cassettes and the emulator all satisfy these protocols; which one a client is given changes
nothing else.
"""

from collections.abc import AsyncIterator, Awaitable, Iterator
from typing import Protocol

from msgspec import Struct

from ..canon import HttpRequest, ResponseHead


class Timeouts(Struct, frozen=True):
    """Seconds to wait for a connection, for the first byte, and between bytes after it.

    >>> client = pondero.Client(timeouts=pondero.Timeouts(first_byte=120))
    """

    connect: float = 10.0
    first_byte: float = 60.0
    between_bytes: float = 300.0

    def whole(self) -> "Timeouts":
        """Return these for an answer in one piece: its first byte comes when all is done."""
        return Timeouts(self.connect, max(self.first_byte, self.between_bytes), self.between_bytes)


class Response(Protocol):
    """A response that has begun: its head, then its bytes as they come."""

    @property
    def head(self) -> ResponseHead:
        """Return status and headers, names in lower case."""
        ...

    def __iter__(self) -> Iterator[bytes]:
        """Yield the body in the pieces it arrives in, content-encoding already undone."""
        ...

    def close(self) -> None:
        """Close the connection at once, read to the end or not; may be called twice."""
        ...


class Transport(Protocol):
    """Moves bytes and decides nothing. Raises Timeout and Unreachable, no error of HTTP."""

    @property
    def needs_key(self) -> bool:
        """Return whether requests reach a service, so that each must carry the caller's key.

        An emulator and a recording need none.
        """
        return False

    def send(self, request: HttpRequest, timeouts: Timeouts) -> Response:
        """Send it and return the answer as soon as its head is there."""
        ...

    def close(self) -> None:
        """Close every connection; may be called twice."""
        ...


class AsyncResponse(Protocol):
    """An answer for asyncio."""

    @property
    def head(self) -> ResponseHead:
        """Return status and headers, names in lower case."""
        ...

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the body in the pieces it arrives in."""
        ...

    async def aclose(self) -> None:
        """Close the connection at once, read to the end or not; may be called twice."""
        ...


class AsyncTransport(Protocol):
    """A transport for asyncio."""

    @property
    def needs_key(self) -> bool:
        """Return whether requests reach a service, as for ``Transport``."""
        return False

    def send(self, request: HttpRequest, timeouts: Timeouts) -> Awaitable[AsyncResponse]:
        """Send it and return the answer as soon as its head is there."""
        ...

    async def aclose(self) -> None:
        """Close every connection; may be called twice."""
        ...
