"""Keeps the prompt cache when the level changes: the request states the level it began with.

A service renders the level of a request into the beginning of the prompt, so another level there
costs the whole cache. Some models take a level inside the conversation instead (wires/in-band).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec.structs import replace

from ...canon import (
    Json,
    LevelUpdate,
    Message,
    Request,
    Text,
    Thinking,
    ToolResult,
    UnknownPart,
    get_path,
    merge_json,
)
from ...catalog import ModelEntry
from ...dialects import LOST
from ...errors import BadThinking
from ...thinking import (
    UNSET,
    Adjustment,
    Intent,
    Plan,
    Policy,
    RequestParameters,
    depth_paths,
    parse_intent,
)
from ..planner import plan as make_plan
from ..token_estimate import estimate_tokens
from .draft import LevelWindow, RequestDraft
from .history import retell_part

_WORDS = 4096
_QUESTION = Message("user", (Text("?"),))


def find_stated_window(
    entry: ModelEntry, messages: Sequence[Message], policy: Policy
) -> LevelWindow | None:
    """Return the window that a conversation with this model is in; None before its first answer.

    Another model, a compaction, or a level that no update explains begins a new one.
    """
    found: LevelWindow | None = None
    update: LevelUpdate | None = None
    heard = False  # whether the user said something since the update
    for number, message in enumerate(messages):
        if message.level_update is not None:
            update, heard = message.level_update, False
        elif message.role == "user":
            heard = heard or has_input(message)
        elif message.role == "assistant" and (origin := message.origin) is not None:
            here = (origin.provider, origin.model) == (entry.provider.name, entry.model)
            level = origin.level
            stays = found is not None and level == _expect(entry, found, update, policy)
            if not here:
                found = None
            elif stays and (update is None or heard) and not _holds_history(message):
                found = LevelWindow(found.base, level, found.start) if found else None
            else:
                found = LevelWindow(level, level, number)
            update = None
    if found is None or update is None:
        return found
    return replace(found, level=_find_level(entry, update.level, policy))


def _expect(
    entry: ModelEntry, window: LevelWindow, update: LevelUpdate | None, policy: Policy
) -> str | None:
    if update is None:
        return window.level
    level = _find_level(entry, update.level, policy)
    inside = {window.base, level} <= set(entry.capability.efforts)
    return level if inside else ""  # never an answer's level


def has_input(message: Message) -> bool:
    """Return whether a user's message is more than results of tools."""
    return any(not isinstance(part, ToolResult) for part in message.parts)


def _holds_history(message: Message) -> bool:
    """Return whether the conversation before an answer is inside it: it was compacted."""
    parts = (part for part in message.parts if isinstance(part, UnknownPart))
    return any(retell_part(part) == LOST for part in parts)


@lru_cache(_WORDS)
def _find_level(entry: ModelEntry, text: str, policy: Policy) -> str | None:
    """Return the model's level for a requested one, whatever else a request has."""
    return _plan_level(entry, text, RequestParameters(), policy).level


def _plan_level(
    entry: ModelEntry, text: str | None, asked: RequestParameters, policy: Policy
) -> Plan:
    rules = policy.but(unsupported="adjust")
    return make_plan(entry, _read_intent(entry, text), asked=asked, policy=rules)


def _read_intent(entry: ModelEntry, text: str | None) -> Intent:
    try:
        return parse_intent(text, words=entry.capability.extra_words)
    except BadThinking:  # a level that an older catalog had
        return UNSET


# -- for the writers of a history ----------------------------------------------------------------


def add_update(
    entry: ModelEntry,
    plan: Plan,
    history: Sequence[Message],
    prompt: Sequence[Message],
    *,
    policy: Policy,
    extras: Mapping[str, Json] | None = None,
) -> tuple[Message, ...]:
    """Return the prompt, with an update before it if the level changes inside the conversation.

    It takes effect only with something new from the user: not with results of tools alone.
    """
    whole = tuple(prompt)
    if not entry.takes_level_turns or not whole or not has_input(whole[-1]):
        return whole
    window = find_stated_window(entry, history, policy)
    if window is None or whole[-1].role != "user" or window.level == plan.level:
        return whole
    if not can_state_inside(entry, (window.base, plan.level), extras):
        return whole
    text = plan.level if plan.asked is None else str(plan.asked)
    if _find_level(entry, text or "", policy) != plan.level:  # auto: the level that was found
        text = plan.level
    return (*whole[:-1], Message("system", (LevelUpdate(text or ""),)), whole[-1])


def can_state_inside(
    entry: ModelEntry, levels: Iterable[str | None], extras: Mapping[str, Json] | None
) -> bool:
    """Return whether these levels can be said inside a conversation, in such a request."""
    words = entry.capability.efforts
    if not entry.takes_level_turns or any(level not in words for level in levels):
        return False
    return not any(_has_field(extras or {}, field) for field in entry.provider.in_band_without)


def _has_field(extras: Mapping[str, Json], field: str) -> bool:
    path, equals, value = field.partition("=")
    found = get_path(extras, tuple(path.split(".")))
    return found == value if equals else bool(found)


def preview_level(
    entry: ModelEntry,
    plan: Plan,
    history: Sequence[Message],
    *,
    policy: Policy,
    last_prompt: int | None = None,
) -> Adjustment | None:
    """Return what a request at this level would do to the cache; None if nothing changes."""
    window = find_stated_window(entry, history, policy)
    if window is None or window.level == plan.level:
        return None
    if len(add_update(entry, plan, history, (_QUESTION,), policy=policy)) > 1:
        return _make_kept(plan, window)
    before = _plan_level(entry, window.base, RequestParameters(), policy)
    if before.fields == plan.fields:
        return None
    return _make_lost(plan, window, Request("", tuple(history)), last_prompt)


# -- steps of ``prepare`` ------------------------------------------------------------------------


def find_level_window(draft: RequestDraft) -> RequestDraft:
    """Find which levels this model's earlier requests stated."""
    messages = draft.request.messages
    # Answers that came back through a client of the gateway do not say their level; the gateway
    # keeps the levels of such a conversation itself.
    if draft.retells or not any(message.origin is not None for message in messages):
        return draft
    draft = draft.but(window=find_stated_window(draft.entry, messages, draft.policy))
    return _drop_bound_thinking(draft) if draft.entry.binds_prefix else draft


def _drop_bound_thinking(draft: RequestDraft) -> RequestDraft:
    """Leave out thinking that is bound to a beginning with updates that are no longer sent."""
    window, messages = draft.window, draft.request.messages
    first = next((n for n, message in enumerate(messages) if message.level_update), None)
    if first is None:
        return draft
    states = window is not None and _make_base_fields(draft, window) is not None
    end = window.start if states and window is not None else len(messages)
    kept = tuple(
        _without_thinking(message) if first < number < end else message
        for number, message in enumerate(messages)
    )
    dropped = sum(one is not other for one, other in zip(kept, messages, strict=True))
    if not dropped:
        return draft
    why = "its signature covers a change of level that is not sent any more"
    note = Adjustment("signature_withheld", "history", dropped, None, why)
    return draft.but(request=replace(draft.request, messages=kept)).note(note)


def _without_thinking(message: Message) -> Message:
    parts = tuple(part for part in message.parts if not isinstance(part, Thinking))
    same = len(parts) == len(message.parts) or message.role != "assistant"
    return message if same else replace(message, parts=parts)


def place_level(draft: RequestDraft) -> RequestDraft:
    """State the level that the conversation began with, or say that its cache is lost."""
    window, request, plan = draft.window, draft.request, draft.plan
    if window is None:
        return draft
    updates = any(message.level_update for message in request.messages)
    if updates and (fields := _make_base_fields(draft, window)) is not None:
        messages = tuple(_fit_updates(draft, window))
        return draft.but(
            request=replace(request, messages=messages), plan=replace(plan, fields=fields)
        ).note(_make_kept(plan, window))
    if updates:
        bare = tuple(message for message in request.messages if not message.level_update)
        draft = draft.but(request=replace(request, messages=bare))
    return _note_loss(draft, window) if updates or window.base != plan.level else draft


def _make_base_fields(draft: RequestDraft, window: LevelWindow) -> dict[str, Json] | None:
    """Return the plan's fields with the level of the window; None if they cannot go together."""
    entry, plan, request = draft.entry, draft.plan, draft.request
    if window.level != plan.level or not _is_in_effect(request.messages):
        return None
    if not can_state_inside(entry, (window.base, window.level), request.extras):
        return None
    base = _plan_level(entry, window.base, draft.parameters, draft.policy)
    if base.level != window.base:  # this request could not be sent at that level
        return None
    fields = plan.fields
    for path in depth_paths(entry.placement):
        value = get_path(base.fields, path)
        for key in reversed(path):
            value = {key: value}
        if get_path(base.fields, path) is not None:
            fields = merge_json(fields, value)
    return fields


def _is_in_effect(messages: Sequence[Message]) -> bool:
    """Return whether the user said something after the last update."""
    for message in reversed(messages):
        if message.level_update is not None:
            return False
        if message.role == "user" and has_input(message):
            return True
    return False


def _fit_updates(draft: RequestDraft, window: LevelWindow) -> Iterator[Message]:
    """Yield the messages with updates in the model's words, and none that changes nothing."""
    words, level, waiting = draft.entry.placement.words, window.base, window.base
    for message in draft.request.messages:
        if (update := message.level_update) is not None:
            waiting = _find_level(draft.entry, update.level, draft.policy)
            continue
        if waiting != level and waiting is not None:
            yield Message("system", (LevelUpdate(words.get(waiting, waiting)),))
            level = waiting
        yield message


def _note_loss(draft: RequestDraft, window: LevelWindow) -> RequestDraft:
    plan = draft.plan
    before = _plan_level(draft.entry, window.base, draft.parameters, draft.policy)
    if before.fields == plan.fields and window.level == plan.level:
        return draft
    return draft.note(_make_lost(plan, window, draft.request, draft.last_prompt))


def _make_kept(plan: Plan, window: LevelWindow) -> Adjustment:
    why = (
        f"{plan.level} is set inside the conversation; the request still says {window.base}, so "
        "that the prompt stays in the cache"
    )
    return Adjustment("cache_kept", "cache", plan.level, "kept", why)


def _make_lost(
    plan: Plan, window: LevelWindow, request: Request, last_prompt: int | None
) -> Adjustment:
    tokens, about = last_prompt, ""
    if tokens is None:
        tokens, about = estimate_tokens(_cut_at_last_answer(request)), "about "
    why = (
        f"the request says {plan.level or 'nothing'} instead of {window.base or 'nothing'}, which "
        f"changes the beginning of the prompt: {about}{tokens:,} tokens are written again"
    )
    return Adjustment("cache_lost", "cache", "kept", tokens, why)


def _cut_at_last_answer(request: Request) -> Request:
    """Return what the last request had: everything before the last answer."""
    answers = [n for n, message in enumerate(request.messages) if message.role == "assistant"]
    return replace(request, messages=request.messages[: answers[-1]] if answers else ())
