"""The default transports, on httpx2: HTTP/1.1, kept alive, proxies from the environment."""

import os
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

import httpx2

from ..canon import HttpRequest, ResponseHead
from ..errors import BadParameter, Timeout, Unreachable
from ..exchange import Timeouts
from .proxies import Proxies

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

_HEADERS = {"accept": "*/*", "accept-encoding": "gzip, deflate", "user-agent": "pondero"}
_ERRNO = re.compile(r"^\[Errno -?\d+\] ")
_Way = tuple[str, str | None]  # a scheme, and the proxy if there is one
# As many streams at once as are asked for; few idle connections, as the pool looks at each of them
# for every request.
_LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=60.0)


class HttpTransport:
    """Sends over the network and waits; may be shared between threads.

    A forked child begins with no connections: on those of its parent, each of the two would read
    answers to the other.
    """

    needs_key = True

    def __init__(self) -> None:
        self._proxies = Proxies()
        self.forget()
        _EVERY.add(self)

    def forget(self) -> None:
        """Begin with no connections, and leave those there are to who else has them."""
        self._ways: dict[_Way, httpx2.HTTPTransport] = {}
        self._lock = Lock()

    def send(self, request: HttpRequest, timeouts: Timeouts) -> "HttpResponseStream":
        """Send it and return the answer as soon as its head is there."""
        built, waits = _built(request, timeouts)
        with _said(built, timeouts):
            response = self._by(
                (built.url.scheme, self._proxies.proxy_for(request.url))
            ).handle_request(built)
        response.request = built
        waits["read"] = timeouts.between_bytes
        return HttpResponseStream(response, timeouts)

    def close(self) -> None:
        """Close every connection; the next request would open new ones."""
        with self._lock:
            ways, self._ways = self._ways, {}
        for way in ways.values():
            way.close()

    def _by(self, way: "_Way") -> httpx2.HTTPTransport:
        with self._lock:
            if way not in self._ways:
                scheme, proxy = way
                self._ways[way] = httpx2.HTTPTransport(
                    verify=_tls(scheme), limits=_LIMITS, proxy=proxy
                )
            return self._ways[way]


_EVERY: "WeakSet[HttpTransport]" = WeakSet()


def _forget_all() -> None:
    for transport in list(_EVERY):
        transport.forget()


if hasattr(os, "register_at_fork"):  # those that await need it not: a child has a loop of its own
    os.register_at_fork(after_in_child=_forget_all)


class HttpResponseStream:
    """A response that has begun."""

    def __init__(self, response: httpx2.Response, timeouts: Timeouts) -> None:
        self.head: ResponseHead = _head(response)
        self._response = response
        self._timeouts = timeouts

    def __iter__(self) -> Iterator[bytes]:
        response = self._response
        with _said(response.request, self._timeouts):
            if "content-encoding" in self.head.headers:
                yield from response.iter_bytes()
            else:  # past the layers that would look at each piece once more
                yield from response.stream  # type: ignore[misc]  # a sync client's is sync

    def close(self) -> None:
        """Let go of the connection: back to the pool where all was read, else closed."""
        self._response.close()


class AsyncHttpTransport:
    """Sends over the network and awaits; has connections of its own in every event loop."""

    needs_key = True

    def __init__(self) -> None:
        self._pools: WeakKeyDictionary[AbstractEventLoop, _Pool] = WeakKeyDictionary()
        self._proxies = Proxies()

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> "AsyncHttpResponseStream":
        """Send it and return the answer as soon as its head is there."""
        built, waits = _built(request, timeouts)
        way = await self._by((built.url.scheme, self._proxies.proxy_for(request.url)))
        with _said(built, timeouts):
            response = await way.handle_async_request(built)
        response.request = built
        waits["read"] = timeouts.between_bytes
        return AsyncHttpResponseStream(response, timeouts)

    async def aclose(self) -> None:
        """Close the connections of this event loop; the next request would open new ones."""
        pool = self._pools.pop(_loop(), None)
        if pool is not None:
            await pool.keeper.aclose()

    async def _by(self, way: "_Way") -> httpx2.AsyncHTTPTransport:
        loop = _loop()
        pool = self._pools.get(loop)
        if pool is None:
            pool = self._pools[loop] = _Pool()
            await anext(pool.keeper)
        if way not in pool.ways:
            scheme, proxy = way
            pool.ways[way] = httpx2.AsyncHTTPTransport(
                verify=_tls(scheme), limits=_LIMITS, proxy=proxy
            )
        return pool.ways[way]


class AsyncHttpResponseStream:
    """A response that has begun."""

    def __init__(self, response: httpx2.Response, timeouts: Timeouts) -> None:
        self.head: ResponseHead = _head(response)
        self._response = response
        self._pieces = self._read(timeouts)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    async def aclose(self) -> None:
        """Let go of the connection: back to the pool where all was read, else closed."""
        await self._pieces.aclose()
        await self._response.aclose()

    async def _read(self, timeouts: Timeouts) -> AsyncGenerator[bytes, None]:
        response = self._response
        coded = "content-encoding" in self.head.headers
        pieces = response.aiter_bytes() if coded else response.stream
        with _said(response.request, timeouts):
            async for data in pieces:  # type: ignore[union-attr]  # an async client's is async
                yield data


class _Pool:
    """The connections of one event loop. The loop itself ends the keeper when it shuts down."""

    def __init__(self) -> None:
        self.ways: dict[_Way, httpx2.AsyncHTTPTransport] = {}
        self.keeper = self._kept()

    async def _kept(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            ways = list(self.ways.values())
            self.ways.clear()
            for way in ways:
                await way.aclose()


def _loop() -> "AbstractEventLoop":
    """Return the running event loop; asyncio is imported only where one runs."""
    from asyncio import get_running_loop  # noqa: PLC0415 - see above

    return get_running_loop()


@cache
def _tls(scheme: str) -> ssl.SSLContext:
    """Return the one TLS context of this process; plain HTTP gets one that trusts nobody."""
    if scheme == "https":
        return httpx2.create_ssl_context()
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@lru_cache(maxsize=256)
def _url(text: str) -> httpx2.URL:
    return httpx2.URL(text)


def _built(request: HttpRequest, timeouts: Timeouts) -> tuple[httpx2.Request, dict[str, Any]]:
    """Return the request and its timeouts; the client reads that dict again for the body."""
    first = timeouts.first_byte
    waits = {"connect": timeouts.connect, "read": first, "write": first, "pool": first}
    headers = {**_HEADERS, **request.headers}
    try:
        built = httpx2.Request(
            request.method,
            _url(request.url),
            headers=headers,
            content=request.body,
            extensions={"timeout": waits},
        )
    except (httpx2.InvalidURL, UnicodeEncodeError) as error:
        message = f"this cannot be sent to {request.url!r}: {error}"
        raise BadParameter(message) from None
    return built, waits


def _head(response: httpx2.Response) -> ResponseHead:
    return ResponseHead(response.status_code, dict(response.headers))


@contextmanager
def _said(request: httpx2.Request, timeouts: Timeouts) -> Generator[None, None, None]:
    """Raise library errors as ours; no message contains a key."""
    host = request.url.host
    try:
        yield
    except httpx2.ConnectTimeout as error:
        message = f"no connection to {host} within {timeouts.connect:g} s"
        raise Timeout(message) from error
    except httpx2.TimeoutException as error:
        waited = request.extensions["timeout"]["read"]
        message = f"nothing came from {host} for {waited:g} s"
        raise Timeout(message) from error
    except httpx2.UnsupportedProtocol as error:
        message = f"{str(request.url)!r} is no address; it begins with http:// or https://"
        raise BadParameter(message) from error
    except httpx2.ConnectError as error:
        message = f"cannot reach {host}: {_ERRNO.sub('', str(error)).lower() or 'no connection'}"
        raise Unreachable(message) from error
    except (httpx2.TransportError, httpx2.DecodingError, httpx2.StreamError) as error:
        message = f"{host}: {str(error) or type(error).__name__}"
        raise Unreachable(message) from error
