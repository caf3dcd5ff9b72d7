"""What is asked of a service beside conversations: its models, and how many tokens a request is."""

from functools import cache
from typing import NamedTuple

from ..canon import HttpRequest, HttpResponse
from ..catalog import Lookup
from ..dialects import NAMES, Listed, Rejected, dialect
from ..store import lookup
from .routes import deployment, living
from .tokens import asked

_NOBODY = (401, 403)


class Told(NamedTuple):
    """The answer to such a question, and whose it is."""

    response: HttpResponse
    dialect: str
    service: str


def told(request: HttpRequest, *, service: str | None = None) -> Told | None:
    """Return the answer, or a refusal in the service's own words; None where it is none of these.

    Several list models at one address: whoever lives there answers, else whoever takes the key.
    """
    wires = [
        name
        for name in _wires(service)
        if (desk := dialect(name).service().models) is not None and desk.asks(request) is not None
    ]
    answers = [
        Told(_answer(request, name, here), name, here)
        for name, here in _houses(request.url, wires, service)
    ]
    taken = (each for each in answers if each.response.status not in _NOBODY)
    return next(taken, answers[0] if answers else None)


def _answer(request: HttpRequest, name: str, service: str) -> HttpResponse:
    wire = dialect(name).service()
    desk = wire.models
    assert desk is not None  # noqa: S101 - it was asked just now
    try:
        if desk.asks(request) == "models":
            return desk.listed(request, _known(lookup(), service), service)
        assert desk.counts is not None  # noqa: S101 - or it would not have said so
        accepted = wire.accept(desk.counts(request), service)
    except Rejected as no:
        return no.response
    assert desk.counted is not None  # noqa: S101 - it goes with counts
    return desk.counted(asked(accepted.request))


def _houses(url: str, wires: list[str], service: str | None) -> list[tuple[str, str]]:
    """Return who may be meant, each by wire and deployment: the named, the living, the first."""
    if service is not None:
        return [(name, service) for name in wires]
    for where in (living, deployment):
        if found := [(name, here) for name in wires if (here := where(url, name)) is not None]:
            return found
    return [(name, dialect(name).service().home) for name in wires]


def _wires(service: str | None) -> tuple[str, ...]:
    """Return the wire of a deployment, or all where none is named."""
    provider = lookup().catalog.providers.get(service or "")
    return NAMES if provider is None else (provider.dialect,)


@cache
def _known(finder: Lookup, service: str) -> tuple[Listed, ...]:
    entries = finder.entries(service)
    return tuple(Listed(each.model, each.capability.context) for each in entries)
