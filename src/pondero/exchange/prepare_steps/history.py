"""Steps of ``prepare`` that fit the conversation to the model that will read it."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Literal

from msgspec.structs import replace

from ...canon import Json, Message, ReplayRules, UnknownPart
from ...catalog import ModelEntry, Provider
from ...dialects import NAMES, Caller, Told, get_dialect
from ...errors import BadParameter, Unsupported
from ...handoff import (
    BEGINNING,
    BOUND_ELSEWHERE,
    EMULATED_ELSEWHERE,
    FOLDED,
    HISTORY_LOST,
    MOVED,
    MOVED_OUT,
    NOT_EMULATED,
    REFUSED,
    RETOLD,
    UNASKED,
    UNCITED,
    UNREADABLE,
    UNSEEN,
    UNTOLD,
    Destination,
    continue_handoff,
    handoff,
    retell_calls,
    retell_open_loop,
)
from ...thinking import OFF, Adjustment, Capability, Plan, Policy
from ..planner import plan as make_plan
from .draft import RequestDraft
from .rejections import rejected_signatures

_NONE: frozenset[str] = frozenset()
_MODELS = 512  # a gateway that serves every model of the catalog stays below this
_ReadRules = Callable[[Mapping[str, Json]], ReplayRules]


def hand_off_history(draft: RequestDraft) -> RequestDraft:
    """Rewrite the messages for this model; withhold signatures that it rejected before."""
    rejected = rejected_signatures(draft.rejections) if draft.rejections else _NONE
    destination = make_destination(
        draft.entry,
        draft.policy,
        refused=rejected,
        emulator=draft.emulator,
        updates_from=draft.window.start if draft.window is not None else None,
    )
    if draft.views is None:
        view = handoff(draft.request.messages, destination)
    else:
        view = continue_handoff(draft.request.messages, destination, draft.views)
    request = replace(draft.request, model=draft.entry.model, messages=view.messages)
    if view.lead:
        request = replace(request, system=(*request.system, *view.lead))
    return replace(draft, request=request, view=view, replay_rules=destination.takes)


def resolve_open_loop(draft: RequestDraft) -> RequestDraft:
    """Retell an open tool loop that another model began, or switch thinking off for it."""
    plan = draft.plan
    if not needs_thinking_first(draft.entry, plan) or not draft.view.open_loop_without_thinking:
        return draft
    if draft.retells:
        messages = retell_open_loop(draft.request.messages)
        why = "another model began the open tool loop; sent as text, it lets this model think"
        note = Adjustment("tool_loop_retold", "messages", "calls and results", "a note", why)
        return draft.but(request=replace(draft.request, messages=messages)).note(note)
    rules = draft.policy.but(unsupported="adjust")
    without = make_plan(draft.entry, OFF, asked=draft.parameters, policy=rules)
    why = "a tool loop is open that was begun without thinking; this model thinks again after it"
    note = Adjustment("open_tool_loop", "level", plan.asked, "off", why)
    return draft.but(plan=replace(without, asked=plan.asked)).note(note)


def needs_thinking_first(entry: ModelEntry, plan: Plan) -> bool:
    """Return whether the service rejects an open tool loop that does not begin with thinking."""
    # Anthropic, extended thinking with tool use: a tool loop must begin with a thinking block.
    facts = entry.capability
    return plan.budget is not None and facts.off and facts.replay in ("tools", "required")


def retell_all_calls(draft: RequestDraft) -> RequestDraft:
    """Tell earlier calls and results in words to a model that takes none."""
    messages = draft.request.messages
    if draft.replay_rules.calls or not any(message.tool_calls for message in messages):
        return draft
    why = "this model takes no tool calls; earlier ones and their results are sent as text"
    note = Adjustment("calls_retold", "messages", "calls and results", "text", why)
    request = replace(draft.request, messages=retell_calls(messages))
    return draft.but(request=request).note(note)


def require_turn(draft: RequestDraft) -> RequestDraft:
    """Make the system prompt a user turn where it may not stand alone; raise if nothing is left."""
    request, lead = draft.request, draft.view.lead
    for message in request.messages:
        if message.role != "system":
            return draft
    if not request.system:
        why = (
            f"nothing of this conversation can be sent to {draft.entry.id}: "
            "its parts are empty, or only another service can read them"
        )
        raise BadParameter(why)
    if not draft.replay_rules.needs_turn:
        return draft
    told = lead or request.system
    rest = request.system[: len(request.system) - len(told)]
    request = replace(request, system=rest, messages=(Message("user", told),))
    return draft.but(request=request).note(_WITHHELD[FOLDED])


TURN_ADDED = Adjustment(
    "turn_added",
    "messages",
    None,
    "a user turn",
    "the service answers no conversation that has none, or that another begins",
)
_WITHHELD = {
    EMULATED_ELSEWHERE: Adjustment(
        "emulated_thread",
        "history",
        "replayed",
        "withheld",
        "the emulator wrote earlier answers; what it signed in them is not sent to the service",
    ),
    NOT_EMULATED: Adjustment(
        "emulated_thread",
        "history",
        "replayed",
        "withheld",
        "a service wrote earlier answers; what it signed in them is not sent to the emulator",
    ),
    BOUND_ELSEWHERE: Adjustment(
        "account_moved",
        "history",
        "replayed",
        "withheld",
        "another account of the provider made it, and the service takes it from that one alone",
    ),
    REFUSED: Adjustment(
        "seal_refused",
        "thinking",
        "replayed",
        "dropped",
        "earlier thinking was not accepted by the service before; it is not sent again",
    ),
    UNSEEN: Adjustment(
        "medium_unseen",
        "media",
        "shown",
        "described",
        "this model takes no such picture or file; a description is sent instead",
    ),
    MOVED_OUT: Adjustment("medium_moved", "media", "in an error", "after the results", MOVED_OUT),
    BEGINNING: TURN_ADDED,
    MOVED: Adjustment("system_turn_moved", "messages", "system turn", "after a user turn", MOVED),
    RETOLD: Adjustment(
        "calls_retold",
        "messages",
        "results of a service's own tools",
        "text",
        "another service ran these tools; their results are sent as text",
    ),
    UNREADABLE: Adjustment(
        "dropped_parameter",
        "messages",
        "parts of another service",
        None,
        "only the service that made them can read them",
    ),
    UNCITED: Adjustment("dropped_parameter", "citations", "set", None, UNCITED),
    UNTOLD: Adjustment("dropped_parameter", "context", "set", None, UNTOLD),
    UNASKED: Adjustment(
        "dropped_parameter", "messages", "a tool result", None, "no call before it asked for it"
    ),
    FOLDED: Adjustment("system_turn_folded", "messages", "system turn", "in a user turn", FOLDED),
}


def note_withheld(draft: RequestDraft) -> RequestDraft:
    """Note parts that the service's rules withheld; other models' thinking is in the manifest."""
    if not draft.view.manifest.changes:
        return draft
    whys = {change.why for change in draft.view.manifest.changes}
    if HISTORY_LOST in whys:
        raise BadParameter(
            f"the conversation was compacted by another service, and {draft.entry.id} cannot read "
            "what it was before; send the conversation itself, or ask a model of that service"
        )
    return draft.note(*(note for why, note in _WITHHELD.items() if why in whys))


# -- the reader of a thread ----------------------------------------------------------------------


def make_destination(
    entry: ModelEntry,
    policy: Policy,
    *,
    refused: frozenset[str] = _NONE,
    emulator: str | None = None,
    updates_from: int | None = None,
) -> Destination:
    """Describe the model that will read a thread; ``refused``: digests of rejected signatures.

    ``emulator``: as ``find_emulator`` returns it. ``updates_from``: where its window begins, if it
    takes a level inside the conversation.
    """
    rules = find_caller(entry.provider).replay_rules
    usual = _destination(entry, policy.foreign, rules, emulator)
    if updates_from is not None and entry.takes_level_turns:
        usual = replace(usual, updates_from=updates_from)
    return replace(usual, refused=refused) if refused else usual


@lru_cache(_MODELS)
def _destination(
    entry: ModelEntry,
    foreign: Literal["drop", "note"],
    read_rules: _ReadRules,
    emulator: str | None,
) -> Destination:
    provider = entry.provider
    return Destination(
        dialect=provider.dialect,
        model=entry.model,
        provider=provider.name,
        route=provider.name,
        aliases=tuple(name for name, model in provider.aliases.items() if model == entry.model),
        foreign=foreign,
        retell=retell_part,
        emulator=emulator,
        reads_of=entry.reads_of,
        takes=_limit_turns(
            _limit_media(read_rules(entry.quirks), entry.capability.media), entry.capability
        ),
    )


def retell_part(part: UnknownPart) -> Told | None:
    """Return what a part of another service's own tools says; None if it cannot be told."""
    if part.dialect not in NAMES or not isinstance(part.raw, Mapping):
        return None
    retell = get_dialect(part.dialect).caller().retell
    return retell(part.raw) if retell is not None else None


def _limit_turns(rules: ReplayRules, facts: Capability) -> ReplayRules:
    if rules.system_turns == "after_user" and not facts.system_turns:
        return replace(rules, system_turns="lead")
    return rules


def _limit_media(rules: ReplayRules, media: tuple[str, ...] | None) -> ReplayRules:
    if media is None:
        return rules
    return replace(
        rules,
        media=_intersect(rules.media, media),
        result_media=_intersect(rules.result_media, media),
        spoken_media=_intersect(rules.spoken_media, media),
    )


def _intersect(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    pairs = [(a, b) for a in first for b in second if a.startswith(b) or b.startswith(a)]
    return tuple(max(pair, key=len) for pair in pairs)


def find_caller(provider: Provider) -> Caller:
    """Return the client side of a provider's API; raises Unsupported if it can only be planned."""
    if provider.dialect in NAMES:
        return get_dialect(provider.dialect).caller()
    message = (
        f"{provider.label} speaks {provider.dialect!r}, which pondero can plan for but not "
        f"call yet; these can: {' '.join(NAMES)}"
    )
    raise Unsupported(message)
