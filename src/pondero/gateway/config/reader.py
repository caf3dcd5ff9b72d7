"""Reads gateway.toml strictly; a key in plain text is rejected and never quoted."""

import os
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ... import catalog
from ...canon import convert_json
from ...catalog import Lookup, TomlFile, did_you_mean
from ...errors import BadConfig, BadThinking, UsageError
from ...store import check_auto, config_folder, list_saved_keys, load_toml
from ...thinking import FIGURES, parse_auto, parse_intent
from ..purposes.recognisers import list_known_clients
from .examples import EXAMPLES
from .model import (
    HASH,
    PURPOSES,
    REFERENCES,
    AlertsConfig,
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    LevelRules,
    ProviderOverride,
    PurposeRule,
    RateLimitRule,
    RuleMatch,
    ServerConfig,
    SpendBudget,
    find_name_problem,
    parse_expiry,
)
from .secrets import read_envelope_secrets

FILE = "gateway.toml"

_DIGEST = re.compile(rf"{HASH}[0-9a-f]{{64}}")
_GLOB = re.compile(r"[*?\[]")
_MISSING = re.compile(r"missing required field `(\w+)`")
_STEP = re.compile(r"\[(\d+|\.\.\.)\]|([^.\[\]]+)")
_T = TypeVar("_T", bound=Struct)

Place = tuple[str | int, ...]


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
    config = _Reader(load_toml(str(path), BadConfig), lookup).config(path)
    return config if config.routes else default_config(config, lookup)


def reload_config(config: GatewayConfig, lookup: Lookup, *, offline: bool = False) -> GatewayConfig:
    """Read the configuration again; raises BadConfig. The server's own settings stay.

    Those about envelopes change, so that their secret can be replaced.
    """
    path = str(config.path) if config.path is not None else None
    again = load_config(path, lookup, offline=offline)
    server = replace(
        config.server,
        envelope_secret=again.server.envelope_secret,
        accept_plain_envelopes=again.server.accept_plain_envelopes,
    )
    again = replace(again, server=server, private=config.private)
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


def check_exposure(config: GatewayConfig) -> None:
    """Raise BadConfig if other machines could use this one's provider keys."""
    if config.is_exposed:
        host = config.server.host
        message = (
            f"{locate(config, 'server', 'host')}on {host} any machine could use your provider "
            "keys; create a key with 'pondero keys "
            f"create --gateway NAME' and add it to {config.path or FILE}, or listen on 127.0.0.1"
        )
        raise BadConfig(message)


def check_sharing(config: GatewayConfig) -> None:
    """Raise BadConfig if each of several processes would count a quota alone."""
    if config.server.workers == 1 or config.server.state != "memory":
        return
    rows: tuple[tuple[str, int, str, GatewayKey | GatewayRoute], ...] = (
        *(("key", number, key.name, key) for number, key in enumerate(config.keys)),
        *(("route", number, each.match, each) for number, each in enumerate(config.routes)),
    )
    for table, number, name, row in rows:
        if row.limit or row.budget:
            where = locate(config, table, number, "limit" if row.limit else "budget")
            message = (
                f"{where}{config.server.workers} workers would each count alone what bounds "
                f'{name!r}; share a state in {config.path or FILE}: state = "redis://host:6379/0"'
            )
            raise BadConfig(message)


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
    named = (*provider.keys, *(_SIGNERS if provider.auth == "aws" else ()))
    return (
        own.key is not None
        or provider.auth == "none"
        or any(os.environ.get(name, "").strip() or name in saved for name in named)
    )


def is_glob(match: str) -> bool:
    """Return whether a route's name is a pattern."""
    return bool(_GLOB.search(match))


_SIGNERS = ("AWS_ACCESS_KEY_ID", "AWS_PROFILE")  # where botocore finds the signing key
_WITHOUT_DEPTH = ("default", "force")  # these also accept "on", the model's default, and "auto"


_RENAMED = {
    "memory_seconds": "answer_cache_seconds",
    "memory_bytes": "answer_cache_bytes",
    "money": "cost",
}
_NAMED_BY = ("client", "model", "route", "key", "purpose")
_RULE_NAME = re.compile(r"[A-Za-z0-9._:/*?\[\]-]{1,64}")  # it is written into a header
_SECTIONS = ("server", "route", "rule", "alerts", "provider", "key")
STATES = ("redis", "rediss", "unix")
LEDGERS = ("postgresql", "postgres")


class _Reader:
    """Reads one file into a configuration; each method checks one section."""

    def __init__(self, file: TomlFile, lookup: Lookup) -> None:
        self._file = file
        self._lookup = lookup
        self._words = lookup.catalog.extra_words()

    def config(self, path: Path) -> GatewayConfig:
        self._check_fields(self._file.values, _SECTIONS, ())
        routes = tuple(self._route(place, row) for place, row in self._rows("route"))
        self._check_order(routes)
        config = GatewayConfig(
            server=self._server(),
            routes=routes,
            rules=self._rules(routes),
            alerts=self._alerts(),
            providers={name: self._provider(name, row) for name, row in self._tables("provider")},
            keys=tuple(self._key(place, row, routes) for place, row in self._rows("key")),
            path=path,
        )
        self._check_names(config.keys)
        return config

    # -- sections --------------------------------------------------------------------------------

    def _server(self) -> ServerConfig:
        row = self._table(self._file.values.get("server", {}), ("server",))
        secret = row.get("envelope_secret")
        row = {**row, "envelope_secret": [secret]} if isinstance(secret, str) else row
        server = self._build(row, ServerConfig, ("server",))
        self._check_store("state", server.state, ("memory",), STATES)
        self._check_store("ledger", server.ledger, ("sqlite", "off"), LEDGERS)
        if not all(each.startswith(REFERENCES) for each in server.envelope_secret):
            cure = f"write {EXAMPLES['envelope_secret']}"
            place = ("server", "envelope_secret")
            raise self._error(place, "do not put the secret itself in this file", cure)
        return server

    def _check_store(
        self, name: str, said: str, words: tuple[str, ...], schemes: tuple[str, ...]
    ) -> None:
        if said in words or said.startswith(REFERENCES):
            return
        try:
            parts = urlsplit(said)
        except ValueError:
            cure = f"write {EXAMPLES[name]}"
            raise self._error(("server", name), f"invalid {name}", cure) from None
        if parts.password:
            raise self._error(
                ("server", name),
                "this address contains a password",
                f'write {name} = "env:NAME" and put the address into that variable',
            )
        if parts.scheme not in schemes:
            raise self._error(
                ("server", name), f"invalid {name} {said!r}", f"write {EXAMPLES[name]}"
            )

    def _route(self, place: Place, row: dict[str, Any]) -> GatewayRoute:
        to = row.get("to")
        row = {**row, "to": [to]} if isinstance(to, str) else row
        route = self._without_auto(self._build_with_rules(row, GatewayRoute, place), place)
        for model in route.to:
            self._check_model(model, (*place, "to"))
        self._check_bounds(route, place)
        return route

    def _alerts(self) -> AlertsConfig:
        place: Place = ("alerts",)
        alerts = self._build(
            self._table(self._file.values.get("alerts", {}), place), AlertsConfig, place
        )
        if alerts.webhook is not None and not alerts.webhook.startswith(REFERENCES):
            self._check_url(alerts.webhook, (*place, "webhook"), "webhook")
        return alerts

    def _rules(self, routes: tuple[GatewayRoute, ...]) -> tuple[PurposeRule, ...]:
        found: list[PurposeRule] = []
        for place, row in self._rows("rule"):
            rule = self._rule(place, row, routes)
            if any(rule.name == earlier.name for earlier in found):
                problem = f"an earlier rule is called {rule.name!r} too, and the first one wins"
                at = (*place, "name" if "name" in row else "when")
                raise self._error(at, problem, "remove one of the two, or give it another name")
            found.append(rule)
        return tuple(found)

    def _rule(
        self, place: Place, row: dict[str, Any], routes: tuple[GatewayRoute, ...]
    ) -> PurposeRule:
        to, when = row.get("to"), row.get("when")
        row = {**row, "to": [to]} if isinstance(to, str) else row
        if isinstance(when, Mapping):
            self._check_fields(when, RuleMatch.__struct_fields__, (*place, "when"))
        rule = self._build_with_rules(row, PurposeRule, place)
        said = {name: word for name, word in msgspec.structs.asdict(rule.when).items() if word}
        if not said:
            cure = f"write {EXAMPLES['when']}"
            raise self._error((*place, "when"), "this rule is for no request", cure)
        for name, known in (("purpose", PURPOSES), ("client", list_known_clients())):
            if (word := said.get(name)) is not None and word not in known:
                cure = f"{did_you_mean(word, known)}use {' '.join(known)}"
                raise self._error((*place, "when", name), f"unknown {name} {word!r}", cure)
        for name in ("model", "route"):
            if routes and name in said:
                self._check_reachable(said[name], routes, (*place, "when", name))
        for model in rule.to:
            self._check_model(model, (*place, "to"))
        if not rule.to and rule.thinking == LevelRules():
            cure = 'write thinking = { cap = "low" }, or to = "MODEL"'
            raise self._error(place, "this rule does nothing", cure)
        name = rule.name or "-".join(said[name] for name in _NAMED_BY if name in said)
        if not _RULE_NAME.fullmatch(name):
            cure = f"write {EXAMPLES['name']}: letters, digits and - _ . : / *, at most 64"
            raise self._error((*place, "name"), f"invalid name {name[:80]!r}", cure)
        return replace(rule, name=name)

    def _without_auto(self, route: GatewayRoute, place: Place) -> GatewayRoute:
        """Return a route whose models have no level: ``auto`` after a name becomes its default."""
        try:
            named = [(model, *self._lookup.apart(model)) for model in route.to]
        except UsageError as error:
            raise self._error((*place, "to"), str(error)) from None
        autos = {wish for _, _, wish in named if wish is not None and parse_auto(wish) is not None}
        if not autos:
            return route
        if len({*autos, route.thinking.default} - {None}) > 1:
            cure = 'write one thinking = { default = "auto" } for all of them'
            raise self._error((*place, "to"), "this route has several defaults", cure)
        to = tuple(stem if wish in autos else model for model, stem, wish in named)
        return replace(route, to=to, thinking=replace(route.thinking, default=autos.pop()))

    def _check_model(self, model: str, place: Place) -> None:
        """Raise BadConfig for an unknown model, or one that looks misspelt."""
        try:
            entry = self._lookup.entry(model)
            wish = self._lookup.split(model).level
        except UsageError as error:
            raise self._error(place, str(error)) from None
        if wish is not None:
            short = model[: -len(wish) - 1]
            cure = f'write to = "{short}" and thinking = {{ default = "{wish}" }}'
            raise self._error(place, f"{model!r} names a level", cure)
        if entry.near is not None:
            cure = f"did you mean {entry.provider.name}:{entry.near}?"
            raise self._error(place, f"unknown model {model!r}", cure)

    def _provider(self, name: str, row: Any) -> ProviderOverride:
        place: Place = ("provider", name)
        known = self._lookup.catalog.providers
        if name not in known:
            guess = did_you_mean(name, known)
            raise self._error(place, f"unknown provider {name!r}", f"{guess}see 'pondero models'")
        provider = self._build(self._table(row, place), ProviderOverride, place)
        if provider.key is not None and not provider.key.startswith(REFERENCES):
            variable = next(iter(known[name].keys), "NAME")
            cure = f'write key = "env:{variable}", "file:PATH" or "keyring:{variable}"'
            raise self._error((*place, "key"), "do not put the key itself in this file", cure)
        if provider.url is not None:
            self._check_url(provider.url, (*place, "url"))
        return provider

    def _check_url(self, url: str, place: Place, name: str = "url") -> None:
        try:
            parts = urlsplit(url if "://" in url else f"http://{url}")
            _ = parts.port  # raises ValueError if it is not a number
        except ValueError as error:
            problem, cure = f"invalid {name}: {error}", f"write {EXAMPLES[name]}"
            raise self._error(place, problem, cure) from None
        if parts.username or parts.password:
            cure = f"write {EXAMPLES['key']} and an address without a password"
            raise self._error(place, "this address contains a password", cure)
        if parts.scheme not in ("http", "https") or not parts.hostname or len(url.split()) != 1:
            raise self._error(place, f"invalid {name} {url!r}", f"write {EXAMPLES[name]}")

    def _key(
        self, place: Place, row: dict[str, Any], routes: tuple[GatewayRoute, ...]
    ) -> GatewayKey:
        if "expires" in row:
            try:
                row = {**row, "expires": parse_expiry(row["expires"])}
            except ValueError:
                cure = f"write {EXAMPLES['expires']}"
                raise self._error((*place, "expires"), "invalid expires", cure) from None
        key = self._build_with_rules(row, GatewayKey, place)
        if (problem := find_name_problem(key.name)) is not None:
            raise self._error((*place, "name"), problem, f"write {EXAMPLES['name']}")
        if not _DIGEST.fullmatch(key.hash):
            cure = f"write {EXAMPLES['hash']}; it begins with {HASH}"
            raise self._error((*place, "hash"), "this is not the hash of a key", cure)
        self._check_bounds(key, place)
        for model in key.models if routes else ():
            self._check_reachable(model, routes, (*place, "models"))
        return key

    def _check_bounds(self, row: GatewayKey | GatewayRoute, place: Place) -> None:
        for name, bound in (("budget", row.budget), ("limit", row.limit)):
            if bound is not None and not bound.bounds:
                raise self._error((*place, name), "no maximum is set", f"write {EXAMPLES[name]}")

    def _check_reachable(self, model: str, routes: tuple[GatewayRoute, ...], place: Place) -> None:
        matches = [route.match for route in routes]
        if any(fnmatchcase(each, model) or fnmatchcase(model, each) for each in matches):
            return
        guess = did_you_mean(model, matches)
        raise self._error(place, f"no route is called {model!r}", f"{guess}use {' '.join(matches)}")

    # -- between rows ----------------------------------------------------------------------------

    def _check_order(self, routes: tuple[GatewayRoute, ...]) -> None:
        """Raise BadConfig for a route that an earlier one hides."""
        for number, route in enumerate(routes):
            for before, earlier in enumerate(routes[:number]):
                same = earlier.match == route.match
                if same or (is_glob(earlier.match) and fnmatchcase(route.match, earlier.match)):
                    line = self._file.line("route", before, "match")
                    cure = "remove one of the two" if same else "put this route before that one"
                    problem = (
                        f"{route.match!r} is never reached: {earlier.match!r} in line {line} is"
                    )
                    raise self._error(("route", number, "match"), f"{problem} tried first", cure)

    def _check_names(self, keys: tuple[GatewayKey, ...]) -> None:
        columns = {"name": [key.name for key in keys], "hash": [key.hash for key in keys]}
        for field, values in columns.items():
            for number, value in enumerate(values):
                if value in values[:number]:
                    problem = f"an earlier key has this {field} too"
                    raise self._error(
                        ("key", number, field), problem, "remove one, or make another key"
                    )

    # -- values ----------------------------------------------------------------------------------

    def _build_with_rules(self, row: dict[str, Any], kind: type[_T], place: Place) -> _T:
        """Build a row with level rules, whose numbers may be TOML numbers."""
        said = self._table(row.get("thinking", {}), (*place, "thinking"))
        self._check_fields(said, LevelRules.__struct_fields__, (*place, "thinking"))
        numbers = {
            name: str(value) if isinstance(value, int) and not isinstance(value, bool) else value
            for name, value in said.items()
        }
        built = self._build({**row, "thinking": numbers}, kind, place)
        dial = convert_json(numbers, LevelRules)
        words = msgspec.structs.asdict(dial).items()
        depths = {name: self._depth(name, word, place) for name, word in words if word}
        if depths.get("floor", 0) > depths.get("cap", depths.get("floor", 0)):
            problem = f"floor {dial.floor!r} is above cap {dial.cap!r}"
            raise self._error(
                (*place, "thinking", "floor"), problem, "lower the floor, or raise the cap"
            )
        return built

    def _depth(self, name: str, word: str, place: Place) -> int:
        """Return the tokens that a level commonly means; raises BadConfig if it is no level."""
        at = (*place, "thinking", name)
        try:
            intent = parse_intent(word, words=self._words)
        except BadThinking as error:
            raise self._error(at, str(error)) from None
        if intent.kind in ("on", "auto") and name not in _WITHOUT_DEPTH:
            raise self._error(at, f"invalid {name} {word!r}", f"write {EXAMPLES[name]}")
        try:
            check_auto(word)
        except (BadThinking, BadConfig) as error:
            raise self._error(at, str(error)) from None
        if intent.kind == "budget":
            return intent.tokens or 0
        return FIGURES.get(intent.level or "", 0)

    def _build(self, row: Mapping[str, Any], kind: type[_T], place: Place) -> _T:
        self._check_fields(row, kind.__struct_fields__, place)
        for name in ("budget", "limit"):
            if isinstance(inner := row.get(name), Mapping):
                fields = {"budget": SpendBudget, "limit": RateLimitRule}[name].__struct_fields__
                self._check_fields(inner, fields, (*place, name))
        try:
            return convert_json(row, kind)
        except msgspec.ValidationError as error:
            problem, _, path = str(error).partition(" - at `$")
            steps = [number or name for number, name in _STEP.findall(path.rstrip("`"))]
            missing = _MISSING.search(problem)
            name = missing[1] if missing else next(s for s in reversed(steps) if s in EXAMPLES)
            cure = f"write {EXAMPLES[name]}"
            raise self._error(
                (*place, *steps), f"{name}: {problem.replace('`', '')}", cure
            ) from None

    def _check_fields(self, row: Mapping[str, Any], names: tuple[str, ...], place: Place) -> None:
        for name in row:
            if name not in names:
                if (new := _RENAMED.get(name)) in names:
                    raise self._error((*place, name), f"unknown key {name!r}", f"it is now {new!r}")
                cure = f"{did_you_mean(name, names)}use {' '.join(names)}"
                raise self._error((*place, name), f"unknown setting {name!r}", cure)

    def _table(self, value: Any, place: Place) -> dict[str, Any]:
        if isinstance(value, dict):
            return value
        name = ".".join(step for step in place if isinstance(step, str))
        cure = f"write {EXAMPLES.get(str(place[-1])) or f'[{name}]'}"
        raise self._error(place, f"{place[-1]} is not a table", cure)

    def _rows(self, name: str) -> Iterator[tuple[Place, dict[str, Any]]]:
        rows = self._file.values.get(name, [])
        if not isinstance(rows, list):
            raise self._error((name,), f"{name} is not a list of tables", f"write [[{name}]]")
        for number, row in enumerate(rows):
            yield (name, number), self._table(row, (name, number))

    def _tables(self, name: str) -> Iterator[tuple[str, Any]]:
        yield from self._table(self._file.values.get(name, {}), (name,)).items()

    def _error(self, place: Place, problem: str, cure: str = "") -> BadConfig:
        line = self._file.line(*place)
        where = f"{self._file.name}:{line}" if line else self._file.name
        return BadConfig(f"{where}: {problem}{f'; {cure}' if cure else ''}")
