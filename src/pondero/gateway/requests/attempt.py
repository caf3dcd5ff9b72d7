"""One model about to be asked: the request to it, on one of the two roads, and why it is so.

``answers`` makes a job for each model of a route in turn, ``counts`` for the first.
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import pairwise

import msgspec
from msgspec import Struct

from ...canon import Json, Message, Request, Thinking, ToolResult
from ...catalog import Lookup, ModelEntry
from ...dialects import ParsedRequest
from ...errors import UsageError
from ...exchange import (
    Exchange,
    add_cache_breakpoints,
    matches_plan,
    prepare,
    thinking_paths,
    with_fields,
)
from ...exchange import plan as make_plan
from ...store import load_catalog, resolve_auto
from ...thinking import Adjustment, Intent, Plan, Policy, RequestParameters
from ..server.context import GatewayContext
from ..signatures import envelope
from .level_rules import AppliedLevel, decide
from .passthrough import is_exact, readdress, template_of, with_own
from .routed_request import RoutedRequest


class Attempt(Struct, frozen=True, kw_only=True):
    """One model about to be asked; ``passes`` is whether bytes pass as they are."""

    entry: ModelEntry
    exchange: Exchange
    decided: AppliedLevel
    passes: bool


def job_for(gate: GatewayContext, question: RoutedRequest, entry: ModelEntry) -> Attempt:
    """Return the request to one model; raises UsageError where it cannot be asked so."""
    call, parsed, request = question.call, question.parsed, question.request
    policy, asked = _policy(question), _asked(request)
    decided, plan = plan_attempt(question, entry)
    url, key = gate.address(entry.provider)
    if _passes(question, entry):
        untouched = _is_as_asked(question, decided, plan, entry)
        template = template_of(entry, stream=request.stream, url=url, key=key)
        exchange = readdress(
            call.http, question.service.passthrough, entry, plan, template, untouched=untouched
        )
        return Attempt(entry=entry, exchange=exchange, decided=decided, passes=True)
    own = _is_own(question, entry)
    request, notes = _without_own(request, parsed, call.client_dialect)
    if own:  # its wire has those fields too; what they say of thinking, the plan says
        extras = _unthinking(parsed.request.extras, entry, plan)
        notes = [note for note in notes if note.what in parsed.unknown]
        request = msgspec.structs.replace(request, extras=extras)
    prepared = prepare(
        entry,
        add_cache_breakpoints(entry, request),
        msgspec.structs.replace(plan, adjustments=(*plan.adjustments, *notes)),
        asked=asked,
        policy=policy,
        url=url,
        key=key,
        at=gate.now(),
        refusals=gate.refusals,
        retells=True,
    )
    exchange = prepared.exchange
    if own:
        exchange = with_own(exchange, call.http, question.service.passthrough)
    return Attempt(entry=entry, exchange=exchange, decided=decided, passes=False)


def plan_attempt(question: RoutedRequest, entry: ModelEntry) -> tuple[AppliedLevel, Plan]:
    """Return what the dial decides for one model, and the plan for it; raises UsageError."""
    route, key = question.resolved.route, question.call.who.key
    rules = [route.thinking] if route else []
    if key is not None:
        rules.append(key.thinking)
    policy = _policy(question)
    found = partial(resolve_auto, entry, policy=policy)
    decided = decide(question.requested_level, entry.capability, rules, settled=found)
    return decided, _planned(entry, decided.intent, _asked(question.request), policy)


def _planned(entry: ModelEntry, intent: Intent, asked: RequestParameters, policy: Policy) -> Plan:
    """Return the plan; the same few questions come again and again."""
    if intent.fields is not None:  # the client's own fields: of those no two are alike
        return make_plan(entry, intent, asked=asked, policy=policy)
    return _remembered(entry, intent, asked, policy)


@lru_cache(maxsize=1024)
def _remembered(
    entry: ModelEntry, intent: Intent, asked: RequestParameters, policy: Policy
) -> Plan:
    return make_plan(entry, intent, asked=asked, policy=policy)


def _passes(question: RoutedRequest, entry: ModelEntry) -> bool:
    """Return whether the body can pass: the same wire, and nothing of another maker in it."""
    if not _is_own(question, entry) or envelope.is_in(question.call.http.body):
        return False
    came = question.parsed.request.messages
    if any(one.role == other.role == "assistant" for one, other in pairwise(came)):
        return False  # one answer in several messages, as some clients keep it: it must be joined
    if _results(came) != _results(question.request.messages):
        return False  # a result was sent twice
    seals_calls = question.service.slots.call is not None
    if seals_calls and _sealed(came) < _sealed(question.request.messages):
        return False  # the client lost the seal of a call, and the memory has it
    return not any(_is_foreign(message, entry) for message in question.request.messages)


def _is_own(question: RoutedRequest, entry: ModelEntry) -> bool:
    """Return whether a model speaks the client's own wire, and the body may be meant for it."""
    named = question.resolved.name
    return is_exact(question.call.client_dialect, entry) and _is_meant(load_catalog(), named, entry)


def _results(messages: Sequence[Message]) -> int:
    return sum(isinstance(part, ToolResult) for message in messages for part in message.parts)


def _sealed(messages: Sequence[Message]) -> int:
    return sum(call.signature is not None for message in messages for call in message.tool_calls)


@lru_cache(maxsize=1024)
def _is_meant(finder: Lookup, said: str, entry: ModelEntry) -> bool:
    """Return whether a body may have been written for this model.

    One that names another model of the same provider may have fields that this one refuses. A name
    that only this gateway knows says nothing.
    """
    try:
        named = finder.entry(f"{entry.provider.name}:{said}", unknown="error")
    except UsageError:
        return True
    return named.family == entry.family


def _is_foreign(message: Message, entry: ModelEntry) -> bool:
    """Return whether an answer holds thinking or seals of another model."""
    origin = message.origin
    if origin is None or (origin.provider, origin.model) == (entry.provider.name, entry.model):
        return False
    return any(
        isinstance(part, Thinking)
        or (not isinstance(part, ToolResult) and part.signature is not None)
        for part in message.parts
    )


def _is_as_asked(
    question: RoutedRequest, decided: AppliedLevel, plan: Plan, entry: ModelEntry
) -> bool:
    """Return whether the client's own thinking fields can stay as they are.

    Of a model that nobody knows, the client may know more than the plan.
    """
    own = decided.why is None and decided.requested_level.said_in in ("body", "unset")
    named = question.parsed.request.model == entry.model
    if not own or not named or plan.adjustments:
        return False
    return entry.inferred or matches_plan(question.call.http.body, entry, plan)


def _policy(question: RoutedRequest) -> Policy:
    route = question.resolved.route
    return _POLICIES[bool(route and route.strict), question.parsed.show is False]


_POLICIES = {
    (strict, hidden): Policy(
        unsupported="strict" if strict else "adjust", show="none" if hidden else "auto"
    )
    for strict in (False, True)
    for hidden in (False, True)
}


def _asked(request: Request) -> RequestParameters:
    choice = request.tool_choice
    return RequestParameters(
        max_tokens=request.max_tokens,
        temperature=request.temperature,
        top_p=request.top_p,
        top_k=request.top_k,
        tools=bool(request.tools),
        tool_choice=(choice.name or choice.mode) if choice else "auto",
    )


def _without_own(
    request: Request, parsed: ParsedRequest[Json], front: str
) -> tuple[Request, list[Adjustment]]:
    """Return the request without fields that only the front's wire has, each with a note."""
    names = [*(request.extras or ()), *parsed.unknown]
    why = f"only the wire that the client speaks ({front}) has it"
    notes = [Adjustment("dropped_parameter", name, "set", None, why) for name in names]
    choice = request.tool_choice if request.tools else None  # no wire takes one without tools
    return msgspec.structs.replace(request, extras=None, tool_choice=choice), notes


def _unthinking(extras: Json, entry: ModelEntry, plan: Plan) -> Json:
    """Return fields beside the conversation without those that say how a model thinks."""
    if not extras:
        return None
    without = with_fields(msgspec.json.encode(extras), thinking_paths(entry, plan), {})
    return msgspec.json.decode(without) or None
