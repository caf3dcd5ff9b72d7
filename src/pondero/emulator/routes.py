"""Which wire, and which deployment of it, an address belongs to."""

import re
from functools import cache
from typing import NamedTuple
from urllib.parse import urlsplit

from ..catalog import Provider, shipped
from ..dialects import NAMES, Dialect, dialect

_HOLE = re.compile(r"\\{\w+\\}")  # of a template, after re.escape


class Route(NamedTuple):
    """A wire and the deployment that is emulated."""

    wire: Dialect
    service: str


def route(url: str, *, service: str | None = None) -> Route | None:
    """Return where a request to this address goes; None where no wire has such an address.

    The deployment is the one named, else the one that lives there, else the one the path begins
    with, else the wire's first.
    """
    path = urlsplit(url).path
    for name in NAMES:
        wire = dialect(name)
        if wire.accept.serves(path):
            return Route(
                wire, service or _living(url, name) or _named(path, name) or wire.accept.HOUSE
            )
    return None


def houses() -> tuple[Provider, ...]:
    """Return the deployments that are meant where none is named, one for each wire."""
    known = shipped().providers
    return tuple(known[dialect(name).accept.HOUSE] for name in NAMES)


def _living(url: str, name: str) -> str | None:
    here = [(len(found[0]), -n, key) for n, (key, where) in enumerate(_homes(name))
            if (found := where.match(url))]  # fmt: skip
    return max(here)[2] if here else None


def _named(path: str, name: str) -> str | None:
    first = path.lstrip("/").partition("/")[0]
    return first if any(first == each.name for each in _providers(name)) else None


@cache
def _homes(name: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (each.name, re.compile(_HOLE.sub("[^/]+", re.escape(each.url.rstrip("/"))) + r"(?=[/?]|$)"))
        for each in _providers(name)
    )


@cache
def _providers(name: str) -> tuple[Provider, ...]:
    return tuple(each for each in shipped().providers.values() if each.dialect == name)
