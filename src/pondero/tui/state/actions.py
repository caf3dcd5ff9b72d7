"""What can happen to a chat: something the user does, or the outcome of an effect."""

from decimal import Decimal
from typing import Literal

from msgspec import Struct

from ...canon import Blob, Event, Image, Message, Text, Usage
from ...errors import PonderoError
from .catalog_view import Choice
from .cells import Tone
from .effects import Purpose
from .state import DraftQuestion, Proposal, SavedThread, ThreadMessage, UsageTally, Word

# -- the user -----------------------------------------------------------------------------------


class Submitted(Struct, frozen=True):
    """The user sent a line: a message, or a command that begins with a slash."""

    text: str
    at: float = 0.0


class TurnInterrupted(Struct, frozen=True):
    """Esc or Ctrl-C: stop the turn. ``hard`` (Ctrl-C) leaves the chat when pressed twice."""

    hard: bool = False


class KeyTyped(Struct, frozen=True):
    """A key was pressed in the input line; the hint is out of date."""


class Unqueued(Struct, frozen=True):
    """The user takes the last of the waiting words back."""


class ColumnMoved(Struct, frozen=True):
    """The user chose the next column of a comparison, or the one before."""

    step: int


class ComparisonClosing(Struct, frozen=True):
    """The user closes a comparison; ``keep``: with the chosen answer as the thread's."""

    keep: bool


class PaneToggled(Struct, frozen=True):
    """The user opened the pane of threads, or closed it."""


class SearchTyped(Struct, frozen=True):
    """The user looks for other words in the pane."""

    words: str


class ThreadPickedInPane(Struct, frozen=True):
    """The user picked a thread in the pane; an empty id is a new one."""

    thread: str


class ApprovalDecided(Struct, frozen=True):
    """The user decided about a call."""

    id: int
    word: Word


class PickerOpened(Struct, frozen=True):
    """The user opened the picker of levels."""


class ItemPicked(Struct, frozen=True):
    """Something was picked from the list."""

    value: str


class Dismissed(Struct, frozen=True):
    """The list was closed without a choice."""


class ThinkingToggled(Struct, frozen=True):
    """A thought was opened or folded: this one, or the newest."""

    key: int | None = None


class AllThinkingToggled(Struct, frozen=True):
    """All thoughts were opened, or folded."""


class Scrolled(Struct, frozen=True):
    """An end of the page came into view, and there may be more beyond it."""

    to: Literal["older", "newer"]


# -- outcomes -----------------------------------------------------------------------------------


class EventsArrived(Struct, frozen=True):
    """These events came since the last frame, perhaps none; ``at`` is now."""

    events: tuple[Event, ...]
    at: float


class ExchangeEnded(Struct, frozen=True):
    """One exchange of a turn is over. ``notes`` are the repairs made while it was sent."""

    usage: Usage
    finish: str
    verdict: str
    cost: Decimal | None = None
    notes: tuple[str, ...] = ()


class TurnEnded(Struct, frozen=True, kw_only=True):
    """The turn is over. ``stored`` are the messages it added to the thread; ``error`` broke it off.

    ``thread`` is where they were written; None where they could not be, and ``unsaved`` says why.
    """

    at: float
    stored: tuple[Message, ...] = ()
    exchanges: tuple[ExchangeEnded, ...] = ()
    stopped: bool = False
    error: PonderoError | None = None
    thread: SavedThread | None = None
    unsaved: str | None = None


class WordsReturned(Struct, frozen=True):
    """Words that were not answered came back while another thread was shown; they wait here."""

    words: str


class BackgroundTurnEnded(Struct, frozen=True):
    """A turn ended while another thread was shown; ``whole``: without an error."""

    thread: SavedThread | None
    whole: bool = True


class ColumnsArrived(Struct, frozen=True):
    """These events came for these columns since the last frame; ``at`` is now."""

    events: tuple[tuple[int, tuple[Event, ...]], ...]
    at: float


class ColumnEnded(Struct, frozen=True):
    """The answer of one column is over."""

    column: int
    ended: TurnEnded


class ComparisonClosed(Struct, frozen=True):
    """A comparison was closed: ``past`` is the turn that the thread has now, if it is another."""

    past: tuple[ThreadMessage, ...] = ()
    thread: SavedThread | None = None
    unsaved: str | None = None
    lines: tuple[str, ...] = ()


class HandedOff(Struct, frozen=True):
    """The past was made fit for another model: lines on what it loses and the cache it costs."""

    lines: tuple[str, ...] = ()


class ThreadOpened(Struct, frozen=True, kw_only=True):
    """Another thread is open: its last page, its number of messages, and what they used."""

    model: str
    level_text: str | None = None
    system: str = ""
    thread: SavedThread | None = None
    past: tuple[ThreadMessage, ...] = ()
    count: int = 0
    tally: UsageTally = UsageTally()


class PageLoaded(Struct, frozen=True):
    """Another part of the thread was loaded: these messages, from ``first`` on."""

    past: tuple[ThreadMessage, ...]
    first: int


class ThreadsOffered(Struct, frozen=True):
    """Threads to choose from."""

    choices: tuple[Choice, ...]


class LastTurnLoaded(Struct, frozen=True):
    """The last turn of the thread, from its question on; empty where nothing was asked yet."""

    purpose: Purpose
    level_texts: tuple[str, ...] = ()
    words: str = ""
    turn: tuple[ThreadMessage, ...] = ()
    at: float = 0.0


class QuestionEdited(Struct, frozen=True):
    """The question of this number was edited; ``words`` is None where there was no editor."""

    words: str | None
    number: int
    before: DraftQuestion
    at: float = 0.0


class FilesAttached(Struct, frozen=True):
    """These go with the next question."""

    parts: tuple[Text | Image | Blob, ...]


class MentionsRead(Struct, frozen=True):
    """A question with the files it names; ``error`` is why one of them cannot be read."""

    asked: DraftQuestion
    at: float
    error: str = ""


class ApprovalRequested(Struct, frozen=True):
    """The model calls a tool that does not run unasked."""

    proposal: Proposal


class ApprovalWithdrawn(Struct, frozen=True):
    """Nobody waits for this decision any more."""

    id: int


class ApprovalWaiting(Struct, frozen=True):
    """A thread that is not shown waits for a decision."""

    thread: SavedThread | None


class ThreadsListed(Struct, frozen=True):
    """The threads that have these words, for the pane."""

    words: str
    choices: tuple[Choice, ...]


class SearchFinished(Struct, frozen=True):
    """Messages with the sought words: those of this thread first."""

    words: str
    choices: tuple[Choice, ...]


class ThreadRenamed(Struct, frozen=True):
    """The thread has another title now."""

    thread: SavedThread


class LinesReported(Struct, frozen=True):
    """An effect has lines to show."""

    lines: tuple[str, ...]
    tone: Tone = "plain"


Action = (
    Submitted
    | TurnInterrupted
    | KeyTyped
    | Unqueued
    | ColumnMoved
    | ComparisonClosing
    | PaneToggled
    | SearchTyped
    | ThreadPickedInPane
    | ApprovalDecided
    | PickerOpened
    | ItemPicked
    | Dismissed
    | ThinkingToggled
    | AllThinkingToggled
    | Scrolled
    | EventsArrived
    | TurnEnded
    | WordsReturned
    | BackgroundTurnEnded
    | ColumnsArrived
    | ColumnEnded
    | ComparisonClosed
    | HandedOff
    | ThreadOpened
    | PageLoaded
    | ThreadsOffered
    | LastTurnLoaded
    | QuestionEdited
    | FilesAttached
    | MentionsRead
    | ApprovalRequested
    | ApprovalWithdrawn
    | ApprovalWaiting
    | ThreadsListed
    | SearchFinished
    | ThreadRenamed
    | LinesReported
)
