"""The end of a turn: what stays on the page, what it took, and what has to be said about it."""

from msgspec.structs import replace

from . import actions, effects
from .arriving import settled
from .cells import Cell
from .dial import Dial
from .effects import Effects
from .paging import trimmed
from .past import with_results
from .state import State
from .trouble import trouble

_ODD = {
    "did_not_think": "it did not think, though it was to",
    "thought_though_off": "it thought, though thinking was off",
    "overran_budget": "it thought more than its budget",
}


def ended(state: State, action: actions.Ended, dial: Dial) -> tuple[State, Effects]:
    """Put the turn to rest; where nothing of it was kept, its words go back to the user."""
    del dial
    if state.turn is None:
        return state, ()
    cut = "stopped here" if action.stopped else "broken off here" if action.error else None
    cells = with_results(settled(state.live, at=action.at, cut=cut), action.kept)
    tally, verdict = state.tally, state.verdict
    for each in action.exchanges:
        tally, verdict = tally.plus(each.usage, each.cost), each.verdict
    words, number = state.turn.words, state.turn.number
    count = state.count + len(action.kept)
    page: tuple[Cell, ...] = (*state.page, *cells)
    elsewhere = state.last < state.count  # an older part is being read; the turn is on disk
    if not action.kept:  # what is not in the thread has no number there
        page = tuple(replace(c, number=None) if c.number == number else c for c in page)
    elif elsewhere:
        page = tuple(c for c in page if c.number != number)
    after = state.but(
        page=page,
        turns=(*state.turns, (number, count)) if action.kept else state.turns,
        live=(),
        turn=None,
        hint="",
        count=count,
        last=state.last if elsewhere else count,
        tally=tally,
        verdict=verdict,
        thread=action.thread or state.thread,
        unsaved=action.unsaved,
    )
    after = trimmed(_remarks(after, action))
    if action.unsaved and action.unsaved != state.unsaved:
        after = after.tell(f"⚠ {action.unsaved}", "  → the chat goes on, unsaved", tone="warning")
    return after, () if action.kept else (effects.Restore(words),)


def _remarks(state: State, action: actions.Ended) -> State:
    """Return the state with what has to be said about how the turn ended."""
    for each in action.exchanges:
        if fresh := [note for note in each.notes if note not in state.noted]:
            state = state.but(noted=(*state.noted, *fresh))
            state = state.tell(*(f"⚠ {note}" for note in fresh), tone="warning")
        if each.verdict == "exhausted":
            lines = ("⚠ All output went into thinking, none into an answer",)
            state = state.tell(*lines, "  → a lower level with Ctrl+T leaves room", tone="warning")
        elif each.finish == "length":
            state = state.tell("⚠ The answer was cut off: no more tokens", tone="warning")
        elif each.finish in ("refusal", "content_filter"):
            state = state.tell("⚠ The service refused to answer this", tone="warning")
        if each.verdict in _ODD:
            state = state.tell(f"⚠ {_ODD[each.verdict]}", tone="warning")
    if action.error is not None:
        state = state.tell(*trouble(action.error), tone="error")
    if action.stopped and not action.kept:
        state = state.tell("stopped before an answer; your words are back below")
    return state
