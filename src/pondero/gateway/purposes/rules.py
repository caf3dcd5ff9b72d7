"""Finds the rule for a request: by its purpose, its client, its model, its route and its key."""

from fnmatch import fnmatchcase

from msgspec import Struct
from msgspec.structs import replace

from ...canon import HttpRequest, Request
from ..config.model import MAIN, GatewayKey, PurposeRule, RuleMatch
from ..config.routing import ResolvedRoute, Routing
from .recognisers import find_client, find_purpose


class RequestPurpose(Struct, frozen=True):
    """What a request is for, who sends it, and the rule for such requests."""

    purpose: str = MAIN
    client: str | None = None
    rule: PurposeRule | None = None


def recognise_purpose(http: HttpRequest, request: Request) -> RequestPurpose:
    """Return what a request is for, without a rule."""
    client = find_client(http.headers.get("user-agent", ""))
    return RequestPurpose(find_purpose(client, http.headers, request), client)


def find_rule(
    routing: Routing, found: RequestPurpose, resolved: ResolvedRoute, key: GatewayKey | None
) -> tuple[RequestPurpose, ResolvedRoute]:
    """Return the purpose with its rule, and the models that the rule names in place of others."""
    for rule, entries in routing.rules:
        if _matches(rule.when, found, resolved, key):
            found = replace(found, rule=rule)
            return found, replace(resolved, entries=entries) if entries else resolved
    return found, resolved


def _matches(
    when: RuleMatch, found: RequestPurpose, resolved: ResolvedRoute, key: GatewayKey | None
) -> bool:
    if when.purpose is not None and when.purpose != found.purpose:
        return False
    if when.client is not None and when.client != found.client:
        return False
    names = (
        (when.model, resolved.name),
        (when.route, resolved.route.match if resolved.route is not None else None),
        (when.key, key.name if key is not None else None),
    )
    return all(
        pattern is None or (name is not None and (name == pattern or fnmatchcase(name, pattern)))
        for pattern, name in names
    )
