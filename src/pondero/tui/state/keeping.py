"""Commands about the thread itself: a new one, another, a copy; its title, and a file of it."""

from .dial import Dial
from .effects import Begin, Effects, Export, Fork, List, Open, Rename
from .state import State
from .switching import moved
from .tally import Tally

_FORMS = (".md", ".jsonl", ".html")


def new(state: State, argument: str, dial: Dial) -> tuple[State, Effects]:
    """Begin a thread; the old one stays where it is kept."""
    del argument, dial
    return emptied(state).but(hint="a new thread"), (Begin(),)


def fork(state: State, argument: str, dial: Dial) -> tuple[State, Effects]:
    """Go on in a copy, with another model if one is named."""
    if not state.count:
        return state.tell("there is nothing to copy yet", tone="warning"), ()
    if argument:  # what cannot be is refused before anything is copied
        name, wish = dial.split(argument)
        moved(state, name, wish or state.wish, dial)
    return state, (Fork(state.model, state.wish, argument),)


def resume(state: State, argument: str, dial: Dial) -> tuple[State, Effects]:
    """Open an earlier thread: by its id, or picked from those that have these words in them."""
    del dial
    if argument and " " not in argument:
        return state, (Open(argument, or_find=True),)
    return state, (List(argument),)


def rename(state: State, argument: str, dial: Dial) -> tuple[State, Effects]:
    """Give the thread a title."""
    del dial
    if not argument:
        return state.tell("what shall it be called? /rename TITLE"), ()
    if state.thread is None:
        return state.tell("there is no thread to be named yet; say something first"), ()
    return state, (Rename(argument),)


def export(state: State, argument: str, dial: Dial) -> tuple[State, Effects]:
    """Write the thread to a file."""
    del dial
    if not argument.endswith(_FORMS):
        return state.tell(f"/export FILE, which ends in {' or '.join(_FORMS)}"), ()
    if not state.count:
        return state.tell("there is nothing to write yet"), ()
    return state, (Export(argument),)


def emptied(state: State) -> State:
    """Return the state with an empty page, and nothing counted."""
    return state.but(
        thread=None,
        page=(),
        live=(),
        first=0,
        last=0,
        count=0,
        turns=(),
        noted=(),
        tally=Tally(),
        verdict=None,
    )
