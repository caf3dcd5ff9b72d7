"""Which account answers a request to an endpoint: by its model's route, its path, or its ids."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct
from msgspec.structs import replace

from ...canon import Usage
from ...catalog import ModelEntry, Provider
from ...dialects import Endpoint, EndpointMatch
from ...errors import BadParameter, PermissionDenied, UnknownModel, UsageError
from ...store import load_catalog, price_usage
from ..config.deployment_names import ACCOUNT, name_account, name_place
from ..config.model import EndpointRoute, GatewayKey, GatewayRoute
from ..config.routing import allows_name
from ..config.secrets import find_provider_url
from ..deployments.conversation import Conversation
from ..server.context import GatewayContext, Requester


class EndpointTarget(Struct, frozen=True):
    """A provider, the model there (None if the endpoint has none), and the route that says so.

    ``entry``: a model at the deployment that is asked, None for the provider's usual account.
    ``account``: the one whose limits and pauses are kept, "" if there is none.
    """

    provider: Provider
    model: str | None = None
    route: GatewayRoute | None = None
    name: str = ""
    entry: ModelEntry | None = None
    account: str = ""

    @property
    def deployment(self) -> str:
        """Return the name of the deployment that is asked, "" for the provider's usual account."""
        return self.entry.deployment if self.entry is not None else ""


def name_target(gateway: GatewayContext, target: EndpointTarget) -> str:
    """Return the name of the account of a target, which has what it makes."""
    if target.entry is not None:
        return name_place(target.entry)
    account = name_account(gateway.config, target.provider)
    name = target.provider.name
    return f"{account}.{name}" if account.startswith(ACCOUNT) else name


def find_endpoint_targets(
    gateway: GatewayContext,
    match: EndpointMatch,
    model: str | None,
    *,
    requester: Requester,
    home: str | None = None,
) -> tuple[EndpointTarget, ...]:
    """Return the accounts to ask, best first; ``home`` is the one that has the things it names.

    Raises UnknownModel, PermissionDenied and BadParameter.
    """
    endpoint, key = match.endpoint, requester.key
    if model is not None:
        found = _find_by_model(gateway, match, model.removeprefix(match.api.model_prefix), key)
        if home is not None:
            place = gateway.routing.find_home_place(home)
            found = tuple(each for each in found if (each.provider, each.deployment) == place)
        if found:
            return found
        raise UnknownModel(f"no provider of {model!r} has {match.call} and the ids that it names")
    is_bound = key is not None and key.models is not None  # the service's default may be another
    if endpoint.model and (is_bound or not endpoint.optional_model):
        raise BadParameter(f"{match.call} needs a model")
    if home is not None:
        provider, deployment = gateway.routing.find_home_place(home)
        if not _serves(provider, match):
            raise UnknownModel(f"{provider.label} has what this names, and no {match.call}")
        at_home = [each for each in gateway.routing.entries() if each.deployment == deployment]
        entry = replace(at_home[0], model="") if deployment and at_home else None
        return (EndpointTarget(provider, entry=entry, account=deployment),)
    found_by_path = find_provider(gateway, match)
    if found_by_path is not None:
        return (EndpointTarget(found_by_path),)
    if targets := _find_deployments(gateway, match, requester.id):
        return targets
    raise UnknownModel(f"no provider here has {match.call}")


def _find_deployments(
    gateway: GatewayContext, match: EndpointMatch, client: str
) -> tuple[EndpointTarget, ...]:
    """Return the deployments that have an endpoint, if no provider itself is asked here."""
    entries: dict[str, ModelEntry] = {}
    for each in gateway.routing.entries():
        is_served = _serves(each.provider, match) and _has(each.provider, match.endpoint)
        if each.deployment and is_served:  # two names of one account are one
            entries.setdefault(each.account, replace(each, model=""))
    names = list(dict.fromkeys(each.provider.name for each in entries.values()))
    if len(names) > 1:
        raise _make_ambiguous(match, names)
    deployed = tuple(entries.values())
    keeper = gateway.accounts.find_keeper(deployed, client) if match.endpoint.gives else ""
    homes = {names[0]: keeper} if keeper else {}
    ordered = _balance(deployed, gateway, None, Conversation({}, homes))
    return tuple(
        EndpointTarget(each.provider, entry=each, account=account) for each, account in ordered
    )


def _make_ambiguous(match: EndpointMatch, names: Iterable[str]) -> BadParameter:
    message = (
        f"several providers here have {match.endpoint.name}: {' '.join(names)}; the operator "
        f'chooses one with [[endpoint]] match = "{match.endpoint.name}", to = "..."'
    )
    return BadParameter(message)


def _balance(
    entries: Sequence[ModelEntry],
    gateway: GatewayContext,
    route: GatewayRoute | None,
    conversation: Conversation,
) -> Sequence[tuple[ModelEntry, str]]:
    """Return models in the order to ask them, with the deployments of each balanced.

    Each has the account whose limits are kept.
    """
    if not any(each.deployment for each in entries):
        return [(each, "") for each in entries]
    turns = gateway.order_models(route, entries, (), conversation)
    return [(turn.entry, turn.account) for turn in turns]


def check_named_model(gateway: GatewayContext, model: str, key: GatewayKey | None) -> None:
    """Raise PermissionDenied if a key may not use a model that a request names besides its own."""
    try:
        name = gateway.routing.resolve(model).name
    except UsageError:
        name = model
    _check_models(key, name, model)


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
    return tuple(
        EndpointTarget(
            each.provider, each.model, route, name, each if each.deployment else None, account
        )
        for each, account in _balance(chosen, gateway, route, Conversation({}))
    )


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
        raise _make_ambiguous(match, (each.name for each in places.values()))
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
