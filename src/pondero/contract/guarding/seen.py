"""One exchange as a file has it, and where it went."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from ...canon import Json
from ...catalog import Provider
from ...client import lookup
from ...emulator import route
from ...errors import PonderoError
from ...exchange import Decoded, decode
from ...framing import json_of
from ...thinking import NOTHING, Capability
from ...transport import Recorded

_MODEL = re.compile(r"/models?/([^/]+?)(?::[A-Za-z]+|/[a-z-]+)?$")


class Seen(Struct, frozen=True, kw_only=True):
    """An exchange on a wire we know; ``number`` counts from 1 in its file, ``line`` too.

    ``known`` is whether the catalog has its deployment. ``answer`` is None where none was
    recorded, or where nothing in it could be read.
    """

    number: int
    line: int
    dialect: str
    provider: str
    known: bool
    model: str | None
    facts: Capability
    quirks: Mapping[str, Json]
    body: dict[str, Json]
    status: int | None
    answer: Decoded | None

    @property
    def refused(self) -> bool:
        """Return whether the service said no to the request itself."""
        return self.status is not None and 400 <= self.status < 500


def seen(number: int, recorded: Recorded, *, provider: str | None = None) -> Seen | None:
    """Return an exchange by what is in it; None where it is no talk with a model.

    ``provider`` is who answered where the address does not say it.
    """
    asked = recorded.request
    body = json_of(asked.body)
    if not isinstance(body, dict):
        return None
    path = unquote(urlsplit(asked.url).path)
    found = route(asked.url) or (route(path) if path != asked.url else None)
    answer = _answer(recorded, found.wire.name if found else None)
    if found is None:
        return None
    name = _deployment(found.wire.name, provider) if provider else found.provider
    home = lookup().catalog.providers.get(name or "")
    model = _model(body, path)
    return Seen(
        number=number,
        line=recorded.line,
        dialect=found.wire.name,
        provider=name or str(provider),
        known=home is not None,
        model=model,
        facts=_facts(name, model),
        quirks=home.quirks if home else {},
        body=body,
        status=recorded.head.status if recorded.head else None,
        answer=answer,
    )


def _answer(recorded: Recorded, name: str | None) -> Decoded | None:
    head = recorded.head
    if head is None or name is None:
        return None
    try:
        return decode(recorded.body, dialect=name, status=head.status, headers=head.headers)
    except PonderoError:
        return None


def _model(body: Mapping[str, Json], path: str) -> str | None:
    named = body.get("model")
    if isinstance(named, str) and named:
        return named
    found = _MODEL.search(path)
    return found[1] if found else None


def _deployment(dialect: str, provider: str) -> str | None:
    """Return the catalog's name of a deployment that is called a little differently."""
    names = [each.name for each in _speaking(dialect)]
    return next(
        (name for name in names if name == provider or name.startswith(f"{provider}-")), None
    )


@cache
def _speaking(dialect: str) -> tuple[Provider, ...]:
    return tuple(each for each in lookup().catalog.providers.values() if each.dialect == dialect)


@lru_cache(1024)  # a name nobody knows is searched for by its likes, which takes a while
def _facts(provider: str | None, model: str | None) -> Capability:
    name = f"{provider}:{model}" if provider else model
    try:
        return lookup().entry(name).capability if name and model else NOTHING
    except PonderoError:
        return NOTHING
