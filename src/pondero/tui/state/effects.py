"""What the reducer asks for. ``Executor`` runs them and answers with actions."""

from typing import Literal

from msgspec import Struct

from ...canon import Blob, Image, Text
from .state import ChatState, DraftQuestion, Word

Purpose = Literal["undo", "edit", "copy", "compare"]
"""What a recalled turn is for."""


class Effect(Struct, frozen=True):
    """Something to do outside the state."""


class AskModel(Effect, frozen=True):
    """Ask the model at this level; EventsArrived follows many times, then one TurnEnded.

    ``label`` names the column of a comparison that asks.
    """

    words: str
    model: str
    level_text: str | None
    system: str
    context: int | None = None
    parts: tuple[Text | Image | Blob, ...] = ()
    last_prompt: int | None = None
    label: str = ""


class Compare(Effect, frozen=True):
    """Ask all of these after ``number`` messages, for the columns from ``first`` on."""

    asks: tuple[AskModel, ...]
    number: int
    first: int


class CloseComparison(Effect, frozen=True):
    """Keep the ``chosen`` answer in the thread, the others in copies; ComparisonClosed follows."""

    number: int
    chosen: int | None
    names: tuple[str, ...]


class Stop(Effect, frozen=True):
    """Stop the turn, or all answers of a comparison, and record what has arrived."""


class Handoff(Effect, frozen=True):
    """Work out what a move to this model or level loses.

    ``same``: the last answer is by this model; ``is_elsewhere``: another model was chosen before.
    ``last_prompt``: the tokens of the last prompt, as the service counted them; ``is_cache_lost``:
    some of them were cached, and are lost if nothing is set inside the conversation.
    """

    model: str
    level_text: str | None
    is_cache_lost: bool = False
    same: bool = False
    is_elsewhere: bool = False
    last_prompt: int | None = None


class NoteModel(Effect, frozen=True):
    """Write the model, level and system prompt of the next turns to the thread."""

    model: str
    level_text: str | None
    system: str


class CheckKey(Effect, frozen=True):
    """Look whether this model's key is there; LinesReported follows if it is not."""

    model: str


class Begin(Effect, frozen=True):
    """Begin a new thread with the next words."""


class Open(Effect, frozen=True):
    """Open a thread by id, its beginning, or "last"; with ``or_find`` search for it as a word."""

    id: str
    or_find: bool = False


class Fork(Effect, frozen=True):
    """Continue in a copy of the thread, with the model ``to`` if named; ThreadOpened follows."""

    model: str
    level_text: str | None
    to: str = ""


class Rename(Effect, frozen=True):
    """Give the thread a title; ThreadRenamed follows."""

    title: str


class Export(Effect, frozen=True):
    """Write the thread to a file, in the format of its suffix."""

    path: str


class ListThreads(Effect, frozen=True):
    """List the threads, or those that contain these words; ThreadsOffered follows."""

    words: str = ""


class Recall(Effect, frozen=True):
    """Look up the last turn, for this ``purpose``; LastTurnLoaded follows."""

    purpose: Purpose
    level_texts: tuple[str, ...] = ()
    words: str = ""


class Rewind(Effect, frozen=True):
    """Continue after ``count`` messages; the rest stays in the thread it was written to."""

    count: int


class Edit(Effect, frozen=True):
    """Let the user edit a question in their editor; QuestionEdited follows."""

    asked: DraftQuestion
    number: int


class Copy(Effect, frozen=True):
    """Put a text on the clipboard; LinesReported follows. ``what`` is what the text is."""

    text: str
    what: str


class Search(Effect, frozen=True):
    """Find words in this thread and in all others; SearchFinished follows."""

    words: str


class ShowMessage(Effect, frozen=True):
    """Show the message of this number, of a thread; None is the one that is open."""

    number: int
    thread: str | None = None


class AnswerApproval(Effect, frozen=True):
    """Tell a waiting call what was decided; "always" is kept in the config."""

    id: int
    word: Word


class ListTools(Effect, frozen=True):
    """Show the tools and which need no approval; LinesReported follows."""


class Forget(Effect, frozen=True):
    """Ask about a tool again that was to run always; LinesReported follows."""

    name: str


class Attach(Effect, frozen=True):
    """Read a file for the next question; FilesAttached follows."""

    path: str


class ReadMentions(Effect, frozen=True):
    """Read the files that words name as ``@path``; MentionsRead follows."""

    asked: DraftQuestion


class ListForPane(Effect, frozen=True):
    """List the threads for the pane, or those that have these words; ThreadsListed follows."""

    words: str


class Fetch(Effect, frozen=True):
    """Load these messages, ``last`` not included; PageLoaded follows."""

    first: int
    last: int


class ShowWire(Effect, frozen=True):
    """Show the last exchange as it went over the wire, without its keys."""


class RunDoctor(Effect, frozen=True):
    """Check keys, folders and versions; LinesReported follows."""


class RestoreInput(Effect, frozen=True):
    """Put words back into the input line; if ``selected``, what is typed next replaces them.

    ``is_taken_back``: they were answered before.
    """

    words: str
    selected: bool = True
    is_taken_back: bool = False


class SetAside(Effect, frozen=True):
    """Keep words that nothing has used; ↑ recalls them, also in the next chat."""

    words: str


class ChangeTheme(Effect, frozen=True):
    """Change the colours, and keep the choice in the config."""

    theme: str


class Quit(Effect, frozen=True):
    """Leave."""


Effects = tuple[Effect, ...]
Transition = tuple[ChatState, Effects]
"""The next state, and the effects to run."""
