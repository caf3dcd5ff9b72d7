"""The conversations of the chat: each tab has a state, a thread, and the events of its answer."""

from asyncio import Future
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from msgspec.structs import replace

from ...canon import Message, Text
from ...store import Drafts
from ..session import Candidate, Session
from ..state import ChatState, Choice, DraftQuestion, Word, actions, read_question, write_question
from ..thread_rows import describe_tab, has_words
from ..thread_writer import SavedTurn

_KEYS_PER_TAB = 1_000_000_000


class Running(Protocol):
    """Work in the background."""

    def cancel(self) -> None:
        """Cancel it."""

    async def wait(self) -> None:
        """Wait until it has ended."""


class ConversationTab:
    """A state and its session; ``turn`` runs while an answer arrives.

    ``place`` names it in lists as long as it has no thread; no id of a thread is like it.
    """

    def __init__(self, state: ChatState, session: Session, number: int = 1) -> None:
        self.state = state
        self.session = session
        self.place: str = f"#{number}"
        self.events: list[actions.Arrival] = []
        self.turn: Running | None = None
        self.editing: Running | None = None
        self.columns: dict[int, list[actions.Arrival]] = {}
        self.candidates: dict[int, Candidate] = {}
        self.asking: list[Running] = []
        self.proposed: dict[int, Future[Word]] = {}

    @property
    def thread(self) -> str | None:
        """Return the id of its thread; None before its first turn was written."""
        return self.state.thread.id if self.state.thread else None

    @property
    def is_unlisted(self) -> bool:
        """Return whether it has words to show, but no thread that the lists have."""
        return self.thread is None and bool(self.state.count or self.state.occupied)

    @property
    def running(self) -> tuple[Running, ...]:
        """Return the workers of its answers, and of an editor."""
        return (*self.asking, *(each for each in (self.turn, self.editing) if each is not None))

    @property
    def is_written(self) -> bool:
        """Return whether all of it is on disk, so that it can be closed and opened again."""
        return self.state.thread is not None and self.state.unsaved is None

    def save_drafts(
        self, typed: str, *, cut: bool = False, ahead: Iterable[str] = (), patient: bool = True
    ) -> None:
        """Keep the queue of the thread and the words in the input line, in case of a kill.

        ``ahead``: further prompts of the queue.
        """
        asked = (*self.state.queue, *map(DraftQuestion, ahead))
        queue = tuple(map(write_question, asked))
        commands = tuple(at for at, each in enumerate(asked) if each.is_command)
        drafts = Drafts(queue, typed, cut, self.state.attached, commands=commands)
        self.session.writer.save_drafts(drafts, patient=patient)

    def take_drafts(self) -> tuple[actions.RestoredDrafts, tuple[str, ...]]:
        """Return what waited for this thread when its program ended, and what was set aside."""
        drafts = self.session.writer.take_drafts()
        queue = tuple(
            replace(read_question(each), is_command=at in drafts.commands)
            for at, each in enumerate(drafts.queue)
        )
        attached = read_question(Message("user", (*drafts.attached, Text("")))).parts
        return actions.RestoredDrafts(queue, drafts.typed, attached), drafts.set_aside

    def try_again(self) -> actions.LateSave | None:
        """Write what could not be written before; None if that changed nothing here."""
        if self.state.comparing is not None:
            for each in self.candidates.values():
                each.try_again()
        writer = self.session.writer
        # What waits is a part of a turn under way, whose journal tries again.
        saved = SavedTurn(unsaved=writer.why_late) if self.state.busy else writer.try_again()
        if saved.thread is None and bool(saved.unsaved) == bool(self.state.unsaved):
            return None
        return actions.LateSave(saved.thread, saved.unsaved, saved.grown)

    def feed(self, event: actions.Arrival) -> None:
        """Take an event of the answer; the next frame draws it."""
        self.events.append(event)

    def take_arrivals(self, clock: Callable[[], float]) -> Iterator[actions.Action]:
        """Yield the events since the last frame, as actions."""
        if self.state.busy:
            events, self.events = tuple(self.events), []
            yield actions.EventsArrived(events, clock())
        if self.state.comparing is not None:
            yield self._take_columns(clock())

    def _take_columns(self, at: float) -> actions.ColumnsArrived:
        came = tuple((column, tuple(events)) for column, events in self.columns.items() if events)
        for events in self.columns.values():
            events.clear()
        return actions.ColumnsArrived(came, at)


class Tabs:
    """The open tabs; ``active`` is the one on the screen."""

    def __init__(self, first: ConversationTab) -> None:
        self.active: ConversationTab = first
        self._open = [first]
        self._count = 1
        self._closed: dict[str, str] = {}  # the threads of tabs that are closed, by their place

    def __iter__(self) -> Iterator[ConversationTab]:
        return iter(self._open)

    def make(self, tab: ConversationTab) -> ConversationTab:
        """Return a new, empty tab with the model and level of this one."""
        self._count += 1
        state = tab.state.clear().but(
            turn=None,
            queue=(),
            held=False,
            attached=(),
            taken_back=(),
            hint=_describe_parked(tab.state),
            choosing=None,
            comparing=None,
            next_key=self._count * _KEYS_PER_TAB,  # no cell has a key of another tab
        )
        return ConversationTab(state, tab.session.sibling(), self._count)

    def activate(self, tab: ConversationTab) -> None:
        """Make a tab the active one; the pane of threads stays open."""
        left = self.active
        self.active = tab
        listing, left.state = left.state.listing, left.state.but(listing=None)
        tab.state = tab.state.but(listing=listing)
        if tab not in self._open:
            self._open.append(tab)
        self.release(left)

    def find(self, thread: str) -> ConversationTab | None:
        """Return the tab of a thread, if it is open."""
        return next((tab for tab in self._open if tab.thread == thread), None)

    def find_unlisted(self, place: str) -> ConversationTab | None:
        """Return the tab at this place, if it has no thread yet."""
        found = (tab for tab in self._open if tab.place == place and tab.thread is None)
        return next(found, None)

    def find_id(self, place: str) -> str:
        """Return the thread of a tab that had none when it was listed; any other id as it is."""
        known = {tab.place: tab.thread for tab in self._open if tab.thread} | self._closed
        return known.get(place, place)

    def list_unlisted(self, words: str = "", *, active: bool) -> tuple[Choice, ...]:
        """Return the tabs without a thread that have these words, the latest first.

        Their first answer still arrives, or could not be saved. ``active``: also the one shown.
        """
        found = (tab for tab in reversed(self._open) if active or tab is not self.active)
        return tuple(
            describe_tab(tab.place, tab.state, is_shown=tab is self.active)
            for tab in found
            if tab.is_unlisted and has_words(tab.state, words)
        )

    def find_empty(self) -> ConversationTab | None:
        """Return a hidden tab without a thread: only what waits there keeps it open."""
        hidden = (tab for tab in self._open if tab is not self.active)
        return next((tab for tab in hidden if not (tab.state.count or tab.state.busy)), None)

    def busy_threads(self) -> tuple[str, ...]:
        """Return the threads that are being answered."""
        return tuple(tab.thread for tab in self._open if tab.thread and tab.state.busy)

    def release(self, tab: ConversationTab) -> None:
        """Close a hidden, idle tab that is saved or empty; queued words and files keep it open."""
        waits = tab.state.occupied or tab.state.attached
        done = not waits and (tab.is_written or not tab.state.count)
        if tab is not self.active and done:
            self._open.remove(tab)
            if tab.thread is not None:
                self._closed[tab.place] = tab.thread


def _describe_parked(state: ChatState) -> str:
    if state.busy or not state.queue:
        return ""
    count = len(state.queue)
    return f"{count} {'prompts wait' if count > 1 else 'prompt waits'} in the other thread: Ctrl+L"
