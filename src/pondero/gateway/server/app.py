"""The gateway as an ASGI application: finds the handler for an address."""

import logging
from contextlib import suppress
from functools import lru_cache
from urllib.parse import urlsplit

from ...asgi import Message, Receive, Send
from ...canon import HttpRequest, HttpResponse
from ...dialects import COMMON, NAMES, Rejected, get_dialect
from ...errors import PonderoError
from ..admin.api import Admin
from ..observability.observers import Observers
from ..requests.errors import error_response, write_error
from ..requests.model_list import answer_model_list
from ..requests.pipeline import answer_request
from ..requests.read_request import (
    TooLarge,
    guess_dialect,
    identify,
    make_http_request,
    read_body,
)
from ..requests.response_writer import ResponseWriter
from ..requests.token_count import count_prompt
from ..state.redis_link import SharedStateLost
from .context import GatewayContext

LOG = logging.getLogger("pondero.gateway")

_UPGRADE = HttpResponse(
    426,  # Codex tries a WebSocket first; a 404 would cost seven tries
    {"content-type": "application/json", "upgrade": "HTTP/1.1"},
    b'{"error":{"message":"WebSocket is not supported; use HTTP","type":"invalid_request_error"}}',
)
_HELLO = HttpResponse(200, {"content-type": "application/json"}, b'{"status":"ok"}')
_LAME = HttpResponse(
    200,  # requests are answered, and reach the ledger later
    {"content-type": "application/json"},
    b'{"status":"ok","ledger":"away"}',
)
_GREETINGS = ("/", "/api/hello")  # Claude Code looks there before its first request


class App:
    """The application; ``gateway`` is shared by all requests, ``seen`` has the observers."""

    def __init__(self, gateway: GatewayContext, seen: Observers | None = None) -> None:
        self.gateway = gateway
        self.seen: Observers = seen or Observers()
        if self.seen.metrics is not None:
            self.seen.metrics.breakers = gateway.breakers.states
        self._admin = Admin(gateway)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._run_lifespan(receive, send)
            return
        if scope["type"] != "http":
            await _reject_websocket(scope, receive, send)
            return
        writer = ResponseWriter(send)
        most = self.gateway.config.server.max_body
        try:
            body = await read_body(receive, most)
            if body is None:
                return
            http = make_http_request(scope, body, most)
        except TooLarge:
            await writer.whole(
                _write_plain(413, f"a request may have {most:,} bytes", scope["path"])
            )
            return
        except PonderoError as error:
            await writer.whole(_write_plain(400, str(error), scope["path"]))
            return
        with self.gateway.watch.watch(writer, receive):
            await self._serve(http, writer)

    async def _run_lifespan(self, receive: Receive, send: Send) -> None:
        """Handle start and stop of the server.

        The first look sends the shared state the use that an earlier process could not send.
        """
        with suppress(SharedStateLost):
            await self.gateway.shared.look()
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await self.gateway.shared.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    async def _serve(self, http: HttpRequest, writer: ResponseWriter) -> None:
        path = urlsplit(http.url).path
        client_dialect = find_dialect(path)
        service = get_dialect(client_dialect or COMMON).service()
        try:
            if self._admin.serves(path):
                await self._admin.answer(http, path, writer)
            elif not await self._answer_public(http, path, writer):
                await self._answer_with_key(http, client_dialect, writer)
        except Rejected as rejection:
            await writer.whole(rejection.response)
        except SharedStateLost as error:
            await writer.whole(write_error(error, client_dialect or "", service))
        except Exception:
            LOG.exception("a request to %s failed", path)
            if not writer.begun:
                await writer.whole(write_error(RuntimeError(), client_dialect or "", service))

    async def _answer_public(self, http: HttpRequest, path: str, writer: ResponseWriter) -> bool:
        """Answer a request that needs no key; return whether it was one."""
        if http.headers.get("upgrade", "").lower() == "websocket":
            await writer.whole(_UPGRADE)
        elif http.method == "HEAD" and path in _GREETINGS:
            await writer.whole(HttpResponse(200))
        elif http.method == "GET" and path == "/":
            await writer.whole(_HELLO)
        elif http.method == "GET" and path == "/health":
            ledger = self.seen.ledger
            await writer.whole(_LAME if ledger is not None and ledger.away else _HELLO)
        else:
            return False
        return True

    async def _answer_with_key(
        self, http: HttpRequest, client_dialect: str | None, writer: ResponseWriter
    ) -> None:
        gateway = self.gateway
        if client_dialect is not None and http.method == "POST":
            await answer_request(gateway, http, client_dialect, writer)
            return
        requester = await identify(gateway, http, client_dialect)
        if self.seen.metrics is not None and urlsplit(http.url).path == "/metrics":
            await writer.whole(self.seen.metrics.page())
            return
        found = (
            await count_prompt(gateway, http, requester)
            or answer_model_list(http, gateway.routing, requester.key)
            or write_not_found(http)
        )
        await writer.whole(found)


@lru_cache(maxsize=256)
def find_dialect(path: str) -> str | None:
    """Return the dialect whose conversations are at a path; None if there is none."""
    return next((name for name in NAMES if get_dialect(name).service().matches_path(path)), None)


def write_not_found(http: HttpRequest) -> HttpResponse:
    """Return the error for an unknown address, in the dialect it was most likely meant for."""
    path = urlsplit(http.url).path
    service = get_dialect(guess_dialect(http)).service()
    if path.endswith("/responses/compact"):
        message = "this gateway does not compact conversations; the client can do it itself"
        return error_response(service, 501, message)
    return error_response(service, 404, f"the gateway serves no {http.method} {path}")


def _write_plain(status: int, message: str, path: str) -> HttpResponse:
    return error_response(get_dialect(find_dialect(path) or COMMON).service(), status, message)


async def _reject_websocket(scope: Message, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        if "websocket.http.response" in scope.get("extensions", {}):
            start = {"type": "websocket.http.response.start", "status": 426, "headers": []}
            await send(start)
            await send({"type": "websocket.http.response.body", "body": _UPGRADE.body})
        else:
            await send({"type": "websocket.close", "code": 1002})
