"""The quick transport, on aiohttp (``pip install 'pondero[fast]'``): for many streams at once."""

import asyncio
import socket
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from functools import lru_cache, partial
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from ..canon import HttpRequest, ResponseHead
from ..errors import BadParameter, MissingExtra, PonderoError, Timeout, Unreachable
from ..exchange import Timeouts
from .proxies import Proxies

try:
    import aiohttp
    from aiohttp.client_proto import ResponseHandler
    from yarl import URL
except ImportError as _missing:
    raise MissingExtra("FastTransport needs aiohttp: pip install 'pondero[fast]'") from _missing

_ERRORS = (aiohttp.ClientError, OSError)  # a timeout is an OSError too
_UNREAD = 8 * 1024 * 1024  # bytes that all connections together may have waiting to be read
_FEW = 64  # connections; fewer do not get more each
_HEADERS = {"accept-encoding": "gzip, deflate", "user-agent": "pondero"}


class FastTransport:
    """Sends over the network and awaits; has connections of its own in every event loop."""

    needs_key = True

    def __init__(self) -> None:
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, _Pool] = WeakKeyDictionary()
        self._proxies = Proxies()

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> "FastResponseStream":
        """Send it and return the answer as soon as its head is there."""
        pool = self._pools.get(asyncio.get_running_loop()) or await self._opened()
        try:
            response = await pool.session.request(
                request.method,
                _url(request.url),
                data=request.body,
                headers=request.headers,
                timeout=_waits(timeouts),
                proxy=self._proxies.proxy_for(request.url),
                allow_redirects=False,
            )
        except _ERRORS as error:
            raise _said(error, request.url, timeouts.first_byte) from error
        if (connection := response.connection) is not None and connection.protocol is not None:
            # There is more to come: from now on the time between bytes counts.
            connection.protocol.read_timeout = timeouts.between_bytes
            connection.protocol.start_timeout()
            pool.lines.reads(connection.protocol, response.content)
        return FastResponseStream(response, request.url, timeouts.between_bytes)

    async def aclose(self) -> None:
        """Close the connections of this event loop; the next request would open new ones."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.keeper.aclose()

    async def _opened(self) -> "_Pool":
        pool = self._pools[asyncio.get_running_loop()] = _Pool()
        await anext(pool.keeper)
        return pool


class FastResponseStream:
    """A response that has begun; yields its own pieces, as that is less than a generator costs."""

    def __init__(self, response: aiohttp.ClientResponse, url: str, seconds: float) -> None:
        headers = {name.lower(): value for name, value in response.headers.items()}
        self.head: ResponseHead = ResponseHead(response.status, headers)
        self._response = response
        self._content = response.content
        self._url = url
        self._seconds = seconds

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        """Return the next piece: all that has come."""
        content, first = self._content, b""
        try:
            while not first and not content.at_eof():
                first, _ = await content.readchunk()
            more = _rest(content)
        except _ERRORS as error:
            if left := _left(content):
                return left  # the next call raises
            raise _said(error, self._url, self._seconds) from error
        if first:
            return first + more if more else first
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Let go of the connection: back to the pool where all was read, else closed."""
        self._response.close()


def _rest(content: aiohttp.StreamReader) -> bytes:
    """Return what has come beside; services send every event as a chunk of its own.

    aiohttp takes chunk by chunk, 2 us each. Its buffer holds the same with all of them in one.
    """
    buffer: deque[bytes] | None = getattr(content, "_buffer", None)
    if buffer is not None and len(buffer) > 1:
        whole = b"".join(buffer)
        buffer.clear()
        buffer.append(whole)
    return content.read_nowait()


def _left(content: aiohttp.StreamReader) -> bytes:
    """Return what came before a connection broke; aiohttp keeps it to itself."""
    buffer: deque[bytes] = getattr(content, "_buffer", deque())
    left = b"".join(buffer)
    buffer.clear()
    return left


@lru_cache(maxsize=64)
def _waits(timeouts: Timeouts) -> aiohttp.ClientTimeout:
    """Return the clocks: for the names, the proxy and TLS as well, for a socket, for a byte."""
    return aiohttp.ClientTimeout(
        total=None,
        connect=timeouts.connect + timeouts.first_byte,
        sock_connect=timeouts.connect,
        sock_read=timeouts.first_byte,
    )


@lru_cache(maxsize=256)
def _url(text: str) -> URL:
    """Return the URL without decoding it: a signature covers %3A as it stands."""
    return URL(text, encoded=True)


class _Pool:
    """The session of one event loop. The loop itself ends the keeper when it shuts down."""

    def __init__(self) -> None:
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0, keepalive_timeout=60.0, socket_factory=Sockets().make
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=_HEADERS,
            read_bufsize=2**18,
        )
        self.keeper = self._kept()
        self.lines = _Lines()

    async def _kept(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            await self.session.close()


class _Lines:
    """What is read from each connection: it is told when the connection is gone.

    aiohttp tells it where a body is cut, but not where the bytes of its chunks make no sense: who
    reads would wait for ever, as the clock stops too.
    """

    def __init__(self) -> None:
        self._read: WeakKeyDictionary[ResponseHandler, aiohttp.StreamReader] = WeakKeyDictionary()

    def reads(self, protocol: ResponseHandler, content: aiohttp.StreamReader) -> None:
        """Note that this is read from there now."""
        known = protocol in self._read
        self._read[protocol] = content
        if (closed := protocol.closed) is None:
            self._gone(protocol)
        elif not known:
            closed.add_done_callback(partial(self._gone, protocol))

    def _gone(self, protocol: ResponseHandler, closed: asyncio.Future[None] | None = None) -> None:
        if closed is not None and not closed.cancelled():
            closed.exception()  # else Python logs that nobody asked for it
        content = self._read.pop(protocol, None)
        if content is not None and not content.is_eof() and content.exception() is None:
            content.set_exception(aiohttp.ClientPayloadError("the connection broke off"))


class _Socket(socket.socket):
    """Is no longer among the open ones when it is closed; asyncio may hold it for long after."""

    among: "WeakSet[_Socket]"

    def close(self) -> None:
        """Close it."""
        self.among.discard(self)
        super().close()


class Sockets:
    """Makes sockets; the more are open, the less each may hold that was not read yet.

    An event loop reads all that waits in all sockets before it works on any of it: what a thousand
    services send at once would all be in memory. What a socket does not hold, its service keeps.
    """

    def __init__(self) -> None:
        self._open: WeakSet[_Socket] = WeakSet()
        self._share = 0

    def make(self, info: tuple[Any, ...]) -> socket.socket:
        """Return a socket for an address."""
        made = _Socket(*info[:3])
        made.among = self._open
        self._open.add(made)
        share = _UNREAD // max(_FEW, 1 << (len(self._open) - 1).bit_length())
        for each in [made] if share == self._share else list(self._open):
            if each.fileno() >= 0:
                each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, share)
        self._share = share
        return made


def _said(error: Exception, url: str, seconds: float) -> PonderoError:
    """Return a library error as one of ours; no message contains a key."""
    host = url.partition("://")[2].partition("/")[0]
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return Timeout(f"no connection to {host} in time")
    if isinstance(error, TimeoutError):
        return Timeout(f"nothing came from {host} for {seconds:g} s")
    if isinstance(error, aiohttp.InvalidURL):
        return BadParameter(f"{url!r} is no address; it begins with http:// or https://")
    return Unreachable(f"{host}: {str(error) or type(error).__name__}")
