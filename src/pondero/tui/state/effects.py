"""What the reducer asks for. Small values: ``ChatApp`` runs them and answers with actions."""

from typing import Literal

from msgspec import Struct

from ...canon import Blob, Image, Text
from .state import DraftQuestion, Word

Purpose = Literal["undo", "edit", "copy", "compare"]
"""What a recalled turn is for."""


class AskModel(Struct, frozen=True):
    """Ask the model at this level; Arrived follows many times, then one Ended."""

    words: str
    model: str
    level_text: str | None
    system: str
    context: int | None = None
    parts: tuple[Text | Image | Blob, ...] = ()


class Compare(Struct, frozen=True):
    """Ask all of these after so many messages, for the columns from ``first`` on.

    ColumnsArrived follows many times, and one ColumnEnded for each.
    """

    asks: tuple[AskModel, ...]
    number: int
    first: int


class CloseComparison(Struct, frozen=True):
    """Keep the ``chosen`` answer in the thread and the others in copies; Settled follows."""

    number: int
    chosen: int | None
    names: tuple[str, ...]


class Stop(Struct, frozen=True):
    """Stop the turn, or all answers of a comparison, and record what has arrived."""


class Handoff(Struct, frozen=True):
    """Work out what a move to this model or level loses; HandedOff follows.

    ``same`` is whether the model stays: it sees of the past what it saw before. ``cached`` tokens
    will be read anew.
    """

    model: str
    level_text: str | None
    cached: int = 0
    same: bool = False


class NoteModel(Struct, frozen=True):
    """Write to the thread which model, level and system prompt it goes on with."""

    model: str
    level_text: str | None
    system: str


class Begin(Struct, frozen=True):
    """Begin a new thread with the next words."""


class Open(Struct, frozen=True):
    """Open a thread: its id, the beginning of one, or "last"; Opened follows.

    With ``or_find``, an id that does not exist is searched for as a word: Offered follows.
    """

    id: str
    or_find: bool = False


class Fork(Struct, frozen=True):
    """Go on in a copy of the thread; Opened follows. ``to`` is the model to switch the copy to."""

    model: str
    level_text: str | None
    to: str = ""


class Rename(Struct, frozen=True):
    """Give the thread a title; Renamed follows."""

    title: str


class Export(Struct, frozen=True):
    """Write the thread to a file, in the format of its suffix."""

    path: str


class ListThreads(Struct, frozen=True):
    """List the threads, or those that contain these words; Offered follows."""

    words: str = ""


class Recall(Struct, frozen=True):
    """Look up the last turn, for this ``purpose``; Recalled follows."""

    purpose: Purpose
    level_texts: tuple[str, ...] = ()
    words: str = ""


class Rewind(Struct, frozen=True):
    """Go on after so many messages; the rest stays in the thread they were written to."""

    count: int


class Edit(Struct, frozen=True):
    """Let the user edit a question in their editor; Edited follows, wordless if there is none."""

    asked: DraftQuestion
    number: int


class Copy(Struct, frozen=True):
    """Put a text on the clipboard; Reported follows. ``what`` is what the text is."""

    text: str
    what: str


class Search(Struct, frozen=True):
    """Find words in this thread and in all others; Found follows."""

    words: str


class ShowMessage(Struct, frozen=True):
    """Show the message of this number, of a thread; None is the one that is open."""

    number: int
    thread: str | None = None


class AnswerApproval(Struct, frozen=True):
    """Tell a waiting call what was decided; "always" is kept in the config."""

    id: int
    word: Word


class ListTools(Struct, frozen=True):
    """Show the tools and which of them run unasked; Reported follows."""


class Forget(Struct, frozen=True):
    """Ask about a tool again that was to run always; Reported follows."""

    name: str


class Attach(Struct, frozen=True):
    """Read a file for the next question; Attached follows."""

    path: str


class ReadMentions(Struct, frozen=True):
    """Read the files that words name as ``@path``; Gathered follows, even if there are none."""

    asked: DraftQuestion


class ListForPane(Struct, frozen=True):
    """List the threads for the pane, or those that have these words; Listed follows."""

    words: str


class Fetch(Struct, frozen=True):
    """Load these messages, ``last`` not included; Turned follows."""

    first: int
    last: int


class ShowWire(Struct, frozen=True):
    """Show the last exchange as it went over the wire, without its keys."""


class RunDoctor(Struct, frozen=True):
    """Check keys, folders and versions; Reported follows."""


class RestoreInput(Struct, frozen=True):
    """Put words back into the input line."""

    words: str


class ChangeTheme(Struct, frozen=True):
    """Change the colours, and keep the choice in the config."""

    theme: str


class Quit(Struct, frozen=True):
    """Leave."""


Effect = (
    AskModel
    | Compare
    | CloseComparison
    | Stop
    | Handoff
    | NoteModel
    | Begin
    | Open
    | Fork
    | Rename
    | Export
    | ListThreads
    | Recall
    | Rewind
    | Edit
    | Copy
    | Search
    | ShowMessage
    | AnswerApproval
    | ListTools
    | Forget
    | Attach
    | ReadMentions
    | ListForPane
    | Fetch
    | ShowWire
    | RunDoctor
    | RestoreInput
    | ChangeTheme
    | Quit
)

Effects = tuple[Effect, ...]
