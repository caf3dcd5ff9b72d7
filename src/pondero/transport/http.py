"""The default transports, on httpx2: HTTP/1.1 with keep-alive and the environment's proxies."""

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
_PoolKey = tuple[str, str | None]  # a scheme, and the proxy if there is one
# No limit for streams; few idle connections, because the pool checks each one for every request.
_LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=60.0)


class HttpTransport:
    """Sends over the network and blocks; threads may share it.

    A forked child starts without connections: on its parent's, each would read the other's answers.
    """

    needs_key = True

    def __init__(self) -> None:
        self._proxies = Proxies()
        self.forget()
        _EVERY.add(self)

    def forget(self) -> None:
        """Drop all connections without closing them; the parent process still uses them."""
        self._transports: dict[_PoolKey, httpx2.HTTPTransport] = {}
        self._lock = Lock()

    def send(self, request: HttpRequest, timeouts: Timeouts) -> "HttpResponseStream":
        """Send a request; return once the response's head has arrived."""
        built, waits = _build_request(request, timeouts)
        with _translate_errors(built, timeouts):
            response = self._transport_for(
                (built.url.scheme, self._proxies.proxy_for(request.url))
            ).handle_request(built)
        response.request = built
        waits["read"] = timeouts.between_bytes
        return HttpResponseStream(response, timeouts)

    def close(self) -> None:
        """Close every connection; the next request opens new ones."""
        with self._lock:
            transports, self._transports = self._transports, {}
        for each in transports.values():
            each.close()

    def _transport_for(self, key: "_PoolKey") -> httpx2.HTTPTransport:
        with self._lock:
            if key not in self._transports:
                scheme, proxy = key
                self._transports[key] = httpx2.HTTPTransport(
                    verify=_tls(scheme), limits=_LIMITS, proxy=proxy
                )
            return self._transports[key]


_EVERY: "WeakSet[HttpTransport]" = WeakSet()


def _forget_all() -> None:
    for transport in list(_EVERY):
        transport.forget()


if hasattr(os, "register_at_fork"):  # not for asyncio: a child has its own event loop
    os.register_at_fork(after_in_child=_forget_all)


class HttpResponseStream:
    """A response under way."""

    def __init__(self, response: httpx2.Response, timeouts: Timeouts) -> None:
        self.head: ResponseHead = _head(response)
        self._response = response
        self._timeouts = timeouts

    def __iter__(self) -> Iterator[bytes]:
        response = self._response
        with _translate_errors(response.request, self._timeouts):
            if "content-encoding" in self.head.headers:
                yield from response.iter_bytes()
            else:  # skip the decoding layers, which inspect each piece
                yield from response.stream  # type: ignore[misc]  # a sync client's is sync

    def close(self) -> None:
        """Return the connection to the pool if all was read, else close it."""
        self._response.close()


class AsyncHttpTransport:
    """Sends over the network for asyncio; each event loop has its own connections."""

    needs_key = True

    def __init__(self) -> None:
        self._pools: WeakKeyDictionary[AbstractEventLoop, _Pool] = WeakKeyDictionary()
        self._proxies = Proxies()

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> "AsyncHttpResponseStream":
        """Send a request; return once the response's head has arrived."""
        built, waits = _build_request(request, timeouts)
        transport = await self._transport_for(
            (built.url.scheme, self._proxies.proxy_for(request.url))
        )
        with _translate_errors(built, timeouts):
            response = await transport.handle_async_request(built)
        response.request = built
        waits["read"] = timeouts.between_bytes
        return AsyncHttpResponseStream(response, timeouts)

    async def aclose(self) -> None:
        """Close the connections of this event loop; the next request opens new ones."""
        pool = self._pools.pop(_loop(), None)
        if pool is not None:
            await pool.keeper.aclose()

    async def _transport_for(self, key: "_PoolKey") -> httpx2.AsyncHTTPTransport:
        loop = _loop()
        pool = self._pools.get(loop)
        if pool is None:
            pool = self._pools[loop] = _Pool()
            await anext(pool.keeper)
        if key not in pool.transports:
            scheme, proxy = key
            pool.transports[key] = httpx2.AsyncHTTPTransport(
                verify=_tls(scheme), limits=_LIMITS, proxy=proxy
            )
        return pool.transports[key]


class AsyncHttpResponseStream:
    """A response under way, for asyncio."""

    def __init__(self, response: httpx2.Response, timeouts: Timeouts) -> None:
        self.head: ResponseHead = _head(response)
        self._response = response
        self._pieces = self._read(timeouts)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    async def aclose(self) -> None:
        """Return the connection to the pool if all was read, else close it."""
        await self._pieces.aclose()
        await self._response.aclose()

    async def _read(self, timeouts: Timeouts) -> AsyncGenerator[bytes, None]:
        response = self._response
        coded = "content-encoding" in self.head.headers
        pieces = response.aiter_bytes() if coded else response.stream
        with _translate_errors(response.request, timeouts):
            async for data in pieces:  # type: ignore[union-attr]  # an async client's is async
                yield data


class _Pool:
    """The connections of one event loop; the loop closes the keeper when it shuts down."""

    def __init__(self) -> None:
        self.transports: dict[_PoolKey, httpx2.AsyncHTTPTransport] = {}
        self.keeper = self._close_on_shutdown()

    async def _close_on_shutdown(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            transports = list(self.transports.values())
            self.transports.clear()
            for each in transports:
                await each.aclose()


def _loop() -> "AbstractEventLoop":
    from asyncio import get_running_loop  # noqa: PLC0415 - only if a loop is running

    return get_running_loop()


@cache
def _tls(scheme: str) -> ssl.SSLContext:
    """Return the process's TLS context; the one for plain HTTP trusts no certificate."""
    if scheme == "https":
        return httpx2.create_ssl_context()
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@lru_cache(maxsize=256)
def _url(text: str) -> httpx2.URL:
    return httpx2.URL(text)


def _build_request(
    request: HttpRequest, timeouts: Timeouts
) -> tuple[httpx2.Request, dict[str, Any]]:
    """Return the request and its timeouts; httpx2 reads that dict again for the body."""
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
        message = f"cannot send this request to {request.url!r}: {error}"
        raise BadParameter(message) from None
    return built, waits


def _head(response: httpx2.Response) -> ResponseHead:
    return ResponseHead(response.status_code, dict(response.headers))


@contextmanager
def _translate_errors(request: httpx2.Request, timeouts: Timeouts) -> Generator[None, None, None]:
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
        message = f"invalid address {str(request.url)!r}; it begins with http:// or https://"
        raise BadParameter(message) from error
    except httpx2.ConnectError as error:
        message = f"cannot reach {host}: {_ERRNO.sub('', str(error)).lower() or 'no connection'}"
        raise Unreachable(message) from error
    except (httpx2.TransportError, httpx2.DecodingError, httpx2.StreamError) as error:
        message = f"{host}: {str(error) or type(error).__name__}"
        raise Unreachable(message) from error
