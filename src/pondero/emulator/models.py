"""The emulator's model lists and token counts, and relatives that answer for unknown models."""

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

import msgspec

from ..canon import HttpRequest, HttpResponse, Json, ResponseHead
from ..catalog import Lookup, ModelEntry
from ..dialects import NAMES, AcceptedRequest, ModelEndpoints, Rejected, ServedModel, get_dialect
from ..errors import NotFound, UsageError
from ..store import load_catalog
from .routes import EmulatedRoute, provider_at, provider_living_at
from .tokens import count_request


class AcceptedModel(NamedTuple):
    """An accepted request and its requested model name."""

    accepted: AcceptedRequest[Json]
    name: str


# What a service's table says of the very name: no relative answers, though some are a 404 too.
_NOT_THE_NAME = ("no_tools", "no_images", "no_media", "other_endpoint", "order")


def accept_as_relative(request: HttpRequest, to: EmulatedRoute, refusal: Rejected) -> AcceptedModel:
    """Accept as a relative of an unknown model, same family first; else raise the rejection."""
    if refusal.rule in _NOT_THE_NAME:
        raise refusal
    name = to.wire.service().requested_model(request)
    known = _entry(to.provider, name) if name else None
    unknown = known is None or known.inferred
    if name is None or not (unknown or _is_not_found(to, refusal)):
        raise refusal
    why: Rejected | None = None
    for provider in dict.fromkeys((to.provider, to.wire.service().default_provider)):
        for relative in _relatives(provider, known.family if known else None):
            again = to.wire.service().with_model(request, relative)
            try:
                return AcceptedModel(to.wire.service().accept(again, to.provider), name)
            except Rejected as no:
                if why is None and not _is_not_found(to, no):
                    why = no
        if why is not None:
            break  # else none of its models is known to the wire, as at a user's own provider
    raise why or refusal


def _is_not_found(to: EmulatedRoute, refusal: Rejected) -> bool:
    response = refusal.response
    head = ResponseHead(response.status, response.headers)
    return isinstance(to.wire.caller().error(head, response.body), NotFound)


def _relatives(provider: str, family: str | None) -> Iterator[str]:
    entries = _entries(load_catalog(), provider)
    yield from (each.model for each in entries if each.family == family)
    yield from (each.model for each in entries if each.family != family)


def _entry(provider: str, name: str) -> ModelEntry | None:
    try:
        return load_catalog().entry(f"{provider}:{name}")
    except UsageError:
        return None


def with_default(accepted: AcceptedRequest[Json], provider: str) -> AcceptedRequest[Json]:
    """Set the model's default level if the request has none."""
    if not accepted.thinks or accepted.intent.level not in (None, "default"):
        return accepted
    stated = _default(load_catalog(), provider, accepted.request.model)
    return msgspec.structs.replace(accepted, default=stated)


@lru_cache(maxsize=1024)
def _default(finder: Lookup, provider: str, name: str) -> str | None:
    try:
        return finder.entry(f"{provider}:{name}").capability.default
    except UsageError:
        return None


@cache
def _entries(finder: Lookup, provider: str) -> tuple[ModelEntry, ...]:
    return tuple(finder.entries(provider))


_KEY_REFUSED = (401, 403)


class ModelAnswer(NamedTuple):
    """The response to a list or count request, and its service."""

    response: HttpResponse
    dialect: str
    provider: str


def model_answer(request: HttpRequest, *, provider: str | None = None) -> ModelAnswer | None:
    """Answer a model list (by address, else by key) or a token count; None for any other."""
    asked_of = {
        name: models
        for name in _wires(provider)
        if (models := get_dialect(name).service().models) is not None
        and models.classify(request) is not None
    }
    answers = [
        ModelAnswer(_answer(request, name, asked_of[name], here), name, here)
        for name, here in _candidates(request.url, list(asked_of), provider)
    ]
    taken = (each for each in answers if each.response.status not in _KEY_REFUSED)
    return next(taken, answers[0] if answers else None)


def _answer(request: HttpRequest, name: str, models: ModelEndpoints, provider: str) -> HttpResponse:
    try:
        if (
            models.classify(request) == "models"
            or models.parse_count is None
            or models.write_count is None
        ):
            return models.write_list(request, _list_served(load_catalog(), provider), provider)
        accepted = get_dialect(name).service().accept(models.parse_count(request), provider)
    except Rejected as no:
        return no.response
    return models.write_count(count_request(accepted.request))


def _candidates(url: str, wires: list[str], provider: str | None) -> list[tuple[str, str]]:
    if provider is not None:
        return [(name, provider) for name in wires]
    for where in (provider_living_at, provider_at):
        if found := [(name, here) for name in wires if (here := where(url, name)) is not None]:
            return found
    return [(name, get_dialect(name).service().default_provider) for name in wires]


def _wires(provider: str | None) -> tuple[str, ...]:
    found = load_catalog().catalog.providers.get(provider or "")
    return NAMES if found is None else (found.dialect,)


@cache
def _list_served(finder: Lookup, provider: str) -> tuple[ServedModel, ...]:
    entries = finder.entries(provider)
    return tuple(ServedModel(each.model, each.capability.context) for each in entries)
