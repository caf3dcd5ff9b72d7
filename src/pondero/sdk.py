"""HTTP clients for other SDKs: with a level for each request, an emulator or a cassette.

Pass ``client("high")`` or ``aclient("high")`` to the anthropic and openai SDKs as
``http_client=``, to google-genai in its ``http_options`` as ``httpx_client`` and
``httpx_async_client``. A request to an unknown wire or model passes unchanged, and without a level
every request does: ``client(transport=Emulator())`` is for tests.
"""

from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import contextmanager
from os import PathLike

import httpx2

from .canon import HttpRequest
from .client import PolicyLike, resolve_policy, set_level
from .errors import Timeout, TransportError
from .exchange import AsyncResponse, AsyncTransport, Response, Timeouts, Transport
from .thinking import Plan, Policy, ThinkingLike, parse_intent

__all__ = ["aclient", "client"]

_PATIENCE = httpx2.Timeout(600.0, connect=10.0)  # as the SDKs themselves
_HOP_HEADERS = ("content-length", "host", "transfer-encoding", "connection")
_DECODED_HEADERS = ("content-encoding", "content-length", "transfer-encoding")


def client(
    level: ThinkingLike = None,
    cassette: str | PathLike[str] | None = None,
    policy: PolicyLike = None,
    transport: Transport | None = None,
) -> httpx2.Client:
    """Return an HTTP client that sets this level, over a cassette if one is given.

    Each response has its plan in ``extensions["pondero"]``.

    >>> import pondero.sdk, anthropic
    >>> dialled = anthropic.Anthropic(http_client=pondero.sdk.client("high"))
    >>> from pondero.emulator import Emulator
    >>> tested = anthropic.Anthropic(http_client=pondero.sdk.client(transport=Emulator()))
    """
    from .cassettes import Cassette  # noqa: PLC0415 - each needs its library
    from .transport import HttpTransport  # noqa: PLC0415 - each needs its library

    parse_intent(level)
    inner = transport or HttpTransport() if cassette is None else Cassette(cassette, transport)
    return httpx2.Client(
        transport=_LevelTransport(inner, level, resolve_policy(policy)),
        timeout=_PATIENCE,
        follow_redirects=True,
    )


def aclient(
    level: ThinkingLike = None,
    cassette: str | PathLike[str] | None = None,
    policy: PolicyLike = None,
    transport: AsyncTransport | None = None,
) -> httpx2.AsyncClient:
    """Return an asyncio HTTP client that sets this level.

    >>> import pondero.sdk, anthropic
    >>> dialled = anthropic.AsyncAnthropic(http_client=pondero.sdk.aclient("high"))
    """
    from .cassettes import AsyncCassette  # noqa: PLC0415 - see above
    from .transport import AsyncHttpTransport  # noqa: PLC0415 - see above

    parse_intent(level)
    inner = (
        transport or AsyncHttpTransport()
        if cassette is None
        else AsyncCassette(cassette, transport)
    )
    return httpx2.AsyncClient(
        transport=_AsyncLevelTransport(inner, level, resolve_policy(policy)),
        timeout=_PATIENCE,
        follow_redirects=True,
    )


class _LevelTransport(httpx2.BaseTransport):
    def __init__(self, inner: Transport, level: ThinkingLike, policy: Policy) -> None:
        self._inner, self._level, self._policy = inner, level, policy

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        made, plan = set_level(_convert_request(request, request.read()), self._level, self._policy)
        with _translate_errors(request):
            answer = self._inner.send(made, _timeouts(request))
        return _response(request, answer, _Bytes(answer, request), plan)

    def close(self) -> None:
        self._inner.close()


class _AsyncLevelTransport(httpx2.AsyncBaseTransport):
    def __init__(self, inner: AsyncTransport, level: ThinkingLike, policy: Policy) -> None:
        self._inner, self._level, self._policy = inner, level, policy

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        made, plan = set_level(
            _convert_request(request, await request.aread()), self._level, self._policy
        )
        with _translate_errors(request):
            answer = await self._inner.send(made, _timeouts(request))
        return _response(request, answer, _AsyncBytes(answer, request), plan)

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Bytes(httpx2.SyncByteStream):
    def __init__(self, answer: Response, request: httpx2.Request) -> None:
        self._answer, self._request = answer, request

    def __iter__(self) -> Iterator[bytes]:
        with _translate_errors(self._request):
            yield from self._answer

    def close(self) -> None:
        self._answer.close()


class _AsyncBytes(httpx2.AsyncByteStream):
    def __init__(self, answer: AsyncResponse, request: httpx2.Request) -> None:
        self._answer, self._request = answer, request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _translate_errors(self._request):
            async for data in self._answer:
                yield data

    async def aclose(self) -> None:
        await self._answer.aclose()


def _convert_request(request: httpx2.Request, body: bytes) -> HttpRequest:
    headers = {name: value for name, value in request.headers.items() if name not in _HOP_HEADERS}
    return HttpRequest(request.method, str(request.url), headers, body)


def _timeouts(request: httpx2.Request) -> Timeouts:
    waits = request.extensions.get("timeout", {})
    usual = Timeouts()
    read = waits.get("read") or 24 * 3600.0
    return Timeouts(waits.get("connect") or usual.connect, read, read)


def _response(
    request: httpx2.Request,
    answer: Response | AsyncResponse,
    stream: httpx2.SyncByteStream | httpx2.AsyncByteStream,
    plan: Plan | None,
) -> httpx2.Response:
    headers = {name: v for name, v in answer.head.headers.items() if name not in _DECODED_HEADERS}
    extensions = {} if plan is None else {"pondero": plan}
    return httpx2.Response(
        answer.head.status, headers=headers, stream=stream, request=request, extensions=extensions
    )


@contextmanager
def _translate_errors(request: httpx2.Request) -> Generator[None, None, None]:
    """Raise our errors as errors of httpx2, which the SDKs retry."""
    try:
        yield
    except Timeout as error:
        raise httpx2.ReadTimeout(str(error), request=request) from error
    except TransportError as error:
        # As httpx2 itself: a connection that breaks later is another error than none.
        kind = httpx2.RemoteProtocolError if error.connected else httpx2.ConnectError
        raise kind(str(error), request=request) from error
