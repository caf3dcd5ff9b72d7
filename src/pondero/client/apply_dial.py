"""Sets a level in a request of another SDK; ``pondero.sdk`` calls it."""

from collections.abc import Iterator, Mapping
from os import environ
from typing import Any
from urllib.parse import urlsplit

from ..canon import HttpRequest, Json, get_path
from ..catalog import ModelEntry, Provider
from ..dialects import NAMES, Rejected, get_dialect
from ..errors import UnknownModel
from ..exchange import apply_plan
from ..exchange import plan as make_plan
from ..framing import parse_json_or_none
from ..store import load_catalog, resolve_auto
from ..thinking import SAMPLING, Plan, Policy, RequestParameters, parse_intent
from .dial import select_thinking

Path = tuple[str, ...]


def set_level(
    request: HttpRequest, thinking: object, policy: Policy
) -> tuple[HttpRequest, Plan | None]:
    """Return the request at this level, and the plan; unchanged if wire or model is unknown."""
    body = _object(request)
    entry = _entry(request, policy) if body else None
    if entry is None:
        return request, None
    requested = select_thinking(entry, thinking, load_catalog())
    intent = parse_intent(requested, words=entry.capability.extra_words)
    if intent.kind == "unset":
        return request, None
    intent = resolve_auto(entry, intent, policy=policy)
    made = make_plan(entry, intent, asked=_parse_parameters(request, body, entry), policy=policy)
    return apply_plan(request, entry, made), made


def _object(request: HttpRequest) -> dict[str, Json]:
    body = parse_json_or_none(request.body) if request.method == "POST" else None
    return body if isinstance(body, dict) else {}


def _entry(request: HttpRequest, policy: Policy) -> ModelEntry | None:
    url = request.url
    path = urlsplit(url).path
    wire = next((name for name in NAMES if get_dialect(name).service().matches_path(path)), None)
    model = get_dialect(wire).service().requested_model(request) if wire else None
    if wire is None or not model:
        return None
    known = _iter_known_entries(wire, model)
    for provider in (*_iter_providers_at(url, wire), *(entry.provider for entry in known)):
        return load_catalog().entry(f"{provider.name}:{model}", unknown=policy.unknown)
    return None


def _iter_providers_at(url: str, wire: str) -> Iterator[Provider]:
    """Yield the providers of this wire at this address, by the catalog or their own variable."""
    host = urlsplit(url).netloc
    for provider in load_catalog().catalog.providers.values():
        urls = [provider.url, *(environ.get(name, "") for name in provider.url_env)]
        if provider.dialect == wire and host in [urlsplit(each).netloc for each in urls]:
            yield provider


def _iter_known_entries(wire: str, model: str) -> Iterator[ModelEntry]:
    """Yield the known models of this name: its home's first, then any provider's on this wire."""
    try:
        home = load_catalog().entry(model)
    except UnknownModel:
        return
    if home.provider.dialect == wire:
        yield home
    for provider in load_catalog().catalog.providers.values():
        if provider.dialect == wire:
            entry = load_catalog().entry(f"{provider.name}:{model}")
            if not entry.inferred:
                yield entry


def _parse_parameters(
    request: HttpRequest, body: Mapping[str, Json], entry: ModelEntry
) -> RequestParameters:
    paths = entry.provider.parameters
    names = (name for name in ("max_tokens", *SAMPLING) if name in paths)
    values = {name: get_path(body, paths[name]) for name in names}
    numbers: dict[str, Any] = {
        name: value for name, value in values.items() if isinstance(value, int | float)
    }
    choice = "required" if _is_forced(request, entry) else "auto"
    return RequestParameters(**numbers, tools=bool(body.get("tools")), tool_choice=choice)


def _is_forced(request: HttpRequest, entry: ModelEntry) -> bool:
    """Return whether the service reads the request as a forced tool call."""
    try:
        choice = get_dialect(entry.provider.dialect).service().parse(request).request.tool_choice
    except Rejected:  # set the level all the same: the service reports the invalid body
        return False
    return choice is not None and choice.forced
