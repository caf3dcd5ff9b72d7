"""/search and the pane of threads: words in this thread and in all others, and the way there."""

from .. import actions, effects
from ..catalog_view import DialView
from ..effects import Transition
from ..state import ChatState, PickerState, ThreadPaneState

_OPEN = "here"
"""Stands for the open thread in the value of a choice; ids of threads have six letters."""


def search_command(state: ChatState, argument: str, _dial: DialView) -> Transition:
    """Find words; a hit can be gone to."""
    if not argument:
        return state.tell("which words? /search WORDS finds them here and in all threads"), ()
    return state, (effects.Search(argument),)


def on_found(state: ChatState, action: actions.SearchFinished, _dial: DialView) -> Transition:
    """Offer the hits."""
    if not action.choices:
        return state.tell(f"nothing has {action.words!r} in it"), ()
    title = f"{len(action.choices)} with {action.words!r}"
    return state.but(choosing=PickerState("hit", title, action.choices)), ()


def threads_command(state: ChatState, _argument: str, _dial: DialView) -> Transition:
    """Open the pane of threads, or close it."""
    if state.listing is not None:
        return state.but(listing=None), ()
    return state.but(listing=ThreadPaneState()), (effects.ListForPane(""),)


def on_pane_toggled(state: ChatState, _action: actions.PaneToggled, dial: DialView) -> Transition:
    """Open the pane of threads, or close it."""
    return threads_command(state, "", dial)


def on_search_typed(state: ChatState, action: actions.SearchTyped, _dial: DialView) -> Transition:
    """Look for other words; what was listed stays until the answer is there."""
    if state.listing is None:
        return state, ()
    listing = ThreadPaneState(action.words, state.listing.choices)
    return state.but(listing=listing), (effects.ListForPane(action.words),)


def on_listed(state: ChatState, action: actions.ThreadsListed, _dial: DialView) -> Transition:
    """List what was found, unless other words are looked for by now."""
    if state.listing is None or state.listing.words != action.words:
        return state, ()
    return state.but(listing=ThreadPaneState(action.words, action.choices)), ()


def place_value(number: int, thread: str | None) -> str:
    """Return a message's place as the value of a choice."""
    return f"{thread or _OPEN}:{number}"


def visit(value: str) -> effects.ShowMessage:
    """Return the effect that goes to a chosen place."""
    thread, _, number = value.partition(":")
    return effects.ShowMessage(int(number), None if thread == _OPEN else thread)
