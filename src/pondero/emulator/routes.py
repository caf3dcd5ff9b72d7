"""Which wire, and which deployment of it, an address belongs to."""

import re
from functools import cache
from typing import NamedTuple
from urllib.parse import urlsplit

from ..catalog import Lookup, Provider
from ..dialects import NAMES, Dialect, dialect
from ..store import lookup

_HOLE = re.compile(r"\\{\w+\\}")  # of a template, after re.escape


class Route(NamedTuple):
    """A wire and the deployment that is emulated."""

    wire: Dialect
    service: str


def route(url: str, *, service: str | None = None) -> Route | None:
    """Return where a request to this address goes; None where no wire has such an address.

    The deployment is the one named, else the one that lives there, else the one the path begins
    with, else the one whose own path is in it, else the wire's first.
    """
    path = urlsplit(url).path
    for name in NAMES:
        wire = dialect(name)
        if wire.service().serves(path):
            return Route(wire, service or deployment(url, name) or wire.service().home)
    return None


def deployment(url: str, name: str) -> str | None:
    """Return the deployment of a wire that an address belongs to; None where it says none."""
    path = urlsplit(url).path
    return living(url, name) or _named(path, name) or _laid(path, name)


def houses() -> tuple[Provider, ...]:
    """Return the deployments that are meant where none is named, one for each wire."""
    known = lookup().catalog.providers
    return tuple(known[dialect(name).service().home] for name in NAMES)


def living(url: str, name: str) -> str | None:
    """Return the deployment of a wire that lives at an address in the world."""
    here = [(len(found[0]), -n, key) for n, (key, where) in enumerate(_homes(lookup(), name))
            if (found := where.match(url))]  # fmt: skip
    return max(here)[2] if here else None


def _named(path: str, name: str) -> str | None:
    first = path.lstrip("/").partition("/")[0]
    return first if any(first == each.name for each in _providers(lookup(), name)) else None


def _laid(path: str, name: str) -> str | None:
    own = ((each.name, each.path) for each in _providers(lookup(), name) if each.path)
    return next((key for key, where in own if _template(where).search(path)), None)


@cache
def _homes(finder: Lookup, name: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (each.name, _template(each.url.rstrip("/") + each.path))
        for each in _providers(finder, name)
    )


def _template(address: str) -> re.Pattern[str]:
    return re.compile(_HOLE.sub("[^/]+", re.escape(address)) + r"(?=[/?]|$)")


@cache
def _providers(finder: Lookup, name: str) -> tuple[Provider, ...]:
    return tuple(each for each in finder.catalog.providers.values() if each.dialect == name)
