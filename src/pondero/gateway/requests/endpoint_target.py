"""Which provider answers a request to an endpoint: by its model's route, its path, or its ids."""

from fnmatch import fnmatchcase

from msgspec import Struct

from ...canon import Usage
from ...catalog import ModelEntry, Provider
from ...dialects import Endpoint, EndpointMatch
from ...errors import BadParameter, PermissionDenied, UnknownModel, UsageError
from ...store import load_catalog, price_usage
from ..config.model import EndpointRoute, GatewayKey, GatewayRoute
from ..config.routing import allows_name
from ..config.secrets import find_provider_url
from ..server.context import GatewayContext


class EndpointTarget(Struct, frozen=True):
    """A provider, the model there (None if the endpoint has none), and the route that says so."""

    provider: Provider
    model: str | None = None
    route: GatewayRoute | None = None
    name: str = ""


def find_endpoint_targets(
    gateway: GatewayContext,
    match: EndpointMatch,
    model: str | None,
    *,
    key: GatewayKey | None,
    home: str | None = None,
) -> tuple[EndpointTarget, ...]:
    """Return the providers to ask, best first; ``home`` is the one that has the things it names.

    Raises UnknownModel, PermissionDenied and BadParameter.
    """
    endpoint = match.endpoint
    if model is not None:
        found = _find_by_model(gateway, match, model.removeprefix(match.api.model_prefix), key)
        if home is not None:
            found = tuple(each for each in found if each.provider.name == home)
        if found:
            return found
        raise UnknownModel(f"no provider of {model!r} has {match.call} and the ids that it names")
    is_bound = key is not None and key.models is not None  # the service's default may be another
    if endpoint.model and (is_bound or not endpoint.optional_model):
        raise BadParameter(f"{match.call} needs a model")
    if home is not None:
        provider = load_catalog().catalog.providers[home]
        if not _serves(provider, match):
            raise UnknownModel(f"{provider.label} has what this names, and no {match.call}")
        return (EndpointTarget(provider),)
    found_by_path = find_provider(gateway, match)
    if found_by_path is None:
        raise UnknownModel(f"no provider here has {match.call}")
    return (EndpointTarget(found_by_path),)


def _find_by_model(
    gateway: GatewayContext, match: EndpointMatch, model: str, key: GatewayKey | None
) -> tuple[EndpointTarget, ...]:
    name, route = model, None
    entries: tuple[ModelEntry, ...] = ()
    try:
        resolved = gateway.routing.resolve(model)
        name, route, entries = resolved.name, resolved.route, resolved.entries
    except UsageError:  # without routes, or with one for the path, the path says whose it is
        if gateway.config.routes and _find_route(gateway, match) is None:
            raise
    _check_models(key, name, model)
    chosen = tuple(each for each in entries if _serves(each.provider, match))
    is_guess = route is None and all(each.inferred for each in entries)
    if is_guess and not _names_provider(entries, model):
        # Nothing is known of this name, so the path says whose it is.
        provider = find_provider(gateway, match, model)
        return (EndpointTarget(provider, model, None, name),) if provider is not None else ()
    if not chosen:
        made = f"{entries[0].id} has" if entries else "no provider here has"
        raise UnknownModel(f"{made} no {match.call}; ask for a model of another provider")
    return tuple(EndpointTarget(each.provider, each.model, route, name) for each in chosen)


def _names_provider(entries: tuple[ModelEntry, ...], model: str) -> bool:
    return any(model.startswith(f"{each.provider.name}:") for each in entries)


def _check_models(key: GatewayKey | None, name: str, asked: str) -> None:
    if key is not None and not allows_name(key, name):
        raise PermissionDenied(f"this key may not use {asked!r}", status=403)


def _serves(provider: Provider, match: EndpointMatch) -> bool:
    return provider.dialect in match.api.dialects


def find_provider(
    gateway: GatewayContext, match: EndpointMatch, model: str | None = None
) -> Provider | None:
    """Return the provider of a path: the configured one, else the only one that has it.

    Of several, the only one that is known to sell the model. Raises BadParameter if none is.
    """
    providers = load_catalog().catalog.providers
    if (route := _find_route(gateway, match)) is not None:
        return providers[route.to]
    having = [each for each in gateway.routing.providers() if _has(each, match.endpoint)]
    places: dict[str, Provider] = {}
    for each in having:  # two names of one account are one
        places.setdefault(find_provider_url(gateway.config, each, needed=False), each)
    if len(places) > 1 and model is not None:
        sold = {url: each for url, each in places.items() if _sells(each, model)}
        places = sold if len(sold) == 1 else places
    if len(places) > 1:
        names = " ".join(each.name for each in places.values())
        message = (
            f"several providers here have {match.endpoint.name}: {names}; the operator chooses one "
            f'with [[endpoint]] match = "{match.endpoint.name}", to = "..."'
        )
        raise BadParameter(message)
    return next(iter(places.values()), None)


def _sells(provider: Provider, model: str) -> bool:
    return price_usage(provider.name, model, Usage(1, output=0)) is not None


def _has(provider: Provider, endpoint: Endpoint) -> bool:
    return provider.name in endpoint.providers


def _find_route(gateway: GatewayContext, match: EndpointMatch) -> EndpointRoute | None:
    """Return the configured provider of an endpoint, if it speaks this API."""
    providers = load_catalog().catalog.providers
    for route in gateway.config.endpoints:
        fits = route.match in (match.endpoint.name, "*") or (
            route.match.startswith("/") and fnmatchcase(match.call.partition(" ")[2], route.match)
        )
        if fits and _serves(providers[route.to], match):
            return route
    return None
