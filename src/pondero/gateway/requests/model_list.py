"""Lists the served models in the shape of each client API, which its dialect owns."""

from asyncio import gather, timeout
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from ...canon import HttpRequest, HttpResponse, Json
from ...catalog import ModelEntry, Provider
from ...dialects import NAMES, ModelEndpoints, Rejected, ServedModel, Service, get_dialect
from ...errors import PonderoError, UsageError
from ...exchange import Timeouts, auth_header
from ...exchange import plan as make_plan
from ...store import resolve_auto
from ...thinking import DEFAULT, LEVELS, UNSET, RequestParameters, parse_intent
from ..config.model import GatewayGroup, GatewayKey, LevelRules
from ..config.routing import Routing, ServedRoute, allows
from ..config.secrets import is_self
from ..levels.level_rules import AppliedLevel, RequestedLevel, apply_rules
from ..server.context import GatewayContext
from .errors import error_response, redact_bytes

_PATIENCE = 2.0  # seconds; a client waits for the list
_NO_RULES = LevelRules()
_QUICK = Timeouts(connect=1.0, first_byte=_PATIENCE, between_bytes=_PATIENCE)


async def answer_models(
    gateway: GatewayContext,
    http: HttpRequest,
    key: GatewayKey | None,
    group: GatewayGroup | None,
) -> HttpResponse | None:
    """Return what ``answer_model_list`` does, with the models of servers that users run."""
    every = any(models.requested_model(http) is None for _, models in _iter_matching(http))
    running = await _ask_servers(gateway) if every else ()
    return answer_model_list(http, gateway.routing, key, running, group=group)


async def _ask_servers(gateway: GatewayContext) -> list[ServedRoute]:
    """Return the models of all servers without a key; those that do not answer have none."""
    if not gateway.transport.needs_key:  # the emulator takes any name there, and has no list
        return []
    asked = [
        _ask_server(gateway, provider)
        for provider in gateway.routing.local_providers()
        if not is_self(gateway.config, provider)
    ]
    return [served for found in await gather(*asked) for served in found]


async def _ask_server(gateway: GatewayContext, provider: Provider) -> list[ServedRoute]:
    listing = get_dialect(provider.dialect).caller().listing
    if listing is None:
        return []
    try:
        url, key = gateway.address(provider)
    except PonderoError:
        return []
    request = HttpRequest(
        "GET", listing.address(url), {**listing.headers, **auth_header(provider, key)}
    )
    try:
        async with timeout(_PATIENCE):  # for the whole list, also from a server that drips
            raw = await gateway.fetch_json(request, gateway.transport, _QUICK)
    except TimeoutError:
        return []
    return gateway.routing.find_served(provider, listing.read(raw))


def answer_model_list(
    http: HttpRequest,
    routing: Routing,
    key: GatewayKey | None = None,
    running: Sequence[ServedRoute] = (),
    *,
    group: GatewayGroup | None = None,
) -> HttpResponse | None:
    """Return the list of models, or the one requested; None for any other request.

    A key sees the models it may use, with the levels that route, group and key allow. Several
    dialects list models at one address: the client's headers tell which one is meant. ``running``
    are listed too.
    """
    matching = list(_iter_matching(http))
    if not matching:
        return None
    sent = http.headers.keys()
    service, models = next((pair for pair in matching if pair[0].own_headers & sent), matching[0])
    try:
        return models.write_any_list(
            http,
            [
                _facts(each, _list_rules(each, routing, (group, key)))
                for each in _list_served(models, http, routing, key, running)
            ],
        )
    except Rejected as rejection:
        return replace(rejection.response, body=redact_bytes(rejection.response.body))
    except UsageError as error:
        return error_response(service, 404, str(error), code="model_not_found")


def _iter_matching(http: HttpRequest) -> Iterator[tuple[Service[Json], ModelEndpoints]]:
    """Yield each dialect whose model list is at this address."""
    for name in NAMES:
        service = get_dialect(name).service()
        if service.models is not None and service.models.classify(http) == "models":
            yield service, service.models


def _list_served(
    models: ModelEndpoints,
    http: HttpRequest,
    routing: Routing,
    key: GatewayKey | None,
    running: Sequence[ServedRoute],
) -> Sequence[ServedRoute]:
    """Return all served names, or the requested one if it is served."""
    if (name := models.requested_model(http)) is None:
        every = (*routing.names(), *running)
        if key is None or key.models is None:
            return every
        return [each for each in every if allows(key, routing.resolve(each.name))]
    resolved = routing.resolve(name)
    if key is not None and not allows(key, resolved):
        return ()
    return (ServedRoute(name, resolved.entries[0]),)


def _list_rules(
    served: ServedRoute, routing: Routing, holders: Sequence[GatewayGroup | GatewayKey | None]
) -> list[LevelRules]:
    route = routing.resolve(served.name).route
    found = (each.thinking for each in (route, *holders) if each is not None)
    return [each for each in found if each != _NO_RULES]


def _facts(served: ServedRoute, rules: Sequence[LevelRules]) -> ServedModel:
    entry = served.entry
    facts = entry.capability
    return ServedModel(
        name=served.name,
        context=facts.context,
        max_output=facts.max_output,
        levels=_list_allowed(entry, rules),
        default=_find_default(entry, rules),
        media=facts.media,
        owner=entry.provider.name,
    )


def _find_default(entry: ModelEntry, rules: Sequence[LevelRules]) -> str | None:
    """Return the level without a wish: a client that asks for it must not undo the rules."""
    default: str | None = entry.capability.default
    with suppress(UsageError):  # such as a calibration that is gone; a request will report it
        level = _apply(RequestedLevel(UNSET, "unset"), entry, rules)
        if level.why is not None:
            default = _plan_level(entry, level)
    return default if default in LEVELS else None


def _list_allowed(entry: ModelEntry, rules: Sequence[LevelRules]) -> tuple[str, ...]:
    """Return the levels of a model that a client gets if it asks for them."""
    levels = _levels(entry)
    if not rules or not levels:
        return levels
    try:
        # Rules leave a range of levels, so its two ends are enough: a list may have 2,000 models.
        ends = [_send(level, entry, rules) for level in (levels[0], levels[-1])]
        if all(end in levels for end in ends):
            lowest, highest = (levels.index(end) for end in ends if end is not None)
            return levels[lowest : highest + 1]
        return tuple(level for level in levels if _send(level, entry, rules) == level)
    except UsageError:  # as above
        return levels


def _send(level: str, entry: ModelEntry, rules: Sequence[LevelRules]) -> str | None:
    """Return the level that a client gets if it asks for this one."""
    applied = _apply(RequestedLevel(parse_intent(level), "body"), entry, rules)
    return level if applied.why is None else _plan_level(entry, applied)


def _apply(level: RequestedLevel, entry: ModelEntry, rules: Sequence[LevelRules]) -> AppliedLevel:
    resolve = partial(resolve_auto, entry, policy=DEFAULT)
    return apply_rules(level, entry, rules, resolve=resolve)


def _plan_level(entry: ModelEntry, level: AppliedLevel) -> str | None:
    return make_plan(entry, level.intent, asked=RequestParameters(), policy=DEFAULT).level


def _levels(entry: ModelEntry) -> tuple[str, ...]:
    """Return the common levels of a model; one with only a switch accepts any of three."""
    facts = entry.capability
    levels = ("low", "medium", "high") if facts.levels == ("on",) else facts.levels
    off = ("off",) if facts.off and facts.thinks else ()
    return (*off, *(level for level in levels if level in LEVELS and level != "off"))
