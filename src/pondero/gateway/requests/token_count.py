"""Counts a prompt's tokens by the model's service, else estimates, as a header says."""

from collections.abc import Callable

import msgspec

from ...canon import (
    HttpRequest,
    HttpResponse,
    Json,
)
from ...catalog import ModelEntry
from ...dialects import NAMES, ModelEndpoints, Rejected, Service, get_dialect
from ...errors import PonderoError
from ...exchange import estimate_tokens
from ..server.context import GatewayContext, Requester
from .attempt import make_attempt
from .errors import add_response_headers, write_error
from .hooked_request import show_to_hooks
from .routed_request import ClientRequest, RoutedRequest, parse_and_route
from .stored_ids import check_stored_ids


async def count_prompt(
    gateway: GatewayContext, http: HttpRequest, requester: Requester, *, note: Callable[[str], None]
) -> HttpResponse | None:
    """Return the token count of a prompt; None for any other request.

    ``note`` is called with the name of the model that was requested.
    """
    for name in NAMES:
        service = get_dialect(name).service()
        models = service.models
        if models is not None and models.classify(http) == "tokens":
            return await _count(
                gateway,
                ClientRequest(id="", client_dialect=name, http=http, requester=requester),
                service,
                models,
                note,
            )
    return None


async def _count(
    gateway: GatewayContext,
    call: ClientRequest,
    service: Service[Json],
    models: ModelEndpoints,
    note: Callable[[str], None],
) -> HttpResponse:
    if models.parse_count is None or models.write_count is None:
        return service.error(404, "this API has no token count", code=None, retry_after=None)
    try:
        call = msgspec.structs.replace(call, http=models.parse_count(call.http))
        note(service.requested_model(call.http) or "")
        routed = await parse_and_route(gateway, call, service)
        routed = await check_stored_ids(gateway, routed)
        if gateway.hooks:  # the service reads the prompt to count it
            routed = await show_to_hooks(gateway, routed)
    except (PonderoError, Rejected, RecursionError) as error:
        return write_error(error, call.client_dialect, service)
    tokens = await _ask_service(gateway, routed)
    if tokens is not None:
        return models.write_count(tokens)
    guess = models.write_count(estimate_tokens(routed.request))
    return add_response_headers(guess, {"x-pondero-count": "estimate"})


async def _ask_service(gateway: GatewayContext, routed: RoutedRequest) -> int | None:
    """Return the count of the model's own service; None if it has none, or fails.

    Any account of the first model can count; one that is paused comes last.
    """
    first = routed.resolved.entries[0]
    same = [each for each in routed.resolved.entries if each.id == first.id]
    for entry in sorted(same, key=gateway.accounts.find_pause):
        if (tokens := await _ask_account(gateway, routed, entry)) is not None:
            return tokens
    return None


async def _ask_account(
    gateway: GatewayContext, routed: RoutedRequest, entry: ModelEntry
) -> int | None:
    caller = get_dialect(entry.provider.dialect).caller()
    if (count := caller.find_count(entry.quirks)) is None:
        return None
    try:
        exchange = make_attempt(gateway, routed, entry).exchange
    except PonderoError:
        return None
    raw = await gateway.fetch_json(
        count.request(exchange.http), gateway.transport_for(exchange), gateway.timeouts
    )
    tokens = raw.get(count.field) if isinstance(raw, dict) else None
    return tokens if isinstance(tokens, int) else None
