"""Which part of a thread is on the page: its end, or what was scrolled to."""

from itertools import groupby

from msgspec.structs import replace

from ...errors import PonderoError
from . import actions, effects
from .cells import Cell
from .dial import Dial
from .effects import Effects
from .keeping import emptied
from .past import Past, cells_of, draw, numbering
from .state import State
from .switching import moved
from .tally import Tally

PAGE = 20
"""How many messages come to the page at once."""
MOST = 4 * PAGE
"""How many messages the page holds at most: memory does not grow with the thread."""

_FULL = 80
"""Lines that fill a usual screen: an opened thread shows no more, for drawing takes the time."""
_WIDTH = 80


def scrolled(state: State, action: actions.Scrolled, dial: Dial) -> tuple[State, Effects]:
    """Move the page over the thread; it never holds more than so many messages."""
    del dial
    if action.to == "older" and state.first > 0:
        first = max(0, state.first - PAGE)
        return state, (effects.Fetch(first, min(state.last, first + MOST)),)
    if action.to == "newer" and state.last < state.count:
        last = min(state.count, state.last + PAGE)
        return state, (effects.Fetch(max(state.first, last - MOST), last),)
    return state, ()


def opened(state: State, action: actions.Opened, dial: Dial) -> tuple[State, Effects]:
    """Show the end of another thread, and go on with its model."""
    keys = numbering(state.next_key)
    empty = emptied(state).but(system=action.system)
    there = _still_there(action, dial)
    after = moved(empty, *(there or (state.model, state.wish)), dial)
    past = _screenful(action.past)
    cells = cells_of(past, dial, keys=keys, opened=state.show == "open")
    first = past[0].number if past else 0
    after = after.but(
        thread=action.thread,
        page=cells,
        first=first,
        last=action.count,
        count=action.count,
        tally=_tally(action),
        next_key=next(keys),
        unsaved=None,
    )
    if there is None:
        missing = f"⚠ {action.model} is not known here; going on with {after.model}"
        after = after.tell(missing, tone="warning")
    return after, ()


def _screenful(past: tuple[Past, ...]) -> tuple[Past, ...]:
    """Return the newest messages, from a question on, that fill a screen."""
    lines = 0
    for at in range(len(past) - 1, -1, -1):
        message = past[at].message
        lines += 2 + message.text.count("\n") + len(message.text) // _WIDTH
        if lines >= _FULL and message.role == "user":
            return past[at:]
    return past


def _tally(action: actions.Opened) -> Tally:
    """Return what the thread took; what its newest answer was counted as fills the context."""
    counted = (each for each in reversed(action.past) if each.usage.counted)
    if (last := next(counted, None)) is None:
        return action.tally
    return replace(action.tally, last=last.usage, last_cost=last.cost)


def _still_there(action: actions.Opened, dial: Dial) -> tuple[str, str | None] | None:
    """Return a thread's model and wish; None where nobody knows that model now."""
    try:
        name, said = dial.split(action.model)
        dial.plan(name, action.wish or said)
    except PonderoError:
        return None
    return name, action.wish or said


def turned(state: State, action: actions.Turned, dial: Dial) -> tuple[State, Effects]:
    """Show another part of the thread; what was on the page already stays as it was."""
    last = action.first + len(action.past)
    here: dict[int, list[Cell]] = {}
    for cell in state.page:
        if cell.number is not None:
            here.setdefault(cell.number, []).append(cell)
    begins = {n: first for first, end in state.turns for n in range(first, end) if first in here}
    keys = numbering(state.next_key)
    cells: list[Cell] = []
    for number, group in groupby(action.past, lambda each: begins.get(each.number, each.number)):
        if number in here:
            cells += here[number]
        else:
            draw(cells, group, dial, keys=keys, opened=state.show == "open")
    if last >= state.count:
        cells += [c for c in state.page if c.number is None or c.number >= state.count]
    return state.but(page=tuple(cells), first=action.first, last=last, next_key=next(keys)), ()


def trimmed(state: State) -> State:
    """Return the state without the oldest messages, where the page has become too long."""
    first = max(state.first, state.last - MOST)
    if first == state.first:
        return state
    page = tuple(c for c in state.page if c.number is None or c.number >= first)
    turns = tuple(turn for turn in state.turns if turn[0] >= first)
    return state.but(page=page, first=first, turns=turns)
