"""/search and the pane of threads: words in this thread and in all others, and the way there."""

from . import actions, effects
from .catalog_view import Dial
from .effects import Effects
from .state import Choosing, Listing, State

_OPEN = "here"
"""Stands for the open thread in the value of a choice; ids of threads have six letters."""


def search(state: State, argument: str, _dial: Dial) -> tuple[State, Effects]:
    """Find words; a hit can be gone to."""
    if not argument:
        return state.tell("which words? /search WORDS finds them here and in all threads"), ()
    return state, (effects.Search(argument),)


def found(state: State, action: actions.Found, _dial: Dial) -> tuple[State, Effects]:
    """Offer the hits."""
    if not action.choices:
        return state.tell(f"nothing has {action.words!r} in it"), ()
    title = f"{len(action.choices)} with {action.words!r}"
    return state.but(choosing=Choosing("hit", title, action.choices)), ()


def threads(state: State, _argument: str, _dial: Dial) -> tuple[State, Effects]:
    """Open the pane of threads, or close it."""
    if state.listing is not None:
        return state.but(listing=None), ()
    return state.but(listing=Listing()), (effects.Look(""),)


def toggled(state: State, _action: actions.PaneToggled, dial: Dial) -> tuple[State, Effects]:
    """Open the pane of threads, or close it."""
    return threads(state, "", dial)


def sought(state: State, action: actions.Sought, _dial: Dial) -> tuple[State, Effects]:
    """Look for other words; what was listed stays until the answer is there."""
    if state.listing is None:
        return state, ()
    listing = Listing(action.words, state.listing.choices)
    return state.but(listing=listing), (effects.Look(action.words),)


def listed(state: State, action: actions.Listed, _dial: Dial) -> tuple[State, Effects]:
    """List what was found, unless other words are looked for by now."""
    if state.listing is None or state.listing.words != action.words:
        return state, ()
    return state.but(listing=Listing(action.words, action.choices)), ()


def place(number: int, thread: str | None) -> str:
    """Return a message's place as the value of a choice."""
    return f"{thread or _OPEN}:{number}"


def visit(value: str) -> effects.Visit:
    """Return the effect that goes to a chosen place."""
    thread, _, number = value.partition(":")
    return effects.Visit(int(number), None if thread == _OPEN else thread)
