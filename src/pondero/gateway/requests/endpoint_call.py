"""Answers requests that are no conversation: they go to a provider as they are, and back.

The provider is that of the model's route, or of the path. The key is exchanged; body and answer
pass unchanged; each request has one record, with what its answer says that it used.
"""

from asyncio import CancelledError
from collections.abc import AsyncIterable
from contextlib import AbstractContextManager, nullcontext, suppress
from itertools import count
from urllib.parse import parse_qs, urlsplit

from msgspec.structs import replace

from ...canon import HttpRequest, HttpResponse, Json
from ...dialects import AnswerUsageReader, EndpointMatch, Rejected, Service, get_dialect
from ...errors import PonderoError, TransportError
from ...exchange import AsyncResponse, AsyncTransport, Timeouts, list_keys
from ..answers.key_filter import KeyFilter
from ..answers.response_writer import ResponseWriter
from ..config.model import GatewayRoute
from ..deployments.accounts import LAST_PATIENCE, AccountFull, find_delay
from ..deployments.endpoint_account import EndpointAccount
from ..deployments.room_wait import RoomWait
from ..observability.request_record import RequestRecord
from ..quotas.endpoint_bound import check_limit, check_named_files, find_body_media, find_most
from ..quotas.endpoint_use import EndpointCall, EndpointMeter, admit_endpoint
from ..quotas.quota import find_quotas
from ..server.arrival import Arrival
from ..server.context import GatewayContext, Requester
from .batch_lines import dial_lines
from .body_pieces import BodyPieces
from .endpoint_access import check_listed, check_rules
from .endpoint_answer import (
    LONGEST,
    find_error_in_answer,
    iter_from_beginning,
    read_all,
    read_beginning,
    read_error,
)
from .endpoint_content import EndpointContent, read_content
from .endpoint_ids import (
    check_account_things,
    check_list,
    claim_names,
    find_given,
    find_home,
    forget_names,
    load_claims,
    record_ids,
)
from .endpoint_models import check_other_models
from .endpoint_request import make_request, pick_answer_headers
from .endpoint_target import EndpointTarget, find_endpoint_targets, name_target
from .errors import (
    SHUTDOWN,
    describe_reason,
    error_response,
    redact_bytes,
    write_error,
)
from .read_request import BodyProblem, ClientLeft
from .request_id import HEADER, name_request
from .routed_request import ClientRequest
from .upload_pass import PASS, make_pass

_AGAIN = frozenset({408, 429, *range(500, 600)})  # statuses after which another is asked
_LEFT = 499
_PATIENT = 600.0  # seconds: pictures and films take long


async def answer_endpoint(
    gateway: GatewayContext, arrival: Arrival, match: EndpointMatch, requester: Requester
) -> None:
    """Answer a request to an endpoint; errors are written too."""
    call = EndpointExchange(gateway, arrival, match, requester)
    record, service, writer = call.record, call.service, arrival.writer
    try:
        await call.run()
    except (PonderoError, Rejected, RecursionError, BodyProblem) as error:
        response = call.write_error(error)
        failed = isinstance(error, TransportError)
        end = "failed" if failed or writer.begun else "refused"
        record.note(status=response.status, end=end, reason=_describe(error))
        if writer.begun:
            raise ClientLeft from error  # nothing can be said any more: the connection ends
        record.note(units=call.meter.units)
        record.finish()  # first: this process may be killed as soon as the client has its answer
        await call.write(name_request(response, service, arrival.id))
    except ClientLeft:
        record.note(status=_LEFT, end="left", reason="the client left")
        raise
    except CancelledError:
        if writer.left:
            record.note_left()
        else:
            record.note(status=SHUTDOWN.status, end="failed", reason=describe_reason(SHUTDOWN))
        raise
    except Exception as error:
        record.note(status=500, end="failed", reason=describe_reason(error))
        raise
    finally:
        record.note(units=call.meter.units)
        record.finish()


def _describe(error: Exception) -> str:
    return str(error) if isinstance(error, BodyProblem) else describe_reason(error)


class EndpointExchange:
    """One request to an endpoint and its answer."""

    def __init__(
        self, gateway: GatewayContext, arrival: Arrival, match: EndpointMatch, requester: Requester
    ) -> None:
        self._gateway = gateway
        self._arrival = arrival
        self._match = match
        self._requester = requester
        self.service: Service[Json] = get_dialect(match.api.error).service()
        self._call = ClientRequest(
            id=arrival.id, client_dialect=match.api.error, http=arrival.head, requester=requester
        )
        self.record: RequestRecord = RequestRecord(gateway, self._call)
        self.record.note(endpoint=match.endpoint.name, road="passed")
        self.meter: EndpointMeter = EndpointMeter()
        self.record.set_meter(self.meter)
        self._content: EndpointContent | None = None
        self._makes_ids = True  # else it names things that were made elsewhere
        self._claims: dict[str, bytes] = {}  # of the names that it deletes

    async def run(self) -> None:
        """Check, send and pass on; raises what is written as an error."""
        gateway, match, key = self._gateway, self._match, self._requester.key
        check_listed(match, key)
        server = gateway.config.server
        self._check_rules(None, None)
        check_list(match, self._requester)
        content = self._content = await read_content(
            self._arrival,
            match,
            max_body=server.max_body,
            max_upload=server.max_upload,
            lists_models=key is not None and key.models is not None,
        )
        self.record.requested_model = content.model or ""
        check_account_things(match, content.raw, self._requester)
        ids = (*match.ids, *content.references, *self._find_upload())
        home = await find_home(gateway, self._requester, ids)
        self._makes_ids = home is not None or not ids
        targets = find_endpoint_targets(
            gateway, match, content.model, requester=self._requester, home=home
        )
        route = targets[0].route
        self.record.note(route=route.match if route is not None else None)
        self._check_rules(content, route)
        check_other_models(gateway, match, content, self._requester, targets)
        if match.endpoint.lines is not None:
            lines = match.endpoint.lines
            content.body, targets = await dial_lines(gateway, self._call, lines, content.body)
        providers = [each.provider.name for each in targets]
        most = find_most(match.endpoint, content.body, content.raw, providers=providers)
        media = find_body_media(match.endpoint, content.body)
        first = EndpointCall(targets[0].provider, targets[0].model, most, media=media)
        quotas = find_quotas(key, self._requester.group, route)
        check_limit(match.endpoint, content.raw, providers=providers, quotas=quotas)
        named = (*match.api.references, *match.api.addresses)
        check_named_files(match.endpoint, content.raw, named, quotas=quotas)
        admission = await admit_endpoint(
            gateway, self._arrival.id, quotas=quotas, endpoint=match.endpoint, call=first
        )
        self.record.admit(admission)
        if match.deletes_name:
            self._claims = await load_claims(gateway, match.ids)
        await self._send_in_order(content, targets, most=first)

    def _check_rules(self, content: EndpointContent | None, route: GatewayRoute | None) -> None:
        gateway = self._gateway
        check_rules(
            self._match,
            content,
            self._requester,
            route=route,
            routes=gateway.config.routes,
            hooks=gateway.hooks,
        )

    def _find_upload(self) -> tuple[str, ...]:
        """Return the id of an upload that this request continues."""
        name = self._match.endpoint.given_query
        query = parse_qs(urlsplit(self._arrival.head.url).query) if name else {}
        return tuple(query.get(name, ()))

    # -- the service -------------------------------------------------------------------------------

    async def _send_in_order(
        self, content: EndpointContent, targets: tuple[EndpointTarget, ...], *, most: EndpointCall
    ) -> None:
        """Ask the providers in order; a body that passes in pieces can be sent only once."""
        can_repeat = content.pieces is None
        asked = targets if can_repeat else targets[:1]
        original = content.body
        names = dict(zip(map(str, range(len(asked))), asked, strict=True))
        turns = [(each, 0.0 if len(asked) > 1 else LAST_PATIENCE) for each in names]
        last, wait, full = turns[-1][0], RoomWait(), dict[str, AccountFull]()
        for number in count():
            name, patience = turns.pop(0)
            content.body = original
            id, is_last = f"{self._arrival.id}@{number}", name == last
            asking = self._ask_within_limits(
                content, names[name], id, most=most, is_last=is_last, patience=patience
            )
            try:
                if await asking:
                    return
                wait.note_end()
                full.pop(name, None)
            except AccountFull as error:
                if len(asked) == 1:
                    raise
                wait.note_end(error)
                wait.add(name, error)
                full[name] = error
            if not turns:
                if (chosen := wait.choose()) is None:
                    raise min(full.values(), key=find_delay)
                turns.append(chosen)
                last = chosen[0]

    async def _ask_within_limits(
        self,
        content: EndpointContent,
        target: EndpointTarget,
        id: str,
        *,
        most: EndpointCall,
        is_last: bool,
        patience: float,
    ) -> bool:
        """Ask one account if it has room; return whether the client has its answer."""
        self.record.note(
            provider=target.provider.name,
            model=target.model,
            deployment=target.deployment or None,
        )
        account = EndpointAccount(
            self._gateway,
            id,
            target.account,
            provider=target.provider,
            model=target.model or "",
            is_told=target.model is not None and self._match.endpoint.counts == "answer",
        )
        try:
            # It counts when it arrives, so what takes time comes before.
            http = make_request(self._gateway, self._match, content, target)
            size = len(content.body)
            await account.reserve(most.most, size=size, is_last=is_last, patience=patience)
            return await self._ask(http, content, target, account, most=most, is_last=is_last)
        finally:
            account.settle()

    async def _ask(
        self,
        http: HttpRequest,
        content: EndpointContent,
        target: EndpointTarget,
        account: EndpointAccount,
        *,
        most: EndpointCall,
        is_last: bool,
    ) -> bool:
        """Ask one account; return whether the client has its answer, else the next is asked."""
        can_repeat = content.pieces is None
        call = await self.meter.begin_call(
            target.provider, target.model, most.most, media=most.media
        )
        account.call = call
        with self._watch() if can_repeat else nullcontext():
            try:
                with account.watch_departure():
                    answer = await self._send(http, call, content.pieces)
            except TransportError as error:
                await account.note_error(error)
                if is_last:
                    raise
                return False
            try:
                await account.note_head(answer.head)
            except BaseException:
                await answer.aclose()
                raise
            moves_on = answer.head.status in _AGAIN
            if account.name and answer.head.status >= 400:
                answer = await read_error(answer)
                moves_on = await account.note_rejection(answer.head, answer.body)
            elif account.name and target.model is not None:
                try:
                    answer, moves_on = await find_error_in_answer(answer, account)
                except TransportError as error:  # in the middle; the client has nothing of it
                    await account.note_error(error)
                    if is_last:
                        raise
                    return False
                call.is_free = call.is_free or moves_on
            if moves_on and not is_last:
                await answer.aclose()
                return False
            # Who reads a body cannot watch for the client's leaving at the same time.
            is_read = content.pieces is not None and content.pieces.is_whole
            with self._watch() if is_read else nullcontext():
                await self._deliver(answer, http, call, target)
            return True

    def _watch(self) -> AbstractContextManager[None]:
        return self._gateway.watch.watch(self._arrival.writer, self._arrival.receive)

    async def _send(
        self, http: HttpRequest, call: EndpointCall, pieces: BodyPieces | None
    ) -> AsyncResponse:
        """Send a request; a rejected one and one that never left cost nothing."""
        timeouts = self._gateway.timeouts
        patient = Timeouts(timeouts.connect, max(timeouts.first_byte, _PATIENT), _PATIENT)
        try:
            if pieces is None:
                answer = await self._gateway.transport.send(http, patient)
            else:
                answer = await _send_pieces(self._gateway.transport, http, patient, pieces)
        except PonderoError as error:
            call.is_free = not isinstance(error, TransportError) or not error.connected
            if pieces is not None and pieces.failed is not None:
                call.is_free = True  # the form was not whole, so no service read it
                raise pieces.failed from None
            raise
        call.is_free = not 200 <= answer.head.status < 300
        return answer

    # -- the answer --------------------------------------------------------------------------------

    async def _deliver(
        self,
        answer: AsyncResponse,
        http: HttpRequest,
        call: EndpointCall,
        target: EndpointTarget,
    ) -> None:
        hidden = KeyFilter(list_keys(http))
        status = answer.head.status
        headers = hidden.headers(
            pick_answer_headers(self._match, answer.head.headers, self._arrival.head)
        ) | {HEADER: self._arrival.id}
        reader = AnswerUsageReader(
            self._match.endpoint, answer.head.headers.get("content-type", "")
        )
        if target.deployment:
            headers["x-pondero-deployment"] = target.deployment
        try:
            if status >= 300:
                body = await read_all(answer)
                await self._pass_error(status, headers, hidden.whole(redact_bytes(body)), target)
                return
            gives = self._match.endpoint.gives or self._match.endpoint.given_query
            if gives and _is_short(answer):
                await self._pass_whole(answer, (status, headers), hidden, reader, target)
            else:
                if self._match.deletes_name:
                    await forget_names(self._gateway, self._match.ids, self._claims)
                await self._pass_stream(answer, (status, headers), hidden, reader)
            call.found = reader.found
        finally:
            call.written = reader.written
            await answer.aclose()
        self.record.note(status=status, end="done")

    async def _pass_error(
        self, status: int, headers: dict[str, str], body: bytes, target: EndpointTarget
    ) -> None:
        label = target.provider.label
        if status < 400:
            response = error_response(self.service, 502, f"{label} redirects, and is not followed")
        elif status == 401:
            response = error_response(self.service, 502, f"{label} did not take the gateway's key")
        else:
            response = HttpResponse(status, headers, body)
        if response.headers is not headers:  # an error of the gateway's own
            response = name_request(response, self.service, self._arrival.id)
        reason = f"{label} answered with status {status}"
        self.record.note(status=response.status, end="failed", reason=reason)
        await self.write(response)

    async def _pass_whole(
        self,
        answer: AsyncResponse,
        head: tuple[int, dict[str, str]],
        hidden: KeyFilter,
        reader: AnswerUsageReader,
        target: EndpointTarget,
    ) -> None:
        """Pass an answer that gives ids: whose they are is known before the client has them."""
        pieces = aiter(answer)
        body = await read_beginning(pieces)
        if len(body) > LONGEST:  # it has results in it, and no ids of them
            await self._pass_stream(iter_from_beginning(body, pieces), head, hidden, reader)
            return
        reader.feed(body)
        reader.end()
        uploads = await self._let_continue(head)
        if self._makes_ids:
            await self._record(find_given(self._match, reader.whole), uploads, target)
        self.record.note_first()
        await self.write(HttpResponse(*head, hidden.whole(body)))

    async def _record(
        self, given: tuple[str, ...], uploads: tuple[str, ...], target: EndpointTarget
    ) -> None:
        """Store whose the things are that an answer gives."""
        gateway, requester = self._gateway, self._requester
        home = name_target(gateway, target)
        if self._match.endpoint.client_names and not self._match.ids:
            begun = self._find_upload()
            await claim_names(gateway, requester, given, home=home, uploads=begun)
            given = ()
        own = self._match.ids
        named, job = (*own, *given, *uploads), own[0] if own else None
        await record_ids(gateway, requester, named, home=home, job=job)

    async def _let_continue(self, head: tuple[int, dict[str, str]]) -> tuple[str, ...]:
        """Return the ids of uploads in addresses of an answer's headers, which get a pass."""
        endpoint, headers = self._match.endpoint, head[1]
        found: list[str] = []
        for name in endpoint.shows_headers:
            query = parse_qs(urlsplit(headers.get(name, "")).query)
            for upload in query.get(endpoint.given_query, ())[:1]:
                found.append(upload)
                if self._requester.key is not None:
                    made = await make_pass(self._gateway, self._requester, upload)
                    headers[name] = f"{headers[name]}&{PASS}={made}"
        return tuple(found)

    async def _pass_stream(
        self,
        answer: AsyncIterable[bytes],
        head: tuple[int, dict[str, str]],
        hidden: KeyFilter,
        reader: AnswerUsageReader,
    ) -> None:
        writer: ResponseWriter = self._arrival.writer
        status, headers = head
        writer.streams(headers, b"", status)
        self.record.note(stream=True)
        async for piece in answer:
            self.record.note_first()
            reader.feed(piece)
            await writer.write(hidden.feed(piece))
        reader.end()
        await writer.write(hidden.end())
        await writer.end()

    # -- errors ------------------------------------------------------------------------------------

    def write_error(self, error: Exception) -> HttpResponse:
        """Return the response for an error, in the format of this API."""
        if isinstance(error, BodyProblem):
            return error_response(self.service, error.status, str(error))
        return write_error(error, self._match.api.error, self.service, id=self._arrival.id)

    async def write(self, response: HttpResponse) -> None:
        """Write a whole response; if the body was not read to its end, the connection closes."""
        arrival = self._arrival
        pieces = self._content.pieces if self._content is not None else None
        if arrival.is_read or (pieces is not None and pieces.is_whole):
            await arrival.writer.whole(response)
            return
        await arrival.close_with(response)


async def _send_pieces(
    transport: AsyncTransport, http: HttpRequest, timeouts: Timeouts, pieces: BodyPieces
) -> AsyncResponse:
    """Send a body in pieces, if the transport can; an emulator and a cassette need it whole."""
    send = getattr(transport, "send_pieces", None)
    if send is not None:
        found: AsyncResponse = await send(http, timeouts, aiter(pieces))
        return found
    body = b"".join([piece async for piece in pieces])
    return await transport.send(replace(http, body=body), timeouts)


def _is_short(answer: AsyncResponse) -> bool:
    """Return whether an answer is JSON, or has no content, as those that give ids are."""
    headers = answer.head.headers
    with suppress(ValueError):
        if int(headers.get("content-length", "")) == 0:
            return True
    return "json" in headers.get("content-type", "") or "content-type" not in headers
