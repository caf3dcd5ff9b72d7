"""The gateway: clients of any wire in front, models of any provider behind, seals kept."""

from ..lazy import Loader, make_lazy_getattr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .clients import (
        ChosenModel,
        LaunchClient,
        LaunchCommand,
        copy_back,
        load_clients,
        prepare_launch,
        private_config,
    )
    from .config import GatewayConfig, GatewayKey, GatewayRoute, LevelRules
    from .config_file import check_exposure, load_config
    from .keys import KeyRing
    from .ledger import load_usage
    from .observers import open_observers
    from .routing import Routing
    from .secrets import find_provider_key, find_provider_url, hash_key, is_self, make_key
    from .server import run, run_gateway_in_thread
    from .shared import load_keys

_HOMES = {
    "ChosenModel": "clients",
    "LaunchClient": "clients",
    "GatewayConfig": "config",
    "LevelRules": "config",
    "GatewayKey": "config",
    "KeyRing": "keys",
    "GatewayRoute": "config",
    "Routing": "routing",
    "LaunchCommand": "clients",
    "copy_back": "clients",
    "check_exposure": "config_file",
    "load_clients": "clients",
    "load_config": "config_file",
    "hash_key": "secrets",
    "load_keys": "shared",
    "find_provider_key": "secrets",
    "make_key": "secrets",
    "open_observers": "observers",
    "is_self": "secrets",
    "private_config": "clients",
    "run": "server",
    "run_gateway_in_thread": "server",
    "load_usage": "ledger",
    "prepare_launch": "clients",
    "find_provider_url": "secrets",
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

# Load what serves on first use: reading a configuration needs none of it.
__getattr__: Loader = make_lazy_getattr(__name__, _HOMES)
