"""The records of the store: messages, threads, search hits and totals."""

from decimal import Decimal

from msgspec import Struct

from ...canon import Json, Message, Part, Usage
from ...handoff import Rejection


class StoredMessage(Struct, frozen=True, omit_defaults=True):
    """One message of a thread. All other fields are for replies only.

    ``plan``: JSON. ``seconds``: the reply's duration; ``first``: the time to its first delta.
    ``cost``: dollars as a decimal number. ``partial``: it was cut off, and has used ``usage`` and
    ``cost`` or more. ``offline``: the emulator or a cassette answered.
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

    ``thinking``: the requested level as the user gave it. ``parent``: the thread it was forked
    from. ``created`` and ``updated``: seconds since 1970. ``usage`` and ``cost``: the known sums
    of its own replies, without the copies of a fork. ``refusals``: the parts that services
    rejected; they are not sent to them again.
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


class ThreadUsage(Struct, frozen=True):
    """The usage of the replies in a thread; ``cost`` is None if that of one is unknown.

    ``at_least``: a reply was cut off, and counts only as far as the service had reported it.
    """

    usage: Usage = Usage()
    cost: Decimal | None = Decimal(0)
    at_least: bool = False


class ThreadEnd(Struct, frozen=True):
    """The last question of a thread, and the level of its answer."""

    question: str
    level: str | None = None


class UnfinishedTurn(Struct, frozen=True, omit_defaults=True):
    """A turn that is to follow the first ``after`` messages of ``thread``; None begins a thread.

    ``copy``: it begins a copy of the thread in any case. ``messages``: what there is of the turn so
    far, its question first. ``name`` is added to the title of a new thread. ``draft``: where the
    drafts of a thread are that has not begun.
    """

    model: str
    messages: tuple[StoredMessage, ...] = ()
    thinking: Json = None
    system: str = ""
    thread: str | None = None
    after: int = 0
    copy: bool = False
    refusals: tuple[Rejection, ...] = ()
    name: str = ""
    draft: str = ""


class Drafts(Struct, frozen=True, omit_defaults=True):
    """What waits to be sent to a thread: a queue of prompts, and words in the input line.

    ``cut``: its last answer was cut off by the end of the program. ``attached``: to the words.
    ``set_aside``: words that other words took the place of in the input line, oldest first.
    ``commands``: the places of commands in the queue.
    """

    queue: tuple[Message, ...] = ()
    typed: str = ""
    cut: bool = False
    attached: tuple[Part, ...] = ()
    set_aside: tuple[str, ...] = ()
    commands: tuple[int, ...] = ()


class SavedPlace(Struct, frozen=True):
    """The thread that has a turn; ``grown``: it is a copy, because the other thread had grown."""

    thread: Thread
    grown: bool = False


class ExportLine(Struct, frozen=True, omit_defaults=True):
    """A message in an export, with the number of its turn; ``copied`` by a fork."""

    turn: int
    kept: StoredMessage
    copied: bool = False


class SearchHit(Struct, frozen=True):
    """One hit of a search; ``number`` counts messages from 0 and is None for a title."""

    thread: Thread
    number: int | None
    role: str | None
    snippet: str


class UsageTotal(Struct, frozen=True):
    """The usage of one model at one level, of services or ``offline``.

    ``priced`` and ``timed``: how many replies have a known cost and duration. ``key``: the gateway
    key, None for threads. ``group``: the group that the key was in.
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
    group: str | None = None
