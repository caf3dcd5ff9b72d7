"""Requests about what a provider stores: sent on for the client whose answer gave the id."""

from msgspec.structs import replace

from ...canon import HttpRequest, HttpResponse, Json
from ...dialects import NAMES, Service, StoredCall, get_dialect
from ...errors import PonderoError, UsageError
from ...exchange import Exchange, find_emulator, list_keys
from ..answers.key_filter import KeyFilter
from ..answers.model_name import ModelRenamer, rename_model
from ..answers.response_writer import ResponseWriter
from ..server.context import GatewayContext, Requester
from .errors import error_response, redact_bytes, write_error
from .passthrough import make_template
from .stored_ids import StoredHome, find_home

_SSE = "text/event-stream"
_WHY = (
    "this gateway keeps no answers itself; the service of a model that speaks this API stores "
    "them, and they are fetched with the key that got them"
)


async def answer_stored_call(
    gateway: GatewayContext, http: HttpRequest, requester: Requester, writer: ResponseWriter
) -> HttpResponse | None:
    """Return the answer to a request about a stored thing; None to any other request.

    A stream is written to its end; what is returned then says only how it went.
    """
    for name in NAMES:
        service = get_dialect(name).service()
        ids, stored = service.stored_ids, service.stored_responses
        if ids is None or ids.forward is None or stored is None:
            continue
        call = stored.classify(http)
        if call is None or call.what != "response":
            continue
        home = await _find_own_home(gateway, requester, call.id)
        exchange = None if home is None else _make_exchange(gateway, home)
        if home is None or exchange is None:
            return _reject(service, call)
        sent = ids.forward(http, call, exchange.http)
        exchange = replace(exchange, http=sent)
        try:
            return await _send(gateway, service, home, exchange, writer)
        except PonderoError as error:
            if writer.begun:
                raise
            return write_error(error, name, service)
    return None


async def _find_own_home(
    gateway: GatewayContext, requester: Requester, id: str
) -> StoredHome | None:
    home = await find_home(gateway, id)
    if home is None:
        return None
    shares = requester.key is not None and requester.key.account_state
    return home if shares or home.owner == requester.id else None


def _reject(service: Service[Json], call: StoredCall) -> HttpResponse:
    """Reject an id that this client was not given: the same for unknown ids and others' ones."""
    return error_response(service, 404, f"{call.id!r} was not found: {_WHY}")


def _make_exchange(gateway: GatewayContext, home: StoredHome) -> Exchange | None:
    """Return a request to the model that gave an id; None if it is not served any more."""
    try:
        entry = gateway.routing.find_entry(home.entry)
        url, key = gateway.address(entry.provider, entry.deployment)
    except UsageError:
        return None
    emulator = find_emulator(gateway.transport, entry.provider, url)
    return make_template(entry, (url, key, emulator), stream=False)[0]


async def _send(
    gateway: GatewayContext,
    service: Service[Json],
    home: StoredHome,
    exchange: Exchange,
    writer: ResponseWriter,
) -> HttpResponse:
    """Send a request on; return its answer under the client's name for the model."""
    transport = gateway.transport_for(exchange)
    answer = await transport.send(exchange.http, gateway.timeouts)
    places = service.passthrough.model_at
    hidden = KeyFilter(list_keys(exchange.http))
    kind = answer.head.headers.get("content-type", "application/json")
    headers = hidden.headers({"content-type": kind})
    try:
        if answer.head.status == 200 and kind.startswith(_SSE):
            writer.streams(headers, service.ping)
            renamer = ModelRenamer(places, home.name, kind)
            async for piece in answer:
                await writer.write(hidden.feed(renamer.feed(piece)))
            await writer.write(hidden.whole(renamer.eof()))
            await writer.end()
            return HttpResponse(answer.head.status, headers)
        body = b"".join([piece async for piece in answer])
    finally:
        await answer.aclose()
    if answer.head.status >= 400:
        return HttpResponse(answer.head.status, headers, hidden.whole(redact_bytes(body)))
    named = rename_model(body, places, home.name)
    return HttpResponse(answer.head.status, headers, hidden.whole(named))
