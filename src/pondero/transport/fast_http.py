"""The transport on aiohttp (the extra ``fast``), for many streams at once."""

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from functools import cache, lru_cache, partial
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from ..canon import HttpRequest, ResponseHead
from ..errors import BadParameter, MissingExtra, PonderoError, Timeout, Unreachable
from ..exchange import Timeouts
from ..extras import install_hint
from .event_loop import current_loop, need_asyncio
from .proxies import hide_password, is_socks
from .settings import Cert, ConnectionLimits, HttpSettings, Verify, read_settings
from .tls import describe_certificate_fix, environment_context

try:
    import aiohttp
    from aiohttp.client_proto import ResponseHandler
    from yarl import URL
except ImportError as _missing:
    raise MissingExtra(f"FastTransport needs aiohttp: {install_hint('fast')}") from _missing

_ERRORS = (aiohttp.ClientError, OSError)  # a timeout is an OSError too
_UNREAD = 8 * 1024 * 1024  # unread bytes of all connections together
_FEW = 64  # connections; fewer share the bytes as if they were this many
_HEADERS = {"accept-encoding": "gzip, deflate", "user-agent": "pondero"}


class FastTransport:
    """Sends over the network for asyncio; each event loop has its own connections.

    The arguments are those of ``HttpTransport``, but aiohttp has no HTTP/2, no SOCKS proxies and no
    limit for idle connections, and trio does not run it: ``AsyncHttpTransport`` has all of these.

    >>> transport = pondero.FastTransport(headers={"x-team": "search"})
    >>> client = pondero.AsyncClient(transport=transport)
    """

    needs_key = True

    def __init__(
        self,
        *,
        proxy: str | None = None,
        verify: Verify = True,
        cert: Cert | None = None,
        limits: ConnectionLimits | None = None,
        http2: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._settings = read_settings(
            proxy=proxy,
            verify=verify,
            cert=cert,
            limits=limits,
            http2=http2,
            headers=headers,
            usual=ssl.create_default_context,
        )
        _check_possible(self._settings, proxy)
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, _Pool] = WeakKeyDictionary()
        self._context = self._settings.context

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> "FastResponseStream":
        """Send a request; return once the response's head has arrived."""
        return await self._send(request, timeouts, request.body)

    async def send_pieces(
        self, request: HttpRequest, timeouts: Timeouts, pieces: AsyncIterator[bytes]
    ) -> "FastResponseStream":
        """Send a request whose body comes in pieces; return once the response's head is there."""
        return await self._send(request, timeouts, pieces)

    async def _send(
        self, request: HttpRequest, timeouts: Timeouts, body: bytes | AsyncIterator[bytes]
    ) -> "FastResponseStream":
        need_asyncio("FastTransport", "use AsyncHttpTransport")
        pool = self._pools.get(current_loop()) or await self._open_pool()
        proxy = self._settings.proxies.proxy_for(request.url)
        if is_socks(proxy):
            raise _no_socks(proxy or "")
        try:
            response = await pool.session.request(
                request.method,
                _url(request.url),
                data=body,
                headers=request.headers,
                timeout=_waits(timeouts),
                proxy=proxy,
                ssl=self._tls(request.url, proxy),
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
        return FastResponseStream(response, request.url, timeouts.between_bytes)

    async def aclose(self) -> None:
        """Close the connections of this event loop; the next request opens new ones."""
        pool = self._pools.pop(current_loop(), None)
        if pool is not None:
            await pool.keeper.aclose()

    async def _open_pool(self) -> "_Pool":
        pool = self._pools[asyncio.get_running_loop()] = _Pool(self._settings)
        await anext(pool.keeper)
        return pool

    def _tls(self, url: str, proxy: str | None) -> ssl.SSLContext | bool:
        """Return the context for an address; plain HTTP needs none, and no certificates."""
        if self._context is None and (url[:6] == "https:" or (proxy or "")[:6] == "https:"):
            self._context = environment_context() or _usual_context()
        return self._context or True


def _check_possible(settings: HttpSettings, proxy: str | None) -> None:
    """Raise BadParameter for what aiohttp cannot do."""
    instead = "use AsyncHttpTransport (or HttpTransport for a Client)"
    if settings.http2:
        raise BadParameter(f"FastTransport has no HTTP/2, because aiohttp has none; {instead}")
    if is_socks(proxy):
        raise _no_socks(proxy or "")
    if settings.limits.max_keepalive_connections != ConnectionLimits().max_keepalive_connections:
        message = f"FastTransport cannot limit idle connections: aiohttp keeps them all; {instead}"
        raise BadParameter(message)


def _no_socks(proxy: str) -> PonderoError:
    message = (
        f"FastTransport cannot use the SOCKS proxy {hide_password(proxy)}, because aiohttp cannot; "
        f"use AsyncHttpTransport: {install_hint('socks')}"
    )
    return BadParameter(message)


@cache
def _usual_context() -> ssl.SSLContext:
    return ssl.create_default_context()


class FastResponseStream:
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


class _Socket(socket.socket):
    """A socket that removes itself from the open ones; asyncio may hold it after its close."""

    among: "WeakSet[_Socket]"

    def close(self) -> None:
        self.among.discard(self)
        super().close()


class Sockets:
    """Makes sockets; the more are open, the smaller the receive buffer of each.

    An event loop reads all waiting bytes of all sockets before it processes any: the answers of a
    thousand services would all be in memory. A full buffer makes the service wait.
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
