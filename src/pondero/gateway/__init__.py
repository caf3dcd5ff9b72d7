"""The gateway: clients of any API in front, models of any provider behind, signatures preserved."""

from ..lazy import Loader, make_lazy_getattr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .admin.command_audit import record_command
    from .config.checks import check_start
    from .config.model import (
        GatewayConfig,
        GatewayKey,
        GatewayRoute,
        LevelRules,
        RateLimitRule,
        find_name_problem,
        is_loopback,
        parse_expiry,
    )
    from .config.reader import load_config, locate
    from .config.routing import Routing
    from .config.secrets import check_credentials, hash_key, make_key
    from .config.unknown_models import find_uncatalogued
    from .hooks.interface import Hook, HookCall, Reject
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
    from .observability.observers import check_extra, open_observers
    from .quotas.admission import USEFUL_ANSWER
    from .quotas.quota_preview import (
        describe_quotas,
        find_forgotten,
        find_lone_models,
        find_lowered_limits,
        list_budgets,
        list_models,
    )
    from .server.run import run, run_gateway_in_thread
    from .state.keys import KeyEdit, KeyRing, UnknownKey
    from .state.shared_state import find_eviction_policy, load_keys, rotate_envelope_secret

_NAMES = {
    "admin.command_audit": "record_command",
    "config.checks": "check_start",
    "config.model": (
        "GatewayConfig GatewayKey GatewayRoute LevelRules RateLimitRule find_name_problem "
        "is_loopback parse_expiry"
    ),
    "config.reader": "load_config locate",
    "config.routing": "Routing",
    "config.secrets": "check_credentials hash_key make_key",
    "config.unknown_models": "find_uncatalogued",
    "hooks.interface": "Hook HookCall Reject",
    "launch.clients": (
        "ChosenModel LaunchClient LaunchCommand copy_back load_clients prepare_launch "
        "private_config"
    ),
    "observability.ledger": "load_usage",
    "observability.observers": "check_extra open_observers",
    "quotas.admission": "USEFUL_ANSWER",
    "quotas.quota_preview": (
        "describe_quotas find_forgotten find_lone_models find_lowered_limits list_budgets "
        "list_models"
    ),
    "server.run": "run run_gateway_in_thread",
    "state.keys": "KeyEdit KeyRing UnknownKey",
    "state.shared_state": "find_eviction_policy load_keys rotate_envelope_secret",
}

__all__ = [
    "USEFUL_ANSWER",
    "ChosenModel",
    "GatewayConfig",
    "GatewayKey",
    "GatewayRoute",
    "Hook",
    "HookCall",
    "KeyEdit",
    "KeyRing",
    "LaunchClient",
    "LaunchCommand",
    "LevelRules",
    "RateLimitRule",
    "Reject",
    "Routing",
    "UnknownKey",
    "check_credentials",
    "check_extra",
    "check_start",
    "copy_back",
    "describe_quotas",
    "find_eviction_policy",
    "find_forgotten",
    "find_lone_models",
    "find_lowered_limits",
    "find_name_problem",
    "find_uncatalogued",
    "hash_key",
    "is_loopback",
    "list_budgets",
    "list_models",
    "load_clients",
    "load_config",
    "load_keys",
    "load_usage",
    "locate",
    "make_key",
    "open_observers",
    "parse_expiry",
    "prepare_launch",
    "private_config",
    "record_command",
    "rotate_envelope_secret",
    "run",
    "run_gateway_in_thread",
]

# Loaded on first use: reading a configuration needs no server.
__getattr__: Loader = make_lazy_getattr(__name__, _NAMES)
