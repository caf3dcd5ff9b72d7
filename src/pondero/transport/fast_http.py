"""The fast transport (the extra ``fast``), for many streams at once."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from functools import cache
from importlib.util import find_spec
from weakref import WeakKeyDictionary

from ..canon import HttpRequest
from ..errors import BadParameter, MissingExtra, PonderoError
from ..exchange import AsyncResponse, Timeouts
from ..extras import install_hint
from .batched_writes import WriteBatch
from .event_loop import current_loop, need_asyncio
from .proxies import hide_password, is_socks
from .settings import Cert, ConnectionLimits, HttpSettings, Verify, read_settings
from .tls import environment_context

for _package in ("aiohttp", "httptools"):
    if find_spec(_package) is None:
        raise MissingExtra(f"FastTransport needs {_package}: {install_hint('fast')}")

from .direct_http import DirectPool, find_place  # noqa: E402 - not without the packages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .aiohttp_http import AiohttpTransport


class FastTransport:
    """Sends over the network for asyncio; each event loop has its own connections.

    The arguments are those of ``HttpTransport``, but there is no HTTP/2, no SOCKS proxy and no
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
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, DirectPool] = WeakKeyDictionary()
        self._context = self._settings.context
        self._by_library: AiohttpTransport | None = None
        self.before_write: Callable[[], None] | None = None
        """Called before any byte of a request leaves; see ``WriteBatch``."""

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> AsyncResponse:
        """Send a request; return once the response's head has arrived."""
        pool = self._pools.get(current_loop()) or await self._open_pool()
        place, proxy = find_place(request.url), self._settings.proxies.proxy_for(request.url)
        if proxy is not None or place is None or request.method == "HEAD":  # its length is false
            self._save_before()
            return await self._library(proxy).send(request, timeouts, proxy=proxy)
        context = self._tls() if place.origin[0] else None
        return await pool.send(request, place, timeouts, context)

    async def send_pieces(
        self, request: HttpRequest, timeouts: Timeouts, pieces: AsyncIterator[bytes]
    ) -> AsyncResponse:
        """Send a request whose body comes in pieces; return once the response's head is there."""
        need_asyncio("FastTransport", "use AsyncHttpTransport")
        proxy = self._settings.proxies.proxy_for(request.url)
        self._save_before()
        return await self._library(proxy).send(request, timeouts, proxy=proxy, pieces=pieces)

    def _save_before(self) -> None:
        if self.before_write is not None:
            self.before_write()

    async def aclose(self) -> None:
        """Close the connections of this event loop; the next request opens new ones."""
        pool = self._pools.pop(current_loop(), None)
        if pool is not None:
            await pool.keeper.aclose()
        if self._by_library is not None:
            await self._by_library.aclose()

    async def _open_pool(self) -> DirectPool:
        need_asyncio("FastTransport", "use AsyncHttpTransport")
        pool = self._pools[asyncio.get_running_loop()] = DirectPool(
            self._settings, WriteBatch(self._save_before)
        )
        await anext(pool.keeper)
        return pool

    def _library(self, proxy: str | None) -> "AiohttpTransport":
        """Return the transport for proxies and for addresses that are not plain."""
        if is_socks(proxy):
            raise _no_socks(proxy or "")
        if self._by_library is None:
            from .aiohttp_http import AiohttpTransport  # noqa: PLC0415 - many never need it

            self._by_library = AiohttpTransport(self._settings, self._tls)
        return self._by_library

    def _tls(self) -> ssl.SSLContext:
        """Return the context for https; plain HTTP needs none, and no certificates."""
        if self._context is None:
            self._context = environment_context() or _usual_context()
        return self._context


def _check_possible(settings: HttpSettings, proxy: str | None) -> None:
    """Raise BadParameter for what there is not."""
    instead = "use AsyncHttpTransport (or HttpTransport for a Client)"
    if settings.http2:
        raise BadParameter(f"FastTransport has no HTTP/2, because aiohttp has none; {instead}")
    if is_socks(proxy):
        raise _no_socks(proxy or "")
    if settings.limits.max_keepalive_connections != ConnectionLimits().max_keepalive_connections:
        message = f"FastTransport cannot limit idle connections: it keeps them all; {instead}"
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
