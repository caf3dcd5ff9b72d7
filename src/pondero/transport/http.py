"""The default transports, on httpx2: HTTP/1.1 or 2 with keep-alive, proxies and certificates."""

import os
import re
import ssl
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, lru_cache, partial
from importlib.util import find_spec
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import httpx2
from msgspec import to_builtins

from ..canon import HttpRequest, ResponseHead
from ..errors import BadParameter, MissingExtra, Timeout, Unreachable
from ..exchange import Timeouts
from ..extras import install_hint
from .departure import DEPARTURE, announce_departure
from .event_loop import current_loop
from .proxies import hide_password, is_socks
from .settings import Cert, ConnectionLimits, HttpSettings, Verify, read_settings
from .tls import describe_certificate_fix, environment_context

_HEADERS = {"accept": "*/*", "accept-encoding": "gzip, deflate", "user-agent": "pondero"}
_LAST_PORT = 65_535
_ERRNO = re.compile(r"^\[Errno -?\d+\] ")
_PoolKey = tuple[str, str | None]  # a scheme, and the proxy if there is one


class HttpTransport:
    """Sends over the network and blocks; threads may share it.

    ``proxy``: ``http://``, ``https://`` or ``socks5://``; by default HTTPS_PROXY and its like, with
    ``""`` none. ``verify``: a file or folder of authorities, an ``ssl.SSLContext``, or False.
    ``cert``: the client's certificate: a PEM file, (certificate, key) or (certificate, key,
    password). ``limits``: how many connections. ``http2``: HTTP/2 where the service has it.
    ``headers``: sent with every request, unless the request has its own of that name.

    A forked child starts without connections: on its parent's, each would read the other's answers.

    >>> proxy, headers = "http://localhost:3128", {"x-team": "search"}
    >>> transport = pondero.HttpTransport(proxy=proxy, headers=headers)
    >>> client = pondero.Client(transport=transport)
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
        self._settings = _read(
            proxy=proxy, verify=verify, cert=cert, limits=limits, http2=http2, headers=headers
        )
        self.forget()
        _EVERY.add(self)

    def forget(self) -> None:
        """Drop all connections without closing them; the parent process still uses them."""
        self._transports: dict[_PoolKey, httpx2.HTTPTransport] = {}
        self._lock = Lock()

    def send(self, request: HttpRequest, timeouts: Timeouts) -> "HttpResponseStream":
        """Send a request; return once the response's head has arrived."""
        built, waits = _build_request(request, timeouts, self._settings.headers)
        proxy = self._settings.proxies.proxy_for(request.url)
        transport = self._transport_for((built.url.scheme, proxy))
        with _translate_errors(built, timeouts, proxy):
            response = transport.handle_request(built)
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
                arguments = _arguments(key, self._settings)
                self._transports[key] = httpx2.HTTPTransport(**arguments)
            return self._transports[key]


_EVERY: "WeakSet[HttpTransport]" = WeakSet()


def _forget_all() -> None:
    with warnings.catch_warnings():
        # Python warns of sockets that were not closed: those of the parent, which it still uses.
        warnings.simplefilter("ignore", ResourceWarning)
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
    """Sends over the network for asyncio and trio; each event loop has its own connections.

    The arguments are those of ``HttpTransport``.

    >>> limits = pondero.ConnectionLimits(max_connections=8)
    >>> transport = pondero.AsyncHttpTransport(limits=limits)
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
        self._settings = _read(
            proxy=proxy, verify=verify, cert=cert, limits=limits, http2=http2, headers=headers
        )
        self._pools: WeakKeyDictionary[Any, _Pool] = WeakKeyDictionary()

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> "AsyncHttpResponseStream":
        """Send a request; return once the response's head has arrived."""
        built, waits = _build_request(request, timeouts, self._settings.headers)
        if DEPARTURE.get() is not None:
            built.extensions["trace"] = _announce
        proxy = self._settings.proxies.proxy_for(request.url)
        transport = await self._transport_for((built.url.scheme, proxy))
        with _translate_errors(built, timeouts, proxy):
            response = await transport.handle_async_request(built)
        response.request = built
        waits["read"] = timeouts.between_bytes
        return AsyncHttpResponseStream(response, timeouts)

    async def aclose(self) -> None:
        """Close the connections of this event loop; the next request opens new ones."""
        pool = self._pools.pop(current_loop(), None)
        if pool is not None:
            await pool.keeper.aclose()

    async def _transport_for(self, key: "_PoolKey") -> httpx2.AsyncHTTPTransport:
        loop = current_loop()
        pool = self._pools.get(loop)
        if pool is None:
            pool = self._pools[loop] = _Pool()
            await anext(pool.keeper)
        if key not in pool.transports:
            pool.transports[key] = httpx2.AsyncHTTPTransport(**_arguments(key, self._settings))
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


def _read(**given: Any) -> HttpSettings:
    usual = partial(httpx2.create_ssl_context, trust_env=False)
    settings = read_settings(**given, usual=usual)
    if settings.http2 and find_spec("h2") is None:
        raise MissingExtra(f"http2=True needs the package h2: {install_hint('http2')}")
    if is_socks(given["proxy"]):
        _check_socks(given["proxy"])
    return settings


def _check_socks(proxy: str) -> None:
    if find_spec("socksio") is None:
        shown = hide_password(proxy)
        message = f"the SOCKS proxy {shown} needs the package socksio: {install_hint('socks')}"
        raise MissingExtra(message)


def _arguments(key: _PoolKey, settings: HttpSettings) -> dict[str, Any]:
    """Return httpx2's arguments for one scheme and proxy."""
    scheme, address = key
    proxy = None
    if is_socks(address):
        _check_socks(address or "")
    by_tls = address is not None and address.startswith("https:")
    context = settings.context or _tls("https" if by_tls else scheme, http2=settings.http2)
    if address is not None:
        try:
            proxy = httpx2.Proxy(address, ssl_context=context if by_tls else None)
        except httpx2.InvalidURL as error:
            message = f"invalid proxy {hide_password(address)!r}: {error}"
            raise BadParameter(message) from error
    limits = httpx2.Limits(**to_builtins(settings.limits))
    return {"verify": context, "proxy": proxy, "http2": settings.http2, "limits": limits}


def _tls(scheme: str, *, http2: bool) -> ssl.SSLContext:
    """Return the process's TLS context; the one for plain HTTP trusts no certificate.

    HTTP/2 has its own: httpcore2 writes the protocols to offer into the context.
    """
    if scheme != "https":
        return _no_tls()
    # A changed variable is noticed by the next transport.
    key = (http2, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    if key not in _CONTEXTS:
        made = environment_context() or httpx2.create_ssl_context(trust_env=False)
        _CONTEXTS.setdefault(key, made)
    return _CONTEXTS[key]


_CONTEXTS: dict[tuple[bool, str | None, str | None], ssl.SSLContext] = {}


@cache
def _no_tls() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@lru_cache(maxsize=256)
def _url(text: str) -> httpx2.URL:
    url = httpx2.URL(text)
    if (url.port or 0) > _LAST_PORT:
        raise httpx2.InvalidURL(f"there is no port {url.port}")
    return url


def _build_request(
    request: HttpRequest, timeouts: Timeouts, more: Mapping[str, str]
) -> tuple[httpx2.Request, dict[str, Any]]:
    """Return the request and its timeouts; httpx2 reads that dict again for the body."""
    first = timeouts.first_byte
    waits = {"connect": timeouts.connect, "read": first, "write": first, "pool": first}
    headers = {**_HEADERS, **more, **request.headers}
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


async def _announce(event: str, _info: object) -> None:
    """Wait for the sender of a request once its connection is there."""
    if event.endswith("send_request_headers.started"):
        await announce_departure()


def _head(response: httpx2.Response) -> ResponseHead:
    return ResponseHead(response.status_code, dict(response.headers))


# httpx2 leaves an alert of TLS that follows the handshake as it is: a certificate is missing.
_BROKEN = (httpx2.TransportError, httpx2.DecodingError, httpx2.StreamError, ssl.SSLError)


@contextmanager
def _translate_errors(
    request: httpx2.Request, timeouts: Timeouts, proxy: str | None = None
) -> Generator[None, None, None]:
    host = request.url.host
    try:
        yield
    except httpx2.ConnectTimeout as error:
        message = f"no connection to {host} within {timeouts.connect:g} s"
        raise Timeout(message, connected=False) from error
    except httpx2.TimeoutException as error:
        waited = request.extensions["timeout"]["read"]
        message = f"no data came from {host} for {waited:g} s"
        raise Timeout(message) from error
    except httpx2.UnsupportedProtocol as error:
        message = f"invalid address {str(request.url)!r}; it begins with http:// or https://"
        raise BadParameter(message) from error
    except httpx2.ConnectError as error:
        why = _ERRNO.sub("", str(error)).lower() or "no connection"
        by_proxy = f" through the proxy {hide_password(proxy)}" if proxy else ""
        message = f"cannot reach {host}{by_proxy}: {why}{describe_certificate_fix(str(error))}"
        raise Unreachable(message, connected=False) from error
    except httpx2.ProxyError as error:
        message = f"the proxy {hide_password(proxy or '')} does not connect to {host}: {error}"
        raise Unreachable(message, connected=False) from error
    except _BROKEN as error:
        message = f"{host}: {str(error) or type(error).__name__}"
        raise Unreachable(message) from error
