"""Models that the catalog does not know: with ``any_model``, a related model answers for them."""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from ..canon import Head, HttpRequest, Json
from ..catalog import Entry, Lookup
from ..dialects import Accepted, Rejected
from ..errors import NotFound, UsageError
from ..store import lookup
from .routes import Route


class Taken(NamedTuple):
    """An accepted request, and the model name that was asked for."""

    accepted: Accepted[Json]
    name: str


def accept_as_relative(request: HttpRequest, to: Route, refusal: Rejected) -> Taken:
    """Return a refused request as a model of its family accepts it, else any of the provider's.

    Raises the refusal as it is where the model is known and was found: then the request is at
    fault. Where no relative accepts it either, raises the first refusal that is not about the
    model.
    """
    name = to.wire.service().model_of(request)
    known = _entry(to.provider, name) if name else None
    unknown = known is None or known.inferred
    if name is None or not (unknown or _is_not_found(to, refusal)):
        raise refusal
    why: Rejected | None = None
    for provider in dict.fromkeys((to.provider, to.wire.service().home)):
        for relative in _relatives(provider, known.family if known else None):
            again = to.wire.service().with_model(request, relative)
            try:
                return Taken(to.wire.service().accept(again, to.provider), name)
            except Rejected as no:
                if why is None and not _is_not_found(to, no):
                    why = no
        if why is not None:
            break  # else none of its models is known to the wire, as at a user's own provider
    raise why or refusal


def _is_not_found(to: Route, refusal: Rejected) -> bool:
    response = refusal.response
    head = Head(response.status, response.headers)
    return isinstance(to.wire.caller().error(head, response.body), NotFound)


def _relatives(provider: str, family: str | None) -> Iterator[str]:
    """Yield the models of a provider, those of one family first."""
    entries = _entries(lookup(), provider)
    yield from (each.model for each in entries if each.family == family)
    yield from (each.model for each in entries if each.family != family)


def _entry(provider: str, name: str) -> Entry | None:
    try:
        return lookup().entry(f"{provider}:{name}")
    except UsageError:
        return None


@cache
def _entries(finder: Lookup, provider: str) -> tuple[Entry, ...]:
    return tuple(finder.entries(provider))
