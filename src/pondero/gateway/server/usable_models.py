"""Whether the gateway can ask any model: one whose account has a key, and that is not paused."""

from ...catalog import ModelEntry, Provider
from ...errors import PonderoError
from ..config.secrets import check_signature
from ..deployments.accounts import name_breaker
from .context import GatewayContext


def has_usable_model(gateway: GatewayContext) -> bool:
    """Return whether a request for one of the models may be sent now; may read files and a keyring.

    A model whose pause is over counts: only a request can find out whether it works again, and a
    gateway that is not ready gets none.
    """
    entries = gateway.routing.entries()
    if not entries:
        return any(_has_key(gateway, each) for each in gateway.routing.providers())
    return any(_is_usable(gateway, entry) for entry in entries)


def _is_usable(gateway: GatewayContext, entry: ModelEntry) -> bool:
    if gateway.breakers.is_resting(name_breaker(entry)) or gateway.accounts.find_pause(entry) > 0:
        return False
    return _has_key(gateway, entry.provider, entry.deployment)


def _has_key(gateway: GatewayContext, provider: Provider, deployment: str = "") -> bool:
    try:
        url, key = gateway.address(provider, deployment)
        if gateway.transport.needs_key:
            check_signature(provider, url, key)
    except PonderoError:
        return False
    return True
