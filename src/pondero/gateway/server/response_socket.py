"""Responses over a WebSocket: each message is a request, and its answer's events are messages.

A request goes the way of any other: its key, its limits and its record are its own. Answers that
are not to be stored can be continued on the connection that got them.
"""

from asyncio import CancelledError, Task, ensure_future, wait
from contextlib import suppress

from msgspec.structs import replace

from ...asgi import Message
from ...canon import HttpRequest, HttpResponse
from ...dialects import NAMES, KeptResponses, Rejected, SocketRequest, get_dialect
from ...errors import PonderoError
from ...framing import SseSplitter, find_data
from ..answers.key_filter import KeyFilter
from ..answers.response_writer import READ_ON, ResponseWriter
from ..observability.receipt import make_id
from ..observability.request_record import RequestRecord
from ..quotas.endpoint_use import count_one_request
from ..requests.errors import describe_reason, error_response, write_error
from ..requests.kept_answers import AnswerKeeper
from ..requests.pipeline import answer_request
from ..requests.requester import AccessDenied, identify
from ..requests.routed_request import ClientRequest, RoutedRequest, parse_and_route
from ..requests.stored_ids import check_stored_ids
from ..requests.translation import make_reply_context
from ..state.kept_store import LocalKeptStore
from .context import GatewayContext, Requester
from .sockets import Socket, SocketEnd, SocketOpening

PATHS = ("/v1/responses", "/responses")
"""Where clients open such a socket."""
HOUR = 3_600.0
"""Seconds for one connection, as at OpenAI."""
_LOCAL = 64 << 20  # bytes of answers that one connection can continue
_POLICY = 1008  # the close code of a server that refuses


class _Connection:
    """One open socket, and the answers that only it can continue."""

    def __init__(self, gateway: GatewayContext, opening: SocketOpening, socket: Socket) -> None:
        self._gateway = gateway
        self._head = opening.head
        self._socket = socket
        self._local = LocalKeptStore(seconds=HOUR, size=_LOCAL)
        self._opened = gateway.now()
        name = next(each for each in NAMES if get_dialect(each).service().matches_path(PATHS[0]))
        self._name = name
        self._service = get_dialect(name).service()

    @property
    def _rules(self) -> KeptResponses:
        rules = self._service.kept_responses
        if rules is None:
            raise TypeError("this API has no socket")
        return rules

    async def serve(self) -> None:
        """Answer one message after the other; raises SocketEnd."""
        while True:
            message = await self._socket.receive()
            if self._gateway.now() - self._opened > HOUR:
                await self._send_error(self._rules.socket.too_old())
                return
            try:
                requester = await identify(self._gateway, self._head)
            except (AccessDenied, PonderoError) as error:  # since it opened, its key has ended
                await self._refuse(error)
                return
            await self._answer(message, requester)

    async def _refuse(self, error: AccessDenied | PonderoError) -> None:
        if isinstance(error, AccessDenied):
            response = error_response(self._service, error.status, str(error))
        else:
            response = write_error(error, self._name, self._service)
        await self._send_error(response)
        await self._socket.close(_POLICY)

    async def _send_error(self, response: HttpResponse) -> None:
        await self._socket.send(self._rules.socket.write_error(response))

    async def _answer(self, message: str | bytes, requester: Requester) -> None:
        id = make_id(self._gateway.now())
        headers = {**self._head.headers, "content-type": "application/json"}
        http = HttpRequest("POST", self._head.url, headers, b"")
        call = ClientRequest(
            id=id,
            client_dialect=self._name,
            http=http,
            requester=requester,
            local=self._local,
        )
        try:
            asked = self._read(message)
        except Rejected as rejected:
            record = RequestRecord(self._gateway, call)
            record.note(status=rejected.response.status, end="refused")
            record.note(reason=describe_reason(rejected))
            record.finish()
            await self._send_error(rejected.response)
            return
        call = replace(call, http=replace(http, body=asked.body))
        if asked.is_empty:
            await self._keep(call)
        else:
            await self._run(call)

    def _read(self, message: str | bytes) -> SocketRequest:
        limit = self._gateway.config.server.max_body
        if len(message) > limit:
            text = f"a request may have {limit:,} bytes"
            raise Rejected(error_response(self._service, 413, text))
        return self._rules.socket.read(message)

    # -- answers ---------------------------------------------------------------------------------

    async def _run(self, call: ClientRequest) -> None:
        """Answer a request; if the client leaves, it is read on for its counts for a moment."""
        frames = _Frames(self._socket, self._rules)
        writer = ResponseWriter(frames.take)
        frames.writer = writer
        answering = ensure_future(answer_request(self._gateway, call, writer))
        left = ensure_future(self._socket.wait_until_left())
        try:
            await wait((answering, left), return_when="FIRST_COMPLETED")
            if not answering.done():
                writer.left = True
                await wait((answering,), timeout=READ_ON if writer.is_ending() else 0)
        finally:
            left.cancel()
            await _stop(answering)
        if self._socket.closed is not None:
            raise self._socket.closed

    async def _keep(self, call: ClientRequest) -> None:
        """Keep the input of a request that asks for no answer, so that the next can continue it."""
        gateway, service = self._gateway, self._service
        record = RequestRecord(gateway, call)
        try:
            routed = await parse_and_route(gateway, call, service)
            routed = await check_stored_ids(gateway, routed)
            record.requested_model = routed.parsed.request.model
            async with count_one_request(gateway, call.id, routed.rules.quotas):
                events = await self._write_empty(routed)
        except (PonderoError, Rejected, RecursionError) as error:
            response = write_error(error, self._name, service, id=call.id)
            record.note(status=response.status, end="refused", reason=describe_reason(error))
            await self._send_error(response)
        else:
            record.note(status=200, end="done", reason="input kept, no answer asked for")
            for event in events:
                await self._socket.send(event.decode())
        finally:
            record.finish()

    async def _write_empty(self, routed: RoutedRequest) -> tuple[bytes, ...]:
        context = make_reply_context(routed.service, routed.parsed, id=routed.call.id)
        events = self._rules.socket.write_empty(context)
        keeper = AnswerKeeper(self._gateway, routed, KeyFilter(()))
        keeper.feed(b"data: " + events[-1] + b"\n")
        await keeper.save(int)
        return events


async def _stop(answering: "Task[None]") -> None:
    """Stop an answer that is not complete, and raise what it raised."""
    if not answering.done():
        answering.cancel()
    with suppress(CancelledError, SocketEnd):
        await answering


class _Frames:
    """Turns the pieces of a response into messages of a socket."""

    def __init__(self, socket: Socket, rules: KeptResponses) -> None:
        self._socket = socket
        self._rules = rules
        self._status = 200
        self._error = b""
        self._events = SseSplitter()
        self.writer: ResponseWriter | None = None

    async def take(self, message: Message) -> None:
        """Take a message as a server would."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            return
        body, is_last = message.get("body", b""), not message.get("more_body", False)
        if self._status == 200:
            events = self._events.feed(body)
            for event in [*events, *self._events.eof()] if is_last else events:
                if data := find_data(event):
                    await self._send(data.decode("utf-8", "replace"))
            return
        self._error += body
        if is_last:
            response = HttpResponse(self._status, {}, self._error)
            await self._send(self._rules.socket.write_error(response))

    async def _send(self, text: str) -> None:
        try:
            await self._socket.send(text)
        except SocketEnd:
            if self.writer is not None:
                self.writer.left = True


async def answer_socket(
    gateway: GatewayContext, opening: SocketOpening, _requester: Requester
) -> None:
    """Answer the requests that come over a socket, one after the other."""
    socket = await opening.accept()
    await _Connection(gateway, opening, socket).serve()
