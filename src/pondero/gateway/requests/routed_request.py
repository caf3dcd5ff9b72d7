"""A conversation at the gate as it was meant: read, routed, with what its client cannot keep.

``answers`` and ``counts`` begin with it; ``job`` turns it into a request to one model.
"""

from msgspec import Struct

from ...canon import HttpRequest, Json, Request
from ...dialects import ParsedRequest, Service
from ...errors import PermissionDenied
from ..config.routing import ResolvedRoute, allows
from ..server.context import GatewayContext, Requester
from ..signatures.restore import cache_keys, restore_history
from ..signatures.turns import ClientTurn, split_turns
from .level_rules import RequestedLevel, wish_of


class ClientRequest(Struct, frozen=True, kw_only=True):
    """A request at the gate, and who makes it."""

    id: str
    client_dialect: str
    http: HttpRequest
    who: Requester


class RoutedRequest(Struct, frozen=True, kw_only=True):
    """A conversation as it was meant: ``request`` has again what travelled in envelopes.

    ``turns`` are the answers in it as the client sent them.
    """

    call: ClientRequest
    service: Service[Json]
    parsed: ParsedRequest[Json]
    request: Request
    turns: tuple[ClientTurn, ...]
    resolved: ResolvedRoute
    requested_level: RequestedLevel


async def read_question(
    gate: GatewayContext, call: ClientRequest, service: Service[Json]
) -> RoutedRequest:
    """Return what is asked, and of whom; raises Rejected, UnknownModel and PermissionDenied."""
    parsed = service.parse(call.http)
    resolved = gate.routing.resolve(parsed.request.model)
    if call.who.key is not None and not allows(call.who.key, resolved):
        message = f"this key may not ask for {parsed.request.model!r}"
        raise PermissionDenied(message, status=403)
    wish = wish_of(
        header=call.http.headers.get("x-pondero-thinking"),
        suffix=resolved.level,
        body=parsed.intent,
        words=resolved.entries[0].capability.extra_words,
        kind=call.http.headers.get("x-pondero-kind"),
    )
    asked, client = parsed.request, call.who.id
    turns = split_turns(asked.messages)
    keys = cache_keys(asked, client=client, turns=turns)
    found = await gate.memory.get(keys) if keys else {}
    return RoutedRequest(
        call=call,
        service=service,
        parsed=parsed,
        request=restore_history(
            asked, call.client_dialect, client=client, found=found, turns=turns
        ),
        turns=tuple(turns),
        resolved=resolved,
        requested_level=wish,
    )
