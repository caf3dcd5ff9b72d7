"""A conversation before a model is chosen, and the steps that lead there."""

from msgspec import Struct
from msgspec.structs import replace

from ...canon import HttpRequest, Json, Request
from ...catalog import ModelEntry
from ...dialects import ParsedRequest, Service, get_dialect
from ...errors import PermissionDenied
from ...thinking import Plan, Policy, RequestParameters
from ..config.model import GatewayKey, GatewayRoute, LevelRules
from ..config.routing import ResolvedRoute, allows
from ..levels.level_rules import AppliedLevel, RequestedLevel, parse_requested_level
from ..server.context import GatewayContext, Requester
from ..signatures.envelope import ClientEnvelopes
from ..signatures.restore import cache_keys, restore_history
from ..signatures.turns import ClientTurn, split_turns
from .kept_items import put_kept_items

UNKNOWN_OUTPUT = 32_000
"""Tokens, for a model with an unknown maximum; under a budget it is sent as the limit."""
_NO_RULES = LevelRules()
_POLICIES = {
    (strict, hidden): Policy(
        unsupported="strict" if strict else "adjust", show="none" if hidden else "auto"
    )
    for strict in (False, True)
    for hidden in (False, True)
}


class ClientRequest(Struct, frozen=True, kw_only=True):
    """A request as it arrived, and who sent it."""

    id: str
    client_dialect: str
    http: HttpRequest
    requester: Requester


class RoutedRequest(Struct, frozen=True, kw_only=True):
    """A conversation and its models; ``parsed`` as sent, ``request`` with history restored.

    ``output_limit``: the most tokens of an answer, which quotas rely on; it is sent whatever the
    client said. ``is_lowered``: a budget covers no more than that. ``tool_uses``: the most uses of
    each tool that the service runs, if a budget covers no more; 0 leaves these tools out.
    ``withheld``: answers whose signatures a client put into another answer. ``resolved_http``: the
    client's request with the items that its references mean, which ``parsed`` was read from.
    """

    call: ClientRequest
    resolved_http: HttpRequest
    service: Service[Json]
    parsed: ParsedRequest[Json]
    request: Request
    turns: tuple[ClientTurn, ...]
    resolved: ResolvedRoute
    requested_level: RequestedLevel
    envelopes: ClientEnvelopes
    withheld: tuple[str, ...] = ()
    output_limit: int | None = None
    is_lowered: bool = False
    tool_uses: int | None = None

    @property
    def is_limited(self) -> bool:
        """Return whether its key or route has rules that hold for its models only."""
        key, route = self.call.requester.key, self.resolved.route
        if key is not None and (key.models or _has_rules(key)):
            return True
        return route is not None and _has_rules(route)

    @property
    def show(self) -> str | None:
        """Return where the Chat API puts thinking: a route that hides it has the last word."""
        of_route = self.resolved.route.show if self.resolved.route else None
        if of_route == "none":
            return of_route
        return self.call.http.headers.get("x-pondero-show") or of_route

    @property
    def hides_thinking(self) -> bool:
        """Return whether the client must not see thinking, on any API."""
        return self.show == "none"

    @property
    def policy(self) -> Policy:
        """Return the policy of the route and of the client's wish to see thinking."""
        route = self.resolved.route
        hidden = self.parsed.show is False or self.hides_thinking
        return _POLICIES[bool(route and route.strict), hidden]

    @property
    def parameters(self) -> RequestParameters:
        """Return the parameters that a plan depends on."""
        request = self.request
        choice = request.tool_choice
        return RequestParameters(
            max_tokens=request.max_tokens,
            temperature=request.temperature,
            top_p=request.top_p,
            top_k=request.top_k,
            tools=bool(request.tools),
            tool_choice=(choice.name or choice.mode) if choice else "auto",
        )


def _has_rules(holder: GatewayKey | GatewayRoute) -> bool:
    return bool(holder.thinking != _NO_RULES or holder.budget or holder.limit)


class ModelTarget(Struct, frozen=True, kw_only=True):
    """One model to ask: its level and plan, and its provider's address and key."""

    entry: ModelEntry
    level: AppliedLevel
    plan: Plan
    url: str
    key: str | None


def route(
    gateway: GatewayContext, call: ClientRequest, parsed: ParsedRequest[Json]
) -> ResolvedRoute:
    """Return the models that may answer; raises UnknownModel and PermissionDenied."""
    resolved = gateway.routing.resolve(parsed.request.model)
    if call.requester.key is not None and not allows(call.requester.key, resolved):
        message = f"this key may not use {parsed.request.model!r}"
        raise PermissionDenied(message, status=403)
    return resolved


def read_level(
    call: ClientRequest, parsed: ParsedRequest[Json], resolved: ResolvedRoute
) -> RequestedLevel:
    """Return the level that the client asks for; raises BadThinking."""
    return parse_requested_level(
        header=call.http.headers.get("x-pondero-thinking"),
        suffix=resolved.level,
        body=parsed.intent,
        words=resolved.entries[0].capability.extra_words,
        kind=call.http.headers.get("x-pondero-kind"),
    )


def as_functions(
    service: Service[Json], request: Request, entries: tuple[ModelEntry, ...]
) -> Request:
    """Return the request with a vendor's own calls as functions, if only other APIs read it."""
    rewrite = service.portability.as_functions
    if rewrite is None or any(
        get_dialect(e.provider.dialect).service() is service for e in entries
    ):
        return request
    return rewrite(request)


async def parse_and_route(
    gateway: GatewayContext, call: ClientRequest, service: Service[Json]
) -> RoutedRequest:
    """Return the conversation in a request; raises PonderoError, Rejected and RecursionError."""
    http = await put_kept_items(gateway, call.http, service, client=call.requester.id)
    parsed = service.parse(http)
    resolved = route(gateway, call, parsed)
    level = read_level(call, parsed, resolved)  # ``make_attempt`` applies the rules of each model
    sent = as_functions(service, parsed.request, resolved.entries)
    request, turns, envelopes, withheld = await restore(gateway, replace(call, http=http), sent)
    return RoutedRequest(
        call=call,
        resolved_http=http,
        service=service,
        parsed=parsed,
        request=request,
        turns=turns,
        resolved=resolved,
        requested_level=level,
        envelopes=envelopes,
        withheld=withheld,
    )


async def restore(
    gateway: GatewayContext, call: ClientRequest, request: Request
) -> tuple[Request, tuple[ClientTurn, ...], ClientEnvelopes, tuple[str, ...]]:
    """Return the request with its answers restored (envelopes, answer cache), and those as sent.

    Also returns the client's envelopes, for the answer, and the answers whose signatures are
    withheld.
    """
    client = call.requester.id
    envelopes = await gateway.envelopes.make_envelopes(client, call.http.body)
    turns = split_turns(request.messages)
    keys = cache_keys(request, client=client, turns=turns)
    found = await gateway.memory.get(keys) if keys else {}
    withheld: list[str] = []
    restored = restore_history(
        request,
        call.client_dialect,
        client=client,
        found=found,
        open_envelope=envelopes.open,
        turns=turns,
        withheld=withheld,
    )
    return restored, tuple(turns), envelopes, tuple(withheld)
