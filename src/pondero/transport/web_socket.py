"""Opens WebSockets at services, for a gateway that passes messages on."""

import ssl
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from ..canon import HttpResponse
from ..errors import MissingExtra, Timeout, TransportError, Unreachable
from ..extras import install_hint
from .departure import announce_departure
from .tls import environment_context

try:
    from websockets.asyncio.client import ClientConnection, connect
    from websockets.exceptions import (
        ConnectionClosed,
        InvalidHandshake,
        InvalidStatus,
        WebSocketException,
    )
    from websockets.typing import Subprotocol
except ImportError as _missing:
    raise MissingExtra(f"a gateway needs websockets; {install_hint('gateway')}") from _missing

_SENDABLE = range(1000, 5000)
_NEVER_SENT = (1004, 1005, 1006, 1015)


class SocketRejection(TransportError):
    """The service answered with a response instead of a socket."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__(f"the service answered with status {response.status}")
        self.response = response


class ServiceSocketEnd(Exception):
    """The service closed the socket, or the connection broke (``code`` 1006)."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"closed with {code} {reason}".rstrip())
        self.code = code
        self.reason = reason


class ServiceSocket:
    """An open socket at a service; text is ``str`` and binary data is ``bytes``."""

    def __init__(self, connection: Any) -> None:  # of websockets, an extra
        self._connection = connection

    @property
    def subprotocol(self) -> str | None:
        """Return what the service chose."""
        chosen: str | None = self._connection.subprotocol
        return chosen

    async def receive(self) -> str | bytes:
        """Return the next message; raises ServiceSocketEnd."""
        try:
            message: str | bytes = await self._connection.recv()
            return message
        except ConnectionClosed as closed:
            raise _find_end(closed) from None

    async def send(self, data: str | bytes) -> None:
        """Send a message; raises ServiceSocketEnd."""
        try:
            await self._connection.send(data)
        except ConnectionClosed as closed:
            raise _find_end(closed) from None

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close the socket; it may be closed already."""
        await self._connection.close(code if can_send(code) else 1001, reason)


def can_send(code: int) -> bool:
    """Return whether a close code may be in a frame."""
    return code in _SENDABLE and code not in _NEVER_SENT


def _find_end(closed: ConnectionClosed) -> ServiceSocketEnd:
    frame = closed.rcvd
    return ServiceSocketEnd(*((frame.code, frame.reason) if frame is not None else (1006, "")))


class _Connection(ClientConnection):
    """A connection whose sender is told before its request leaves."""

    async def handshake(self, *arguments: Any, **named: Any) -> None:
        await announce_departure()
        await super().handshake(*arguments, **named)


class _Connect(connect):
    """A connection that follows no redirect: the key is for one host."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


async def open_service_socket(
    url: str,
    headers: Mapping[str, str],
    *,
    subprotocols: Sequence[str] = (),
    max_size: int,
    seconds: float,
) -> ServiceSocket:
    """Open a socket; raises Timeout, Unreachable and SocketRejection."""
    secure = url.startswith("https:")
    more: dict[str, Any] = {"ssl": _context()} if secure else {}
    try:
        connection = await _Connect(
            ("wss:" if secure else "ws:") + url.partition(":")[2],
            additional_headers=dict(headers),
            subprotocols=[Subprotocol(each) for each in subprotocols] or None,
            compression=None,
            user_agent_header="pondero",
            max_size=max_size,
            open_timeout=seconds,
            close_timeout=5,
            create_connection=_Connection,
            **more,
        )
    except InvalidStatus as error:
        found = error.response
        told = {name.lower(): value for name, value in found.headers.raw_items()}
        response = HttpResponse(found.status_code, told, bytes(found.body or b""))
        raise SocketRejection(response) from None
    except TimeoutError:
        raise Timeout("no socket in time", connected=False) from None
    except (OSError, InvalidHandshake, WebSocketException) as error:
        raise Unreachable(str(error) or type(error).__name__, connected=False) from error
    return ServiceSocket(connection)


@cache
def _context() -> ssl.SSLContext:
    return environment_context() or ssl.create_default_context()
