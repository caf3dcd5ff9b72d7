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


class Action(Struct, frozen=True):
    """Something that happened."""


# -- the user -----------------------------------------------------------------------------------


class Submitted(Action, frozen=True):
    """The user sent a line: a message, or a command that begins with a slash."""

    text: str
    at: float = 0.0


class TurnInterrupted(Action, frozen=True):
    """Esc or Ctrl-C: stop the turn. ``hard`` (Ctrl-C) leaves the chat when pressed twice."""

    hard: bool = False


class KeyTyped(Action, frozen=True):
    """A key was pressed in the input line; the hint is out of date."""


class Unqueued(Action, frozen=True):
    """The user takes the last of the waiting words back."""


class ColumnMoved(Action, frozen=True):
    """The user chose the next column of a comparison, or the one before."""

    step: int


class ComparisonClosing(Action, frozen=True):
    """The user closes a comparison; ``keep``: with the chosen answer as the thread's."""

    keep: bool


class PaneToggled(Action, frozen=True):
    """The user opened the pane of threads, or closed it."""


class SearchTyped(Action, frozen=True):
    """The user looks for other words in the pane."""

    words: str


class ThreadPickedInPane(Action, frozen=True):
    """The user picked a thread in the pane; an empty id is a new one."""

    thread: str


class ApprovalDecided(Action, frozen=True):
    """The user decided about a call."""

    id: int
    word: Word


class PickerOpened(Action, frozen=True):
    """The user opened the picker of levels."""


class ItemPicked(Action, frozen=True):
    """Something was picked from the list."""

    value: str


class Dismissed(Action, frozen=True):
    """The list was closed without a choice."""


class ThinkingToggled(Action, frozen=True):
    """A thought was opened or folded: this one, or the newest."""

    key: int | None = None


class AllThinkingToggled(Action, frozen=True):
    """All thoughts were opened, or folded."""


class Scrolled(Action, frozen=True):
    """An end of the page came into view, and there may be more beyond it."""

    to: Literal["older", "newer"]


# -- outcomes -----------------------------------------------------------------------------------


class RetryWait(Struct, frozen=True):
    """A request failed for this reason at ``at``, and is sent again after these seconds."""

    reason: str
    seconds: float
    at: float


Arrival = Event | RetryWait
"""What comes while a model is asked."""


class EventsArrived(Action, frozen=True):
    """These events came since the last frame, perhaps none; ``at`` is now."""

    events: tuple[Arrival, ...]
    at: float


class ExchangeEnded(Struct, frozen=True):
    """One exchange of a turn is over. ``notes`` are the repairs made while it was sent.

    ``at_least``: it was cut off, and has used what was reported or more.
    """

    usage: Usage
    finish: str
    verdict: str
    cost: Decimal | None = None
    notes: tuple[str, ...] = ()
    at_least: bool = False


class TurnEnded(Action, frozen=True, kw_only=True):
    """The turn is over; ``stored``: messages added to ``thread``, else ``unsaved`` says why not.

    ``grown``: the thread had grown elsewhere, and ``thread`` is a copy without that. ``waited``:
    the seconds in which the user decided about tools.
    """

    at: float
    stored: tuple[Message, ...] = ()
    exchanges: tuple[ExchangeEnded, ...] = ()
    stopped: bool = False
    error: PonderoError | None = None
    thread: SavedThread | None = None
    unsaved: str | None = None
    grown: bool = False
    waited: float = 0.0


class UsageCount(Action, frozen=True):
    """What the answers that the conversation has used, after some were taken back."""

    tally: UsageTally


class LateSave(Action, frozen=True):
    """Turns that could not be written are in ``thread`` now; ``unsaved``: why others are not.

    ``grown``: as for ``TurnEnded``.
    """

    thread: SavedThread | None = None
    unsaved: str | None = None
    grown: bool = False


class RestoredDrafts(Action, frozen=True):
    """What waited for this thread when its program ended: a queue, and words that were typed.

    ``attached``: to these words.
    """

    queue: tuple[DraftQuestion, ...] = ()
    typed: str = ""
    attached: tuple[Text | Image | Blob, ...] = ()


class WordsReturned(Action, frozen=True):
    """Words that were not answered came back while another thread was shown; they wait here."""

    words: str


class BackgroundTurnEnded(Action, frozen=True):
    """A turn ended while another thread was shown; ``whole``: without an error."""

    thread: SavedThread | None
    whole: bool = True


class ColumnsArrived(Action, frozen=True):
    """These events came for these columns since the last frame; ``at`` is now."""

    events: tuple[tuple[int, tuple[Arrival, ...]], ...]
    at: float


class ColumnEnded(Action, frozen=True):
    """The answer of one column is over."""

    column: int
    ended: TurnEnded


class ComparisonClosed(Action, frozen=True):
    """A comparison was closed: ``past`` is the turn that the thread has now, if it is another."""

    past: tuple[ThreadMessage, ...] = ()
    thread: SavedThread | None = None
    unsaved: str | None = None
    lines: tuple[str, ...] = ()


class HandedOff(Action, frozen=True):
    """The past was made fit for another model: lines on what it loses and the cache it costs.

    ``cache``: what the status line says of the cache until the next answer.
    """

    lines: tuple[str, ...] = ()
    cache: str = ""


class ThreadOpened(Action, frozen=True, kw_only=True):
    """Another thread is open: its last page, its number of messages, and what they used."""

    model: str
    level_text: str | None = None
    system: str = ""
    thread: SavedThread | None = None
    past: tuple[ThreadMessage, ...] = ()
    count: int = 0
    tally: UsageTally = UsageTally()


class PageLoaded(Action, frozen=True):
    """Another part of the thread was loaded: these messages, from ``first`` on."""

    past: tuple[ThreadMessage, ...]
    first: int


class ThreadsOffered(Action, frozen=True):
    """Threads to choose from."""

    choices: tuple[Choice, ...]


class LastTurnLoaded(Action, frozen=True):
    """The last turn of the thread, from its question on; empty if nothing was asked yet."""

    purpose: Purpose
    level_texts: tuple[str, ...] = ()
    words: str = ""
    turn: tuple[ThreadMessage, ...] = ()
    at: float = 0.0


class QuestionEdited(Action, frozen=True):
    """The question of this number was edited; ``words`` is None without an editor."""

    words: str | None
    number: int
    before: DraftQuestion
    at: float = 0.0


class FilesAttached(Action, frozen=True):
    """These go with the next question."""

    parts: tuple[Text | Image | Blob, ...]


class MentionsRead(Action, frozen=True):
    """A question with the files it names; ``error`` is why one of them cannot be read."""

    asked: DraftQuestion
    at: float
    error: str = ""


class ApprovalRequested(Action, frozen=True):
    """The model calls a tool that needs approval."""

    proposal: Proposal


class ApprovalWithdrawn(Action, frozen=True):
    """This decision is no longer needed."""

    id: int


class ApprovalWaiting(Action, frozen=True):
    """A thread that is not shown waits for a decision."""

    thread: SavedThread | None


class ThreadsListed(Action, frozen=True):
    """The threads that have these words, for the pane."""

    words: str
    choices: tuple[Choice, ...]


class SearchFinished(Action, frozen=True):
    """Messages with the sought words: those of this thread first."""

    words: str
    choices: tuple[Choice, ...]


class ThreadRenamed(Action, frozen=True):
    """The thread has another title now."""

    thread: SavedThread


class LinesReported(Action, frozen=True):
    """An effect has lines to show."""

    lines: tuple[str, ...]
    tone: Tone = "plain"
