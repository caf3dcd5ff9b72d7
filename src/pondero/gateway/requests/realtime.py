"""Sockets of models that speak: messages pass in both directions, and are counted as one request.

The service's events say what each answer used; one that is not complete at the end counts as the
most it can use. Under a quota, one answer is made after the other, and if the quota has no room for
more, both ends close. They close too if the key ends.
"""

from asyncio import FIRST_COMPLETED, CancelledError, create_task, timeout, wait
from contextlib import suppress
from urllib.parse import urlsplit

import msgspec

from ...canon import Json
from ...dialects import Endpoint, EndpointMatch, find_socket, get_dialect
from ...errors import BadParameter, PonderoError
from ...exchange import list_keys
from ...transport import (
    ServiceSocket,
    ServiceSocketEnd,
    SocketRejection,
    can_send,
    open_service_socket,
)
from ..answers.key_filter import KeyFilter
from ..deployments.socket_account import SocketAccount
from ..observability.request_record import RequestRecord
from ..quotas.endpoint_use import EndpointCall, admit_socket, check_price
from ..quotas.quota import Quota, find_quotas
from ..quotas.socket_answers import SocketAnswers, SocketCall
from ..quotas.socket_quota import SocketMeter, SocketQuota
from ..server.context import GatewayContext, Requester
from ..server.sockets import Socket, SocketEnd, SocketOpening
from .endpoint_access import check_listed, check_rules
from .endpoint_content import EndpointContent, check_once, read_socket_query
from .endpoint_request import make_request
from .endpoint_target import EndpointTarget, find_endpoint_targets
from .errors import describe_reason, error_response, redact_bytes, write_error
from .request_id import HEADER, name_request
from .requester import AccessDenied, identify
from .routed_request import ClientRequest
from .socket_count import SocketCount
from .socket_ids import SocketIds
from .socket_models import SocketModels

_SETUP = 10.0  # seconds for the first message, if that names the model
_REJECTED = 1008  # a rule was broken (RFC 6455, 7.4.1)
_FAILED = 1011
_AWAY = 1001
_OPEN = 101
_LONGEST_REASON = 120  # bytes; a close frame has room for 123
_LAST = 2.0  # seconds in which a service says what a cancelled answer used
_LOOK = 1.0  # second between two looks at the key, while messages pass that ask for no answer
_SPENT = "a budget or a rate limit of this key, route or account is spent"


async def serve_realtime(
    gateway: GatewayContext, opening: SocketOpening, requester: Requester
) -> None:
    """Connect a client's socket with one at a service."""
    match = find_socket(urlsplit(opening.head.url).path)
    assert match is not None  # noqa: S101 - the server found the path in the same table
    exchange = SocketExchange(gateway, opening, match, requester)
    record = exchange.record
    try:
        await exchange.run()
    except PonderoError as error:
        await exchange.reject(error)
    except SocketEnd as end:
        record.note(end="left" if end.code == 1006 else "done")
    except CancelledError:
        record.note(end="left", reason="the gateway stops")
        raise
    except Exception as error:
        record.note(status=500, end="failed", reason=describe_reason(error))
        raise
    finally:
        await exchange.close()
        record.note(units=exchange.meter.units)
        record.finish()


class SocketExchange:
    """A client's socket and the one at a service."""

    def __init__(
        self,
        gateway: GatewayContext,
        opening: SocketOpening,
        match: EndpointMatch,
        requester: Requester,
    ) -> None:
        self._gateway = gateway
        self._opening = opening
        self._match = match
        self._requester = requester
        self._call = ClientRequest(
            id=opening.id, client_dialect=match.api.error, http=opening.head, requester=requester
        )
        self.record: RequestRecord = RequestRecord(gateway, self._call)
        self.record.note(endpoint=match.endpoint.name, road="passed", stream=True, status=_OPEN)
        self.meter: SocketMeter = SocketMeter()
        self.record.set_meter(self.meter)
        self._account: SocketAccount | None = None
        self._quotas: tuple[Quota, ...] = ()  # of the key, its group and the route
        self._service: ServiceSocket | None = None
        self._used: SocketCall | None = None
        self._quota: SocketQuota = SocketQuota(gateway, opening.id, ())
        self._count: SocketCount | None = None
        self._is_refused = False  # by the gateway, in the middle
        self._looked = gateway.now()
        self._hidden = KeyFilter(())
        self._ids = SocketIds(gateway, requester, match)
        self._models = SocketModels(gateway, requester.key, match.endpoint)

    async def run(self) -> None:
        """Check, connect, and pass messages until one side ends; raises PonderoError before."""
        match, key = self._match, self._requester.key
        check_listed(match, key)
        content = read_socket_query(self._opening.head, match)
        if match.endpoint.model != "setup":
            await self._connect_in_order(content, await self._admit(content))
            await self._pass_messages(await self._accept())
            return
        hooks = self._gateway.hooks
        check_rules(match, content, self._requester, route=None, routes=(), hooks=hooks)
        client = await self._opening.accept()
        first = await self._ids.check(await _receive_setup(client))
        content.model = _read_setup(first, match.endpoint)
        target = await self._connect_in_order(content, await self._admit(content))
        if self._service is not None and self._used is not None:
            self._used.note_message(first)
            await self._service.send(_rename_setup(first, match, target, content.model))
        await self._pass_messages(client)

    async def _accept(self) -> Socket:
        chosen = self._service.subprotocol if self._service is not None else None
        return await self._opening.accept(chosen, {HEADER: self._opening.id})

    async def _admit(self, content: EndpointContent) -> tuple[EndpointTarget, ...]:
        gateway, match, key = self._gateway, self._match, self._requester.key
        self.record.requested_model = content.model or ""
        targets = find_endpoint_targets(gateway, match, content.model, requester=self._requester)
        target = targets[0]
        route = target.route
        self.record.note(route=route.match if route is not None else None)
        self._note_target(target)
        check_rules(
            match,
            content,
            self._requester,
            route=route,
            routes=gateway.config.routes,
            hooks=gateway.hooks,
        )
        call = EndpointCall(target.provider, target.model, None)
        quotas = find_quotas(key, self._requester.group, route)
        check_price(call, quotas)
        admission = await admit_socket(
            gateway, self._opening.id, quotas=quotas, endpoint=match.endpoint, call=call
        )
        self.record.admit(admission)
        self._quotas = tuple(quotas)
        return targets

    def _note_target(self, target: EndpointTarget) -> None:
        self.record.note(
            provider=target.provider.name, model=target.model, deployment=target.deployment or None
        )

    async def _connect_in_order(
        self, content: EndpointContent, targets: tuple[EndpointTarget, ...]
    ) -> EndpointTarget:
        """Connect with the first account that opens a socket; raises the error of the last one."""
        gateway, id = self._gateway, self._opening.id
        for number, target in enumerate(targets):
            is_last = number == len(targets) - 1
            self._note_target(target)
            account = self._account = SocketAccount(
                gateway,
                f"{id}@{number}",
                target.account,
                provider=target.provider,
                model=target.model or "",
            )
            quotas = (*self._quotas, *account.token_quotas)
            self._quota = self.meter.quota = SocketQuota(gateway, id, quotas)
            try:
                check_price(EndpointCall(target.provider, target.model, None), self._quotas)
                await account.open(is_last=is_last)
                await self._connect(content, target, account)
            except PonderoError as error:
                if not await account.note_failure(error) or is_last:
                    raise
            else:
                return target
        raise BadParameter("no account is there to open a socket")

    async def _connect(
        self, content: EndpointContent, target: EndpointTarget, account: SocketAccount
    ) -> None:
        gateway, match = self._gateway, self._match
        http = make_request(gateway, match, content, target)
        self._hidden = KeyFilter(list_keys(http))
        headers = {n: v for n, v in http.headers.items() if n not in ("content-type", "accept")}
        offered = [each for each in self._opening.subprotocols if each in match.api.protocols]
        self._used = SocketCall(
            target.provider,
            target.model,
            None,
            answers=SocketAnswers(match.endpoint.turns, target.model),
            transcriptions=SocketAnswers(match.endpoint.transcriptions, target.model),
        )
        self._count = SocketCount(match.endpoint, self._used, self._quota)
        self.meter.begin_socket(self._used)
        try:
            with account.watch_departure():
                self._service = await open_service_socket(
                    http.url,
                    headers,
                    subprotocols=offered,
                    max_size=gateway.config.server.max_body,
                    seconds=gateway.timeouts.connect,
                )
        except PonderoError:
            self._used.is_free = True
            raise

    # -- messages ----------------------------------------------------------------------------------

    async def _pass_messages(self, client: Socket) -> None:
        service = self._service
        if service is None:
            return
        there = create_task(self._pass_up(client, service))
        back = create_task(self._pass_down(client, service))
        try:
            done, _ = await wait((there, back), return_when=FIRST_COMPLETED)
        finally:
            there.cancel()
            back.cancel()
            await wait((there, back))
        for task in (there, back):
            if task in done:
                await self._end(client, task.exception())
        if self._is_refused:
            await self._count_last(service)

    async def _end(self, client: Socket, error: BaseException | None) -> None:
        """Close the other side as the first one was closed."""
        if self._is_refused:
            return
        if isinstance(error, ServiceSocketEnd):
            is_broken = not can_send(error.code) and error.code != 1005
            code = error.code if can_send(error.code) else _FAILED if is_broken else 1000
            reason = self._hidden.whole(error.reason.encode()).decode("utf-8", "replace")
            self.record.note(
                end="failed" if is_broken else "done",
                reason="the service broke off" if is_broken else None,
            )
            await client.close(code, reason)
        elif isinstance(error, SocketEnd):
            self.record.note(end="left" if error.code == 1006 else "done")
            if self._service is not None:
                await self._service.close(error.code, error.reason)
        elif error is not None:
            raise error

    async def _pass_up(self, client: Socket, service: ServiceSocket) -> None:
        """Pass the client's messages on; a request for an answer needs room in all quotas."""
        count, used = self._count, self._used
        while count is not None and used is not None:
            message = await self._ids.check(await client.receive())
            self._models.check(message)
            request = count.find_request(message)
            if request is not None and request.waits:
                await self._wait_until_idle(client, count)
            # The key may have ended during the wait.
            why = await self._find_denial(asks=request is not None)
            if why is None and request is not None:
                message, has_room = await count.ask(request, message)
                why = None if has_room else _SPENT
                self.record.save_progress()
            if why is not None:
                await self._refuse(client, why)
                return
            used.note_message(message)
            await service.send(message)

    async def _wait_until_idle(self, client: Socket, count: SocketCount) -> None:
        """Wait until no answer is being made; raises SocketEnd if the client leaves."""
        idle, left = create_task(count.idle.wait()), create_task(client.wait_until_left())
        try:
            await wait((idle, left), return_when=FIRST_COMPLETED)
        finally:
            idle.cancel()
            left.cancel()
            await wait((idle, left))
        if client.closed is not None:
            raise client.closed

    async def _find_denial(self, *, asks: bool) -> str | None:
        """Return why the key has ended; it is not looked at with each message."""
        now = self._gateway.now()
        if not asks and 0 <= now - self._looked < _LOOK:
            return None
        self._looked = now
        try:
            requester = await identify(self._gateway, self._opening.head)
            check_listed(self._match, requester.key)
        except (AccessDenied, PonderoError) as error:
            return str(error) if isinstance(error, AccessDenied) else describe_reason(error)
        if asks and self._account is not None and not await self._account.ask():
            return f"{self._account.name} takes no more requests now; connect again"
        return None

    async def _refuse(self, client: Socket, reason: str) -> None:
        """End what the service is making, and close the client's side."""
        self._is_refused = True
        self.record.note(end="failed", reason=reason)
        if self._service is not None and self._count is not None:
            with suppress(ServiceSocketEnd):
                for cancel in self._count.list_cancels():
                    await self._service.send(cancel)
        await client.close(_REJECTED, _shorten(reason))

    async def _count_last(self, service: ServiceSocket) -> None:
        """Count what the service says of answers that were cancelled."""
        count = self._count
        try:
            async with timeout(_LAST):
                while count is not None and count.is_cancelled and not count.idle.is_set():
                    await count.count(await service.receive())
        except (TimeoutError, ServiceSocketEnd):
            return

    async def _pass_down(self, client: Socket, service: ServiceSocket) -> None:
        """Pass the service's messages on; if a quota is spent, close both ends."""
        count, used = self._count, self._used
        while count is not None and used is not None:
            message = await service.receive()
            self.record.note_first()
            await self._ids.record(message, used.provider.name)
            found = await count.count(message)
            if found.is_notable:
                self.record.save_progress()
            await client.send(self._redact(found.message))
            if not found.has_room:
                await self._refuse(client, _SPENT)
                return

    def _redact(self, message: str | bytes) -> str | bytes:
        if isinstance(message, bytes):
            return self._hidden.whole(message)
        return self._hidden.whole(message.encode("utf-8", "surrogatepass")).decode(
            "utf-8", "surrogatepass"
        )

    # -- the end -----------------------------------------------------------------------------------

    async def reject(self, error: PonderoError) -> None:
        """Tell the client why there is no socket: by a response, or by a close frame after it."""
        service = get_dialect(self._match.api.error).service()
        response = write_error(error, self._match.api.error, service, id=self._opening.id)
        if isinstance(error, SocketRejection):
            found = error.response
            if found.status in range(400, 600) and found.status != 401:
                body = self._hidden.whole(redact_bytes(found.body))
                kind = found.headers.get("content-type", "application/json")
                response = type(found)(found.status, {"content-type": kind}, body)
            else:
                response = error_response(service, 502, "the service opens no socket")
        end = "refused" if self._service is None and self._used is None else "failed"
        self.record.note(status=response.status, end=end, reason=describe_reason(error))
        if self._opening.socket is None:
            await self._opening.reject(name_request(response, service, self._opening.id))
        else:
            await self._opening.socket.close(_REJECTED, _shorten(describe_reason(error)))

    async def close(self) -> None:
        """Close the service's side, and count what was used."""
        if self._service is not None:
            await self._service.close(_AWAY)
        self._quota.settle()
        if self._account is not None:
            self._account.close(self.meter.find_figures().amounts()["tokens"])


def _shorten(reason: str) -> str:
    return reason.encode()[:_LONGEST_REASON].decode("utf-8", "ignore")


async def _receive_setup(client: Socket) -> str | bytes:
    try:
        async with timeout(_SETUP):
            return await client.receive()
    except TimeoutError:
        raise BadParameter("the first message, which names the model, did not arrive") from None


def _read_setup(message: str | bytes, endpoint: Endpoint) -> str:
    """Return the model that the first message names; raises BadParameter."""
    try:
        found: Json = msgspec.json.decode(message)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise BadParameter("the first message is not JSON") from None
    check_once(message.encode() if isinstance(message, str) else message, endpoint.setup)
    for name in endpoint.setup:
        found = found.get(name) if isinstance(found, dict) else None
    if not isinstance(found, str):
        raise BadParameter(f"the first message has no {'.'.join(endpoint.setup)}")
    return found


def _rename_setup(
    message: str | bytes, match: EndpointMatch, target: EndpointTarget, asked: str
) -> str | bytes:
    """Return the first message with the provider's name for the model."""
    prefix = match.api.model_prefix
    if target.model is None or target.model == asked.removeprefix(prefix):
        return message
    raw = inner = msgspec.json.decode(message)
    *steps, last = match.endpoint.setup
    for step in steps:
        inner = inner[step]
    inner[last] = f"{prefix}{target.model}"
    return msgspec.json.encode(raw).decode()
