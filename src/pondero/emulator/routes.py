"""Finds the dialect and the provider of a URL."""

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple
from urllib.parse import urlsplit

from ..canon import HttpRequest
from ..catalog import Lookup, Provider
from ..dialects import NAMES, Dialect, get_dialect, guess_dialect
from ..store import load_catalog
from .paths import fill_blanks, find_owner


class EmulatedRoute(NamedTuple):
    """The dialect of a URL and the emulated provider."""

    wire: Dialect
    provider: str


def find_route(url: str, *, provider: str | None = None) -> EmulatedRoute | None:
    """Find the route of a URL; None if no dialect has such a path.

    The provider: the named one, else by address, name in the path, own path, the dialect's home.

    >>> from pondero.emulator import find_route
    >>> found = find_route("http://127.0.0.1:9100/v1/messages")
    >>> found.wire.name, found.provider
    ('anthropic', 'anthropic')
    """
    path = urlsplit(url).path
    for name in NAMES:
        wire = get_dialect(name)
        if wire.service().matches_path(path):
            return EmulatedRoute(wire, _find_provider(url, wire, provider))
    return None


def _find_provider(url: str, wire: Dialect, named: str | None) -> str:
    service = wire.service()
    if named is not None:
        return service.also_at.get(named, named)
    guests = service.also_at
    return (
        provider_living_at(url, wire.name)
        or _find_guest(url, guests)
        or _find_in_path(urlsplit(url).path, wire.name)
        or guests.get(urlsplit(url).path.lstrip("/").partition("/")[0])
        or _find_owner(urlsplit(url).path, wire)
        or service.default_provider
    )


def _find_guest(url: str, guests: Mapping[str, str]) -> str | None:
    known = load_catalog().catalog.providers
    homes = (name for name in guests if name in known and _template(known[name].url).match(url))
    found = next(homes, None)
    return None if found is None else guests[found]


def _find_owner(path: str, wire: Dialect) -> str | None:
    owner = find_owner(path, wire.name)
    if owner is None or load_catalog().catalog.providers[owner].dialect == wire.name:
        return owner
    return wire.service().also_at.get(owner)


def guess_route(request: HttpRequest, provider: str | None) -> Dialect | None:
    """Guess the dialect of a request to an unknown path: by provider, else by path or headers."""
    known = load_catalog().catalog.providers
    first = urlsplit(request.url).path.lstrip("/").partition("/")[0]
    named = known.get(provider or first)
    if named is not None:
        return get_dialect(named.dialect)
    name = guess_dialect(request)
    return None if name is None else get_dialect(name)


def provider_at(url: str, name: str) -> str | None:
    """Return the provider of a dialect that a URL points to, or None."""
    path = urlsplit(url).path
    return provider_living_at(url, name) or _find_in_path(path, name)


def home_providers() -> tuple[Provider, ...]:
    """Return the default provider of each dialect.

    >>> from pondero.emulator import home_providers
    >>> [provider.name for provider in home_providers()][:4]
    ['anthropic', 'openai', 'openai-chat', 'google']
    """
    known = load_catalog().catalog.providers
    return tuple(known[get_dialect(name).service().default_provider] for name in NAMES)


def provider_living_at(url: str, name: str) -> str | None:
    """Return the provider of a dialect whose real address begins this URL."""
    here = [(len(found[0]), -n, key) for n, (key, where) in enumerate(_homes(load_catalog(), name))
            if (found := where.match(url))]  # fmt: skip
    return max(here)[2] if here else None


def _find_in_path(path: str, name: str) -> str | None:
    first = path.lstrip("/").partition("/")[0]
    providers = _providers(load_catalog(), name)
    if any(first == each.name for each in providers):
        return first
    own = (each.name for each in providers if each.path and _template(each.path).search(path))
    return next(own, None)


@cache
def _homes(finder: Lookup, name: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (each.name, _template(each.url.rstrip("/") + each.path))
        for each in _providers(finder, name)
    )


def _template(address: str) -> re.Pattern[str]:
    return re.compile(fill_blanks(address) + r"(?=[/?]|$)")


@cache
def _providers(finder: Lookup, name: str) -> tuple[Provider, ...]:
    return tuple(each for each in finder.catalog.providers.values() if each.dialect == name)
