"""HTTP/1.1 over direct connections, for asyncio: the plain case of the fast transport.

No proxy, no HTTP/2, and TLS by the standard library; ``aiohttp_http`` has the rest. It is an own
client because libraries need twice the CPU time and more: docs/decisions.md has the figures.
"""

import asyncio
import re
import socket
import ssl
import zlib
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Mapping,
    Sequence,
)
from functools import lru_cache, partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from aiohappyeyeballs import start_connection

from ..canon import HttpRequest, ResponseHead
from ..errors import BadParameter, PonderoError, Timeout, Unreachable
from ..exchange import Timeouts
from .batched_writes import WriteBatch
from .departure import DEPARTURE, announce_departure
from .direct_connection import DirectConnection
from .packed_body import CODINGS, PackedBody
from .settings import HttpSettings
from .shell import read_body_until
from .sockets import Sockets
from .tls import describe_certificate_fix

_HEADERS = {"accept": "*/*", "accept-encoding": "gzip, deflate", "user-agent": "pondero"}
_FRAMING = ("connection", "content-length", "transfer-encoding", "upgrade")  # ours to write
_BODILESS = ("GET", "DELETE", "OPTIONS")
_REPEATABLE = (*_BODILESS, "PUT")  # RFC 9110, section 9.2.2
_HEADS = 64  # of requests that are kept to be written again
_JOINED = 64 * 1024  # bytes of a body that are copied behind the head, for one packet of both
_KNOWN_SECONDS = 10.0  # how long the addresses of a host are kept
_SECOND_TRY = 0.25  # seconds until the next address of a host is tried too
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, section 5.6.2
_PLAIN_URL = re.compile(r"https?://[\w.:\[\]-]+(?:[/?][!\"$-~]*)?", re.ASCII)


class Place(NamedTuple):
    """An address, in the parts that a request needs; ``named`` is its host in a head."""

    origin: tuple[bool, str, int]  # whether by TLS, the host and the port
    named: str
    target: str


@lru_cache(maxsize=256)
def find_place(url: str) -> Place | None:
    """Return the parts of an address, or None for one that only a library understands."""
    if not _PLAIN_URL.fullmatch(url):
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise BadParameter(f"invalid address {url!r}: {error}") from error
    if not parts.hostname:
        return None
    is_tls = parts.scheme == "https"
    usual = 443 if is_tls else 80
    named = parts.netloc.removesuffix(f":{usual}") if port == usual else parts.netloc
    target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    return Place((is_tls, parts.hostname, port or usual), named, target)


class DirectPool:
    """The connections of one event loop; the loop closes the keeper when it shuts down."""

    def __init__(self, settings: HttpSettings, writes: WriteBatch) -> None:
        # The requests of one model have the same headers. They hold keys: so it is this pool's.
        write_head = partial(_write_head, {**_HEADERS, **settings.headers})
        self._write_head: Callable[..., bytes] = lru_cache(maxsize=_HEADS)(write_head)
        self._most: int | None = settings.limits.max_connections
        self._expiry: float | None = settings.limits.keepalive_expiry
        self._idle: dict[Any, list[DirectConnection]] = {}  # by origin
        self._open: set[DirectConnection] = set()
        self._connecting: int = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._addresses: dict[tuple[str, int], tuple[float, asyncio.Task[Any]]] = {}
        self._sockets: Sockets = Sockets()
        self._writes: WriteBatch = writes
        self._all_closed: asyncio.Future[None] | None = None  # while the pool is closed
        self.keeper: AsyncGenerator[None, None] = self._close_on_shutdown()

    async def send(
        self,
        request: HttpRequest,
        place: Place,
        timeouts: Timeouts,
        context: ssl.SSLContext | None,
    ) -> "DirectResponseStream":
        """Send a request to its place; return once the response's head is there."""
        data = self._write(request, place)
        connection = self._take_idle(place.origin)
        if connection is not None and DEPARTURE.get() is not None:
            await self._announce(connection)
            if not connection.is_alive():
                connection.abort()
                connection = None
        if connection is not None:
            await _begin(connection, data, timeouts.first_byte)
            if connection.error and connection.is_silent and request.method in _REPEATABLE:
                connection = None  # the service closed it while it was idle
        if connection is None:
            connection = await self._connect(place, timeouts, context)
            await self._announce(connection)
            await _begin(connection, data, timeouts.first_byte)
        if connection.error:
            raise _translate_failure(connection, place, timeouts.first_byte)
        return DirectResponseStream(self, connection, place, timeouts.between_bytes)

    async def _announce(self, connection: DirectConnection) -> None:
        """Wait for the sender of a request, who may send none."""
        try:
            await announce_departure()
        except BaseException:
            self.release(connection)
            raise

    def _write(self, request: HttpRequest, place: Place) -> list[bytes]:
        """Return the bytes of a request, in one piece if it is small."""
        body = request.body
        head = self._write_head(request.method, place, tuple(request.headers.items()))
        if not body and request.method in _BODILESS:
            return [b"%b\r\n" % head]
        if len(body) < _JOINED:
            return [b"%bcontent-length: %d\r\n\r\n%b" % (head, len(body), body)]
        return [b"%bcontent-length: %d\r\n\r\n" % (head, len(body)), body]

    def release(self, connection: DirectConnection) -> None:
        """Keep a connection for the next request if it can take one, else close it."""
        if connection.is_reusable() and self._all_closed is None:
            connection.rest(self._expiry)
            self._idle.setdefault(connection.origin, []).append(connection)
            self._wake_next()
        else:
            connection.abort()

    def _take_idle(self, origin: tuple[bool, str, int]) -> DirectConnection | None:
        idle = self._idle.get(origin)
        while idle:
            connection = idle.pop()
            if connection.is_alive():
                return connection
            connection.abort()
        return None

    def _forget(self, connection: DirectConnection) -> None:
        """Drop a connection that is closed."""
        self._open.discard(connection)
        idle = self._idle.get(connection.origin, [])
        if connection in idle:
            idle.remove(connection)
        self._wake_next()
        if self._all_closed is not None and not self._open and not self._all_closed.done():
            self._all_closed.set_result(None)

    async def _connect(
        self, place: Place, timeouts: Timeouts, context: ssl.SSLContext | None
    ) -> DirectConnection:
        """Return a new connection, or an old one that became idle while this one had to wait."""
        try:
            async with asyncio.timeout(timeouts.connect + timeouts.first_byte):
                while self._is_full():
                    await self._wait_for_room()
                    if (idle := self._take_idle(place.origin)) is not None:
                        return idle
                self._connecting += 1
                try:
                    async with asyncio.timeout(timeouts.connect):
                        return await self._open_connection(place.origin, context)
                finally:
                    self._connecting -= 1
                    self._wake_next()
        except TimeoutError as error:
            message = f"no connection to {place.named} in time"
            raise Timeout(message, connected=False) from error
        except OSError as error:
            why = (error.strerror or str(error)).lower() or "no connection"
            message = f"cannot reach {place.named}: {why}{describe_certificate_fix(str(error))}"
            raise Unreachable(message, connected=False) from error

    def _is_full(self) -> bool:
        if self._most is None or len(self._open) + self._connecting < self._most:
            return False
        for idle in self._idle.values():  # an idle one makes room
            if idle:
                oldest = idle.pop(0)
                self._open.discard(oldest)
                oldest.abort()
                return False
        return True

    async def _wait_for_room(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._wake_next()  # the room is another one's now
            raise

    def _wake_next(self) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    async def _open_connection(
        self, origin: tuple[bool, str, int], context: ssl.SSLContext | None
    ) -> DirectConnection:
        is_tls, host, port = origin
        made = await start_connection(
            await self._resolve(host, port),
            happy_eyeballs_delay=_SECOND_TRY,
            interleave=1,
            socket_factory=self._sockets.make,
        )
        connection = DirectConnection(origin, self._forget, self._writes)
        secured = {"ssl": context, "server_hostname": host} if is_tls else {}
        try:
            loop = asyncio.get_running_loop()
            await loop.create_connection(lambda: connection, sock=made, **secured)  # type: ignore[call-overload]  # both are for TLS
        except BaseException:
            connection.abort()
            made.close()
            raise
        self._open.add(connection)
        return connection

    async def _resolve(self, host: str, port: int) -> Any:
        """Return the addresses of a host; all that ask at once share one look-up."""
        now = asyncio.get_running_loop().time()
        until, task = self._addresses.get((host, port), (0.0, None))
        if task is None or until < now:
            task = asyncio.ensure_future(self._look_up(host, port))
            self._addresses[host, port] = (now + _KNOWN_SECONDS, task)
        try:
            return await asyncio.shield(task)
        except OSError:
            self._addresses.pop((host, port), None)
            raise

    async def _look_up(self, host: str, port: int) -> Any:
        loop = asyncio.get_running_loop()
        try:
            return await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except UnicodeError as error:  # a name with an empty part, or with one that is too long
            raise OSError(f"invalid host {host!r}") from error

    async def _close_on_shutdown(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self._all_closed = asyncio.get_running_loop().create_future()
            for connection in list(self._open):
                connection.abort()
            if self._open:
                await self._all_closed


class DirectResponseStream:
    """A response under way; it is its own iterator, which is cheaper than a generator."""

    def __init__(
        self, pool: DirectPool, connection: DirectConnection, place: Place, seconds: float
    ) -> None:
        self.head: ResponseHead = ResponseHead(connection.status, connection.headers)
        self._pool: DirectPool = pool
        self._connection: DirectConnection | None = connection
        self._place: Place = place
        self._seconds: float = seconds
        self._packed: PackedBody | None = None
        if (coding := connection.headers.get("content-encoding")) is None:
            return
        coding = coding.strip().lower()
        if coding in CODINGS:
            self._packed = PackedBody(coding)
        elif coding not in ("", "identity"):
            connection.abort()
            message = f"{place.named} packed its answer as {coding!r}, which was not asked for"
            raise Unreachable(message)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    def __anext__(self) -> Awaitable[bytes]:
        return self._next() if self._packed is None else self._unpack(self._packed)

    async def _next(self) -> bytes:
        connection = self._connection
        if connection is None:
            raise StopAsyncIteration
        while not connection.parts:
            if connection.error:
                raise _translate_failure(connection, self._place, self._seconds)
            if connection.has_ended:
                await self.aclose()
                raise StopAsyncIteration
            await connection.wait_for_part(self._seconds)
        return connection.take()

    async def read_all(self, most: int) -> bytes:
        """Return the rest of the body, or its beginning if that has more than ``most`` bytes.

        The exception that ends an iteration takes longer than all this about a short answer.
        """
        if self._packed is not None:
            return await read_body_until(self, most)
        connection = self._connection
        pieces: list[bytes] = []
        while connection is not None and most >= 0:
            if connection.parts:
                pieces.append(connection.take())
                most -= len(pieces[-1])
            elif connection.error:
                raise _translate_failure(connection, self._place, self._seconds)
            elif connection.has_ended:
                await self.aclose()
                break
            else:
                await connection.wait_for_part(self._seconds)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def _unpack(self, packed: PackedBody) -> bytes:
        try:
            while not (data := packed.take()):
                packed.feed(await self._next())
        except zlib.error as error:
            await self.aclose()
            raise Unreachable(f"{self._place.named}: cannot unpack the body: {error}") from error
        except StopAsyncIteration:
            if not packed.is_whole():
                raise Unreachable(f"{self._place.named}: the packed body was cut") from None
            raise
        return data

    async def aclose(self) -> None:
        """Return the connection to the pool if all was read, else close it."""
        connection, self._connection = self._connection, None
        if connection is not None:
            self._pool.release(connection)

    def __del__(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and not connection.is_closed:
            connection.drop()


async def _begin(connection: DirectConnection, data: list[bytes], seconds: float) -> None:
    """Write a request and wait for the head of its answer, or for an error."""
    try:
        connection.ask(data, seconds)
        while not (connection.status or connection.error):
            await connection.wait()
    except BaseException:  # cancelled: the service must know at once
        connection.abort()
        raise


@lru_cache(maxsize=512)
def _check_name(name: str) -> str:
    if not _TOKEN.fullmatch(name):
        raise BadParameter(f"no header and no method is named {name!r}")
    return name


def _write_head(
    more: Mapping[str, str], method: str, place: Place, given: Sequence[tuple[str, str]]
) -> bytes:
    """Return the head of a request up to the length of its body."""
    headers = {"host": place.named, **more}
    for name, value in given:
        headers[_check_name(name).lower()] = value
    for name in _FRAMING:
        headers.pop(name, None)
    lines = [f"{name}: {value}\r\n" for name, value in headers.items()]
    first = f"{_check_name(method)} {place.target} HTTP/1.1\r\n"
    text = "".join((first, *lines))
    ends = len(lines) + 1
    if text.count("\n") != ends or text.count("\r") != ends or "\0" in text:
        raise BadParameter("a header of this request has a line break in it")
    return text.encode()


def _translate_failure(connection: DirectConnection, place: Place, seconds: float) -> PonderoError:
    if connection.has_timed_out:
        return Timeout(f"no data came from {place.named} for {seconds:g} s")
    return Unreachable(f"{place.named}: {connection.error}")
