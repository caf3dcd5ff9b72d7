"""The records of the store: messages, threads, and the results of searches and sums."""

from msgspec import Struct

from ...canon import Json, Message, Usage
from ...handoff import Rejection


class StoredMessage(Struct, frozen=True, omit_defaults=True):
    """One message of a thread. All other fields are for replies only.

    ``plan`` is the plan as JSON, ``seconds`` how long the reply took, ``first`` how long its
    first word of thinking or answer took, ``cost`` its price in dollars as a decimal number;
    ``partial`` is whether it was cut off, ``offline`` whether no service gave it, but the emulator
    or a recording.
    """

    message: Message
    plan: Json | None = None
    usage: Usage | None = None
    verdict: str | None = None
    finish: str | None = None
    seconds: float | None = None
    first: float | None = None
    cost: str | None = None
    partial: bool = False
    offline: bool = False


class Thread(Struct, frozen=True):
    """A conversation on disk, without its messages.

    ``thinking`` is the wish as the user gave it; ``parent`` the thread this one was forked from;
    ``created`` and ``updated`` are seconds since 1970. ``usage`` and ``cost`` add up what is
    known of this thread's own replies, not of those it was forked with; None: nothing is known.
    ``refusals`` are the parts that services refused; they are not sent to them again.
    """

    id: str
    title: str
    model: str
    thinking: Json = None
    system: str = ""
    created: float = 0
    updated: float = 0
    parent: str | None = None
    turns: int = 0
    messages: int = 0
    usage: Usage = Usage()
    cost: str | None = None
    refusals: tuple[Rejection, ...] = ()


class ExportLine(Struct, frozen=True, omit_defaults=True):
    """A message in an export, with the number of its turn; ``copied`` where a fork copied it."""

    turn: int
    kept: StoredMessage
    copied: bool = False


class SearchHit(Struct, frozen=True):
    """One hit of a search; ``number`` counts messages from 0, and is None for the title."""

    thread: Thread
    number: int | None
    role: str | None
    snippet: str


class UsageTotal(Struct, frozen=True):
    """What the replies of one model at one level took, of services or ``offline``.

    ``priced`` and ``timed`` are how many of the replies have a known cost and duration; ``key`` is
    the gateway's key that they were asked with, None for the threads.
    """

    model: str
    level: str | None
    turns: int
    replies: int
    input: int | None
    cached: int | None
    thinking: int | None
    output: int | None
    cost: str | None
    priced: int
    seconds: float | None
    timed: int
    offline: bool = False
    key: str | None = None
