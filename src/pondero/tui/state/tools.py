"""Tools in the chat: the question whether a call may run, and /tools.

A call waits until the user has decided. ``always`` is remembered for one tool of one place, and
kept in the config; see ``Session``.
"""

from . import actions, effects
from .catalog_view import Dial
from .effects import Effects
from .state import State

_FORGET = "forget"


def proposed(state: State, action: actions.Proposed, _dial: Dial) -> tuple[State, Effects]:
    """Ask the user about a call; several are asked about one after the other."""
    return state.but(proposals=(*state.proposals, action.proposal)), ()


def decided(state: State, action: actions.Decided, dial: Dial) -> tuple[State, Effects]:
    """Tell the one who waits."""
    if all(each.id != action.id for each in state.proposals):
        return state, ()
    after, _ = withdrawn(state, actions.Withdrawn(action.id), dial)
    return after, (effects.Answer(action.id, action.word),)


def withdrawn(state: State, action: actions.Withdrawn, _dial: Dial) -> tuple[State, Effects]:
    """Ask no more about a call: it was decided, or its turn was stopped."""
    left = tuple(each for each in state.proposals if each.id != action.id)
    return (state if left == state.proposals else state.but(proposals=left)), ()


def wanted(state: State, action: actions.Wanted, _dial: Dial) -> tuple[State, Effects]:
    """Say that a thread which is not shown waits for a decision."""
    title = action.thread.title if action.thread else "another thread"
    return state.but(hint=f"{title} asks whether a tool may run: Ctrl+L"), ()


def tools(state: State, argument: str, _dial: Dial) -> tuple[State, Effects]:
    """Show the tools, or ask about one of them again."""
    word, _, name = argument.partition(" ")
    if not argument:
        return state, (effects.ListTools(),)
    if word != _FORGET or not name.strip():
        return state.tell("/tools lists them; /tools forget NAME asks about one again"), ()
    return state, (effects.Forget(name.strip()),)
