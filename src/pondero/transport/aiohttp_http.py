"""The fast transport on aiohttp: for proxies, and for what ``direct_http`` does not take."""

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from functools import lru_cache, partial
from weakref import WeakKeyDictionary

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from yarl import URL

from ..canon import HttpRequest, ResponseHead
from ..errors import BadParameter, PonderoError, Timeout, Unreachable
from ..exchange import Timeouts
from .departure import announce_departure
from .event_loop import current_loop
from .proxies import hide_password
from .settings import HttpSettings
from .sockets import Sockets
from .tls import describe_certificate_fix

_ERRORS = (aiohttp.ClientError, OSError)  # a timeout is an OSError too
_HEADERS = {"accept-encoding": "gzip, deflate", "user-agent": "pondero"}


class AiohttpTransport:
    """Sends over the network for asyncio; each event loop has its own connections.

    ``tls`` makes the context for https, when it is first needed.
    """

    needs_key = True

    def __init__(self, settings: HttpSettings, tls: Callable[[], ssl.SSLContext]) -> None:
        self._settings = settings
        self._tls = tls
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, _Pool] = WeakKeyDictionary()

    async def send(
        self,
        request: HttpRequest,
        timeouts: Timeouts,
        *,
        proxy: str | None = None,
        pieces: AsyncIterator[bytes] | None = None,
    ) -> "AiohttpResponseStream":
        """Send a request, its body in pieces if there are some; return once the head is there."""
        pool = self._pools.get(current_loop()) or await self._open_pool()
        by_tls = request.url[:6] == "https:" or (proxy or "")[:6] == "https:"
        try:
            response = await pool.session.request(
                request.method,
                _url(request.url),
                data=request.body if pieces is None else pieces,
                headers=request.headers,
                timeout=_waits(timeouts),
                proxy=proxy,
                ssl=self._tls() if by_tls else True,
                allow_redirects=False,
            )
        except _ERRORS as error:
            raise _translate_error(error, request.url, timeouts.first_byte, proxy) from error
        except ValueError as error:  # as for a port that does not exist
            raise BadParameter(f"invalid address {request.url!r}: {error}") from error
        if (connection := response.connection) is not None and connection.protocol is not None:
            # The body follows: from now on the limit is the time between bytes.
            connection.protocol.read_timeout = timeouts.between_bytes
            connection.protocol.start_timeout()
            pool.lines.reads(connection.protocol, response.content)
        return AiohttpResponseStream(response, request.url, timeouts.between_bytes)

    async def aclose(self) -> None:
        """Close the connections of this event loop; the next request opens new ones."""
        pool = self._pools.pop(current_loop(), None)
        if pool is not None:
            await pool.keeper.aclose()

    async def _open_pool(self) -> "_Pool":
        pool = self._pools[asyncio.get_running_loop()] = _Pool(self._settings)
        await anext(pool.keeper)
        return pool


class AiohttpResponseStream:
    """A response under way; it is its own iterator, which is cheaper than a generator."""

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
        content, first = self._content, b""
        try:
            while not first and not content.at_eof():
                first, _ = await content.readchunk()
            more = _rest(content)
        except _ERRORS as error:
            if buffered := _take_buffered(content):
                return buffered  # the next call raises
            raise _translate_error(error, self._url, self._seconds) from error
        if first:
            return first + more if more else first
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Return the connection to the pool if all was read, else close it."""
        self._response.close()


def _rest(content: aiohttp.StreamReader) -> bytes:
    """Return the other chunks received; services send each event as its own chunk.

    aiohttp reads chunk by chunk, 2 us each. Joining its buffer makes one chunk of all.
    """
    buffer: deque[bytes] | None = getattr(content, "_buffer", None)
    if buffer is not None and len(buffer) > 1:
        whole = b"".join(buffer)
        buffer.clear()
        buffer.append(whole)
    return content.read_nowait()


def _take_buffered(content: aiohttp.StreamReader) -> bytes:
    """Return the bytes received before the connection broke; aiohttp does not return them."""
    buffer: deque[bytes] = getattr(content, "_buffer", deque())
    data = b"".join(buffer)
    buffer.clear()
    return data


@lru_cache(maxsize=64)
def _waits(timeouts: Timeouts) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(
        total=None,
        connect=timeouts.connect + timeouts.first_byte,  # also DNS, proxy and TLS
        sock_connect=timeouts.connect,
        sock_read=timeouts.first_byte,
    )


@lru_cache(maxsize=256)
def _url(text: str) -> URL:
    return URL(text, encoded=True)  # not decoded: a signature covers %3A unchanged


class _Pool:
    """The session of one event loop; the loop closes the keeper when it shuts down."""

    def __init__(self, settings: HttpSettings) -> None:
        limits = settings.limits
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=limits.max_connections or 0,
                keepalive_timeout=limits.keepalive_expiry,
                socket_factory=Sockets().make,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            request_class=_AnnouncedRequest,
            headers={**_HEADERS, **settings.headers},
            read_bufsize=2**18,
        )
        self.keeper = self._close_on_shutdown()
        self.lines = _Lines()

    async def _close_on_shutdown(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            await self.session.close()


class _AnnouncedRequest(aiohttp.ClientRequest):
    """A request whose sender is told when its connection is there."""

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        """Write the request; if the sender wants it no more, aiohttp closes the connection."""
        await announce_departure()
        return await super().send(conn)


class _Lines:
    """The readers of each connection; each gets an error when its connection is lost.

    aiohttp reports a body that is cut, but not chunks that are malformed: their reader would wait
    forever, because the timeout stops too.
    """

    def __init__(self) -> None:
        self._read: WeakKeyDictionary[ResponseHandler, aiohttp.StreamReader] = WeakKeyDictionary()

    def reads(self, protocol: ResponseHandler, content: aiohttp.StreamReader) -> None:
        known = protocol in self._read
        self._read[protocol] = content
        if (closed := protocol.closed) is None:
            self._on_closed(protocol)
        elif not known:
            closed.add_done_callback(partial(self._on_closed, protocol))

    def _on_closed(
        self, protocol: ResponseHandler, closed: asyncio.Future[None] | None = None
    ) -> None:
        if closed is not None and not closed.cancelled():
            closed.exception()  # else asyncio logs that it was never retrieved
        content = self._read.pop(protocol, None)
        if content is not None and not content.is_eof() and content.exception() is None:
            content.set_exception(aiohttp.ClientPayloadError("the connection broke off"))


def _translate_error(
    error: Exception, url: str, seconds: float, proxy: str | None = None
) -> PonderoError:
    host = url.partition("://")[2].partition("/")[0]
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return Timeout(f"no connection to {host} in time", connected=False)
    if isinstance(error, TimeoutError):
        return Timeout(f"no data came from {host} for {seconds:g} s")
    if isinstance(error, aiohttp.InvalidURL):
        return BadParameter(f"invalid address {url!r}; it begins with http:// or https://")
    if proxy and isinstance(error, _OF_PROXY):
        shown = hide_password(proxy)
        why = error.message if isinstance(error, _REFUSED) else _describe_cause(error)
        return Unreachable(f"the proxy {shown} does not connect to {host}: {why}", connected=False)
    if isinstance(error, aiohttp.ClientConnectorError):
        fix = describe_certificate_fix(str(error))
        return Unreachable(f"cannot reach {host}: {_describe_cause(error)}{fix}", connected=False)
    return Unreachable(f"{host}: {str(error) or type(error).__name__}")


def _describe_cause(error: aiohttp.ClientConnectorError) -> str:
    """Return why there is no connection; aiohttp's own words show the TLS context."""
    return (error.os_error.strerror or str(error.os_error)).lower() or "no connection"


_REFUSED = aiohttp.ClientHttpProxyError
_OF_PROXY = (_REFUSED, aiohttp.ClientProxyConnectionError)
