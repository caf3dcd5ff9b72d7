"""Everything that is checked before the gateway starts; ``serve`` and ``serve --check`` call it.

A new reason not to start is a row of ``CHECKS``, so that ``--check`` knows it too. The checks
change nothing and open no connection; a busy port is found at the start alone.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from ...asgi import bind
from ...errors import BadConfig, MissingExtra, PonderoError
from ...extras import install_hint
from ..hooks.loader import check_hooks
from .model import REFERENCES, GatewayConfig
from .reader import check_exposure, check_sharing, locate
from .responses_section import STORES
from .routing import Routing
from .secrets import (
    find_provider_url,
    is_self,
    read_envelope_secrets,
    read_reference,
    read_webhook,
    read_webhook_secret,
)
from .server_section import LEDGERS, STATES


def _check_extras(config: GatewayConfig, _routing: Routing) -> None:
    modules = ("aiohttp", "cryptography", "httptools", "prometheus_client", "uvicorn")
    needed = dict.fromkeys(modules, "a gateway")
    if config.server.state != "memory":
        needed["redis"] = "a shared state"
    if config.server.ledger not in ("sqlite", "off"):
        needed["psycopg"] = "a ledger in PostgreSQL"
    if config.sign_in is not None:
        needed |= dict.fromkeys(("authlib", "joserfc"), "signing in to the console")
    if config.responses.store not in STORES:
        needed["psycopg"] = "a store of answers in PostgreSQL"
    for module, what in needed.items():
        if find_spec(module) is None:
            message = f"{what} needs {module}; {install_hint('gateway')}"
            raise MissingExtra(message)


def _check_state(config: GatewayConfig, _routing: Routing) -> None:
    _check_address(config, "state", config.server.state, ("memory",), STATES)


def _check_ledger(config: GatewayConfig, _routing: Routing) -> None:
    _check_address(config, "ledger", config.server.ledger, ("sqlite", "off"), LEDGERS)


def _check_address(
    config: GatewayConfig, name: str, said: str, words: tuple[str, ...], schemes: tuple[str, ...]
) -> None:
    """Raise BadConfig for an address that is missing or invalid; never quotes one."""
    where = locate(config, "server", name)
    is_reference = said.startswith(REFERENCES)
    if not is_reference and said in words:
        return
    try:
        address = read_reference(said) if is_reference else said
    except PonderoError as error:
        message = f"{where}{name}: {error}"
        raise BadConfig(message) from None
    # An empty state or "memory" behind a reference is no word: all replicas must share one.
    if name == "ledger" and address in words:
        return
    try:
        parts = urlsplit(address)
        complete = parts.scheme in schemes and _has_host(address)
        _ = parts.port  # raises ValueError if it is not a number
        if complete and name == "state":
            _try_redis_address(address)
    except (ValueError, TypeError, AttributeError):
        complete = False
    if not complete:
        begins = " or ".join(f"{scheme}://" for scheme in schemes)
        shown = said if is_reference else "this"
        message = (
            f"{where}{name}: {shown} is not an address that begins with {begins}, and has a valid "
            "host, port and options"
        )
        if "@" in address and address.startswith(tuple(f"{each}://" for each in schemes)):
            message += "; a password in it needs %2F for /, %23 for #, %3F for ?, %40 for @"
        raise BadConfig(message)


def _try_redis_address(address: str) -> None:
    """Raise ValueError or TypeError for an option that the Redis client does not know."""
    from redis.asyncio import ConnectionPool  # noqa: PLC0415 - an extra

    pool: Any = ConnectionPool.from_url(address)
    pool.make_connection()  # which connects at its first use


def _has_host(address: str) -> bool:
    """Return whether an address names its server; PostgreSQL may name it in a parameter."""
    parts = urlsplit(address)
    if parts.scheme == "unix":
        return bool(parts.path)
    return bool(parts.hostname or "host=" in parts.query or parts.scheme.startswith("postgres"))


def _check_host(config: GatewayConfig, _routing: Routing) -> None:
    """Raise BadConfig for a host on which this machine cannot listen, at any port."""
    try:
        bind(config.server.host, 0).close()
    except PonderoError as error:
        why = str(error).partition(" port 0: ")[2] or str(error)
        where = locate(config, "server", "host")
        message = f"{where}cannot listen on {config.server.host}: {why}"
        raise BadConfig(message) from None


def _check_providers(config: GatewayConfig, routing: Routing) -> None:
    """Raise BadConfig for a provider whose address is invalid or this very gateway."""
    for provider in routing.providers():
        own = config.providers.get(provider.name)
        in_file = own is not None and own.url is not None
        where = locate(config, "provider", provider.name, "url") if in_file else ""
        try:
            _ = urlsplit(find_provider_url(config, provider, needed=False)).port
            loops = is_self(config, provider)
        except ValueError as error:
            message = f"{where}the address of {provider.label} is invalid: {error}"
            raise BadConfig(message) from None
        if loops:
            variables = " or ".join(provider.url_env)
            cure = (
                "write that of the service"
                if in_file
                else f"unset {variables} where the gateway starts: it is for the clients"
            )
            message = f"{where}the address of {provider.label} is this gateway's own; {cure}"
            raise BadConfig(message)


def _check_deployments(config: GatewayConfig, routing: Routing) -> None:
    """Raise BadConfig for a deployment that is this very gateway, or that no route can name."""
    if config.deployments and not config.routes:
        where = locate(config, "deployment", 0)
        message = f'{where}no [[route]] names a deployment; write to = "{{}}:MODEL" in one'
        raise BadConfig(message.format(config.deployments[0].name))
    numbers = {each.name: number for number, each in enumerate(config.deployments)}
    for each in routing.deployments():
        if each.url is None:
            continue
        where = locate(config, "deployment", numbers[each.name], "url")
        if is_self(config, routing.find_provider(each), each.name):
            message = (
                f"{where}the address of {each.name} is this gateway's own; write the service's"
            )
            raise BadConfig(message)


def _check_webhook(config: GatewayConfig, _routing: Routing) -> None:
    """Raise BadConfig for an invalid address or secret of the webhook; never quotes one."""
    readers = {
        "webhook": (config.alerts.webhook, read_webhook),
        "secret": (config.alerts.secret, read_webhook_secret),
    }
    for name, (said, read) in readers.items():
        try:
            if said is not None:
                read(said)
        except (PonderoError, ValueError) as error:
            message = f"{locate(config, 'alerts', name)}{name}: {error}"
            raise BadConfig(message) from None


def _check_envelope_secret(config: GatewayConfig, _routing: Routing) -> None:
    try:
        read_envelope_secrets(config.server)
    except PonderoError as error:
        message = f"{locate(config, 'server', 'envelope_secret')}envelope_secret: {error}"
        raise BadConfig(message) from None


def _check_sign_in(config: GatewayConfig, _routing: Routing) -> None:
    """Raise BadConfig if the secret of the console's sign-in cannot be read; never quotes it."""
    if config.sign_in is None or config.sign_in.client_secret is None:
        return
    try:
        read_reference(config.sign_in.client_secret)
    except PonderoError as error:
        message = f"{locate(config, 'sign_in', 'client_secret')}client_secret: {error}"
        raise BadConfig(message) from None


Check = Callable[[GatewayConfig, Routing], None]

CHECKS: tuple[Check, ...] = (
    _check_extras,
    lambda config, _: check_exposure(config),
    lambda config, _: check_sharing(config),
    _check_host,
    _check_state,
    _check_ledger,
    _check_envelope_secret,
    _check_webhook,
    _check_sign_in,
    lambda config, _: check_hooks(config),
)
"""What must hold before a gateway starts."""

ONLINE: tuple[Check, ...] = (_check_providers, _check_deployments)
"""What must hold besides if real providers are asked."""


def check_start(config: GatewayConfig, routing: Routing, *, offline: bool = False) -> None:
    """Raise the error with which this configuration would not start."""
    for check in CHECKS if offline else (*CHECKS, *ONLINE):
        check(config, routing)
