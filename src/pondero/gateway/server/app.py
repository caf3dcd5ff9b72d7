"""The gateway as an ASGI application: finds the handler for an address."""

import logging
from asyncio import CancelledError, ensure_future, sleep, timeout
from contextlib import suppress
from functools import lru_cache
from urllib.parse import urlsplit

from msgspec import json
from msgspec.structs import replace

from ...asgi import Message, Receive, Send
from ...canon import HttpRequest, HttpResponse
from ...dialects import NAMES, find_socket, get_dialect
from ..admin.actor import Actor
from ..admin.alert_watch import AlertWatch
from ..admin.api import Admin
from ..admin.api import write_error as write_admin_error
from ..answers.response_writer import RESPONSE, ResponseWriter
from ..observability.observers import Observers
from ..observability.receipt import make_id
from ..observability.request_record import RequestRecord
from ..quotas.counts_from_ledger import restore_counts, restore_refusals
from ..requests.endpoint_call import answer_endpoint
from ..requests.endpoint_match import match_endpoint
from ..requests.errors import (
    SHUTDOWN,
    describe_reason,
    error_response,
    read_reason,
    write_error,
)
from ..requests.kept_calls import answer_kept_call
from ..requests.model_list import answer_models
from ..requests.pipeline import answer_request
from ..requests.read_request import (
    BodyProblem,
    ClientLeft,
    read_head,
)
from ..requests.realtime import serve_realtime
from ..requests.request_id import HEADER, name_request
from ..requests.requester import (
    AccessDenied,
    RequesterChange,
    RequesterCheck,
    check_site,
    guess_dialect,
    identify,
    recognise_requester,
)
from ..requests.routed_request import ClientRequest
from ..requests.stored_calls import answer_stored_call
from ..requests.token_count import count_prompt
from ..requests.upload_pass import find_uploader
from ..sign_in.sign_in import SignIn
from ..state.redis_link import SharedStateLost
from .arrival import Arrival, find_head_problem
from .context import GatewayContext, Requester
from .readiness import Readiness
from .rejections import Rejections
from .response_socket import PATHS, answer_socket
from .sockets import (
    MATCHERS,
    SOCKETS,
    SocketHandler,
    SocketOpening,
    find_handler,
    run_handler,
    write_as_response,
)

LOG = logging.getLogger("pondero.gateway")

SOCKETS.update(dict.fromkeys(PATHS, answer_socket))

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
REFRESH = 5.0
"""Seconds between two looks of an idle gateway whether the shared state lost its data."""
_LOGGED = 200  # characters of a path
_LEFT = 499  # as nginx writes it: the client was not there any more
_CLOSING = 1.5  # seconds for the shared state: ending has a deadline
MATCHERS.append((lambda path: find_socket(path) is not None, serve_realtime))
_GREETINGS = ("/", "/api/hello")  # Claude Code looks there before its first request


class App:
    """The application; ``gateway`` is shared by all requests, ``seen`` has the observers."""

    def __init__(self, gateway: GatewayContext, seen: Observers | None = None) -> None:
        self.gateway = gateway
        self.seen: Observers = seen or Observers()
        if self.seen.metrics is not None:
            self.seen.metrics.breakers = gateway.breakers.states
            gateway.dial_watch.told.append(self.seen.metrics.note_alarm)
        self._alerts: AlertWatch | None = None
        if self.seen.webhook is not None:
            ledger = self.seen.ledger
            self._alerts = AlertWatch(
                gateway,
                self.seen.webhook.send,
                is_ledger_away=lambda: ledger is not None and ledger.away,
            )
        self.rejections: Rejections = Rejections(gateway)
        self.sign_in: SignIn = SignIn(gateway, self.rejections)
        self._admin = Admin(gateway, self.sign_in)
        self._readiness = Readiness(gateway, self.seen.ledger)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._run_lifespan(receive, send)
            return
        is_socket = scope["type"] == "websocket"
        if is_socket:
            await receive()  # that it wants to connect
        sends_whole = RESPONSE in scope.get("extensions", ())
        writer = ResponseWriter(write_as_response(send) if is_socket else send, sends_whole)
        head = read_head(scope)
        arrival = Arrival(make_id(self.gateway.now()), scope, head, receive, writer)
        try:
            await self._serve(arrival, SocketOpening(arrival, send) if is_socket else None)
        except ClientLeft:
            return
        except CancelledError:  # the server stops, or the client left
            if not writer.begun and not writer.left:
                await _write_shutdown(arrival)
            raise

    async def _run_lifespan(self, receive: Receive, send: Send) -> None:
        """Handle start and stop of the server.

        The first look sends the shared state the use that an earlier process could not send.
        """
        with suppress(SharedStateLost):
            await self.gateway.shared.look()
        refusals = restore_refusals(self.gateway, self.seen.ledger)
        background = [ensure_future(self._refresh()), ensure_future(refusals)]
        if (restoring := await restore_counts(self.gateway, self.seen.ledger)) is not None:
            background.append(restoring)
        if self._alerts is not None:
            background.append(ensure_future(self._alerts.run()))
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        for task in background:
            task.cancel()
        await self.gateway.runs.aclose()
        await self.gateway.watch.wait_until_closed()  # cut streams write their last event
        self.rejections.close()
        self.gateway.receipts.flush()
        self.gateway.close_hooks()
        with suppress(TimeoutError):
            async with timeout(_CLOSING):
                await self.sign_in.aclose()
                if self.gateway.kept is not None:
                    await self.gateway.kept.aclose()
                await self.gateway.shared.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    async def _refresh(self) -> None:
        """Give a shared state that lost its data the keys back, also without requests.

        A new replica knows no keys, and would answer all clients until then.
        """
        refresh = self.gateway.shared.refresh
        while refresh is not None:
            await sleep(REFRESH)
            try:
                await refresh()
            except SharedStateLost:
                continue
            except Exception:
                LOG.exception("the shared state could not be looked at")

    async def _serve(self, arrival: Arrival, opening: SocketOpening | None = None) -> None:
        """Answer a request: whatever its head decides comes before its body is read."""
        head, writer = arrival.head, arrival.writer
        path = urlsplit(head.url).path
        try:
            if (problem := find_head_problem(arrival.scope)) is not None:
                await self._reject(arrival, problem)
            elif opening is not None and (handler := find_handler(path)) is not None:
                await self._open_socket(opening, handler)
            elif self._admin.serves(path):
                await self._serve_admin(arrival, path)
            elif (head.method != "POST" or "upgrade" in head.headers) and (
                found := await self._find_public(head, path)
            ) is not None:
                with suppress(SharedStateLost):  # then nothing else is answered without a key
                    if not await self.gateway.keys.all():
                        check_site(head.headers, self.gateway.config)
                if found is _UPGRADE:
                    self.rejections.note(arrival.id, arrival.address, found.status, "WebSocket")
                await self._answer_unread(arrival, found)
            else:
                await self._answer_with_key(arrival, find_dialect(path))
        except AccessDenied as denied:
            await self._reject(arrival, denied)
        except SharedStateLost as error:
            front = find_dialect(path) or guess_dialect(head)
            response = write_error(error, front, get_dialect(front).service(), id=arrival.id)
            reason = describe_reason(error)
            self.rejections.note(arrival.id, arrival.address, response.status, reason, front=front)
            await self._answer_unread(arrival, response)
        except ClientLeft:
            raise
        except Exception:
            LOG.exception("request %s to %s failed", arrival.id, path[:_LOGGED])
            if not writer.begun:
                service = get_dialect(find_dialect(path) or guess_dialect(head)).service()
                response = write_error(RuntimeError(), "", service, id=arrival.id)
                await self._answer_unread(arrival, response)

    async def _find_public(self, http: HttpRequest, path: str) -> HttpResponse | None:
        """Return the answer to a request that needs no key; None to any other."""
        if http.headers.get("upgrade", "").lower() == "websocket":
            return _UPGRADE
        is_head = http.method == "HEAD"  # as some balancers ask
        if not is_head and http.method != "GET":
            return None
        if is_head and path in _GREETINGS:
            return HttpResponse(200)
        found = await self._find_page(path)
        return replace(found, body=b"") if is_head and found is not None else found

    async def _find_page(self, path: str) -> HttpResponse | None:
        ledger = self.seen.ledger
        if path == "/":
            return _HELLO
        if path == "/health":
            return _LAME if ledger is not None and ledger.away else _HELLO
        return await self._readiness.answer() if path == "/ready" else None

    async def _open_socket(self, opening: SocketOpening, handler: SocketHandler) -> None:
        requester = await identify(self.gateway, opening.head)
        await run_handler(handler, opening, gateway=self.gateway, requester=requester)

    async def _serve_admin(self, arrival: Arrival, path: str) -> None:
        actor = await self._admin.check(arrival.head, path)
        self.gateway.receipts.flush()  # the console shows all answers that clients have
        try:
            http = await arrival.read_body(self.gateway.config.server.max_body)
        except BodyProblem as problem:
            await self._reject(arrival, AccessDenied(problem.status, str(problem)), actor=actor)
            return
        with self.gateway.watch.watch(arrival.writer, arrival.receive):
            await self._admin.answer(
                http, path, arrival.writer, actor=actor, address=arrival.address
            )

    async def _answer_with_key(self, arrival: Arrival, client_dialect: str | None) -> None:
        gateway, head, writer = self.gateway, arrival.head, arrival.writer
        is_conversation = client_dialect is not None and head.method == "POST"
        if is_conversation:
            requester, keys = await recognise_requester(gateway, head)
        else:
            requester = await find_uploader(gateway, head) or await identify(gateway, head)
            keys = None
        is_page = client_dialect is None and urlsplit(head.url).path == "/metrics"
        if is_page and self.seen.metrics is not None:
            _check_metrics_key(requester)
            gateway.receipts.flush()
            await self._answer_unread(arrival, self.seen.metrics.page())
            return
        if client_dialect is None or head.method != "POST":
            match = match_endpoint(gateway.config, head)
            if match is not None:
                await answer_endpoint(gateway, arrival, match, requester)
                return
        try:
            http = await arrival.read_body(gateway.config.server.max_body)
        except BodyProblem as problem:
            with suppress(RequesterChange):
                await RequesterCheck(gateway, head, requester, keys).finish()
            service = get_dialect(client_dialect or guess_dialect(head)).service()
            response = error_response(service, problem.status, str(problem))
            record = self._start_record(arrival, head, requester)
            _note_response(record, response)
            record.finish()
            await self._answer_unread(arrival, name_request(response, service, arrival.id))
            return
        except ClientLeft:
            record = self._start_record(arrival, head, requester)
            reason = "the client left before its request was whole"
            record.note(status=_LEFT, end="left", reason=reason)
            record.finish()
            raise
        except CancelledError:  # the server stops; ``__call__`` answers
            record = self._start_record(arrival, head, requester)
            record.note(status=SHUTDOWN.status, end="failed", reason=describe_reason(SHUTDOWN))
            record.finish()
            raise
        gateway.watch.begin(writer, arrival.receive)  # as a block it would cost twice as much
        try:
            if client_dialect is not None and is_conversation:
                call = ClientRequest(
                    id=arrival.id,
                    client_dialect=client_dialect,
                    http=http,
                    requester=requester,
                    keys=keys,
                )
                await answer_request(gateway, call, writer)
            else:
                await self._answer_other(arrival, http, requester)
        finally:
            gateway.watch.end(writer)

    async def _answer_other(
        self, arrival: Arrival, http: HttpRequest, requester: Requester
    ) -> None:
        """Answer what is no conversation: token counts, stored answers and model lists."""
        gateway, writer = self.gateway, arrival.writer
        front = guess_dialect(http)
        service = get_dialect(front).service()
        record = self._start_record(arrival, http, requester)
        what = "token count"
        try:
            found = await count_prompt(gateway, http, requester, note=record.note_model)
            if found is None:
                what = "stored answer"
                found = await answer_kept_call(gateway, http, requester, writer)
            if found is None:
                found = await answer_stored_call(gateway, http, requester, writer)
            if found is None:
                what = "model list"
                found = await answer_models(gateway, http, requester.key, requester.group)
            found = found or write_not_found(http)
            _note_response(record, found, what)
            if found.status >= 400:
                found = name_request(found, service, arrival.id)
                record.finish()
            if not writer.ended:
                await writer.whole(found)
        except RecursionError as error:
            response = write_error(error, front, service, id=arrival.id)
            _note_response(record, response)
            record.finish()
            await writer.whole(response)
        except CancelledError:
            record.note(end="left", reason=what)
            raise
        except Exception as error:
            record.note(status=500, end="failed", reason=describe_reason(error))
            raise
        finally:
            record.finish()

    def _start_record(
        self, arrival: Arrival, http: HttpRequest, requester: Requester
    ) -> RequestRecord:
        front = find_dialect(urlsplit(http.url).path) or guess_dialect(http)
        call = ClientRequest(id=arrival.id, client_dialect=front, http=http, requester=requester)
        return RequestRecord(self.gateway, call)

    # -- rejections by the head --------------------------------------------------------------------

    def reject_unread(
        self, address: str, status: int, reason: str, head: HttpRequest | None
    ) -> HttpResponse:
        """Record a request that the server's protocol rejected, and return its answer.

        Without a head, it is not known which API it was meant for.
        """
        id = make_id(self.gateway.now())
        if head is not None:
            front, response = self._write_rejection(head, status, reason, id=id)
        else:
            body = json.encode({"error": {"message": reason}, "request_id": id})
            front = ""
            response = HttpResponse(status, {"content-type": "application/json", HEADER: id}, body)
        self.rejections.note(id, address, status, reason, front=front)
        return response

    def _write_rejection(
        self, head: HttpRequest, status: int, message: str, *, id: str, wait: int | None = None
    ) -> tuple[str, HttpResponse]:
        """Return the dialect of a request, and its rejection in the format of that API."""
        path = urlsplit(head.url).path
        if self._admin.serves(path):
            return "", write_admin_error(status, message)
        front = find_dialect(path) or guess_dialect(head)
        service = get_dialect(front).service()
        response = service.error(status, message, code=None, retry_after=wait)
        return front, name_request(response, service, id)

    async def _reject(
        self, arrival: Arrival, denied: AccessDenied, *, actor: Actor | None = None
    ) -> None:
        """Reject a request by its head; an address with many wrong keys has to wait."""
        head, path = arrival.head, urlsplit(arrival.head.url).path
        if (
            denied.status == 401
            and self._admin.serves(path)
            and head.method in ("GET", "HEAD")
            and "authorization" not in head.headers
        ):
            # The console asks so whether it needs a key; no key was tried.
            await self._answer_unread(arrival, write_admin_error(401, str(denied)))
            return
        status, reason, wait = denied.status, str(denied), None
        if status == 401 and (wait := self.rejections.find_wait(arrival.address)) is not None:
            status = 429
            message = f"too many requests without a valid key from your address; wait {wait} s"
        else:
            message = reason
        front, response = self._write_rejection(head, status, message, id=arrival.id, wait=wait)
        is_single = self.rejections.note(
            arrival.id, arrival.address, status, reason, front=front, key=denied.key
        )
        is_known = actor is not None or (denied.key and status == 403)
        if is_single or is_known:  # who has no valid key must not fill the audit log either
            self._admin.record_denied(head, path, arrival.address, denied, actor=actor)
        await self._answer_unread(arrival, response)

    async def _answer_unread(self, arrival: Arrival, response: HttpResponse) -> None:
        """Answer without the body; if one was announced, the connection ends with the answer."""
        await arrival.close_with(response)


def _check_metrics_key(requester: Requester) -> None:
    """Raise AccessDenied for a key that may not see the names and the use of all others."""
    key = requester.key
    if key is not None and not (key.admin or key.metrics):
        message = (
            f"the key {key.name!r} may not read metrics; write metrics = true under its [[key]], "
            "and let the gateway read the file again"
        )
        raise AccessDenied(403, message, key=key.name)


def _note_response(record: RequestRecord, response: HttpResponse, label: str | None = None) -> None:
    failed = response.status >= 400
    record.note(
        status=response.status,
        end="refused" if failed else "done",
        reason=read_reason(response) if failed else label,
    )


async def _write_shutdown(arrival: Arrival) -> None:
    """Tell a client that the gateway stops before its request was whole."""
    front = find_dialect(urlsplit(arrival.head.url).path) or guess_dialect(arrival.head)
    response = write_error(SHUTDOWN, front, get_dialect(front).service(), id=arrival.id)
    closing = {**response.headers, "connection": "close"}
    await arrival.writer.whole(replace(response, headers=closing))


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
    own = service.own_paths
    message = f"the gateway serves no {http.method} {path}"
    advice = next((text for pattern, text in own.advice if pattern.search(path)), None)
    full = f"{message}: {advice}" if advice else message
    return error_response(service, 404, full, code=own.error_code)
