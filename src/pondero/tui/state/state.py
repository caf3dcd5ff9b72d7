"""All that a chat is at one moment, and what it has used. Only ``reduce`` makes the next state."""

from decimal import Decimal
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ...canon import Blob, Image, Message, Text, Usage
from ...thinking import Plan
from .catalog_view import Choice
from .cells import Cell, ModelCell, NoticeCell, Tone


class UsageTally(Struct, frozen=True):
    """Sums over a thread; ``cost`` is None as soon as the price of one exchange is unknown.

    ``at_least``: an answer was cut off, and counts only as far as the service had reported it.
    """

    input: int | None = None
    cached: int | None = None
    thinking: int | None = None
    output: int | None = None
    used: bool = False
    cost: Decimal | None = Decimal(0)
    last: Usage = Usage()
    last_cost: Decimal | None = None
    at_least: bool = False

    @property
    def context(self) -> int | None:
        """Return the tokens of the conversation so far; None before anything was counted."""
        return self.last.known_total or None

    @property
    def last_prompt(self) -> int | None:
        """Return the tokens of the last prompt; None before anything was counted."""
        return _sum(self.last.input, self.last.cache_read, self.last.cache_write)

    @property
    def all_input(self) -> int | None:
        """Return all input tokens, cached or not."""
        return _sum(self.input, self.cached)

    def plus(self, usage: Usage, cost: Decimal | None, *, at_least: bool = False) -> "UsageTally":
        """Return the tally with one more exchange in it; ``at_least``: it was cut off."""
        if at_least and not usage.known_total:  # nothing was reported, but something was used
            return msgspec.structs.replace(self, used=True, at_least=True)
        added = Decimal(0) if cost is None and at_least else cost
        return UsageTally(
            input=_sum(self.input, usage.input, usage.cache_write),
            cached=_sum(self.cached, usage.cache_read),
            thinking=_sum(self.thinking, usage.thinking),
            output=_sum(self.output, usage.output),
            used=True,
            cost=None if added is None or self.cost is None else self.cost + added,
            last=usage,
            last_cost=cost,
            at_least=self.at_least or at_least,
        )


def _sum(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


_LEAST_SHOWN = Decimal("0.00005")  # less would be $0.0000


def as_cost(cost: Decimal | None) -> str:
    """Return an amount in dollars; small ones keep four digits."""
    if cost is None:
        return "unknown"
    if 0 < cost < _LEAST_SHOWN:
        return "<$0.0001"
    return f"${cost:,.2f}" if cost >= 1 or not cost else f"${cost:.4f}"


AT_LEAST = "at least"


def describe_cost(cost: Decimal | None, *, paid: bool, at_least: bool = False) -> str:
    """Return a cost in dollars, or why there is none; ``at_least``: it may be more."""
    if at_least:
        return f"{AT_LEAST} {as_cost(cost)}" if cost else describe_cost(None, paid=paid)
    if cost or (paid and cost is not None):
        return as_cost(cost)
    return "cost unknown" if paid else "offline"


Show = Literal["auto", "open", "hidden"]


WAIT = "wait for the answer, or press Esc to stop it"
"""The hint for a user who wants something else while an answer arrives."""


class SavedThread(Struct, frozen=True):
    """The thread this chat is saved in."""

    id: str
    title: str = ""


class ThreadMessage(Struct, frozen=True):
    """A message of the thread, with its usage, time and cost from the store.

    ``offline``: the emulator wrote it.
    """

    number: int
    message: Message
    usage: Usage = Usage()
    seconds: float | None = None
    partial: bool = False
    cost: Decimal | None = None
    offline: bool = False

    @property
    def is_cut(self) -> bool:
        """Return whether a service was paid for it and has reported only a part of its use."""
        return self.partial and not self.offline


class PickerState(Struct, frozen=True):
    """A list the user is picking from; ``what`` is what the choice is of.

    The list of models has no ``choices`` here: they are found as the user types.
    """

    what: Literal["thinking", "thread", "theme", "hit", "model"]
    title: str
    choices: tuple[Choice, ...]
    at: int = 0


class DraftQuestion(Struct, frozen=True):
    """A question: its words, and what is attached to it; or a command that waits."""

    words: str
    parts: tuple[Text | Image | Blob, ...] = ()
    is_command: bool = False


class FailedQuestion(Struct, frozen=True):
    """A question that got an error; ``number``: the thread has it, with a part of an answer."""

    asked: DraftQuestion
    number: int | None = None


Word = Literal["once", "always", "no"]
"""What the user decides about a call."""


class Proposal(Struct, frozen=True):
    """A call that waits for the user's decision; ``source`` is where its tool is from.

    ``column`` is the name of the column that asks, in a comparison.
    """

    id: int
    name: str
    source: str
    arguments: str
    column: str = ""


class ThreadPaneState(Struct, frozen=True):
    """The pane of threads: those that have these words, or all."""

    words: str = ""
    choices: tuple[Choice, ...] = ()


class TurnInProgress(Struct, frozen=True):
    """A turn under way. ``places`` maps each part of this exchange to its live cell."""

    asked: DraftQuestion
    began: float
    number: int
    places: tuple[tuple[int, int], ...] = ()
    exchange_at: int = 0


class Column(Struct, frozen=True, kw_only=True):
    """One answer as a chat. ``given``: the thread has it; ``stored``: the thread can take it.

    ``cut`` says in a word why a part of the answer is missing; empty if it is whole.
    """

    name: str
    chat: "ChatState"
    seconds: float | None = None
    live: bool = False
    given: bool = False
    stored: bool = False
    cut: str = ""


class SentPlan(Struct, frozen=True):
    """The model and the fields of its level in the last request that was answered."""

    model: str
    fields: dict[str, Any]


class ComparisonState(Struct, frozen=True):
    """One question in several columns; ``number`` is its place in the thread."""

    words: str
    number: int
    columns: tuple[Column, ...]
    at: int = 0
    hint: str = ""

    @property
    def live(self) -> bool:
        """Return whether an answer is still coming."""
        return any(column.live for column in self.columns)


_UNNAMED = "?"
"""Stands for a model that the page does not name, in place of one that it no longer names."""


def _find_named(kept: tuple[Cell, ...], dropped: tuple[Cell, ...]) -> str:
    """Return the model that a page names last without the dropped cells; empty if the same one."""
    if not any(isinstance(cell, ModelCell) for cell in dropped):
        return ""
    return next((c.model for c in reversed(kept) if isinstance(c, ModelCell)), _UNNAMED)


class ChatState(Struct, frozen=True, kw_only=True):
    """A chat. ``page`` has the finished cells, ``live`` those of the turn under way.

    ``first`` and ``last`` bound the messages on the page, of ``count`` in the thread.
    ``level_text`` is the level the user asked for; ``plan`` is what the model gets. ``turns`` has
    for each turn the number of its first message and the number after its last. ``paid``: a service
    answers, not the emulator. ``noted`` are the repairs already shown. ``failed`` is the question
    that got an error in place of an answer: Enter on an empty line asks it again. ``held``: only
    Enter on an empty line sends the prompts of the ``queue``, not the end of a turn.
    ``taken_back`` are the attached files that came back with a question. ``named`` is the
    model whose answers the page shows at its end: another one is named before its answer.
    ``sent``: how the last answer was asked for; the prompt cache has that. None if unknown.
    """

    model: str
    plan: Plan
    level_text: str | None = None
    window: int | None = None
    shown: str = "full"
    system: str = ""
    thread: SavedThread | None = None
    unsaved: str | None = None
    page: tuple[Cell, ...] = ()
    live: tuple[Cell, ...] = ()
    turn: TurnInProgress | None = None
    queue: tuple[DraftQuestion, ...] = ()
    held: bool = False
    failed: FailedQuestion | None = None
    attached: tuple[Text | Image | Blob, ...] = ()
    taken_back: tuple[Text | Image | Blob, ...] = ()
    first: int = 0
    last: int = 0
    count: int = 0
    tally: UsageTally = UsageTally()
    paid: bool = True
    unpriced: str = ""
    verdict: str | None = None
    cache: str = ""
    sent: SentPlan | None = None
    show: Show = "auto"
    choosing: PickerState | None = None
    comparing: ComparisonState | None = None
    listing: ThreadPaneState | None = None
    proposals: tuple[Proposal, ...] = ()
    hint: str = ""
    leaving: bool = False
    turns: tuple[tuple[int, int], ...] = ()
    noted: tuple[str, ...] = ()
    named: str = ""
    themes: tuple[str, ...] = ()
    theme: str = ""
    next_key: int = 1

    @property
    def name(self) -> str:
        """Return the model's own name, without its provider."""
        return self.model.partition(":")[2]

    @property
    def busy(self) -> bool:
        """Return whether a turn is under way."""
        return self.turn is not None

    @property
    def occupied(self) -> bool:
        """Return whether this thread still has something to do: a turn, or prompts that wait."""
        return self.busy or bool(self.queue)

    @property
    def active(self) -> bool:
        """Return whether an answer is coming, to a turn or to a comparison."""
        return self.busy or (self.comparing is not None and self.comparing.live)

    def but(self, **changes: Any) -> "ChatState":
        """Return this state with some things changed."""
        return msgspec.structs.replace(self, **changes)

    def tell(self, *lines: str, tone: Tone = "plain", items: tuple[str, ...] = ()) -> "ChatState":
        """Return this state with lines for the user at the end of the page."""
        told = NoticeCell(key=self.next_key, lines=lines, tone=tone, items=items)
        return self.but(page=(*self.page, told), next_key=self.next_key + 1)

    def rewind(self, count: int) -> "ChatState":
        """Return this state without the messages from this number on, and what was told since."""
        numbers = (-1 if cell.number is None else cell.number for cell in self.page)
        stored = next((at for at, number in enumerate(numbers) if number >= count), len(self.page))
        return self.but(
            page=self.page[:stored],
            count=count,
            first=min(self.first, count),
            last=min(self.last, count),
            turns=tuple(turn for turn in self.turns if turn[0] < count),
            tally=msgspec.structs.replace(self.tally, last=Usage(), last_cost=None),
            named=_find_named(self.page[:stored], self.page[stored:]) or self.named,
            verdict=None,
            failed=None,
        )

    def clear(self) -> "ChatState":
        """Return this state with an empty page, and nothing counted."""
        return self.but(
            thread=None,
            page=(),
            live=(),
            first=0,
            last=0,
            count=0,
            turns=(),
            noted=(),
            named="",
            tally=UsageTally(),
            verdict=None,
            cache="",
            sent=None,
            failed=None,
        )
