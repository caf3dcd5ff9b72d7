"""Finds the models for a name: the first matching route, else pondero's names.

A name may end in a level (``opus/high``); one with its own slash (``openai/gpt-5.5``) stays whole.
"""

from collections.abc import Iterable
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache

from msgspec import Struct

from ...catalog import Lookup, ModelEntry, Provider, SimilarNames
from ...errors import BadThinking, UnknownModel, UsageError
from ...thinking import parse_auto, parse_intent
from .deployment_names import find_entry, find_home_account, find_home_place, place_entry
from .model import Deployment, GatewayConfig, GatewayKey, GatewayRoute, PurposeRule
from .route_section import is_glob

LONGEST_MODEL = 512
"""Maximum characters of a model's name in a request."""
_KNOWN = 4096  # cached names; bounded, because clients can invent names


class ModelWithoutKey(UnknownModel):
    """The model is known, and there is no key for its provider."""


class ResolvedRoute(Struct, frozen=True):
    """The models for a name (without level), best first; ``route`` None: pondero's own name."""

    name: str
    route: GatewayRoute | None
    entries: tuple[ModelEntry, ...]
    level: str | None = None


class ServedRoute(Struct, frozen=True):
    """A name that is served, and the first model that answers it."""

    name: str
    entry: ModelEntry


class Routing:
    """Resolves the names of one configuration."""

    def __init__(self, config: GatewayConfig, lookup: Lookup) -> None:
        self._lookup = lookup
        self._config = config
        self._open = config.open
        self._routes = [
            (route, tuple(find_entry(model, config, lookup) for model in route.to))
            for route in config.routes
        ]
        self.rules: tuple[tuple[PurposeRule, tuple[ModelEntry, ...]], ...] = tuple(
            (rule, tuple(find_entry(model, config, lookup) for model in rule.to))
            for rule in config.rules
        )
        self.binds: bool = any(route.thinking.binds for route in config.routes)
        self._resolved = lru_cache(_KNOWN)(self._resolve)

    def resolve(self, requested: str) -> ResolvedRoute:
        """Return a name's models (``auto:NAME`` uncached); raises UnknownModel, BadThinking."""
        if len(requested) > LONGEST_MODEL:
            message = f"unknown model: a name of {len(requested):,} characters; no model has one"
            raise UnknownModel(message)
        return (
            self._resolve(requested) if parse_auto(requested.strip()) else self._resolved(requested)
        )

    def names(self) -> tuple[ServedRoute, ...]:
        """Return what is served, each name once.

        A glob lists the catalogued names it matches, ``*`` alone none. Servers that users run
        themselves are not listed: only they know which models they loaded (``find_served``).
        """
        return self._names

    def find_entry(self, model: str) -> ModelEntry:
        """Return a model by the name that a route would use, at its deployment; UsageError."""
        return find_entry(model, self._config, self._lookup)

    def find_account(self, home: str) -> str | None:
        """Return the account that a home names; None if it is not configured any more."""
        return find_home_account(home, self._config, self._lookup)

    def find_home_place(self, home: str) -> tuple[Provider, str]:
        """Return the provider and the deployment of a home; raises UnknownModel."""
        return find_home_place(home, self._config, self._lookup)

    def local_providers(self) -> tuple[Provider, ...]:
        """Return the servers that users run themselves, by the models of their own list."""
        known = self._lookup.catalog.providers.values()
        return tuple(each for each in known if each.name in self._open and each.auth == "none")

    def find_served(self, provider: Provider, models: Iterable[str]) -> list[ServedRoute]:
        """Return the models on a server's own list whose names mean them, and no level."""
        found = []
        for model in dict.fromkeys(models):
            name = f"{provider.name}:{model}"
            with suppress(UsageError):
                resolved = self.resolve(name)
                if (resolved.level, resolved.entries[0].model) == (None, model):
                    found.append(ServedRoute(name, resolved.entries[0]))
        return found

    def providers(self) -> tuple[Provider, ...]:
        """Return the providers that may be asked, each once."""
        routed = {entry.provider.name for entry in self.entries() if not entry.deployment}
        known = self._lookup.catalog.providers
        return tuple(known[name] for name in known if name in routed | self._open)

    def entries(self) -> tuple[ModelEntry, ...]:
        """Return the models that routes and rules name."""
        listed = (entries for _, entries in (*self._routes, *self.rules))
        return tuple(entry for entries in listed for entry in entries)

    def find_sticky(self) -> tuple[str, ...]:
        """Return the routes that keep each conversation on one of several deployments."""
        return tuple(
            route.match
            for route, entries in self._routes
            if route.balance == "sticky"
            and len({(each.provider.name, each.model) for each in entries}) < len(entries)
        )

    def deployments(self) -> tuple[Deployment, ...]:
        """Return the deployments that may be asked."""
        asked = {entry.deployment for entry in self.entries()}
        return tuple(each for each in self._config.deployments if each.name in asked)

    def find_provider(self, deployment: Deployment) -> Provider:
        """Return the provider of a deployment."""
        return self._lookup.catalog.providers[deployment.provider]

    def _resolve(self, requested: str) -> ResolvedRoute:
        stem, level_text = self._lookup.apart(requested)
        if level_text == requested.strip():  # auto:NAME, whose model is known by its full name
            stem = self._shortest(self._lookup.entry(stem))
        if (routed := self._match(requested, stem, level_text)) is not None:
            return routed
        full = self._find_full(stem)
        whole = full if level_text is None else f"{full}/{level_text}"
        if full != stem and (routed := self._match(whole, full, level_text)) is not None:
            return routed
        if not self._open:
            raise UnknownModel(self._describe_unknown(requested, stem))
        return ResolvedRoute(full, None, (self._find_own(stem),), level_text)

    def _find_full(self, stem: str) -> str:
        """Return the name that a short one means: routes and keys name models in full."""
        pinned = self._lookup.pin(stem)
        return stem if pinned == stem else self._shortest(self._lookup.entry(pinned))

    def _match(self, requested: str, stem: str, level_text: str | None) -> ResolvedRoute | None:
        """Return the first route that matches the whole name, or the name before its level."""
        for route, entries in self._routes:
            if route.match == requested:
                return ResolvedRoute(requested, route, entries)
            if level_text is not None and fnmatchcase(stem, route.match):
                return ResolvedRoute(stem, route, entries, level_text)
            if fnmatchcase(requested, route.match):
                return ResolvedRoute(requested, route, entries)
        return None

    def _find_own(self, name: str) -> ModelEntry:
        entry = self._lookup.entry(name)
        if entry.provider.name in self._open:
            return place_entry(entry, self._config)
        provider = entry.provider
        keys = " or ".join(provider.keys)
        message = (
            f"{name!r} is a model of {provider.label}, which has no key here; set {keys} where the "
            f"gateway runs, or keep one there with 'pondero keys set {provider.name}'"
        )
        raise ModelWithoutKey(message)

    @cached_property
    def _names(self) -> tuple[ServedRoute, ...]:
        found: dict[str, ServedRoute] = {}
        for served in (*self._iter_routed(), *self._iter_catalogued()):
            found.setdefault(served.name, served)
        return tuple(found.values())

    def _iter_routed(self) -> Iterable[ServedRoute]:
        for route, entries in self._routes:
            if not is_glob(route.match):
                yield ServedRoute(route.match, entries[0])
            elif route.match.strip("*"):
                for name in self._bare:
                    if fnmatchcase(name, route.match):
                        yield ServedRoute(name, entries[0])

    def _iter_catalogued(self) -> Iterable[ServedRoute]:
        for provider in self._lookup.catalog.providers.values():
            if provider.name in self._open and provider.auth != "none":
                entries = self._lookup.entries(provider.name)
                yield from (ServedRoute(self._shortest(entry), entry) for entry in entries)

    def _shortest(self, entry: ModelEntry) -> str:
        """Return a model's bare name if it means this provider, else its full one."""
        return entry.model if self._bare.get(entry.model) == entry.id else entry.id

    @cached_property
    def _bare(self) -> dict[str, str]:
        """Return the catalog's bare names, each with the full name it means."""
        found = {}
        for group in self._lookup.catalog.groups.values():
            if group.home in self._lookup.catalog.providers:
                names = (name for family in group.family for name in family.match)
                for name in names:
                    if name and not is_glob(name):
                        found[name] = self._lookup.entry(name).id
        return found

    @cached_property
    def _similar(self) -> SimilarNames:
        return SimilarNames(served.name for served in self._names)

    def _describe_unknown(self, requested: str, stem: str) -> str:
        cut = max(requested.rfind("/"), requested.rfind("@"))
        name, level = requested[:cut], requested[cut + 1 :]
        if cut > 0 and self._match(name, name, None) is not None:
            try:
                parse_intent(level, words=self._lookup.catalog.extra_words())
            except BadThinking as error:  # it has a suggestion, and all levels
                return f"unknown model {requested!r}: {name!r} is served, but {error}"
        close = self._similar.close(stem, 2, 0.5)
        guess = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
        routes = " ".join(route.match for route, _ in self._routes)
        return f"unknown model {requested!r}; {guess}this gateway serves {routes or 'nothing'}"


def allows(key: GatewayKey, resolved: ResolvedRoute) -> bool:
    """Return whether a key may use a model."""
    return allows_name(key, resolved.name)


def allows_name(key: GatewayKey, name: str) -> bool:
    """Return whether a key may use a model name; without a list it may use all."""
    return key.models is None or any(fnmatchcase(name, each) for each in key.models)
