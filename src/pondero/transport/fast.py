"""The quick transport, on aiohttp (``pip install 'pondero[fast]'``): for many streams at once."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from ..canon import Head, HttpRequest
from ..errors import BadParameter, MissingExtra, Timeout, Unreachable
from ..exchange import Timeouts
from .proxies import Proxies

try:
    import aiohttp
except ImportError as missing:
    raise MissingExtra("FastTransport needs aiohttp: pip install 'pondero[fast]'") from missing

_HEADERS = {"accept-encoding": "gzip, deflate", "user-agent": "pondero"}


class FastTransport:
    """Sends over the network and awaits; has connections of its own in every event loop."""

    needs_key = True

    def __init__(self) -> None:
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, _Pool] = WeakKeyDictionary()
        self._proxies = Proxies()

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> "FastAnswer":
        """Send it and return the answer as soon as its head is there."""
        session = await self._session()
        waits = aiohttp.ClientTimeout(
            total=None, sock_connect=timeouts.connect, sock_read=timeouts.between_bytes
        )
        with _said(request.url, timeouts.first_byte):
            async with asyncio.timeout(timeouts.connect + timeouts.first_byte):
                response = await session.request(
                    request.method,
                    request.url,
                    data=request.body,
                    headers={**_HEADERS, **request.headers},
                    timeout=waits,
                    proxy=self._proxies.of(request.url),
                    allow_redirects=False,
                )
        return FastAnswer(response, request.url, timeouts.between_bytes)

    async def aclose(self) -> None:
        """Close the connections of this event loop; the next request would open new ones."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.keeper.aclose()

    async def _session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            pool = self._pools[loop] = _Pool()
            await anext(pool.keeper)
        return pool.session


class FastAnswer:
    """A response that has begun."""

    def __init__(self, response: aiohttp.ClientResponse, url: str, seconds: float) -> None:
        headers = {name.lower(): value for name, value in response.headers.items()}
        self.head = Head(response.status, headers)
        self._response = response
        self._pieces = self._read(url, seconds)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    async def aclose(self) -> None:
        """Let go of the connection: back to the pool where all was read, else closed."""
        await self._pieces.aclose()
        self._response.close()

    async def _read(self, url: str, seconds: float) -> AsyncGenerator[bytes, None]:
        read = self._response.content.readany
        with _said(url, seconds):
            while data := await read():
                yield data


class _Pool:
    """The session of one event loop. The loop itself ends the keeper when it shuts down."""

    def __init__(self) -> None:
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60.0),
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=2**18,
        )
        self.keeper = self._kept()

    async def _kept(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            await self.session.close()


@contextmanager
def _said(url: str, seconds: float) -> Generator[None, None, None]:
    """Say the library's errors in our words; none of them names a key."""
    host = url.partition("://")[2].partition("/")[0]
    try:
        yield
    except aiohttp.ConnectionTimeoutError as error:
        message = f"no connection to {host} in time"
        raise Timeout(message) from error
    except TimeoutError as error:
        message = f"nothing came from {host} for {seconds:g} s"
        raise Timeout(message) from error
    except aiohttp.InvalidURL as error:
        message = f"{url!r} is no address; it begins with http:// or https://"
        raise BadParameter(message) from error
    except (aiohttp.ClientError, OSError) as error:
        message = f"{host}: {str(error) or type(error).__name__}"
        raise Unreachable(message) from error
