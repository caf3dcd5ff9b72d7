"""/search: words in this thread and in all others, and the way to a hit."""

from . import actions, effects
from .catalog_view import Dial
from .effects import Effects
from .state import Choosing, State

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


def place(number: int, thread: str | None) -> str:
    """Return a message's place as the value of a choice."""
    return f"{thread or _OPEN}:{number}"


def visit(value: str) -> effects.Visit:
    """Return the effect that goes to a chosen place."""
    thread, _, number = value.partition(":")
    return effects.Visit(int(number), None if thread == _OPEN else thread)
