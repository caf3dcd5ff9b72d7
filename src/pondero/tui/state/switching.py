"""``/model``, ``/thinking`` and the picker: another model, another level, and what that means."""

import re

from ...errors import PonderoError
from ...thinking import BENIGN
from .cells import Tone
from .dial import Dial
from .effects import Effects, Handoff, Note
from .feedback import described, meaning, switched
from .state import Choosing, State

_BUDGET = re.compile(r"\s*--(?:thinking-)?budget[= ]\s*(\S+)")


def model(state: State, argument: str, dial: Dial) -> tuple[State, Effects]:
    """Go on with another model; without a name, say which one this is."""
    if not argument:
        entry = dial.entry(state.model)
        here = f"{entry.provider.label} {entry.model}, thinking: {described(state.plan, entry)}"
        return state.tell(here, "  /model NAME/LEVEL goes on with another; Tab completes"), ()
    budget = _BUDGET.search(argument)
    name, wish = dial.split(_BUDGET.sub("", argument).strip())
    wish = budget[1] if budget else wish or state.wish
    changed = moved(state, name, wish, dial)
    entry = dial.entry(name)
    said = changed.tell(*switched(entry, changed.plan), tone=_tone(changed))
    return said, _moving(state, changed)


def thinking(state: State, argument: str, dial: Dial) -> tuple[State, Effects]:
    """Change the level; without one, offer those there are."""
    if not argument:
        return offer(state, dial), ()
    changed = moved(state, state.model, argument, dial)
    entry = dial.entry(state.model)
    first, *rest = meaning(entry, changed.plan)
    lines = (f"✓{first[1:]}" if not first.startswith("  ⚠") else first, *rest)
    return changed.tell(*lines, tone=_tone(changed)), _moving(state, changed)


def offer(state: State, dial: Dial) -> State:
    """Return the state with the picker of levels open: only what this model has."""
    choices = dial.choices(state.model)
    if not choices:
        return state.tell(f"{state.name} takes no word about thinking", tone="warning")
    values = [choice.value for choice in choices]
    at = values.index(state.plan.level) if state.plan.level in values else 0
    return state.but(choosing=Choosing("thinking", f"thinking of {state.name}", choices, at))


def moved(state: State, name: str, wish: str | None, dial: Dial) -> State:
    """Return the state with another model or level; raises where that cannot be."""
    entry = dial.entry(name)
    made = dial.plan(name, wish, context=state.tally.context)
    return state.but(
        model=name,
        wish=wish,
        plan=made,
        window=entry.capability.context,
        shown=entry.capability.shown,
    )


def complete_model(state: State, argument: str, dial: Dial) -> tuple[str, ...]:
    """Return names that begin so; after a slash, the levels of that model."""
    if not argument:  # the neighbours of the present one
        return dial.names(f"{state.model.partition(':')[0]}:", most=8)
    name, slash, level = argument.rpartition("/")
    if slash:
        try:
            levels = [each for each in dial.wishes(name) if each.startswith(level.lower())]
        except PonderoError:
            levels = []
        if levels:
            return tuple(f"{name}/{each}" for each in levels)
    return dial.names(argument, most=8)


def complete_level(state: State, argument: str, dial: Dial) -> tuple[str, ...]:
    """Return the levels of the present model that begin so."""
    return tuple(each for each in dial.levels(state.model) if each.startswith(argument.lower()))


def _moving(before: State, after: State) -> Effects:
    """Return what a move asks for: a note in the thread, and what of the past is left behind."""
    if (before.model, before.wish) == (after.model, after.wish):
        return ()
    note = Note(after.model, after.wish, after.system)
    if not before.count:
        return (note,)
    return (note, Handoff(after.model, after.wish, cached=_cached(before, after)))


def _cached(before: State, after: State) -> int:
    """Return how many tokens a cache holds that the change makes useless.

    Another model never reads what this one's cache holds; another level is written into the
    cached beginning of the prompt, so that it is read anew too.
    """
    usage = before.tally.last
    same = before.model == after.model and before.plan.fields == after.plan.fields
    return 0 if same else (usage.cache_read or 0) + (usage.cache_write or 0)


def _tone(state: State) -> Tone:
    notes = (note for note in state.plan.adjustments if note.code not in BENIGN)
    return "warning" if any(notes) else "good"
