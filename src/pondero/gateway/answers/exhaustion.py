"""Asks again for an answer that was all thinking: with more room, else one level lower."""

from msgspec.structs import replace

from ...canon import Reply
from ...catalog import ModelEntry
from ...errors import PonderoError
from ...thinking import LEVELS, Adjustment
from ..quotas.output_bound import count_answers
from ..requests.attempt import Attempt, make_attempt
from ..requests.routed_request import RoutedRequest
from ..server.context import GatewayContext

EXHAUSTED, RETRIED = "exhausted", "exhausted_retry"
"""The codes of the two adjustments."""


def asks_again(routed: RoutedRequest) -> bool:
    """Return whether a route asks once more for an answer that is all thinking."""
    route = routed.resolved.route
    return route is not None and route.on_exhausted == "retry"


def make_retry(
    gateway: GatewayContext, routed: RoutedRequest, attempt: Attempt, reply: Reply
) -> tuple[RoutedRequest, Attempt] | None:
    """Return the request to send after an answer that was all thinking; None if it is told.

    There is one retry. Under a quota of tokens or cost it has no more room, because that much is
    reserved. Of several answers the others may be whole, so they are not asked for again.
    """
    if reply.verdict != EXHAUSTED or routed.is_retry or not asks_again(routed):
        return None
    entry = attempt.entry
    if count_answers(routed, entry) > 1:
        return None
    limit = _find_limit(routed, entry, reply)
    if limit is not None:
        request = replace(routed.request, max_tokens=limit)
        again = replace(routed, request=request, output_limit=limit, is_retry=True)
        note = _note("max_tokens", routed.request.max_tokens, limit, "it has more room now")
        return _attempt(gateway, again, entry, note)
    lower = _find_lower(entry, attempt.exchange.plan.level)
    if lower is None:
        return None
    found = _attempt(
        gateway,
        replace(routed, lowered_to=lower, is_retry=True),
        entry,
        _note("thinking", attempt.exchange.plan.level, lower, "no more room is to be had"),
    )
    if found is not None and found[1].exchange.plan.level == attempt.exchange.plan.level:
        return None  # a floor allows nothing lower
    return found


def _attempt(
    gateway: GatewayContext, routed: RoutedRequest, entry: ModelEntry, note: Adjustment
) -> tuple[RoutedRequest, Attempt] | None:
    try:
        attempt = make_attempt(gateway, routed, entry)
    except PonderoError:
        return None
    plan = attempt.exchange.plan
    plan = replace(plan, adjustments=(*plan.adjustments, note))
    return routed, replace(attempt, exchange=replace(attempt.exchange, plan=plan))


def _note(name: str, before: int | str | None, after: int | str, why: str) -> Adjustment:
    return Adjustment(RETRIED, name, before, after, f"the first answer was all thinking; {why}")


def _find_limit(routed: RoutedRequest, entry: ModelEntry, reply: Reply) -> int | None:
    """Return a higher output limit that model and context have room for; None if there is none."""
    before, wanted = routed.request.max_tokens, reply.cap
    if before is None or wanted is None or routed.rules.counts:
        return None
    usage = reply.usage
    prompt = (usage.input or 0) + (usage.cache_read or 0) + (usage.cache_write or 0)
    rooms = [wanted, entry.max_output, entry.context - prompt if entry.context else None]
    limit = min(room for room in rooms if room is not None)
    return limit if limit > before else None


def _find_lower(entry: ModelEntry, level: str | None) -> str | None:
    """Return the level of a model below this one; None if there is none."""
    levels = [each for each in LEVELS if each in entry.capability.levels]
    below = levels[: levels.index(level)] if level in levels else []
    return below[-1] if below else None
