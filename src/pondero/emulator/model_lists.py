"""Requests outside a conversation: which models a service has, and how many tokens a request is."""

from functools import cache
from typing import NamedTuple

from ..canon import HttpRequest, HttpResponse
from ..catalog import Lookup
from ..dialects import NAMES, Listed, Models, Rejected, dialect
from ..store import lookup
from .routes import provider_at, provider_living_at
from .tokens import asked

_KEY_REFUSED = (401, 403)


class ModelAnswer(NamedTuple):
    """The response to such a request, and who gave it."""

    response: HttpResponse
    dialect: str
    provider: str


def model_answer(request: HttpRequest, *, provider: str | None = None) -> ModelAnswer | None:
    """Return the answer or the service's refusal; None where the request is neither kind.

    Several dialects list models at one path: the provider at this address answers, else the first
    that accepts the key.
    """
    asked_of = {
        name: models
        for name in _wires(provider)
        if (models := dialect(name).service().models) is not None
        and models.asks(request) is not None
    }
    answers = [
        ModelAnswer(_answer(request, name, asked_of[name], here), name, here)
        for name, here in _candidates(request.url, list(asked_of), provider)
    ]
    taken = (each for each in answers if each.response.status not in _KEY_REFUSED)
    return next(taken, answers[0] if answers else None)


def _answer(request: HttpRequest, name: str, models: Models, provider: str) -> HttpResponse:
    try:
        if models.asks(request) == "models" or models.counts is None or models.counted is None:
            return models.listed(request, _known(lookup(), provider), provider)
        accepted = dialect(name).service().accept(models.counts(request), provider)
    except Rejected as no:
        return no.response
    return models.counted(asked(accepted.request))


def _candidates(url: str, wires: list[str], provider: str | None) -> list[tuple[str, str]]:
    """Return (dialect, provider) pairs: the named, else those at this address, else the homes."""
    if provider is not None:
        return [(name, provider) for name in wires]
    for where in (provider_living_at, provider_at):
        if found := [(name, here) for name in wires if (here := where(url, name)) is not None]:
            return found
    return [(name, dialect(name).service().home) for name in wires]


def _wires(provider: str | None) -> tuple[str, ...]:
    """Return the dialect of a provider, or every dialect where none is named."""
    found = lookup().catalog.providers.get(provider or "")
    return NAMES if found is None else (found.dialect,)


@cache
def _known(finder: Lookup, provider: str) -> tuple[Listed, ...]:
    entries = finder.entries(provider)
    return tuple(Listed(each.model, each.capability.context) for each in entries)
