"""``/model``, ``/thinking`` and the picker: another model or level, and what that means."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ....canon import Usage
from ....catalog import ModelEntry
from ....errors import PonderoError
from ....thinking import BENIGN, Plan, percent_of_output
from ..catalog_view import DialView
from ..cells import Tone
from ..effects import CheckKey, Effects, Handoff, NoteModel, Transition
from ..state import ChatState, PickerState, SentPlan

_BUDGET = re.compile(r"\s*--(?:thinking-)?budget[= ]\s*(\S+)")


def model_command(state: ChatState, argument: str, dial: DialView) -> Transition:
    """Switch to another model; without a name, open the list of models."""
    if not argument:
        entry = dial.entry(state.model)
        level = describe_level(state.plan, entry)
        here = f"now {entry.provider.label} {entry.model}, thinking {level}"
        return state.but(choosing=PickerState("model", here, ())), ()
    budget = _BUDGET.search(argument)
    name, level_text = dial.split(_BUDGET.sub("", argument).strip())
    level_text = budget[1] if budget else level_text or state.level_text
    changed = switch_model(state, name, level_text, dial)
    entry = dial.entry(name)
    said = changed.tell(*describe_switch(entry, changed.plan), tone=_tone(changed))
    if waiting := len(state.queue):
        goes = "prompts go" if waiting > 1 else "prompt goes"
        said = said.but(hint=f"{waiting} waiting {goes} to {changed.name}; ↑ takes one back")
    return said, (CheckKey(name), *_switch_effects(state, changed))


def thinking(state: ChatState, argument: str, dial: DialView) -> Transition:
    """Change the level; without one, open the picker."""
    if not argument:
        return offer(state, dial), ()
    changed = switch_model(state, state.model, argument, dial)
    entry = dial.entry(state.model)
    first, *rest = meaning(entry, changed.plan)
    lines = (f"✓{first[1:]}" if not first.startswith("  ⚠") else first, *rest)
    return changed.tell(*lines, tone=_tone(changed)), _switch_effects(state, changed)


_SWITCHES = {"/model": model_command, "/thinking": thinking}


def preview_switch(state: ChatState, line: str, dial: DialView) -> Handoff | None:
    """Return the move that a typed line would make; None if it makes none, or is not complete."""
    word, _, argument = line.partition(" ")
    command = _SWITCHES.get(word.lower())
    if command is None or not argument.strip() or state.busy:
        return None
    try:
        _, found = command(state, argument.strip(), dial)
    except PonderoError:
        return None
    return next((each for each in found if isinstance(each, Handoff)), None)


def offer(state: ChatState, dial: DialView) -> ChatState:
    """Return the state with the picker of levels open: only what this model has."""
    choices = dial.choices(state.model)
    if not choices:
        return state.tell(f"{state.name} takes no word about thinking", tone="warning")
    values = [choice.value for choice in choices]
    at = values.index(state.plan.level) if state.plan.level in values else 0
    return state.but(choosing=PickerState("thinking", f"thinking of {state.name}", choices, at))


def switch_model(state: ChatState, name: str, level_text: str | None, dial: DialView) -> ChatState:
    """Return the state with another model or level; raises PonderoError if that is impossible."""
    entry = dial.entry(name)
    made = dial.plan(name, level_text, context=state.tally.context)
    return state.but(
        model=name,
        level_text=level_text,
        plan=made,
        window=entry.context,
        shown=entry.capability.shown,
    )


def complete_model(state: ChatState, argument: str, dial: DialView) -> tuple[str, ...]:
    """Return the models that begin with this; after a slash, the levels of that model."""
    if not argument:  # the neighbours of the present one
        return dial.names(f"{state.model.partition(':')[0]}:", most=8)
    name, slash, level = argument.rpartition("/")
    if slash and dial.is_known(name):
        levels = [each for each in dial.level_texts(name) if each.startswith(level.lower())]
        if levels:
            return tuple(f"{name}/{each}" for each in levels)
    return dial.names(argument, most=8)


def complete_level(state: ChatState, argument: str, dial: DialView) -> tuple[str, ...]:
    """Return the levels of the present model that begin with this."""
    levels = (choice.value for choice in dial.choices(state.model))
    return tuple(each for each in levels if each.startswith(argument.lower()))


def _switch_effects(before: ChatState, after: ChatState) -> Effects:
    if (before.model, before.level_text) == (after.model, after.level_text):
        return ()
    note = NoteModel(after.model, after.level_text, after.system)
    if not before.count:
        return (note,)
    # The cache has what was sent, whatever was chosen since.
    sent = before.sent or SentPlan(before.model, before.plan.fields)
    move = Handoff(
        after.model,
        after.level_text,
        is_cache_lost=_loses_cache(before.tally.last, sent, after),
        same=sent.model == after.model,
        is_elsewhere=before.model != after.model,
        last_prompt=before.tally.last_prompt,
    )
    return note, move


def _loses_cache(last: Usage, sent: SentPlan, after: ChatState) -> bool:
    """Return whether a prompt was cached that another model or level does not find."""
    same = sent == SentPlan(after.model, after.plan.fields)
    return not same and bool(last.cache_read or last.cache_write)


def _tone(state: ChatState) -> Tone:
    notes = (note for note in state.plan.adjustments if note.code not in BENIGN)
    return "warning" if any(notes) or is_uncatalogued(state.plan) else "good"


def is_uncatalogued(plan: Plan) -> bool:
    """Return whether a plan is for a model that the catalog does not have: it may not exist."""
    return any(note.code == "unknown_model" for note in plan.adjustments)


_CANNOT = "This model does not support disabling thinking"


def describe_switch(entry: ModelEntry, plan: Plan) -> tuple[str, ...]:
    """Return the lines shown when a chat switches to another model."""
    api = f" ({entry.provider.api})" if entry.provider.api and not _is_least(plan) else ""
    mark = "⚠" if is_uncatalogued(plan) else "✓"
    return (f"{mark} Switched to {entry.provider.label} {entry.model}{api}", *meaning(entry, plan))


def meaning(entry: ModelEntry, plan: Plan) -> tuple[str, ...]:
    """Return what a level means on this model: warnings first, then the level and its figure."""
    lines = (f"  Thinking: {describe_level(plan, entry)}", *_evidence(plan))
    return (*_warnings(plan), *lines, *_advice(entry, plan))


def describe_level(plan: Plan, entry: ModelEntry | None = None) -> str:
    """Return the level or budget the model will get, in a few words."""
    least = _is_least(plan)
    if plan.budget is not None:
        return _in_tokens(plan, least=least)
    if plan.asked is None:
        unasked = {True: "the model's default", False: "off", None: "up to the model"}
        return unasked[plan.will_think]
    if plan.will_think is False or plan.level is None:
        return plan.level or "up to the model"
    said = _native(plan.fields, plan.level)
    words = f"{said[1]} {_kind(said[0])}".rstrip() if said else plan.level
    if least:
        return f"{words} (minimum)"
    if entry is not None and entry.provider.output_buffer and plan.level in _SHARED:
        return f"{words} (~{percent_of_output(plan.level)}% of output budget)"
    return words


_SHARED = ("low", "medium", "high", "xhigh")


def _in_tokens(plan: Plan, *, least: bool) -> str:
    figure = f"{plan.budget:,} tokens"
    if plan.nominal is not None and plan.nominal != plan.budget:
        figure = f"{plan.budget:,} of {plan.nominal:,} tokens"
    if least:
        return f"{figure} (minimum)"
    return f"{plan.level} ({figure})" if plan.level else figure


def _warnings(plan: Plan) -> Iterator[str]:
    for note in plan.adjustments:
        if note.code == "cannot_disable":
            yield f"  ⚠ {_CANNOT}"
        elif note.code not in BENIGN or note.code == "unknown_model":
            yield f"  ⚠ {note.why[:1].upper()}{note.why[1:]}"


def _evidence(plan: Plan) -> Iterator[str]:
    for note in plan.adjustments:
        if note.code == "calibrated":
            yield f"  {note.why[:1].upper()}{note.why[1:]}"


def _advice(entry: ModelEntry, plan: Plan) -> Iterator[str]:
    advised = plan.will_think and plan.asked is not None and not _is_least(plan)
    if entry.provider.output_buffer and advised:
        yield f"  Recommended output buffer: {entry.provider.output_buffer:,} tokens"


def _is_least(plan: Plan) -> bool:
    return any(note.code == "cannot_disable" for note in plan.adjustments)


def _native(fields: Mapping[str, Any], level: str) -> tuple[str, str] | None:
    for name, value in fields.items():
        if isinstance(value, Mapping):
            if found := _native(value, level):
                return found
        elif isinstance(value, str) and value.lower() == level:
            return name, value
    return None


def _kind(field: str) -> str:
    return next((word for word in ("effort", "level") if word in field.lower()), "")
