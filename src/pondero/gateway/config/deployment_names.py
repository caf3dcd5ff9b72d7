"""``DEPLOYMENT:MODEL`` in a route: which account it means, and whose signatures that can read."""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from ...catalog import Lookup, ModelEntry, Provider
from ...errors import UnknownModel
from .model import Deployment, GatewayConfig


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
    """Return a model that a route names, at its deployment; raises UsageError."""
    deployment, plain = split_deployment(model, config.deployments)
    entry = lookup.entry(plain)
    check_provider(deployment, entry)
    reads_of = _find_readable(config, entry.provider, deployment)
    if deployment is None and reads_of is None:
        return entry
    return replace(entry, deployment=deployment.name if deployment else "", reads_of=reads_of)


def check_provider(deployment: Deployment | None, entry: ModelEntry) -> None:
    """Raise UnknownModel for a model that another provider than the deployment's serves."""
    if deployment is not None and entry.provider.name != deployment.provider:
        message = (
            f"{entry.model!r} is served by {entry.provider.name}, and deployment "
            f"{deployment.name!r} is of {deployment.provider}; name a deployment of "
            f"{entry.provider.name}"
        )
        raise UnknownModel(message)


def _find_readable(
    config: GatewayConfig, provider: Provider, deployment: Deployment | None
) -> frozenset[str] | None:
    """Return the deployments whose signatures a deployment can read; None for all.

    Two deployments with the same key are one account, and two at one address one resource.
    """
    others = [each for each in config.deployments if each.provider == provider.name]
    scope = provider.signatures.bound_to
    if not others or scope in ("none", "cloud"):
        return None
    usual = config.providers.get(provider.name)
    if scope == "region":
        base = usual.url if usual is not None else None
        places = {each.name: each.url or base for each in others} | {"": base}
    else:
        base = (usual.key if usual is not None else None) or _name_key(provider)
        places = {each.name: each.key or base for each in others} | {"": base}
    own = places[deployment.name if deployment is not None else ""]
    return frozenset(name for name, place in places.items() if place == own)


def _name_key(provider: Provider) -> str | None:
    return f"env:{provider.keys[0]}" if provider.keys else None
