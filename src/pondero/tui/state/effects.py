"""What a chat wants done. Small values: whoever runs the chat does them, and says what came."""

from msgspec import Struct


class Ask(Struct, frozen=True):
    """Say this to the model, at this level; actions Arrived and one Ended follow."""

    words: str
    model: str
    wish: str | None
    system: str
    context: int | None = None


class Stop(Struct, frozen=True):
    """Break the turn off, and keep what came."""


class Handoff(Struct, frozen=True):
    """Say what of the past another model may not see; HandedOff follows."""

    model: str
    wish: str | None
    cached: int = 0


class Note(Struct, frozen=True):
    """Note in the thread which model, level and system prompt it goes on with."""

    model: str
    wish: str | None
    system: str


class Begin(Struct, frozen=True):
    """Begin a new thread with the next words."""


class Open(Struct, frozen=True):
    """Open a thread: its id, the beginning of one, or "last"; Opened follows.

    Where there is none and ``or_find``, it is a word to look for: Offered follows.
    """

    id: str
    or_find: bool = False


class Fork(Struct, frozen=True):
    """Go on in a copy of the thread; Opened follows. ``to`` is the model it is switched to then."""

    model: str
    wish: str | None
    to: str = ""


class Rename(Struct, frozen=True):
    """Give the thread a title; Renamed follows."""

    title: str


class Export(Struct, frozen=True):
    """Write the thread to a file, in the form its ending says."""

    path: str


class List(Struct, frozen=True):
    """List the threads there are, or those with these words in them; Offered follows."""

    words: str = ""


class Fetch(Struct, frozen=True):
    """Bring these messages to the page, ``last`` not included; Turned follows."""

    first: int
    last: int


class Wire(Struct, frozen=True):
    """Show the last exchange as it went over the wire, without its keys."""


class Examine(Struct, frozen=True):
    """Look whether all is well with keys, folders and versions."""


class Restore(Struct, frozen=True):
    """Put words back into the input line."""

    words: str


class Dress(Struct, frozen=True):
    """Change the colours."""

    theme: str


class Quit(Struct, frozen=True):
    """Leave."""


Effect = (
    Ask
    | Stop
    | Handoff
    | Note
    | Begin
    | Open
    | Fork
    | Rename
    | Export
    | List
    | Fetch
    | Wire
    | Examine
    | Restore
    | Dress
    | Quit
)

Effects = tuple[Effect, ...]
