"""One conversation of the chat: its state, its thread, and what arrives for it.

``ChatApp`` shows one desk; others go on answering until their turn is over.
"""

from asyncio import Future

from textual.worker import Worker

from ..canon import Event
from .session import Candidate, Session
from .state import ChatState, Word, actions

_KEYS_A_DESK = 1_000_000_000


class ConversationTab:
    """A state and who talks for it; ``turn`` runs while an answer comes."""

    def __init__(self, state: ChatState, session: Session) -> None:
        self.state = state
        self.session = session
        self.events: list[Event] = []
        self.turn: Worker[None] | None = None
        self.columns: dict[int, list[Event]] = {}
        self.candidates: dict[int, Candidate] = {}
        self.asking: list[Worker[None]] = []
        self.proposed: dict[int, Future[Word]] = {}

    @property
    def thread(self) -> str | None:
        """Return the id of its thread; None before its first turn was written."""
        return self.state.thread.id if self.state.thread else None

    @property
    def is_written(self) -> bool:
        """Return whether all of it is on disk, so that it can be closed and opened again."""
        return self.state.thread is not None and self.state.unsaved is None

    def feed(self, event: Event) -> None:
        """Take an event of the answer; the next frame draws it."""
        self.events.append(event)

    def take_events(self, at: float) -> actions.EventsArrived:
        """Return what came since the last frame."""
        events, self.events = tuple(self.events), []
        return actions.EventsArrived(events, at)

    def columns_arrived(self, at: float) -> actions.ColumnsArrived:
        """Return what came for the columns of a comparison since the last frame."""
        came = tuple((column, tuple(events)) for column, events in self.columns.items() if events)
        for events in self.columns.values():
            events.clear()
        return actions.ColumnsArrived(came, at)

    def new_tab(self, number: int) -> "ConversationTab":
        """Return an empty desk with the same model and level; no cell there has a key of here."""
        state = self.state.clear().but(
            turn=None,
            queue=(),
            attached=(),
            hint="",
            choosing=None,
            comparing=None,
            next_key=number * _KEYS_A_DESK,
        )
        return ConversationTab(state, self.session.sibling())
