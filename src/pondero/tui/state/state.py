"""All that a chat is at one moment. A value: what changes it is an action, see ``reduce``."""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from ...thinking import Plan
from .cells import Cell, Told, Tone
from .dial import Choice
from .tally import Tally

Show = Literal["auto", "open", "hidden"]


WAIT = "wait for the answer, or press Esc to stop it"
"""What is said to who asks for something else meanwhile."""


class Known(Struct, frozen=True):
    """The thread this chat is kept in."""

    id: str
    title: str = ""


class Choosing(Struct, frozen=True):
    """A list the user is picking from; ``what`` says what becomes of the choice."""

    what: Literal["thinking", "thread"]
    title: str
    choices: tuple[Choice, ...]
    at: int = 0


class Turn(Struct, frozen=True):
    """A turn under way. ``places`` says which live cell each part of this exchange is."""

    words: str
    began: float
    number: int
    places: tuple[tuple[int, int], ...] = ()
    exchange_at: int = 0
    stopping: bool = False


class State(Struct, frozen=True, kw_only=True):
    """A chat. ``page`` is what stands still, ``live`` what the turn under way adds to it.

    ``first`` and ``last`` are the messages the page shows, of ``count`` in the thread. ``wish``
    is the thinking asked for, as it was said; ``plan`` is what it becomes. ``turns`` are
    those had here: the number of each one's first message, which its cells have, and of the one
    after its last. ``unpriced`` is why a price may not be known here; ``noted`` are the repairs
    of requests that were spoken of already.
    """

    model: str
    plan: Plan
    wish: str | None = None
    window: int | None = None
    shown: str = "full"
    system: str = ""
    thread: Known | None = None
    unsaved: str | None = None
    page: tuple[Cell, ...] = ()
    live: tuple[Cell, ...] = ()
    turn: Turn | None = None
    first: int = 0
    last: int = 0
    count: int = 0
    tally: Tally = Tally()
    unpriced: str = ""
    verdict: str | None = None
    show: Show = "auto"
    choosing: Choosing | None = None
    hint: str = ""
    leaving: bool = False
    turns: tuple[tuple[int, int], ...] = ()
    noted: tuple[str, ...] = ()
    next_key: int = 1

    @property
    def name(self) -> str:
        """Return the model's own name, without its provider."""
        return self.model.partition(":")[2]

    @property
    def busy(self) -> bool:
        """Return whether an answer is on its way."""
        return self.turn is not None

    def but(self, **changes: Any) -> "State":
        """Return this state with some things changed."""
        return msgspec.structs.replace(self, **changes)

    def tell(self, *lines: str, tone: Tone = "plain") -> "State":
        """Return this state with something said to the user at the end of the page."""
        told = Told(key=self.next_key, lines=lines, tone=tone)
        return self.but(page=(*self.page, told), next_key=self.next_key + 1)
