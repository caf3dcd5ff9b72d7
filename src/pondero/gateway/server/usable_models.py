"""Whether the gateway can ask any model: one whose provider has a key, and that is not paused."""

from ...catalog import Provider
from ...errors import PonderoError
from .context import GatewayContext


def has_usable_model(gateway: GatewayContext) -> bool:
    """Return whether a request for one of the models may be sent now; may read files and a keyring.

    A model whose pause is over counts: only a request can find out whether it works again, and a
    gateway that is not ready gets none.
    """
    keyed = {each.name for each in gateway.routing.providers() if _has_key(gateway, each)}
    entries = gateway.routing.entries()
    if not entries:
        return bool(keyed)
    return any(
        entry.provider.name in keyed and not gateway.breakers.is_resting(entry.id)
        for entry in entries
    )


def _has_key(gateway: GatewayContext, provider: Provider) -> bool:
    try:
        gateway.address(provider)
    except PonderoError:
        return False
    return True
