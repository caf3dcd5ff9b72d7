"""Whether a key may use an endpoint: what it lists, and what could pass its rules.

An endpoint that can hold a conversation, or whose use only the answer says, is closed to a key with
rules that could not hold there, unless the key names it. So is one that sends a text to a service
which a hook had to see.
"""

from collections.abc import Iterable, Iterator

from ...dialects import EndpointMatch
from ...errors import PermissionDenied
from ..config.model import GatewayKey, GatewayRoute
from ..hooks.bounded_call import BoundedHook
from ..quotas.quota import Holder
from ..server.context import Requester
from .endpoint_content import EndpointContent
from .hook_choice import matches, matches_model

_READING = frozenset(("GET", "DELETE"))  # methods that bring no text to a service


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
    hooks: Iterable[BoundedHook],
) -> None:
    """Raise PermissionDenied if rules of the key, its group, a route or a hook could not hold here.

    ``routes`` are all: a request without a model may be for the models of any. ``content`` is None
    before it is read.
    """
    endpoint, key = match.endpoint, requester.key
    if key is not None and key.endpoints is not None and endpoint.name in key.endpoints:
        return
    if (hook := _find_passed_hook(match, content, requester, route=route, hooks=hooks)) is not None:
        why = "sends texts that no hook sees"
        raise _make_closure(match, f"the gateway has the hook {hook.name!r}", why)
    has_model = bool(endpoint.model)
    own = [route] if route is not None else []
    if endpoint.optional_model and content is not None and content.model is None:
        own = list(routes)  # the service's default may be the model of any
    asked = own if has_model else list(routes)
    if endpoint.carries or _is_request_file(match, content):
        for holder, rule in _iter_rules(requester, asked, models=not has_model):
            if endpoint.lines is None or rule not in ("level rules", "models"):
                why = "could hold a conversation that passes it"
                raise _make_closure(match, f"{holder} has {rule}", why)
    if endpoint.counts == "answer":
        for holder, rule in _iter_rules(requester, own, models=False):
            if rule == "a budget":
                why = "has a use that is not known before"
                raise _make_closure(match, f"{holder} has {rule}", why)


def _find_passed_hook(
    match: EndpointMatch,
    content: EndpointContent | None,
    requester: Requester,
    *,
    route: GatewayRoute | None,
    hooks: Iterable[BoundedHook],
) -> BoundedHook | None:
    """Return a hook that has to see this client's requests, and would not see this one.

    A request without a model may be for any route; before the model is read, a hook of some routes
    is not asked about.
    """
    has_body = content is not None and bool(content.body or content.pieces)
    if match.call.partition(" ")[0] in _READING and not has_body:
        return None
    endpoint = match.endpoint
    model = content.model if content is not None else None
    names = (route.match,) if route is not None else _spell(match, model)
    is_unread = bool(endpoint.model) and (content is None or endpoint.model == "setup")
    for hook in hooks:
        if not hook.hook.sees_all or not matches(hook.config.keys, requester.name):
            continue
        routes = hook.config.routes
        if matches_model(routes, names):
            return hook
        if not names and not (routes and is_unread):
            return hook
    return None


def _spell(match: EndpointMatch, model: str | None) -> tuple[str, ...]:
    """Return the names of a model without a route, by any of which a hook may call it."""
    if model is None:
        return ()
    name = model.removeprefix(match.api.model_prefix)
    return (model, name, name.partition(":")[2] or name, name.partition("/")[0])


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
    if key is not None and models and key.models is not None:
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


def _make_closure(match: EndpointMatch, rule: str, why: str) -> PermissionDenied:
    name = match.endpoint.name
    message = (
        f"{name} is closed here: {rule}, and this endpoint {why}; the operator opens it with "
        f'endpoints = ["{name}"] under [[key]]'
    )
    return PermissionDenied(message, status=403)
