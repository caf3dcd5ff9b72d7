"""Tools in the chat: /tools, and approvals; ``always`` is kept in the config for one tool."""

from .. import actions, effects
from ..catalog_view import DialView
from ..effects import Transition
from ..state import ChatState

_FORGET = "forget"


def on_approval_requested(
    state: ChatState, action: actions.ApprovalRequested, _dial: DialView
) -> Transition:
    """Ask the user about a call; several are asked about one after the other."""
    return state.but(proposals=(*state.proposals, action.proposal)), ()


def on_decided(state: ChatState, action: actions.ApprovalDecided, dial: DialView) -> Transition:
    """Tell the one who waits."""
    if all(each.id != action.id for each in state.proposals):
        return state, ()
    after, _ = on_withdrawn(state, actions.ApprovalWithdrawn(action.id), dial)
    return after, (effects.AnswerApproval(action.id, action.word),)


def on_withdrawn(
    state: ChatState, action: actions.ApprovalWithdrawn, _dial: DialView
) -> Transition:
    """Ask no more about a call: it was decided, or its turn was stopped."""
    left = tuple(each for each in state.proposals if each.id != action.id)
    return (state if left == state.proposals else state.but(proposals=left)), ()


def on_approval_waiting(
    state: ChatState, action: actions.ApprovalWaiting, _dial: DialView
) -> Transition:
    """Say that a thread which is not shown waits for a decision."""
    title = action.thread.title if action.thread else "another thread"
    return state.but(hint=f"{title} asks whether a tool may run: Ctrl+L"), ()


def tools(state: ChatState, argument: str, _dial: DialView) -> Transition:
    """Show the tools, or ask about one of them again."""
    word, _, name = argument.partition(" ")
    if not argument:
        return state, (effects.ListTools(),)
    if word != _FORGET or not name.strip():
        return state.tell("/tools lists them; /tools forget NAME asks about one again"), ()
    return state, (effects.Forget(name.strip()),)
