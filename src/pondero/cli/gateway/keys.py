"""``keys``: saves, lists and removes the keys of services, and makes keys for the gateway."""

import os
import sys
from asyncio import run
from typing import TYPE_CHECKING

import click

from ...catalog import Provider
from ...client import load_catalog
from ...errors import PonderoError, UnknownProvider, UsageError
from ...store import forget_key, list_saved_keys, save_key
from ..command import CommandGroup, config_option, examples, json_option, print_json, warn
from ..commands.completion import provider as provider_names
from ..output.echo import echo, fit_text, narrow
from .key_text import describe_access, describe_state, has_expired, list_rights

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from ...gateway import GatewayConfig, GatewayKey, KeyEdit, KeyRing

_ENVIRONMENT = "environment"
_READ_AGAIN = "a gateway that already runs takes this key after 'kill -HUP PID', or a restart"


@click.group(
    cls=CommandGroup,
    epilog=examples(
        "pondero keys set openai                    typed at a hidden prompt",
        "pass show openai | pondero keys set openai",
        "pondero keys list",
        "pondero keys remove openai",
        "pondero keys create --gateway ci >> gateway.toml",
        "pondero keys block ci --config gateway.toml    at once, also while it serves",
    ),
)
def keys() -> None:
    """Store provider API keys, and create gateway keys.

    Provider keys are stored in the system's keyring, else in a file only you can read. A key in the
    environment takes precedence. Gateway keys are for the gateway's clients.
    """


@keys.command(
    "set", epilog=examples("pondero keys set openai", "pondero keys set google < key.txt")
)
@click.argument("provider", shell_complete=provider_names)
def set_(provider: str) -> None:
    """Store a key for PROVIDER: typed at a hidden prompt, or piped in."""
    found = _provider(provider)
    variable = _variable(found)
    key = _prompt_key(found) if sys.stdin.isatty() else sys.stdin.readline().strip()
    if not key or not key.isprintable() or " " in key:
        raise UsageError("this is not a key: it is empty or contains spaces; nothing was stored")
    where = save_key(variable, key)
    place = _describe_place(where)
    used = f"it is used if {variable} is not set"
    echo(f"the key of {found.label} is stored in {place}; {used}", err=True)
    if os.environ.get(variable):
        echo(f"{variable} is set in the environment, and takes precedence", err=True)


_of_gateway = click.option("--gateway", is_flag=True, help="Keys for clients of the gateway.")


@keys.command(
    "list",
    epilog=examples(
        "pondero keys list",
        "pondero keys list --json",
        "pondero keys list --gateway --config gateway.toml",
    ),
)
@click.option("--all", "every", is_flag=True, help="Also list providers without a key.")
@json_option
@_of_gateway
@config_option
def list_(*, every: bool, as_json: bool, gateway: bool, file: str | None) -> None:
    """List which providers have a key, and where from; never the key."""
    if gateway:
        _with_gateway(file, lambda known, config: _list_gateway(known, config, as_json=as_json))
        return
    kept = list_saved_keys()
    rows = []
    for provider in load_catalog().catalog.providers.values():
        variable, source = _source(provider, kept)
        if source or (every and provider.keys):
            rows.append({"provider": provider.name, "variable": variable, "from": source})
    if as_json:
        print_json({"keys": rows})
        return
    for row in rows:
        source = _describe_place(row["from"]) if row["from"] else "none"
        if narrow() is None:
            echo(f"{row['provider']:<20}{row['variable']:<28}{source}")
        else:
            echo(f"{row['provider']}  {source}")
            echo(f"  {row['variable']}")
    if not rows:
        echo("no keys; 'pondero keys set PROVIDER' stores one", err=True)


async def _list_gateway(known: "KeyRing", config: "GatewayConfig", *, as_json: bool) -> None:
    every = [
        (key, str(config.path) if known.is_configured(key.name) else "run time")
        for key in await known.all()
    ]
    if as_json:
        print_json({"keys": [_dump_gateway_key(key, place) for key, place in every]})
        return
    width = max((len(place) for _, place in every), default=0)
    for key, place in every:
        marks = [
            describe_state(key),
            *list_rights(key),
            *([f"in {key.group}"] if key.group else []),
        ]
        if narrow() is None:
            echo(f"{key.name:<20}{place:<{width}}  {', '.join(marks)}")
        else:
            echo(f"{key.name}  {', '.join(marks)}")
            echo(fit_text(place, indent=2))
        echo(fit_text(describe_access(key), indent=2))
    if not every:
        cure = "'pondero keys create --gateway NAME' creates one"
        echo(f"no keys {_describe_places(config)}; {cure}", err=True)


def _dump_gateway_key(key: "GatewayKey", place: str) -> dict[str, object]:
    """Return a key without its hash; ``models`` is null if it may ask all of them."""
    from msgspec import to_builtins

    settings: dict[str, object] = to_builtins(key)
    del settings["hash"]
    settings["expires"] = None if key.expires is None else key.expires.isoformat()
    return {**settings, "from": place, "expired": has_expired(key)}


def _describe_places(config: "GatewayConfig") -> str:
    """Return where a command looked for gateway keys: its reader may have meant another file."""
    if config.path:
        return f"in {config.path} or created in the console"
    return "created in the console, and no gateway.toml was read (name one: --config FILE)"


@keys.command(epilog=examples("pondero keys block ci --config gateway.toml"))
@click.argument("name")
@config_option
def block(*, name: str, file: str | None) -> None:
    """Block the gateway's key NAME at once, without a restart."""
    _change_gateway(file, "key.block", name, lambda known: known.block(name, blocked=True))
    echo(f"the key {name!r} is blocked", err=True)


@keys.command(epilog=examples("pondero keys unblock ci --config gateway.toml"))
@click.argument("name")
@config_option
def unblock(*, name: str, file: str | None) -> None:
    """Unblock the gateway's key NAME at once, without a restart."""
    _change_gateway(file, "key.unblock", name, lambda known: known.block(name, blocked=False))
    echo(f"the key {name!r} is active again", err=True)


def _with_gateway(
    file: str | None, act: "Callable[[KeyRing, GatewayConfig], Awaitable[None]]"
) -> None:
    from ...gateway import load_config, load_keys

    config = load_config(file, load_catalog())

    async def open_and_act() -> None:
        async with load_keys(config) as known:
            await act(known, config)

    run(open_and_act())


def _change_gateway(
    file: str | None, action: str, name: str, act: "Callable[[KeyRing], Awaitable[KeyEdit]]"
) -> None:
    """Change a gateway key, and record in the audit log who did it."""
    from ...gateway import UnknownKey, load_config, load_keys, record_command

    config = load_config(file, load_catalog())

    async def open_and_act() -> "KeyEdit":
        async with load_keys(config) as known:
            return await act(known)

    try:
        edit = run(open_and_act())
    except PonderoError as error:
        record_command(config, action, name, error=error)
        if isinstance(error, UnknownKey):
            raise UnknownKey(f"no key {name!r} {_describe_places(config)}") from None
        raise
    record_command(config, action, name, before=edit.before, after=edit.after)


@keys.command("rotate", epilog=examples("pondero keys rotate"))
@config_option
def rotate_secret(*, file: str | None) -> None:
    """Make a new secret for signature envelopes, without a restart.

    The gateway encrypts the signatures that clients store. Envelopes made with older secrets still
    open.
    """
    from ...gateway import load_config, record_command, rotate_envelope_secret

    config = load_config(file, load_catalog())
    try:
        run(rotate_envelope_secret(config))
    except PonderoError as error:
        record_command(config, "secret.rotate", "envelope_secret", error=error)
        raise
    record_command(config, "secret.rotate", "envelope_secret")
    where = "the data folder" if config.server.state == "memory" else "Redis"
    named = f"also that of {config.path}" if config.path else "name one with Redis: --config FILE"
    echo(
        f"a new secret is stored in {where}, for all gateways that use it ({named}); "
        "envelopes made with older ones still open",
        err=True,
    )


@keys.command(
    epilog=examples("pondero keys remove openai", "pondero keys remove --gateway contractor")
)
@click.argument("provider", shell_complete=provider_names)
@_of_gateway
@config_option
def remove(*, provider: str, gateway: bool, file: str | None) -> int:
    """Delete the key of PROVIDER, or with --gateway a gateway key."""
    if gateway:
        _change_gateway(file, "key.remove", provider, lambda known: known.remove(provider))
        echo(f"the key {provider!r} is deleted", err=True)
        return 0
    found = _provider(provider)
    _variable(found)
    gone = [variable for variable in found.keys if forget_key(variable)]
    if not gone:
        echo(f"no key is stored for {found.label}", err=True)
        return 1
    echo(f"the key of {found.label} is deleted", err=True)
    return 0


@keys.command(
    epilog=examples(
        "pondero keys create --gateway ci                     shows both",
        "pondero keys create --gateway ci >> gateway.toml     shows only the key",
        "pondero keys create --gateway prometheus --metrics --no-models",
    )
)
@click.option("--gateway", is_flag=True, required=True, help="A key for clients of the gateway.")
@click.option("--admin", is_flag=True, help="Allow it to use the console and the admin API.")
@click.option("--metrics", is_flag=True, help="Allow it to read /metrics, besides the models.")
@click.option("--no-models", is_flag=True, help="Allow it no model and no other endpoint.")
@click.option("--expires", metavar="DATE", help="When it ends: 2027-01-31, or 2027-01-31T12:00Z.")
@click.option("--group", metavar="NAME", help="The [[group]] whose budget it shares.")
@click.argument("name", default="me")
@click.option(
    "--config",
    "file",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="The gateway.toml for which the key is: a name that it has already is rejected, and its "
    "audit log gets an entry. The command does not write to it. Default: gateway.toml in pondero's "
    "config folder.",
)
def create(
    *,
    name: str,
    file: str | None,
    gateway: bool,  # noqa: ARG001 - there are no other keys to create
    admin: bool,
    metrics: bool,
    no_models: bool,
    expires: str | None,
    group: str | None,
) -> None:
    """Create a key for clients of the gateway; it is shown once.

    NAME is the owner of the key. The command also prints the lines for gateway.toml, which contain
    only the key's hash. A budget, a limit, models and levels of the key are further lines below
    them, such as 'budget = { cost = 50, per = "month" }'.
    """
    from ...gateway import (
        GatewayKey,
        find_name_problem,
        hash_key,
        make_key,
        parse_expiry,
        record_command,
    )

    if (problem := find_name_problem(name)) is not None:
        raise UsageError(problem)
    if group is not None and (problem := find_name_problem(group, "group")) is not None:
        raise UsageError(problem)
    ends = _format_expiry(expires) if expires is not None else ""
    config = _load_for_new_key(file)
    if config is not None:
        _check_new_name(config, name)
    key = make_key()
    made = GatewayKey(
        name,
        hash_key(key),
        models=() if no_models else None,
        endpoints=() if no_models else None,
        admin=admin,
        metrics=metrics,
        expires=parse_expiry(expires) if expires is not None else None,
        group=group,
    )
    if has_expired(made):
        warn(f"the key {name!r} has already expired ({expires}); requests with it get 401")
    if config is not None and group is not None and config.find_group(group) is None:
        place = config.path or "the configuration"
        warn(f"{place} has no group {group!r} yet; add a [[group]] with this name to it")
    echo(_READ_AGAIN, err=True)
    echo(f"the key, which is shown only now: {key}", err=True)
    echo("\n" + "\n".join(_list_lines(made, ends)), exact=True)
    if config is not None:  # the key works as soon as gateway.toml has its lines
        record_command(config, "key.create", name, after=made)


def _list_lines(key: "GatewayKey", ends: str) -> "Iterator[str]":
    """Yield the lines of a key for gateway.toml."""
    from msgspec import json

    yield "[[key]]"
    yield f"name = {json.encode(key.name).decode()}"  # TOML quotes as JSON does
    yield f'hash = "{key.hash}"'
    if key.admin:
        yield "admin = true"
    if key.metrics:
        yield "metrics = true"
    if key.models is not None:
        yield from ("models = []", "endpoints = []")
    if ends:
        yield f"expires = {ends}"
    if key.group is not None:
        yield f"group = {json.encode(key.group).decode()}"


def _load_for_new_key(file: str | None) -> "GatewayConfig | None":
    """Return the configuration that a new key is for; None if it cannot be read."""
    from ...gateway import load_config

    try:
        return load_config(file, load_catalog())
    except PonderoError as error:  # it may be about to be written
        warn(f"this is not in the audit log: {error}")
        return None


def _check_new_name(config: "GatewayConfig", name: str) -> None:
    """Raise UsageError if a key has this name: two keys of one name are a mistake."""
    from ...gateway import load_keys, record_command

    async def is_taken() -> bool:
        async with load_keys(config) as known:
            return any(key.name == name for key in await known.all())

    try:
        taken = any(key.name == name for key in config.keys) or run(is_taken())
    except PonderoError as error:
        warn(f"whether the console has a key {name!r} already is unknown: {error}")
        return
    if taken:
        where = _describe_places(config)
        problem = UsageError(f"there is a key {name!r} already, {where}; choose another name")
        record_command(config, "key.create", name, error=problem)
        raise problem


def _format_expiry(text: str) -> str:
    """Return a date or a time as TOML writes it; raises UsageError."""
    from ...gateway import parse_expiry

    try:
        expires = parse_expiry(text)
    except ValueError:
        raise UsageError(f"invalid --expires {text!r}; use 2027-01-31") from None
    is_date = len(text.strip()) <= len("2027-01-31")
    return f"{expires:%Y-%m-%d}" if is_date else expires.isoformat()


def _provider(name: str) -> Provider:
    providers = load_catalog().catalog.providers
    if name.lower() in providers:
        return providers[name.lower()]
    from difflib import get_close_matches

    close = get_close_matches(name.lower(), providers, n=1)
    guess = f"did you mean {close[0]!r}? " if close else ""
    raise UnknownProvider(f"unknown provider {name!r}; {guess}see 'pondero keys list --all'")


def _variable(provider: Provider) -> str:
    if not provider.keys:
        raise UsageError(f"{provider.label} needs no key")
    return provider.keys[0]


def _prompt_key(provider: Provider) -> str:
    typed: str = click.prompt(f"Key of {provider.label}", hide_input=True, err=True)
    return typed.strip()


def _source(provider: Provider, kept: dict[str, str]) -> tuple[str, str | None]:
    for variable in provider.keys:
        if os.environ.get(variable, "").strip():
            return variable, _ENVIRONMENT
    for variable in provider.keys:
        if variable in kept:
            return variable, kept[variable]
    return next(iter(provider.keys), ""), None


def _describe_place(where: str) -> str:
    return {"keyring": "the keyring", _ENVIRONMENT: "the environment"}.get(where, where)
