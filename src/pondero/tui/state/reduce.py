"""``reduce``: the state after an action, and the effects it asks for. Pure.

One function for each action, in a table; slash commands have their own, in ``commands``.
"""

from collections.abc import Callable
from typing import Any

from . import actions, comparison, effects, last_turn, search, tools
from .actions import Action
from .catalog_view import Dial
from .cells import Cell, Thought, unfolded
from .commands import is_command, run
from .comparison import toggled
from .effects import Effects
from .history import PAGE, opened, scrolled, turned
from .last_turn import taken_back
from .model_switch import described, moved, offer, thinking
from .search import found, visit
from .state import WAIT, Asked, Choosing, State
from .turn import arrived, asking, ended


def reduce(state: State, action: Action, dial: Dial) -> tuple[State, Effects]:
    """Return the state after an action, and the effects it asks for."""
    return _HANDLERS[type(action)](state, action, dial)


def begin(dial: Dial, model: str, wish: str | None = None, *, system: str = "") -> State:
    """Return the state of a new chat; raises UnknownModel."""
    name, said = dial.split(model)
    wish = wish or said
    first = State(model=name, plan=dial.plan(name, wish), system=system)
    begun = moved(first, name, wish, dial)
    entry = dial.entry(name)
    who = f"{entry.provider.label} {entry.model} · thinking: {described(begun.plan, entry)}"
    return begun.tell(who, "/help shows the commands · /model NAME/LEVEL goes on with another")


# -- the user -----------------------------------------------------------------------------------


def _submitted(state: State, action: actions.Submitted, dial: Dial) -> tuple[State, Effects]:
    text = action.text.strip()
    state = state.but(hint="", leaving=False)
    if not text:
        return _next(state, action.at, dial)
    if is_command(text):
        return run(state, text, dial)
    asked = Asked(text.removeprefix("/") if text.startswith("//") else text, state.attached)
    state = state.but(attached=())
    if "@" in text:
        return state, (effects.Gather(asked),)
    return _gathered(state, actions.Gathered(asked, action.at), dial)


def _gathered(state: State, action: actions.Gathered, dial: Dial) -> tuple[State, Effects]:
    """Ask what the user sent, or let it wait; where a file cannot be read it goes back."""
    asked = action.asked
    if action.error:
        back = state.but(attached=(*asked.parts, *state.attached))
        return back.tell(f"✗ {action.error}", tone="error"), (effects.Restore(asked.words),)
    if state.busy:
        return state.but(queue=(*state.queue, asked)), ()
    return _asking(state, asked, action.at, dial)


def _attached(state: State, action: actions.Attached, _dial: Dial) -> tuple[State, Effects]:
    return state.but(attached=(*state.attached, *action.parts)), ()


def _next(state: State, at: float, dial: Dial) -> tuple[State, Effects]:
    """Send the first of the words that wait."""
    if state.busy or not state.queue:
        return state, ()
    return _asking(state.but(queue=state.queue[1:]), state.queue[0], at, dial)


def _unqueued(state: State, _action: actions.Unqueued, _dial: Dial) -> tuple[State, Effects]:
    if not state.queue:
        return state, ()
    *queue, last = state.queue
    after = state.but(queue=tuple(queue), attached=(*last.parts, *state.attached), hint="")
    return after, (effects.Restore(last.words),)


def _returned(state: State, action: actions.Returned, _dial: Dial) -> tuple[State, Effects]:
    """Let words wait before all others, with what was attached to them."""
    asked = Asked(action.words, state.attached)
    return state.but(queue=(asked, *state.queue), attached=()), ()


def _asking(state: State, asked: Asked, at: float, dial: Dial) -> tuple[State, Effects]:
    """Begin a turn; where an older part is on the page, go to its end: answers come there."""
    begun, ask = asking(state, asked, at, dial, context=state.tally.context)
    if state.last < state.count:
        return begun, (effects.Fetch(max(0, state.count - PAGE), state.count), ask)
    return begun, (ask,)


def _interrupted(state: State, action: actions.Interrupted, _dial: Dial) -> tuple[State, Effects]:
    if state.turn is not None:
        return state.but(hint="stopping…"), (effects.Stop(),)
    if not action.hard:
        return state.but(hint="", leaving=False), ()
    if state.leaving:
        return state, (effects.Quit(),)
    return state.but(leaving=True, hint="Ctrl+C again, or Ctrl+D, leaves"), ()


def _typed(state: State, _action: actions.Typed, _dial: Dial) -> tuple[State, Effects]:
    return (state.but(hint="", leaving=False) if state.hint or state.leaving else state), ()


def _picker(state: State, _action: actions.PickerOpened, dial: Dial) -> tuple[State, Effects]:
    if state.busy or state.comparing:
        return state.but(hint=WAIT), ()
    return offer(state, dial), ()


def _picked(state: State, action: actions.Picked, dial: Dial) -> tuple[State, Effects]:
    choosing, state = state.choosing, state.but(choosing=None)
    if choosing is None:
        return state, ()
    return _PICKED[choosing.what](state, action.value, dial)


def _switched(state: State, action: actions.Switched, dial: Dial) -> tuple[State, Effects]:
    if not action.thread:
        return run(state, "/new", dial)
    if state.thread is not None and state.thread.id == action.thread:
        return state, ()
    return state, (effects.Open(action.thread),)


def _opening(state: State, value: str, _dial: Dial) -> tuple[State, Effects]:
    return state, (effects.Open(value),)


def _dressing(state: State, value: str, _dial: Dial) -> tuple[State, Effects]:
    return state.but(theme=value), (effects.Dress(value),)


def _visiting(state: State, value: str, _dial: Dial) -> tuple[State, Effects]:
    return state, (visit(value),)


_PICKED: dict[str, Callable[[State, str, Dial], tuple[State, Effects]]] = {
    "thinking": thinking,
    "thread": _opening,
    "theme": _dressing,
    "hit": _visiting,
}


def _dismissed(state: State, _action: actions.Dismissed, _dial: Dial) -> tuple[State, Effects]:
    return state.but(choosing=None), ()


def _toggled(state: State, action: actions.Toggled, dial: Dial) -> tuple[State, Effects]:
    if state.comparing is not None:
        return toggled(state, lambda chat: _toggled(chat, action, dial)[0]), ()
    cells = [*state.page, *state.live]
    thoughts = [c for c in cells if isinstance(c, Thought) and c.readable]
    wanted = [c for c in thoughts if c.key == action.key] if action.key else thoughts[-1:]
    if not wanted:
        return state.but(hint="there is no thinking to open"), ()
    return _with(state, {wanted[0].key: unfolded(wanted[0], is_open=not wanted[0].open)}), ()


def _toggled_all(state: State, _action: actions.ToggledAll, _dial: Dial) -> tuple[State, Effects]:
    thoughts = [c for c in (*state.page, *state.live) if isinstance(c, Thought) and c.readable]
    to_open = not all(thought.open for thought in thoughts)
    changed: dict[int, Cell] = {
        thought.key: unfolded(thought, is_open=to_open) for thought in thoughts
    }
    show = "open" if to_open else "auto"
    return _with(state, changed).but(show=show, hint=f"show: {show}"), ()


# -- outcomes -----------------------------------------------------------------------------------


def _arrived(state: State, action: actions.Arrived, _dial: Dial) -> tuple[State, Effects]:
    return arrived(state, action.events, action.at), ()


def _ended(state: State, action: actions.Ended, dial: Dial) -> tuple[State, Effects]:
    """End the turn, and send what waits; after a stop or an error it waits for Enter."""
    after, asked = ended(state, action, dial)
    if not after.queue or after.busy:
        return after, asked
    if action.stopped or action.error is not None:
        held = f"{len(after.queue)} waiting: Enter on an empty line sends the next"
        return after.but(hint=held), asked
    sent, more = _next(after, action.at, dial)
    return sent, (*asked, *more)


def _recalled(state: State, action: actions.Recalled, dial: Dial) -> tuple[State, Effects]:
    """Do what the turn was looked up for."""
    if not action.turn and not action.words:
        return state.tell("there is no question yet"), ()
    return _PURPOSES[action.purpose](state, action, dial)


_PURPOSES: dict[
    effects.Purpose, Callable[[State, actions.Recalled, Dial], tuple[State, Effects]]
] = {
    "undo": last_turn.undone,
    "edit": last_turn.edited,
    "copy": last_turn.copied,
    "compare": comparison.begun,
}


def _edited(state: State, action: actions.Edited, dial: Dial) -> tuple[State, Effects]:
    """Ask the edited question in place of the old one; without an editor, edit it in place."""
    before = action.before
    if action.words is None:
        return taken_back(state, before, action.number, "change it and press Enter")
    words = action.words.strip()
    if not words or words == before.words.strip():
        return state.but(hint="nothing was changed, and nothing asked"), ()
    changed = Asked(words, before.parts)
    begun, asked = _asking(state.rewound(action.number), changed, action.at, dial)
    return begun, (effects.Rewind(action.number), *asked)


def _answered(state: State, action: actions.Answered, _dial: Dial) -> tuple[State, Effects]:
    title = action.thread.title if action.thread else "the other thread"
    return state.but(hint=f"{'answered' if action.whole else 'no answer'}: {title}"), ()


def _handed_off(state: State, action: actions.HandedOff, _dial: Dial) -> tuple[State, Effects]:
    return (state.tell(*action.lines) if action.lines else state), ()


def _offered(state: State, action: actions.Offered, _dial: Dial) -> tuple[State, Effects]:
    if not action.choices:
        return state.tell("there are no earlier threads like that"), ()
    return state.but(choosing=Choosing("thread", "go on with", action.choices)), ()


def _renamed(state: State, action: actions.Renamed, _dial: Dial) -> tuple[State, Effects]:
    return state.but(thread=action.thread, hint=f"renamed: {action.thread.title}"), ()


def _reported(state: State, action: actions.Reported, _dial: Dial) -> tuple[State, Effects]:
    return state.tell(*action.lines, tone=action.tone), ()


def _with(state: State, changed: dict[int, Cell]) -> State:
    page = tuple(changed.get(cell.key, cell) for cell in state.page)
    live = tuple(changed.get(cell.key, cell) for cell in state.live)
    return state.but(page=page, live=live)


_HANDLERS: dict[type, Callable[[State, Any, Dial], tuple[State, Effects]]] = {
    actions.Submitted: _submitted,
    actions.Interrupted: _interrupted,
    actions.Typed: _typed,
    actions.Unqueued: _unqueued,
    actions.Returned: _returned,
    actions.PaneToggled: search.toggled,
    actions.Sought: search.sought,
    actions.Listed: search.listed,
    actions.Switched: _switched,
    actions.Proposed: tools.proposed,
    actions.Decided: tools.decided,
    actions.Withdrawn: tools.withdrawn,
    actions.Wanted: tools.wanted,
    actions.PickerOpened: _picker,
    actions.Picked: _picked,
    actions.Dismissed: _dismissed,
    actions.ColumnMoved: comparison.column_moved,
    actions.Settling: comparison.settled,
    actions.ColumnsArrived: comparison.columns_arrived,
    actions.ColumnEnded: comparison.column_ended,
    actions.Settled: comparison.settled_in,
    actions.Toggled: _toggled,
    actions.ToggledAll: _toggled_all,
    actions.Scrolled: scrolled,
    actions.Arrived: _arrived,
    actions.Ended: _ended,
    actions.Answered: _answered,
    actions.HandedOff: _handed_off,
    actions.Opened: opened,
    actions.Turned: turned,
    actions.Offered: _offered,
    actions.Attached: _attached,
    actions.Gathered: _gathered,
    actions.Recalled: _recalled,
    actions.Edited: _edited,
    actions.Found: found,
    actions.Renamed: _renamed,
    actions.Reported: _reported,
}
