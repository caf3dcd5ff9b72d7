"""Reads gateway.toml strictly; a key in plain text is rejected and never quoted."""

import os
from pathlib import Path

from msgspec.structs import replace

from ... import catalog
from ...catalog import Lookup
from ...errors import BadConfig
from ...store import config_folder, list_saved_keys, load_toml
from .deployment_section import read_deployments
from .endpoint_section import read_endpoints
from .group_section import read_groups
from .hook_section import read_hooks
from .key_section import read_keys
from .model import (
    GatewayConfig,
    GatewayGroup,
    GatewayKey,
    GatewayRoute,
    ProviderOverride,
    ResponsesConfig,
    ServerConfig,
)
from .responses_section import read_responses
from .route_section import read_routes, read_rules
from .rows import ConfigRows
from .secrets import read_envelope_secrets
from .server_section import read_alerts, read_providers, read_server
from .sign_in_section import read_sign_in

FILE = "gateway.toml"


def find_config(path: str | None = None) -> Path | None:
    """Return the file to load: the given one, else gateway.toml in the config folder."""
    if path is not None:
        return Path(path)
    usual = Path(config_folder()) / FILE
    return usual if usual.is_file() else None


def load_config(path: str | None, lookup: Lookup, *, offline: bool = False) -> GatewayConfig:
    """Return the file's configuration, else the environment's; ``offline`` needs no keys."""
    file = find_config(path)
    config = load(file, lookup) if file is not None else GatewayConfig()
    return config if config.routes else default_config(config, lookup, offline=offline)


def load(path: Path, lookup: Lookup) -> GatewayConfig:
    """Return the configuration in a file; raises BadConfig with file, line and cure."""
    config = _read(ConfigRows(load_toml(str(path), BadConfig), lookup), path)
    return config if config.routes else default_config(config, lookup)


def reload_config(config: GatewayConfig, lookup: Lookup, *, offline: bool = False) -> GatewayConfig:
    """Read the configuration again; raises BadConfig. What needs a restart stays as it is.

    ``waiting`` of the result names the settings that stay although the file has other values.
    """
    path = str(config.path) if config.path is not None else None
    again = _keep_running(config, load_config(path, lookup, offline=offline))
    check_exposure(again)
    if config.keys and not again.keys:  # a file cut off in the middle may still be valid
        message = (
            f"{again.path or FILE} has no [[key]] any more, so every client would have access; "
            "restart the gateway to open it"
        )
        raise BadConfig(message)
    check_sharing(again)
    read_envelope_secrets(again.server)
    return again


_RELOADED = frozenset(("envelope_secret", "accept_plain_envelopes"))  # settings of [server]
_AT_START = frozenset(("webhook", "secret"))  # settings of [alerts]


def _keep_running(config: GatewayConfig, again: GatewayConfig) -> GatewayConfig:
    """Return a configuration that was read again, with all that is opened at the start alone."""
    fixed = {
        "server": frozenset(ServerConfig.__struct_fields__) - _RELOADED,
        "responses": frozenset(ResponsesConfig.__struct_fields__),
        "alerts": _AT_START,
    }
    waiting: list[str] = []
    for section, names in fixed.items():
        running, read = getattr(config, section), getattr(again, section)
        kept = {name: getattr(running, name) for name in read.__struct_fields__ if name in names}
        skipped = config.overridden if section == "server" else frozenset()
        waiting += [
            f"{section}.{name}"
            for name, value in kept.items()
            if getattr(read, name) != value and name not in skipped
        ]
        again = replace(again, **{section: replace(read, **kept)})
    return replace(
        again, private=config.private, overridden=config.overridden, waiting=tuple(waiting)
    )


def check_exposure(config: GatewayConfig) -> None:
    """Raise BadConfig if other machines could use this gateway without a key."""
    if config.is_exposed:
        host = config.server.host
        message = (
            f"{locate(config, 'server', 'host')}on {host} any machine could use this gateway "
            "without a key; create one with 'pondero keys "
            f"create --gateway NAME' and add it to {config.path or FILE}, or listen on 127.0.0.1"
        )
        raise BadConfig(message)


def check_sharing(config: GatewayConfig) -> None:
    """Raise BadConfig if each of several processes would count a quota alone."""
    if config.server.workers == 1 or config.server.state != "memory":
        return
    for number, each in enumerate(config.deployments):
        if each.limit is not None:
            place = locate(config, "deployment", number, "limit")
            quota = f"limit of deployment {each.name!r}"
            raise BadConfig(_describe_unshared(config, place, quota))
    rows: tuple[tuple[str, int, str, GatewayKey | GatewayGroup | GatewayRoute], ...] = (
        *(("key", number, key.name, key) for number, key in enumerate(config.keys)),
        *(("group", number, each.name, each) for number, each in enumerate(config.groups)),
        *(("route", number, each.match, each) for number, each in enumerate(config.routes)),
    )
    for table, number, name, row in rows:
        if row.limit or row.budget:
            what = "limit" if row.limit else "budget"
            where = locate(config, table, number, what)
            raise BadConfig(_describe_unshared(config, where, f"{what} of {table} {name!r}"))


def _describe_unshared(config: GatewayConfig, where: str, quota: str) -> str:
    return (
        f"{where}{config.server.workers} workers would count the {quota} separately; "
        f'set state = "redis://host:6379/0" in [server] of {config.path or FILE}'
    )


def locate(config: GatewayConfig, *place: str | int) -> str:
    """Return ``file:line: `` of a place, for an error; empty if there is no file."""
    if config.path is None or not config.path.is_file():
        return ""
    line = load_toml(str(config.path), BadConfig).line(*place)
    return f"{config.path}:{line}: " if line else f"{config.path}: "


def default_config(
    config: GatewayConfig, lookup: Lookup, *, offline: bool = False
) -> GatewayConfig:
    """Return a configuration of the providers that have a key or need none (``offline``: all)."""
    saved = frozenset(list_saved_keys())
    names = frozenset(
        name
        for name, provider in lookup.catalog.providers.items()
        if offline or _is_ready(provider, config.providers.get(name, ProviderOverride()), saved)
    )
    return replace(config, open=names)


def _is_ready(provider: catalog.Provider, own: ProviderOverride, saved: frozenset[str]) -> bool:
    return (
        own.key is not None
        or provider.auth == "none"
        or any(os.environ.get(name, "").strip() or name in saved for name in provider.key_variables)
    )


_SECTIONS = (
    *("server", "responses", "route", "rule", "alerts", "provider", "deployment", "key", "group"),
    *("endpoint", "hook", "sign_in"),
)


def _read(rows: ConfigRows, path: Path) -> GatewayConfig:
    """Return the configuration in a file's rows; each section has a reader of its own."""
    rows.check_fields(rows.file.values, _SECTIONS, ())
    rows.deployments = read_deployments(rows)
    routes = read_routes(rows)
    keys = read_keys(rows, routes)
    return GatewayConfig(
        server=read_server(rows),
        responses=read_responses(rows),
        routes=routes,
        deployments=rows.deployments,
        rules=read_rules(rows, routes),
        alerts=read_alerts(rows),
        hooks=read_hooks(rows),
        providers=read_providers(rows),
        endpoints=read_endpoints(rows),
        sign_in=read_sign_in(rows),
        keys=keys,
        groups=read_groups(rows, keys),
        path=path,
    )
