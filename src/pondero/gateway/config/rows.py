"""The rows of gateway.toml: reads them strictly, and says where a mistake is and what cures it."""

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from ...canon import convert_json
from ...catalog import Lookup, TomlFile, did_you_mean
from ...errors import BadConfig, BadThinking, UsageError
from ...store import check_auto
from ...thinking import parse_intent
from .deployment_names import check_provider, split_deployment
from .examples import EXAMPLES
from .level_order import find_order_problem
from .model import (
    Deployment,
    GatewayGroup,
    GatewayKey,
    GatewayRoute,
    LevelRules,
    RateLimitRule,
    SpendBudget,
)

_MISSING = re.compile(r"missing required field `(\w+)`")
_STEP = re.compile(r"\[(\d+|\.\.\.)\]|([^.\[\]]+)")
_WITHOUT_DEPTH = ("default", "force")  # these also accept "on", the model's default, and "auto"
_RENAMED = {
    "memory_seconds": "answer_cache_seconds",
    "memory_bytes": "answer_cache_bytes",
    "money": "cost",
}
_T = TypeVar("_T", bound=Struct)

Place = tuple[str | int, ...]
"""The steps to a value in the file, such as ``("key", 0, "hash")``."""


class ConfigRows:
    """The rows of one file; each section of the configuration is read from them."""

    def __init__(self, file: TomlFile, lookup: Lookup) -> None:
        self.file = file
        self.lookup = lookup
        self.deployments: tuple[Deployment, ...] = ()
        self._words = lookup.catalog.extra_words()

    def build_with_rules(self, row: dict[str, Any], kind: type[_T], place: Place) -> _T:
        """Build a row with level rules, whose numbers may be TOML numbers."""
        said = self.table(row.get("thinking", {}), (*place, "thinking"))
        self.check_fields(said, LevelRules.__struct_fields__, (*place, "thinking"))
        numbers = {
            name: str(value) if isinstance(value, int) and not isinstance(value, bool) else value
            for name, value in said.items()
        }
        built = self.build({**row, "thinking": numbers}, kind, place)
        dial = convert_json(numbers, LevelRules)
        for name, word in msgspec.structs.asdict(dial).items():
            if word:
                self._check_level(name, word, place)
        if (problem := find_order_problem(dial, self._words)) is not None:
            raise self.error(
                (*place, "thinking", "floor"), problem, "lower the floor, or raise the cap"
            )
        return built

    def _check_level(self, name: str, word: str, place: Place) -> None:
        """Raise BadConfig for a word that is no level, or cannot be this rule."""
        at = (*place, "thinking", name)
        try:
            intent = parse_intent(word, words=self._words)
        except BadThinking as error:
            raise self.error(at, str(error)) from None
        if intent.kind in ("on", "auto") and name not in _WITHOUT_DEPTH:
            raise self.error(at, f"invalid {name} {word!r}", f"write {EXAMPLES[name]}")
        try:
            check_auto(word)
        except (BadThinking, BadConfig) as error:
            raise self.error(at, str(error)) from None

    def build(self, row: Mapping[str, Any], kind: type[_T], place: Place) -> _T:
        """Return a row as a value; raises BadConfig with its line and a cure."""
        self.check_fields(row, kind.__struct_fields__, place)
        for name in ("budget", "limit"):
            if isinstance(inner := row.get(name), Mapping):
                fields = {"budget": SpendBudget, "limit": RateLimitRule}[name].__struct_fields__
                self.check_fields(inner, fields, (*place, name))
        try:
            return convert_json(row, kind)
        except msgspec.ValidationError as error:
            problem, _, path = str(error).partition(" - at `$")
            steps = [number or name for number, name in _STEP.findall(path.rstrip("`"))]
            missing = _MISSING.search(problem)
            name = missing[1] if missing else next(s for s in reversed(steps) if s in EXAMPLES)
            cure = f"write {EXAMPLES[name]}"
            raise self.error(
                (*place, *steps), f"{name}: {problem.replace('`', '')}", cure
            ) from None

    def check_fields(self, row: Mapping[str, Any], names: tuple[str, ...], place: Place) -> None:
        """Raise BadConfig for a setting that is not known."""
        for name in row:
            if name not in names:
                if (new := _RENAMED.get(name)) in names:
                    raise self.error((*place, name), f"unknown key {name!r}", f"it is now {new!r}")
                cure = f"{did_you_mean(name, names)}use {' '.join(names)}"
                raise self.error((*place, name), f"unknown setting {name!r}", cure)

    def table(self, value: Any, place: Place) -> dict[str, Any]:
        """Return a table; raises BadConfig for anything else."""
        if isinstance(value, dict):
            return value
        name = ".".join(step for step in place if isinstance(step, str))
        cure = f"write {EXAMPLES.get(str(place[-1])) or f'[{name}]'}"
        raise self.error(place, f"{place[-1]} is not a table", cure)

    def rows(self, name: str) -> Iterator[tuple[Place, dict[str, Any]]]:
        """Yield the tables of a list, each with its place."""
        rows = self.file.values.get(name, [])
        if not isinstance(rows, list):
            raise self.error((name,), f"{name} is not a list of tables", f"write [[{name}]]")
        for number, row in enumerate(rows):
            yield (name, number), self.table(row, (name, number))

    def tables(self, name: str) -> Iterator[tuple[str, Any]]:
        """Yield the tables inside a table, by name."""
        yield from self.table(self.file.values.get(name, {}), (name,)).items()

    def error(self, place: Place, problem: str, cure: str = "") -> BadConfig:
        """Return the error for a place of the file, with its line."""
        line = self.file.line(*place)
        where = f"{self.file.name}:{line}" if line else self.file.name
        return BadConfig(f"{where}: {problem}{f'; {cure}' if cure else ''}")

    def check_url(self, url: str, place: Place, name: str = "url") -> None:
        """Raise BadConfig for an address that is invalid, or has a password."""
        try:
            parts = urlsplit(url if "://" in url else f"http://{url}")
            _ = parts.port  # raises ValueError if it is not a number
        except ValueError as error:
            problem, cure = f"invalid {name}: {error}", f"write {EXAMPLES[name]}"
            raise self.error(place, problem, cure) from None
        if parts.username or parts.password:
            cure = f"write {EXAMPLES['key']} and an address without a password"
            raise self.error(place, "this address contains a password", cure)
        if parts.scheme not in ("http", "https") or not parts.hostname or len(url.split()) != 1:
            raise self.error(place, f"invalid {name} {url!r}", f"write {EXAMPLES[name]}")

    def check_model(self, model: str, place: Place) -> None:
        """Raise BadConfig for an unknown model, or one that looks misspelt."""
        deployment, plain = split_deployment(model, self.deployments)
        try:
            entry = self.lookup.entry(plain)
            wish = self.lookup.split(plain).level
            check_provider(deployment, entry)
        except UsageError as error:
            raise self.error(place, str(error)) from None
        if wish is not None:
            short = model[: -len(wish) - 1]
            cure = f'write to = "{short}" and thinking = {{ default = "{wish}" }}'
            raise self.error(place, f"{model!r} names a level", cure)
        if entry.near is not None:
            named = deployment.name if deployment is not None else entry.provider.name
            cure = f"did you mean {named}:{entry.near}?"
            raise self.error(place, f"unknown model {model!r}", cure)

    def check_bounds(self, row: GatewayKey | GatewayGroup | GatewayRoute, place: Place) -> None:
        """Raise BadConfig for a budget or a limit without a maximum."""
        for name, bound in (("budget", row.budget), ("limit", row.limit)):
            if bound is not None and not bound.bounds:
                raise self.error((*place, name), "no maximum is set", f"write {EXAMPLES[name]}")

    def check_reachable(self, model: str, routes: tuple[GatewayRoute, ...], place: Place) -> None:
        """Raise BadConfig for a name that no route serves."""
        matches = [route.match for route in routes]
        if any(fnmatchcase(each, model) or fnmatchcase(model, each) for each in matches):
            return
        guess = did_you_mean(model, matches)
        raise self.error(place, f"no route is called {model!r}", f"{guess}use {' '.join(matches)}")
