"""Sockets of models that speak: messages pass in both directions, and are counted as one request.

The service's events say what each answer used. If a quota has no room for more, both ends close.
"""

from asyncio import FIRST_COMPLETED, CancelledError, create_task, timeout, wait
from urllib.parse import urlsplit

import msgspec

from ...canon import Json
from ...dialects import (
    Endpoint,
    EndpointMatch,
    add_answer_usages,
    find_socket,
    get_dialect,
    read_event_usage,
)
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
from ..observability.request_record import RequestRecord
from ..quotas.endpoint_use import EndpointCall, EndpointMeter, SocketQuota, admit_endpoint
from ..quotas.quota import find_quotas
from ..quotas.usage_meter import Figures
from ..server.context import GatewayContext, Requester
from ..server.sockets import Socket, SocketEnd, SocketOpening
from .endpoint_access import check_listed, check_rules
from .endpoint_content import EndpointContent, check_once, read_socket_query
from .endpoint_request import make_request
from .endpoint_target import EndpointTarget, find_endpoint_targets
from .errors import describe_reason, error_response, redact_bytes, write_error
from .request_id import HEADER, name_request
from .routed_request import ClientRequest

_SETUP = 10.0  # seconds for the first message, if that names the model
_REJECTED = 1008  # a rule was broken (RFC 6455, 7.4.1)
_FAILED = 1011
_AWAY = 1001
_OPEN = 101
_LONGEST_REASON = 120  # bytes; a close frame has room for 123


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
        self.meter: EndpointMeter = EndpointMeter()
        self.record.set_meter(self.meter)
        self._service: ServiceSocket | None = None
        self._used: EndpointCall | None = None
        self._quota: SocketQuota | None = None
        self._hidden = KeyFilter(())

    async def run(self) -> None:
        """Check, connect, and pass messages until one side ends; raises PonderoError before."""
        match, key = self._match, self._requester.key
        check_listed(match, key)
        content = read_socket_query(self._opening.head, match)
        if match.endpoint.model != "setup":
            target = await self._admit(content)
            await self._connect(content, target)
            await self._pass_messages(await self._accept())
            return
        hooks = self._gateway.hooks
        check_rules(match, content, self._requester, route=None, routes=(), hooks=hooks)
        client = await self._opening.accept()
        first = await _receive_setup(client)
        content.model = _read_setup(first, match.endpoint)
        target = await self._admit(content)
        await self._connect(content, target)
        if self._service is not None:
            await self._service.send(_rename_setup(first, match, target, content.model))
        await self._pass_messages(client)

    async def _accept(self) -> Socket:
        chosen = self._service.subprotocol if self._service is not None else None
        return await self._opening.accept(chosen, {HEADER: self._opening.id})

    async def _admit(self, content: EndpointContent) -> EndpointTarget:
        gateway, match, key = self._gateway, self._match, self._requester.key
        self.record.requested_model = content.model or ""
        target = find_endpoint_targets(gateway, match, content.model, key=key)[0]
        route = target.route
        self.record.note(
            route=route.match if route is not None else None,
            provider=target.provider.name,
            model=target.model,
            deployment=target.deployment or None,
        )
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
        admission = await admit_endpoint(
            gateway, self._opening.id, quotas=quotas, endpoint=match.endpoint, call=call
        )
        self.record.admit(admission)
        self._quota = SocketQuota(gateway, self._opening.id, quotas)
        return target

    async def _connect(self, content: EndpointContent, target: EndpointTarget) -> None:
        gateway, match = self._gateway, self._match
        http = make_request(gateway, match, content, target)
        self._hidden = KeyFilter(list_keys(http))
        headers = {n: v for n, v in http.headers.items() if n not in ("content-type", "accept")}
        offered = [each for each in self._opening.subprotocols if each in match.api.protocols]
        self._used = await self.meter.begin_call(target.provider, target.model, None)
        try:
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
        there = create_task(_pass_up(client, service))
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

    async def _end(self, client: Socket, error: BaseException | None) -> None:
        """Close the other side as the first one was closed."""
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

    async def _pass_down(self, client: Socket, service: ServiceSocket) -> None:
        """Pass the service's messages on; if a quota is spent, close both ends."""
        while True:
            message = await service.receive()
            self.record.note_first()
            has_room = await self._count(message)
            await client.send(self._redact(message))
            if not has_room:
                reason = "a budget or a rate limit of this key or route is spent"
                self.record.note(end="failed", reason=reason)
                await client.close(_REJECTED, reason)
                await service.close(_AWAY)
                return

    async def _count(self, message: str | bytes) -> bool:
        found = read_event_usage(message, self._match.endpoint)
        if not found or self._used is None:
            return True
        self._used.found = add_answer_usages(self._used.found, found)
        one = EndpointCall(self._used.provider, self._used.model, None, found)
        usage, _ = one.find_usage()
        figures = Figures(usage=usage, cost=one.find_price())
        return self._quota is None or await self._quota.add(figures)

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
            reason = describe_reason(error).encode()[:_LONGEST_REASON].decode("utf-8", "ignore")
            await self._opening.socket.close(_REJECTED, reason)

    async def close(self) -> None:
        """Close the service's side, and count what was used."""
        if self._service is not None:
            await self._service.close(_AWAY)
        if self._quota is not None:
            self._quota.settle()


async def _pass_up(client: Socket, service: ServiceSocket) -> None:
    while True:
        await service.send(await client.receive())


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
