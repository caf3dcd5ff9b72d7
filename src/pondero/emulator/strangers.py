"""Models nobody knows: one of their line, else of their house, answers in their name."""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from ..canon import Head, HttpRequest, Json
from ..catalog import Entry, Lookup
from ..dialects import Accepted, Rejected
from ..errors import NotFound, UsageError
from ..store import lookup
from .routes import Route


class Met(NamedTuple):
    """A request that was taken, and the model's name it was asked under."""

    accepted: Accepted[Json]
    name: str


def met(request: HttpRequest, to: Route, refusal: Rejected) -> Met:
    """Return a refused request as another model takes it, or raise Rejected.

    Where none does, it is for what the first of them says that is not about the model.
    """
    name = to.wire.service().model_of(request)
    known = _entry(to.service, name) if name else None
    strange = known is None or known.inferred
    if name is None or not (strange or _is_not_found(to, refusal)):
        raise refusal
    why: Rejected | None = None
    for service in dict.fromkeys((to.service, to.wire.service().home)):
        for other in _others(service, known.family if known else None):
            again = to.wire.service().with_model(request, other)
            try:
                return Met(to.wire.service().accept(again, to.service), name)
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


def _others(service: str, family: str | None) -> Iterator[str]:
    """Yield the models of a deployment, those of one family first."""
    entries = _entries(lookup(), service)
    yield from (each.model for each in entries if each.family == family)
    yield from (each.model for each in entries if each.family != family)


def _entry(service: str, name: str) -> Entry | None:
    try:
        return lookup().entry(f"{service}:{name}")
    except UsageError:
        return None


@cache
def _entries(finder: Lookup, service: str) -> tuple[Entry, ...]:
    return tuple(finder.entries(service))
