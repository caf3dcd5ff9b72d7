"""``serve``: runs the gateway on a port; ``--check`` only prints what it would serve."""

import os
import shlex
import signal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..command import examples, offline_transport, warn
from ..output.echo import echo, fit_text, narrow
from .key_text import describe_access, describe_rules, describe_state, list_rights

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from ...catalog import ModelEntry, Provider
    from ...gateway import GatewayConfig, GatewayKey, GatewayRoute, RateLimitRule, Routing

_SHOWN = 3
_KEYLESS = (
    "No key is set: these are servers of your own. 'pondero keys set NAME' keeps",
    "a key, and --offline serves every model without one.",
)


@click.command(
    epilog=examples(
        "pondero serve                            every provider that has a key here",
        "pondero serve --offline                  emulated models; no key, no network",
        "pondero serve --config gateway.toml --check    check it, list what it serves",
        "pondero launch claude -m gemini-3-flash-preview/high    all in one",
    )
)
@click.option(
    "--config",
    "file",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="The configuration file. Default: gateway.toml in pondero's config folder, if present.",
)
@click.option("--host", metavar="H", help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), metavar="N", help="The port; 0 picks a free one."
)
@click.option("--workers", type=click.IntRange(1, 256), metavar="N", help="Number of processes.")
@click.option(
    "--offline", is_flag=True, help="Answer with the built-in emulator instead of real providers."
)
@click.option(
    "--check", is_flag=True, help="Check the configuration, print what it would serve, and exit."
)
def serve(
    *,
    file: str | None,
    host: str | None,
    port: int | None,
    workers: int | None,
    offline: bool,
    check: bool,
) -> int:
    """Run a gateway: any client, any model, level rules per key.

    Claude Code, Codex, Gemini CLI and every SDK can use it, each with its own API. The rules set a
    minimum and maximum thinking level. SIGHUP reloads the configuration; Ctrl-C stops the gateway
    after open answers finish.
    """
    from msgspec.structs import replace

    from ...gateway import Routing, check_start, find_uncatalogued, load_config, run
    from ...store import known_secrets, load_catalog

    config = load_config(file, load_catalog(), offline=offline)
    said = {"host": host, "port": port, "workers": workers}
    given = {name: value for name, value in said.items() if value is not None}
    server = replace(config.server, **given)
    config = replace(config, server=server, overridden=frozenset(given))
    routing = Routing(config, load_catalog())
    check_start(config, routing, offline=offline)
    _warn_of_eviction(config)
    _warn_of_forgotten(config)
    _warn_of_homes(config, routing)
    for text in find_uncatalogued(config, routing, load_catalog()):
        warn(f"warning: {text}")
    if check:
        return _print_check(config, routing, offline=offline)
    if not offline:
        _warn_of_missing(config, routing)
    known_secrets()  # a keyring may take a second, which no request should wait for

    def greet(where: str) -> None:
        shown = _find_local(where)
        echo(_format_greeting(shown, config, routing, _launch_options(file, offline=offline)))
        if shown != where:
            _print_text("Other machines use the name of this one in place of the local address.")

    run(config, transport=offline_transport(offline=offline), ready=greet)
    return 0


def _launch_options(file: str | None, *, offline: bool) -> str:
    """Return what makes ``launch`` serve the same models, from any folder."""
    config = "" if file is None else f" --config {shlex.quote(str(Path(file).absolute()))}"
    return f"{config}{' --offline' if offline else ''}"


def _find_local(where: str) -> str:
    """Return an address that a client can use: none connects to all addresses at once."""
    return where.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")


def _describe_console(where: str, config: "GatewayConfig") -> str:
    from ...gateway import is_loopback

    if is_loopback(config.server.host) or any(key.admin for key in config.keys) or config.sign_in:
        return f"Live requests, keys and a level preview: {where}/console"
    return (
        f"Live requests and keys, with an admin key: {where}/console\n"
        "  pondero keys create --gateway --admin NAME >> gateway.toml"
    )


def _format_greeting(
    where: str, config: "GatewayConfig", routing: "Routing", launch_options: str
) -> str:
    key = "any" if not config.keys else "YOUR_KEY"
    names = routing.names()
    if not names and not config.routes:
        return "\n".join(
            (
                f"Serving at {where} (Ctrl-C ends it).",
                _describe_process(config),
                "",
                "No provider has a key here, so only servers of your own are served, under names",
                "such as ollama:NAME. 'pondero keys set anthropic' keeps a key; start again then.",
                "'pondero serve --offline' serves every model without one.",
                _describe_console(where, config),
            )
        )
    name = _example(config, routing)
    count = f"{len(names):,} {'name' if len(names) == 1 else 'names'}"
    return "\n".join(
        (
            f"Serving at {where} (Ctrl-C ends it): {count}, listed at",
            f"{where}/v1/models.",
            _describe_process(config),
            "",
            "What to type next, in another terminal:",
            "",
            "Claude Code",
            f"  export ANTHROPIC_BASE_URL={where} ANTHROPIC_AUTH_TOKEN={key}",
            f"  claude --model {name}",
            "Codex",
            f"  export PONDERO_KEY={key}",
            # Without this list, Codex knows nothing of the model and offers no levels.
            f"  curl -s '{where}/v1/models?client_version=0' \\",
            '    -H "Authorization: Bearer $PONDERO_KEY" -o pondero.json',
            f"  codex -c model={name} -c model_provider=pondero \\",
            '    -c model_catalog_json="$PWD/pondero.json" \\',
            "    -c model_providers.pondero.name=pondero \\",
            f"    -c model_providers.pondero.base_url={where}/v1 \\",
            "    -c model_providers.pondero.env_key=PONDERO_KEY \\",
            "    -c model_providers.pondero.wire_api=responses",
            "OpenAI SDK, and whatever is built on it",
            f"  export OPENAI_BASE_URL={where}/v1 OPENAI_API_KEY={key}",
            "",
            f"A level may follow a name: {name}/high.",
            _describe_console(where, config),
            "All of it at once, on a gateway of its own:",
            f"  pondero launch claude -m {name}/high{launch_options}",
        )
    )


def _describe_process(config: "GatewayConfig") -> str:
    """Return the process that takes signals: its workers have the same command line."""
    own = os.getpid()
    if config.path is None or not hasattr(signal, "SIGHUP"):
        return f"Process id {own}."
    return f"Process id {own}: 'kill -HUP {own}' reads the file again."


def _example(config: "GatewayConfig", routing: "Routing") -> str:
    """Return a name for the commands of clients: of the first route, or a usual model."""
    names = routing.names()
    if not names:
        return "NAME"
    return names[0].name if config.routes else _sort_usual(routing)[0]


def _sort_usual(routing: "Routing", provider: "Provider | None" = None) -> "list[str]":
    """Return the names of a provider, or of all; those that 'pondero models' lists come first."""
    order = _order_models()
    own = [each for each in routing.names() if provider in (None, each.entry.provider)]
    own.sort(key=lambda each: order.get(each.entry.id, len(order)))
    return [each.name for each in own]


@cache
def _order_models() -> "dict[str, int]":
    from ...catalog import search_models
    from ...store import load_catalog

    shorts = load_catalog().short_names.items()
    usual = [short.id for name, short in shorts if "-" not in name]
    thinking = [each.id for each in search_models(load_catalog(), ["thinks"])]
    return {id: place for place, id in enumerate(dict.fromkeys((*usual, *thinking)))}


def _warn_of_missing(config: "GatewayConfig", routing: "Routing") -> None:
    """Warn of providers without a key."""
    for provider in routing.providers():
        if config.routes and (missing := _missing(config, provider)):
            warn(missing)
    if not config.routes and not routing.names():
        warn("no provider has a key here; only local servers are reached (--offline needs none)")


def _warn_of_eviction(config: "GatewayConfig") -> None:
    """Warn of a Redis that removes counts when its memory is full."""
    from asyncio import run
    from contextlib import suppress

    from ...errors import MissingKey
    from ...gateway import find_eviction_policy

    with suppress(MissingKey):  # the start says it
        if policy := run(find_eviction_policy(config.server)):
            warn(
                f"warning: Redis has maxmemory-policy {policy} and may remove counts; "
                "set it to noeviction"
            )


def _warn_of_forgotten(config: "GatewayConfig") -> None:
    """Warn of budgets that a restart forgets."""
    from ...gateway import find_forgotten

    if holders := find_forgotten(config):
        more = f" and {len(holders) - _SHOWN} more" if len(holders) > _SHOWN else ""
        warn(
            f"warning: the budgets of {', '.join(holders[:_SHOWN])}{more} begin again "
            'with each start: nothing keeps what is used; set ledger = "sqlite", or share a state'
        )


def _warn_of_homes(config: "GatewayConfig", routing: "Routing") -> None:
    """Warn of workers that do not know which account serves a conversation."""
    if config.server.workers == 1 or config.server.state != "memory":
        return
    if routes := routing.find_sticky():
        more = f" and {len(routes) - _SHOWN} more" if len(routes) > _SHOWN else ""
        warn(
            f"warning: conversations of {', '.join(routes[:_SHOWN])}{more} change their account "
            "when they reach another worker, which costs their cache; "
            'set state = "redis://host:6379/0"'
        )


def _missing(config: "GatewayConfig", provider: "Provider", deployment: str = "") -> str | None:
    from ...errors import MissingExtra, MissingKey
    from ...gateway import check_credentials

    try:
        check_credentials(config, provider, deployment=deployment)
    except (MissingKey, MissingExtra) as error:
        where = _locate_key(config, provider, deployment) if isinstance(error, MissingKey) else ""
        return f"{where}deployment {deployment}: {error}" if deployment else f"{where}{error}"
    return None


def _locate_key(config: "GatewayConfig", provider: "Provider", deployment: str) -> str:
    """Return the file and line of a key's reference; empty if the file has none."""
    from ...gateway import locate

    for number, each in enumerate(config.deployments):
        if each.name == deployment and each.key is not None:
            return locate(config, "deployment", number, "key")
    own = config.providers.get(provider.name)
    has_key = own is not None and own.key is not None
    return locate(config, "provider", provider.name, "key") if has_key else ""


def _find_missing(config: "GatewayConfig", routing: "Routing") -> dict[tuple[str, str], str]:
    """Return what providers and deployments lack, by their names."""
    named = [(provider, "") for provider in routing.providers()]
    named += [(routing.find_provider(each), each.name) for each in routing.deployments()]
    found = {(each.name, name): _missing(config, each, name) for each, name in named}
    return {place: text for place, text in found.items() if text is not None}


def _describe_readiness(
    config: "GatewayConfig", routing: "Routing", lacking: "Collection[tuple[str, str]]"
) -> str:
    """Return whether the routes can be served, if these providers and deployments cannot."""
    if not lacking:
        return "is right"
    entries = (routing.find_entry(name) for route in config.routes for name in route.to)
    places = {(each.provider.name, each.deployment) for each in entries}
    what = "everything" if places - set(lacking) else "anything"
    return f"is right, but cannot serve {what} yet"


def _print_check(config: "GatewayConfig", routing: "Routing", *, offline: bool) -> int:
    """Print what would be served; return 1 if one of its providers lacks something."""
    where = f"http://{config.server.host}:{config.server.port}"
    lacking = _find_missing(config, routing) if config.routes and not offline else {}
    state = _describe_readiness(config, routing, lacking)
    said = f"{config.path} {state}." if config.path else "There is no gateway.toml."
    if config.routes:
        _print_text(f"{said} On {where} it serves:")
        _print_routes(config, routing)
    else:
        _print_text(f"{said} On {where} models are served under their own names:")
        _print_providers(routing)
        if not offline and not routing.names():
            for line in _KEYLESS if narrow() is None else (" ".join(_KEYLESS),):
                _print_text(line, indent=2)
    _print_groups(config, routing)
    _print_keys(config, routing)
    _print_hooks(config)
    for text in lacking.values():
        warn(text)
    return 1 if lacking else 0


def _print_routes(config: "GatewayConfig", routing: "Routing") -> None:
    from ...gateway import describe_quotas

    width = max(len(route.match) for route in config.routes)
    for route in config.routes:
        _print_row(f"{route.match:<{width}}", _describe_targets(route, config, routing))
        if dial := describe_rules(route.thinking):
            _print_row(" " * width, f"thinking: {dial}")
        if quotas := describe_quotas(route):
            _print_row(" " * width, f"at most {quotas}")
        _warn_of_lone(route.limit, map(routing.find_entry, route.to))
    for each in config.deployments:
        limit = each.limit
        bounds = (
            [
                f"{most:,} {unit}"
                for unit, most in (("requests", limit.requests), ("tokens", limit.tokens))
                if most is not None
            ]
            if limit is not None
            else []
        )
        said = f"deployment {each.name}: {each.provider}, weight {each.weight:g}"
        if limit is not None:
            said += f"; at most {' and '.join(bounds)} per {limit.per}"
        _print_text(said, indent=2)
        routed = (routing.find_entry(name) for route in config.routes for name in route.to)
        _warn_of_lone(limit, [entry for entry in routed if entry.deployment == each.name])


def _warn_of_lone(limit: "RateLimitRule | None", entries: "Iterable[ModelEntry]") -> None:
    """Print of which models one answer may take a whole limit of tokens."""
    from ...gateway import find_lone_models

    lone = find_lone_models(limit, entries)
    if limit is None or not lone:
        return
    more = f" and {len(lone) - _SHOWN} more" if len(lone) > _SHOWN else ""
    _print_text(
        f"one answer of {', '.join(lone[:_SHOWN])}{more} may take all {limit.tokens:,} tokens of "
        f"a {limit.per}: a request without a lower max_tokens runs alone",
        indent=4,
    )


def _describe_targets(route: "GatewayRoute", config: "GatewayConfig", routing: "Routing") -> str:
    """Return who answers, in order; the deployments of one model are equal."""
    weights = {each.name: each.weight for each in config.deployments}
    equal: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for name in route.to:
        entry = routing.find_entry(name)
        target = (name, weights.get(entry.deployment, 1.0))
        equal.setdefault((entry.provider.name, entry.model), []).append(target)
    return ", then ".join(_describe_equal(each, route.balance) for each in equal.values())


def _describe_equal(targets: "list[tuple[str, float]]", balance: str) -> str:
    if len(targets) == 1 or balance == "order":
        return ", then ".join(name for name, _ in targets)
    return " or ".join(f"{name} ({weight:g})" for name, weight in targets)


def _print_groups(config: "GatewayConfig", routing: "Routing") -> None:
    from ...gateway import describe_quotas, list_models

    for group in config.groups:
        names = [key.name for key in config.keys if key.group == group.name]
        said = f"group {group.name}: {', '.join(names) or 'no key in this file'}"
        if dial := describe_rules(group.thinking):
            said += f"; thinking: {dial}"
        if quotas := describe_quotas(group):
            said += f"; together at most {quotas}"
        _print_text(said, indent=2)
        members = [key for key in config.keys if key.group == group.name]
        _warn_of_lone(group.limit, [each for key in members for each in list_models(key, routing)])


def _print_keys(config: "GatewayConfig", routing: "Routing") -> None:
    from ...gateway import list_models

    for key in config.keys:
        marks = list_rights(key)
        if (state := describe_state(key)) != "active":
            marks.append(state)
        member = f" of group {key.group}" if key.group is not None else ""
        shown = f" ({', '.join(marks)})" if marks else ""
        _print_text(f"key {key.name}{member}{shown}: {describe_access(key)}", indent=2)
        for text in _list_budget_effects(key, config, routing):
            _print_text(text, indent=4)
        _warn_of_lone(key.limit, list_models(key, routing) if key.limit is not None else ())


def _print_hooks(config: "GatewayConfig") -> None:
    """Print the hooks in their order, and what each is for."""
    for hook in config.hooks:
        routes = f"routes {', '.join(hook.routes)}" if hook.routes else "all routes"
        keys = f"keys {', '.join(hook.keys)}" if hook.keys else "all keys"
        skipped = "; skipped if it fails" if hook.on_failure == "skip" else ""
        _print_text(f"hook {hook.name}: {routes}; {keys}{skipped}", indent=2)


def _list_budget_effects(
    key: "GatewayKey", config: "GatewayConfig", routing: "Routing"
) -> "list[str]":
    """Return what the unused budgets of a key and its group do to long answers."""
    from ...gateway import USEFUL_ANSWER, find_lowered_limits, list_budgets

    group = config.find_group(key.group) if key.group is not None else None
    found = []
    for each in find_lowered_limits(key, routing, group)[:_SHOWN]:
        most = f"{each.max_tokens:,} tokens"
        if each.max_tokens < USEFUL_ANSWER:
            found.append(
                f"its budget is too small for requests to {each.model} that ask for more than "
                f"{most}: they get 429"
            )
        else:
            found.append(
                f"its budget covers answers of {most} on {each.model}: longer ones are shortened"
            )
    thinking = [each for each in list_budgets(key, group) if each.unit == "thinking_tokens"]
    if thinking and key.models != ():
        least = min(each.most for each in thinking)
        found.append(
            f"its budget covers {least:,} thinking tokens: a request that may think more gets a "
            "lower max_tokens, or 429; one with thinking off needs none"
        )
    return found


def _print_providers(routing: "Routing") -> None:
    width = max((len(each.name) for each in routing.providers()), default=0)
    for provider in routing.providers():
        names = _sort_usual(routing, provider)
        if names:
            such = ", ".join(names[:_SHOWN])
            _print_row(f"{provider.name:<{width}}{len(names):>5}", f"such as {such}")
        elif provider.auth == "none":
            said = f"as {provider.name}:NAME, if that server is running"
            _print_row(f"{provider.name:<{width + 5}}", said)


def _print_row(name: str, text: str) -> None:
    if narrow() is None:
        echo(f"  {name}  {text}")
        return
    if short := " ".join(name.split()):
        _print_text(short, indent=2)
    _print_text(text, indent=4)


def _print_text(text: str, *, indent: int = 0) -> None:
    echo(fit_text(text, indent=indent))
