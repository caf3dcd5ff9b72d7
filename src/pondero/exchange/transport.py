"""The protocols of a transport, which HTTP, cassettes and the emulator implement."""

from collections.abc import AsyncIterator, Awaitable, Iterator
from typing import Protocol

from msgspec import Struct

from ..canon import HttpRequest, ResponseHead


class Timeouts(Struct, frozen=True):
    """Seconds to wait for a connection, for the first byte, and between bytes.

    >>> client = pondero.Client(timeouts=pondero.Timeouts(first_byte=120))
    """

    connect: float = 10.0
    first_byte: float = 60.0
    between_bytes: float = 300.0

    def whole(self) -> "Timeouts":
        """Return timeouts for a whole answer, whose first byte comes at its end."""
        return Timeouts(self.connect, max(self.first_byte, self.between_bytes), self.between_bytes)


class Response(Protocol):
    """A response: its head, then its bytes while they arrive."""

    @property
    def head(self) -> ResponseHead:
        """Return status and headers, names in lower case."""
        ...

    def __iter__(self) -> Iterator[bytes]:
        """Yield the decoded body in the pieces that arrive."""
        ...

    def close(self) -> None:
        """Close the connection at once; may be called twice."""
        ...


class Transport(Protocol):
    """Moves bytes and decides nothing. Raises Timeout and Unreachable only."""

    @property
    def needs_key(self) -> bool:
        """Return whether requests need a key; an emulator and a cassette need none."""
        return False

    def send(self, request: HttpRequest, timeouts: Timeouts) -> Response:
        """Send a request; return when the head of the answer has arrived."""
        ...

    def close(self) -> None:
        """Close every connection; may be called twice."""
        ...


class AsyncResponse(Protocol):
    """A response for asyncio."""

    @property
    def head(self) -> ResponseHead:
        """Return status and headers, names in lower case."""
        ...

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the decoded body in the pieces that arrive."""
        ...

    async def aclose(self) -> None:
        """Close the connection at once; may be called twice."""
        ...


class AsyncTransport(Protocol):
    """A transport for asyncio."""

    @property
    def needs_key(self) -> bool:
        """Return whether requests need a key."""
        return False

    def send(self, request: HttpRequest, timeouts: Timeouts) -> Awaitable[AsyncResponse]:
        """Send a request; return when the head of the answer has arrived."""
        ...

    async def aclose(self) -> None:
        """Close every connection; may be called twice."""
        ...
