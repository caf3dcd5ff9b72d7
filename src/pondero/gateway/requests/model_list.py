"""Lists the served models in the shape of each client API, which its dialect owns."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ...canon import HttpRequest, HttpResponse, Json
from ...catalog import ModelEntry
from ...dialects import NAMES, ModelEndpoints, Rejected, ServedModel, Service, get_dialect
from ...errors import UsageError
from ...thinking import LEVELS
from ..config.model import GatewayKey
from ..config.routing import Routing, ServedRoute, allows
from .errors import error_response, redact_bytes


def answer_model_list(
    http: HttpRequest, routing: Routing, key: GatewayKey | None = None
) -> HttpResponse | None:
    """Return the list of models, or the one requested; None for any other request.

    A key sees the models it may use. Several dialects list models at one address: the client's
    headers tell which one is meant.
    """
    matching = list(_iter_matching(http))
    if not matching:
        return None
    sent = http.headers.keys()
    service, models = next((pair for pair in matching if pair[0].own_headers & sent), matching[0])
    try:
        return models.write_any_list(
            http, [_facts(each) for each in _list_served(models, http, routing, key)]
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
    models: ModelEndpoints, http: HttpRequest, routing: Routing, key: GatewayKey | None
) -> Sequence[ServedRoute]:
    """Return all served names, or the requested one if it is served."""
    if (name := models.requested_model(http)) is None:
        every = routing.names()
        if key is None or not key.models:
            return every
        return [each for each in every if allows(key, routing.resolve(each.name))]
    resolved = routing.resolve(name)
    if key is not None and not allows(key, resolved):
        return ()
    return (ServedRoute(name, resolved.entries[0]),)


def _facts(served: ServedRoute) -> ServedModel:
    entry = served.entry
    facts = entry.capability
    return ServedModel(
        name=served.name,
        context=facts.context,
        max_output=facts.max_output,
        levels=_levels(entry),
        default=facts.default if facts.default in LEVELS else None,
        media=facts.media,
        owner=entry.provider.name,
    )


def _levels(entry: ModelEntry) -> tuple[str, ...]:
    """Return the common levels of a model; one with only a switch accepts any of three."""
    facts = entry.capability
    levels = ("low", "medium", "high") if facts.levels == ("on",) else facts.levels
    off = ("off",) if facts.off and facts.thinks else ()
    return (*off, *(level for level in levels if level in LEVELS and level != "off"))
