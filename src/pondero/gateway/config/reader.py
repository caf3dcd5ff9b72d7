"""Reads gateway.toml strictly: every mistake names the file, the line and the cure.

``cli/serve`` and ``launch`` call ``load``, or ``from_environment`` where there is no file; nothing
starts on a wrong one. A key that stands in the file is refused and never quoted.
"""

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
from ...store import config_folder, list_saved_keys, load_toml
from ...thinking import FIGURES, parse_auto, parse_intent
from .model import (
    HASH,
    REFERENCES,
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    LevelRules,
    ProviderOverride,
    RateLimitRule,
    ServerConfig,
    SpendBudget,
)

FILE = "gateway.toml"

_DIGEST = re.compile(rf"{HASH}[0-9a-f]{{64}}")
_GLOB = re.compile(r"[*?\[]")
_MISSING = re.compile(r"missing required field `(\w+)`")
_STEP = re.compile(r"\[(\d+|\.\.\.)\]|([^.\[\]]+)")
_T = TypeVar("_T", bound=Struct)

Place = tuple[str | int, ...]


def find_config(path: str | None = None) -> Path | None:
    """Return the file to load: the one given, else gateway.toml of the config folder, if any."""
    if path is not None:
        return Path(path)
    usual = Path(config_folder()) / FILE
    return usual if usual.is_file() else None


def load_config(path: str | None, lookup: Lookup, *, offline: bool = False) -> GatewayConfig:
    """Return the configuration: of the file that ``find_config`` finds, else of the environment.

    With ``offline`` no key is needed, so that all providers are ready.
    """
    file = find_config(path)
    config = load(file, lookup) if file is not None else GatewayConfig()
    return config if config.routes else default_config(config, lookup, offline=offline)


def load(path: Path, lookup: Lookup) -> GatewayConfig:
    """Return the configuration in a file; raises BadConfig with file, line and cure."""
    config = _Reader(load_toml(str(path), BadConfig), lookup).config(path)
    return config if config.routes else default_config(config, lookup)


def reload_config(config: GatewayConfig, lookup: Lookup, *, offline: bool = False) -> GatewayConfig:
    """Return the configuration of the same file, read anew; raises BadConfig.

    Where the gateway listens stays as it is, and so must be guarded as before.
    """
    path = str(config.path) if config.path is not None else None
    again = replace(load_config(path, lookup, offline=offline), server=config.server)
    check_exposure(again)
    check_sharing(again)
    return again


def check_exposure(config: GatewayConfig) -> None:
    """Raise BadConfig where other machines could ask with this one's keys."""
    if config.is_exposed:
        host = config.server.host
        message = (
            f"on {host} anybody could ask with your keys; make a key for them with 'pondero keys "
            f"make --gateway NAME' and add it to {config.path or FILE}, or listen on 127.0.0.1"
        )
        raise BadConfig(message)


def check_sharing(config: GatewayConfig) -> None:
    """Raise BadConfig where several processes would each count a limit or budget for themselves."""
    names = [key.name for key in config.keys if key.limit or key.budget]
    names += [route.match for route in config.routes if route.limit or route.budget]
    if config.server.workers > 1 and config.server.state == "memory" and names:
        message = (
            f"{config.server.workers} workers would each count alone what bounds {names[0]!r}; "
            f'share a state in {config.path or FILE}: state = "redis://host:6379/0"'
        )
        raise BadConfig(message)


def from_environment(lookup: Lookup) -> GatewayConfig:
    """Return the configuration without a file: each provider that has a key, under its names."""
    return default_config(GatewayConfig(), lookup)


def default_config(
    config: GatewayConfig, lookup: Lookup, *, offline: bool = False
) -> GatewayConfig:
    """Return a configuration that serves providers under pondero's own model names.

    They are those that have a key or need none; with ``offline`` all of them.
    """
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
    """Return whether a route's name stands for many."""
    return bool(_GLOB.search(match))


_SIGNERS = ("AWS_ACCESS_KEY_ID", "AWS_PROFILE")  # where botocore finds what signs a request
_WITHOUT_DEPTH = ("default", "force")  # these may say "on", the model's own depth, and "auto"
WRITTEN: Mapping[str, str] = {
    "default": 'default = "medium"',
    "floor": 'floor = "low"',
    "cap": 'cap = "high"',
    "force": 'force = "high"',
    "match": 'match = "claude-*"',
    "to": 'to = "google:gemini-3-flash-preview"',
    "thinking": 'thinking = { default = "medium", floor = "low", cap = "high" }',
    "retries": "retries = 2",
    "strict": "strict = true",
    "show": 'show = "reasoning_content"; or reasoning, both, tags, none',
    "url": 'url = "http://127.0.0.1:9100"',
    "key": 'key = "env:NAME", "file:PATH" or "keyring:NAME"',
    "money": "money = 50",
    "thinking_tokens": "thinking_tokens = 5000000",
    "per": 'per = "month" in a budget, per = "minute" in a limit',
    "requests": "requests = 60",
    "tokens": "tokens = 200000",
    "name": 'name = "ci"',
    "hash": "the line that 'pondero keys make --gateway' prints",
    "models": 'models = ["opus", "claude-*"]',
    "budget": 'budget = { money = 50, per = "month" }',
    "limit": 'limit = { requests = 60, per = "minute" }',
    "blocked": "blocked = true",
    "admin": "admin = true",
    "host": 'host = "127.0.0.1"',
    "port": "port = 8787",
    "state": 'state = "memory" or "redis://host:6379/0"',
    "ledger": 'ledger = "sqlite", "off" or "postgresql://host/name"',
    "workers": "workers = 2",
    "max_body": "max_body = 67108864",
    "memory_seconds": "memory_seconds = 3600",
    "memory_bytes": "memory_bytes = 67108864",
    "drain_seconds": "drain_seconds = 30",
    "on_state_loss": 'on_state_loss = "allow" or "refuse"',
    "log": 'log = "stderr", "off" or a path',
}
"""How each setting is written: the cure for a wrong one."""


_SECTIONS = ("server", "route", "provider", "key")
_STATES = ("redis", "rediss", "unix")
_LEDGERS = ("postgresql", "postgres")


class _Reader:
    """Reads one file into a Config; each method checks one section."""

    def __init__(self, file: TomlFile, lookup: Lookup) -> None:
        self._file = file
        self._lookup = lookup
        self._words = lookup.catalog.extra_words()

    def config(self, path: Path) -> GatewayConfig:
        self._known(self._file.values, _SECTIONS, ())
        routes = tuple(self._route(place, row) for place, row in self._rows("route"))
        self._check_order(routes)
        config = GatewayConfig(
            server=self._server(),
            routes=routes,
            providers={name: self._provider(name, row) for name, row in self._tables("provider")},
            keys=tuple(self._key(place, row, routes) for place, row in self._rows("key")),
            path=path,
        )
        self._check_names(config.keys)
        return config

    # -- sections --------------------------------------------------------------------------------

    def _server(self) -> ServerConfig:
        row = self._table(self._file.values.get("server", {}), ("server",))
        server = self._built(row, ServerConfig, ("server",))
        self._check_store("state", server.state, ("memory",), _STATES)
        self._check_store("ledger", server.ledger, ("sqlite", "off"), _LEDGERS)
        return server

    def _check_store(
        self, name: str, said: str, words: tuple[str, ...], schemes: tuple[str, ...]
    ) -> None:
        if said in words or said.startswith(REFERENCES):
            return
        parts = urlsplit(said)
        if parts.password:
            raise self._wrong(
                ("server", name),
                "this address contains a password",
                f'write {name} = "env:NAME" and put the address into that variable',
            )
        if parts.scheme not in schemes:
            raise self._wrong(
                ("server", name), f"invalid {name} {said!r}", f"write {WRITTEN[name]}"
            )

    def _route(self, place: Place, row: dict[str, Any]) -> GatewayRoute:
        to = row.get("to")
        row = {**row, "to": [to]} if isinstance(to, str) else row
        route = self._without_auto(self._dialled(row, GatewayRoute, place), place)
        for model in route.to:
            self._check_model(model, (*place, "to"))
        self._check_bounds(route, place)
        return route

    def _without_auto(self, route: GatewayRoute, place: Place) -> GatewayRoute:
        """Return a route whose models are names alone: ``auto`` behind one is its default."""
        try:
            named = [(model, *self._lookup.apart(model)) for model in route.to]
        except UsageError as error:
            raise self._wrong((*place, "to"), str(error)) from None
        autos = {wish for _, _, wish in named if wish is not None and parse_auto(wish) is not None}
        if not autos:
            return route
        if len({*autos, route.thinking.default} - {None}) > 1:
            cure = 'write one thinking = { default = "auto" } for all of them'
            raise self._wrong((*place, "to"), "this route has several defaults", cure)
        to = tuple(stem if wish in autos else model for model, stem, wish in named)
        return replace(route, to=to, thinking=replace(route.thinking, default=autos.pop()))

    def _check_model(self, model: str, place: Place) -> None:
        """Raise BadConfig for a name that no catalog has, or a slip for one that it has."""
        try:
            entry = self._lookup.entry(model)
            wish = self._lookup.split(model).level
        except UsageError as error:
            raise self._wrong(place, str(error)) from None
        if wish is not None:
            short = model[: -len(wish) - 1]
            cure = f'write to = "{short}" and thinking = {{ default = "{wish}" }}'
            raise self._wrong(place, f"{model!r} names a level", cure)
        if entry.near is not None:
            cure = f"did you mean {entry.provider.name}:{entry.near}?"
            raise self._wrong(place, f"unknown model {model!r}", cure)

    def _provider(self, name: str, row: Any) -> ProviderOverride:
        place: Place = ("provider", name)
        known = self._lookup.catalog.providers
        if name not in known:
            guess = did_you_mean(name, known)
            raise self._wrong(place, f"unknown provider {name!r}", f"{guess}see 'pondero models'")
        provider = self._built(self._table(row, place), ProviderOverride, place)
        if provider.key is not None and not provider.key.startswith(REFERENCES):
            variable = next(iter(known[name].keys), "NAME")
            cure = f'write key = "env:{variable}", "file:PATH" or "keyring:{variable}"'
            raise self._wrong((*place, "key"), "do not put the key itself in this file", cure)
        if provider.url is not None:
            self._check_url(provider.url, (*place, "url"))
        return provider

    def _check_url(self, url: str, place: Place) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.username or parts.password:
            cure = f"write {WRITTEN['key']} beside an address without one"
            raise self._wrong(place, "this address contains a password", cure)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise self._wrong(place, f"{url!r} is no address", f"write {WRITTEN['url']}")

    def _key(
        self, place: Place, row: dict[str, Any], routes: tuple[GatewayRoute, ...]
    ) -> GatewayKey:
        key = self._dialled(row, GatewayKey, place)
        if not _DIGEST.fullmatch(key.hash):
            cure = f"write {WRITTEN['hash']}; it begins with {HASH}"
            raise self._wrong((*place, "hash"), "this is not the hash of a key", cure)
        self._check_bounds(key, place)
        for model in key.models if routes else ():
            self._check_reachable(model, routes, (*place, "models"))
        return key

    def _check_bounds(self, row: GatewayKey | GatewayRoute, place: Place) -> None:
        for name, bound in (("budget", row.budget), ("limit", row.limit)):
            if bound is not None and not bound.bounds:
                raise self._wrong((*place, name), "nothing is bounded", f"write {WRITTEN[name]}")

    def _check_reachable(self, model: str, routes: tuple[GatewayRoute, ...], place: Place) -> None:
        matches = [route.match for route in routes]
        if any(fnmatchcase(each, model) or fnmatchcase(model, each) for each in matches):
            return
        guess = did_you_mean(model, matches)
        raise self._wrong(place, f"no route is called {model!r}", f"{guess}use {' '.join(matches)}")

    # -- between rows ----------------------------------------------------------------------------

    def _check_order(self, routes: tuple[GatewayRoute, ...]) -> None:
        """Raise BadConfig for a route that no name reaches, because an earlier one matches it."""
        for number, route in enumerate(routes):
            for before, earlier in enumerate(routes[:number]):
                same = earlier.match == route.match
                if same or (is_glob(earlier.match) and fnmatchcase(route.match, earlier.match)):
                    line = self._file.line("route", before, "match")
                    cure = "remove one of the two" if same else "put this route before that one"
                    what = f"{route.match!r} is never reached: {earlier.match!r} in line {line} is"
                    raise self._wrong(("route", number, "match"), f"{what} tried first", cure)

    def _check_names(self, keys: tuple[GatewayKey, ...]) -> None:
        columns = {"name": [key.name for key in keys], "hash": [key.hash for key in keys]}
        for field, values in columns.items():
            for number, value in enumerate(values):
                if value in values[:number]:
                    what = f"an earlier key has this {field} too"
                    raise self._wrong(
                        ("key", number, field), what, "remove one, or make another key"
                    )

    # -- values ----------------------------------------------------------------------------------

    def _dialled(self, row: dict[str, Any], kind: type[_T], place: Place) -> _T:
        """Return a row that has a dial, whose numbers may be written as numbers."""
        said = self._table(row.get("thinking", {}), (*place, "thinking"))
        self._known(said, LevelRules.__struct_fields__, (*place, "thinking"))
        numbers = {
            name: str(value) if isinstance(value, int) and not isinstance(value, bool) else value
            for name, value in said.items()
        }
        built = self._built({**row, "thinking": numbers}, kind, place)
        dial = convert_json(numbers, LevelRules)
        words = msgspec.structs.asdict(dial).items()
        depths = {name: self._depth(name, word, place) for name, word in words if word}
        if depths.get("floor", 0) > depths.get("cap", depths.get("floor", 0)):
            what = f"floor {dial.floor!r} is above cap {dial.cap!r}"
            raise self._wrong(
                (*place, "thinking", "floor"), what, "lower the floor, or raise the cap"
            )
        return built

    def _depth(self, name: str, word: str, place: Place) -> int:
        """Return how many tokens a level commonly means; raises BadConfig for no level."""
        at = (*place, "thinking", name)
        try:
            intent = parse_intent(word, words=self._words)
        except BadThinking as error:
            raise self._wrong(at, str(error)) from None
        if intent.kind in ("on", "auto") and name not in _WITHOUT_DEPTH:
            raise self._wrong(at, f"{name} = {word!r} is no depth", f"write {WRITTEN[name]}")
        if intent.kind == "budget":
            return intent.tokens or 0
        return FIGURES.get(intent.level or "", 0)

    def _built(self, row: Mapping[str, Any], kind: type[_T], place: Place) -> _T:
        self._known(row, kind.__struct_fields__, place)
        for name in ("budget", "limit"):
            if isinstance(inner := row.get(name), Mapping):
                fields = {"budget": SpendBudget, "limit": RateLimitRule}[name].__struct_fields__
                self._known(inner, fields, (*place, name))
        try:
            return convert_json(row, kind)
        except msgspec.ValidationError as error:
            what, _, path = str(error).partition(" - at `$")
            steps = [number or name for number, name in _STEP.findall(path.rstrip("`"))]
            missing = _MISSING.search(what)
            name = missing[1] if missing else next(s for s in reversed(steps) if s in WRITTEN)
            cure = f"write {WRITTEN[name]}"
            raise self._wrong((*place, *steps), f"{name}: {what.replace('`', '')}", cure) from None

    def _known(self, row: Mapping[str, Any], names: tuple[str, ...], place: Place) -> None:
        for name in row:
            if name not in names:
                cure = f"{did_you_mean(name, names)}use {' '.join(names)}"
                raise self._wrong((*place, name), f"unknown setting {name!r}", cure)

    def _table(self, value: Any, place: Place) -> dict[str, Any]:
        if isinstance(value, dict):
            return value
        name = ".".join(step for step in place if isinstance(step, str))
        cure = f"write {WRITTEN.get(str(place[-1])) or f'[{name}]'}"
        raise self._wrong(place, f"{place[-1]} is not a table", cure)

    def _rows(self, name: str) -> Iterator[tuple[Place, dict[str, Any]]]:
        rows = self._file.values.get(name, [])
        if not isinstance(rows, list):
            raise self._wrong((name,), f"there may be several of {name}", f"write [[{name}]]")
        for number, row in enumerate(rows):
            yield (name, number), self._table(row, (name, number))

    def _tables(self, name: str) -> Iterator[tuple[str, Any]]:
        yield from self._table(self._file.values.get(name, {}), (name,)).items()

    def _wrong(self, place: Place, what: str, cure: str = "") -> BadConfig:
        line = self._file.line(*place)
        where = f"{self._file.name}:{line}" if line else self._file.name
        return BadConfig(f"{where}: {what}{f'; {cure}' if cure else ''}")
