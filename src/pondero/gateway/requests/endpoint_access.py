"""Whether a key may use an endpoint: what it lists, and what could pass its rules.

An endpoint that can hold a conversation, or whose use only the answer says, is closed to a key with
rules that could not hold there, unless the key names it.
"""

from collections.abc import Iterable, Iterator

from ...dialects import EndpointMatch
from ...errors import PermissionDenied
from ..config.model import GatewayKey, GatewayRoute
from ..quotas.quota import Holder
from ..server.context import Requester
from .endpoint_content import EndpointContent


def check_listed(match: EndpointMatch, key: GatewayKey | None) -> None:
    """Raise PermissionDenied if the key lists other endpoints."""
    name = match.endpoint.name
    if key is not None and key.endpoints is not None and name not in key.endpoints:
        message = (
            f"the key {key.name!r} may not use {name}; the operator opens it with "
            f'endpoints = ["{name}"] under [[key]]'
        )
        raise PermissionDenied(message, status=403)


def check_rules(
    match: EndpointMatch,
    content: EndpointContent | None,
    requester: Requester,
    *,
    route: GatewayRoute | None,
    routes: Iterable[GatewayRoute],
) -> None:
    """Raise PermissionDenied if rules of the key, its group or a route could not hold here.

    ``routes`` are all: a request without a model may be for the models of any. ``content`` is None
    before it is read.
    """
    endpoint, key = match.endpoint, requester.key
    if key is not None and key.endpoints is not None and endpoint.name in key.endpoints:
        return
    has_model = bool(endpoint.model)
    own = [route] if route is not None else []
    asked = own if has_model else list(routes)
    if endpoint.carries or _is_request_file(match, content):
        for holder, rule in _iter_rules(requester, asked, models=not has_model):
            if endpoint.lines is None or rule not in ("level rules", "models"):
                raise _make_closure(match, holder, rule, "could hold a conversation that passes")
    if endpoint.counts == "answer":
        for holder, rule in _iter_rules(requester, own, models=False):
            if rule == "a budget":
                raise _make_closure(match, holder, rule, "has a use that is not known before")


def _is_request_file(match: EndpointMatch, content: EndpointContent | None) -> bool:
    """Return whether a file is uploaded that has requests in it, or may have."""
    purpose = match.endpoint.purpose
    if content is None or purpose is None or purpose.call != match.call:
        return False
    return content.fields.get(purpose.field) not in purpose.values


def _iter_rules(
    requester: Requester, routes: Iterable[GatewayRoute], *, models: bool
) -> Iterator[tuple[str, str]]:
    """Yield who has a rule, and what kind it is."""
    key, group = requester.key, requester.group
    if key is not None and models and key.models:
        yield f"the key {key.name!r}", "models"
    named: list[tuple[str, Holder]] = []
    if key is not None:
        named.append((f"the key {key.name!r}", key))
    if group is not None:
        named.append((f"the group {group.name!r}", group))
    named += [(f"the route {route.match!r}", route) for route in routes]
    for holder, row in named:
        if row.thinking.binds:
            yield holder, "level rules"
        if row.budget is not None:
            yield holder, "a budget"
        if row.limit is not None:
            yield holder, "a rate limit"


def _make_closure(match: EndpointMatch, holder: str, rule: str, why: str) -> PermissionDenied:
    name = match.endpoint.name
    message = (
        f"{name} is closed here: {holder} has {rule}, and this endpoint {why}"
        f"{' it' if why.endswith('passes') else ''}; the operator opens it with "
        f'endpoints = ["{name}"] under [[key]]'
    )
    return PermissionDenied(message, status=403)
