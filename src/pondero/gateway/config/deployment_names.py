"""``DEPLOYMENT:MODEL`` in a route: which account it means, and whose signatures that can read."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

from msgspec.structs import replace

from ...catalog import Lookup, ModelEntry, Provider
from ...errors import UnknownModel
from ...handoff import UNKNOWN_ACCOUNT
from .model import Deployment, GatewayConfig

ACCOUNT = "@"
"""The beginning of the name of an account that is not that of a provider's own key."""


class DeploymentName(NamedTuple):
    """A model's name in a route: its deployment, if it names one, and the name without it."""

    deployment: Deployment | None
    model: str

    def with_model(self, model: str) -> str:
        """Return another model of the same provider, as a route names it."""
        if self.deployment is None:
            return model
        return f"{self.deployment.name}:{model.partition(':')[2]}"


def split_deployment(model: str, deployments: Iterable[Deployment]) -> DeploymentName:
    """Return the deployment that a name begins with, and the name of the model at its provider."""
    name, colon, rest = model.partition(":")
    for each in deployments if colon else ():
        if each.name == name.strip():
            return DeploymentName(each, f"{each.provider}:{rest}")
    return DeploymentName(None, model)


def find_entry(model: str, config: GatewayConfig, lookup: Lookup) -> ModelEntry:
    """Return a model that a route or a stored home names, at its deployment; raises UsageError."""
    if model.startswith(ACCOUNT):
        model = _find_at_account(model, config, lookup)
    deployment, plain = split_deployment(model, config.deployments)
    entry = lookup.entry(plain)
    check_provider(deployment, entry)
    return place_entry(entry, config, deployment)


def place_entry(
    entry: ModelEntry, config: GatewayConfig, deployment: Deployment | None = None
) -> ModelEntry:
    """Return a model with the account that is asked, and whose signatures that can read."""
    provider = entry.provider
    return replace(
        entry,
        deployment=deployment.name if deployment is not None else "",
        account=name_account(config, provider, deployment),
        reads_of=_find_readable(config, provider, deployment),
    )


def name_home(entry: ModelEntry) -> str:
    """Return the name of a model at the account that has what its answers name by id."""
    return f"{name_place(entry)}:{entry.model}"


def name_place(entry: ModelEntry) -> str:
    """Return the name of the account of a model; it stays if its deployment is renamed."""
    if entry.account[:1] == ACCOUNT:
        return f"{entry.account}.{entry.provider.name}"
    return entry.provider.name if entry.account else entry.deployment or entry.provider.name


def find_home_place(home: str, config: GatewayConfig, lookup: Lookup) -> tuple[Provider, str]:
    """Return the provider and the deployment of a home, "" for the provider's usual account.

    Raises UnknownModel if it is not configured any more.
    """
    name = home.partition(":")[0]
    if name.startswith(ACCOUNT):
        name = _find_at_account(f"{name}:", config, lookup).partition(":")[0]
    providers = lookup.catalog.providers
    for each in config.deployments:
        if each.name == name:
            return providers[each.provider], name
    if name not in providers:
        raise UnknownModel("the account that has this is not configured any more")
    return providers[name], ""


def find_home_account(home: str, config: GatewayConfig, lookup: Lookup) -> str | None:
    """Return the account that a home names; None if it is not configured any more."""
    place = home.partition(":")[0]
    if place.startswith(ACCOUNT):
        return place.partition(".")[0]
    providers = lookup.catalog.providers
    for each in config.deployments:
        if each.name == place:
            return name_account(config, providers[each.provider], each)
    provider = providers.get(place)
    return None if provider is None else name_account(config, provider)


def is_home(entry: ModelEntry, home: str) -> bool:
    """Return whether a model is at the account that a home names, of this or an earlier version."""
    place = home.partition(":")[0]
    if place.startswith(ACCOUNT):
        return place.partition(".")[0] == entry.account
    usual = entry.deployment or entry.provider.name
    return bool(place) and place in (usual, name_place(entry))


def _find_at_account(home: str, config: GatewayConfig, lookup: Lookup) -> str:
    """Return the name of a model at an account, as routes name it; raises UnknownModel."""
    place, _, model = home.partition(":")
    account, _, name = place.partition(".")
    provider = lookup.catalog.providers.get(name)
    if provider is not None:
        for each in config.deployments:
            if each.provider == name and name_account(config, provider, each) == account:
                return f"{each.name}:{model}"
        if name_account(config, provider) == account:
            return f"{name}:{model}"
    raise UnknownModel("the account that has this is not configured any more")


def check_provider(deployment: Deployment | None, entry: ModelEntry) -> None:
    """Raise UnknownModel for a model that another provider than the deployment's serves."""
    if deployment is not None and entry.provider.name != deployment.provider:
        message = (
            f"{entry.model!r} is served by {entry.provider.name}, and deployment "
            f"{deployment.name!r} is of {deployment.provider}; name a deployment of "
            f"{entry.provider.name}"
        )
        raise UnknownModel(message)


def name_account(
    config: GatewayConfig, provider: Provider, deployment: Deployment | None = None
) -> str:
    """Return a name of the account behind a deployment, or behind a provider itself.

    Two deployments with the same key are one account. Where signatures are bound to a region, or
    there is no key, an account is an address.
    """
    usual = _find_place(GatewayConfig(), provider, None)
    place = _find_place(config, provider, deployment)
    if place == usual:
        return usual
    return ACCOUNT + blake2b(place.encode(), digest_size=9, person=b"account").hexdigest()


def _find_place(config: GatewayConfig, provider: Provider, deployment: Deployment | None) -> str:
    own, base = deployment, config.providers.get(provider.name)
    url = (own.url if own is not None else None) or (base.url if base is not None else None)
    key = (own.key if own is not None else None) or (base.key if base is not None else None)
    key = key or (f"env:{provider.keys[0]}" if provider.keys else None)
    if provider.signatures.bound_to == "region" or key is None:
        return f"url {url or ''}"
    return key


def _find_readable(
    config: GatewayConfig, provider: Provider, deployment: Deployment | None
) -> frozenset[str] | None:
    """Return the accounts whose signatures a deployment can read; None for all.

    Earlier versions named deployments in place of accounts. Without deployments, an answer whose
    account is unknown is of the only one.
    """
    if provider.signatures.bound_to in ("none", "cloud"):
        return None
    others = [each for each in config.deployments if each.provider == provider.name]
    own = name_account(config, provider, deployment)
    found = {each.name for each in others if name_account(config, provider, each) == own}
    if own[0] == ACCOUNT:
        found.add(own)
    if own in (name_account(config, provider), name_account(GatewayConfig(), provider)):
        found.add("")
    if not others:
        found.add(UNKNOWN_ACCOUNT)
    return frozenset(found)
