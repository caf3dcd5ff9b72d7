"""The gateway: clients of any API in front, models of any provider behind, signatures preserved."""

from ..lazy import Loader, make_lazy_getattr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .config.model import GatewayConfig, GatewayKey, GatewayRoute, LevelRules
    from .config.reader import check_exposure, load_config
    from .config.routing import Routing
    from .config.secrets import find_provider_key, find_provider_url, hash_key, is_self, make_key
    from .launch.clients import (
        ChosenModel,
        LaunchClient,
        LaunchCommand,
        copy_back,
        load_clients,
        prepare_launch,
        private_config,
    )
    from .observability.ledger import load_usage
    from .observability.observers import open_observers
    from .server.run import run, run_gateway_in_thread
    from .state.keys import KeyRing
    from .state.shared_state import load_keys

_HOMES = {
    "ChosenModel": "launch.clients",
    "LaunchClient": "launch.clients",
    "GatewayConfig": "config.model",
    "LevelRules": "config.model",
    "GatewayKey": "config.model",
    "KeyRing": "state.keys",
    "GatewayRoute": "config.model",
    "Routing": "config.routing",
    "LaunchCommand": "launch.clients",
    "copy_back": "launch.clients",
    "check_exposure": "config.reader",
    "load_clients": "launch.clients",
    "load_config": "config.reader",
    "hash_key": "config.secrets",
    "load_keys": "state.shared_state",
    "find_provider_key": "config.secrets",
    "make_key": "config.secrets",
    "open_observers": "observability.observers",
    "is_self": "config.secrets",
    "private_config": "launch.clients",
    "run": "server.run",
    "run_gateway_in_thread": "server.run",
    "load_usage": "observability.ledger",
    "prepare_launch": "launch.clients",
    "find_provider_url": "config.secrets",
}

__all__ = [
    "ChosenModel",
    "GatewayConfig",
    "GatewayKey",
    "GatewayRoute",
    "KeyRing",
    "LaunchClient",
    "LaunchCommand",
    "LevelRules",
    "Routing",
    "check_exposure",
    "copy_back",
    "find_provider_key",
    "find_provider_url",
    "hash_key",
    "is_self",
    "load_clients",
    "load_config",
    "load_keys",
    "load_usage",
    "make_key",
    "open_observers",
    "prepare_launch",
    "private_config",
    "run",
    "run_gateway_in_thread",
]

# Loaded on first use: reading a configuration needs no server.
__getattr__: Loader = make_lazy_getattr(__name__, _HOMES)
