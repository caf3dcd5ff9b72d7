"""How a service that stores answers is played by a gateway, which keeps them for any model.

The gateway stores, binds and runs; only the functions behind this record know the JSON.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from pondero.canon import HttpRequest, HttpResponse, Json

from .dialect import ReplyContext

ItemRow = tuple[str, bytes]
"""An item's id, and the item as JSON as its sender wrote it."""


class NamedItems(Struct, frozen=True):
    """Items with their ids; ``made`` are the ids of those that had none, and tell ``holder``."""

    rows: tuple[ItemRow, ...]
    made: tuple[str, ...]
    holder: str


KeptVerb = Literal[
    "create",
    "fetch",
    "update",
    "delete",
    "cancel",
    "items",
    "add_items",
    "fetch_item",
    "delete_item",
]


class Continuation(Struct, frozen=True, kw_only=True):
    """What a request says of stored answers; ``input`` are its own items as JSON."""

    previous: str | None = None
    conversation: str | None = None
    is_stored: bool = True
    is_background: bool = False
    streams: bool = False
    input: tuple[bytes, ...] = ()


class KeptCall(Struct, frozen=True, kw_only=True):
    """A request about stored things; ``item`` is the id of one item of a conversation.

    ``streams``: the answer's events are asked for, after the one with the number ``after``.
    """

    what: Literal["response", "conversation"]
    verb: KeptVerb
    id: str = ""
    item: str = ""
    streams: bool = False
    after: int = -1


class KeptAnswer(Struct, frozen=True, kw_only=True):
    """A whole answer: its JSON, its items, and the tokens that it reports.

    ``hidden``: for each item, the most tokens that it does not show; None if unlimited.
    """

    id: str
    body: bytes
    items: tuple[ItemRow, ...] = ()
    hidden: Mapping[str, int | None] = {}
    input: int | None = None
    output: int | None = None


class NewConversation(Struct, frozen=True):
    """What a request says of a conversation: its first or further items, and its labels as JSON."""

    items: tuple[bytes, ...] = ()
    metadata: bytes = b"{}"


class ConversationFacts(Struct, frozen=True):
    """A conversation without its items; ``metadata`` is JSON."""

    id: str
    created: int
    metadata: bytes


class KeptEndpoints(Struct, frozen=True, kw_only=True):
    """Requests about stored things, and what the service answers.

    ``read_conversation`` reads the items and labels that a request has. ``reject_stream``: the
    events of an answer cannot be fetched. The last functions return rejections.
    """

    classify: Callable[[HttpRequest], KeptCall | None]
    write_response: Callable[[HttpRequest, bytes], HttpResponse]
    write_deleted: Callable[[KeptCall], HttpResponse]
    write_items: Callable[[HttpRequest, Sequence[ItemRow]], HttpResponse]
    write_item: Callable[[HttpRequest, ItemRow], HttpResponse]
    read_conversation: Callable[[HttpRequest], NewConversation]
    write_conversation: Callable[[ConversationFacts], HttpResponse]
    reject_response: Callable[[str], HttpResponse]
    reject_conversation: Callable[[str], HttpResponse]
    reject_item: Callable[[str], HttpResponse]
    reject_cancel: Callable[[], HttpResponse]
    reject_stream: Callable[[], HttpResponse]


class SocketFrames(Struct, frozen=True, kw_only=True):
    """The same API over a WebSocket, whose messages are requests and events.

    ``read`` returns a request in one message, or raises Rejected. ``write_error`` writes an error
    as a message, ``write_empty`` the events of an answer to a request that asks for none.
    """

    read: Callable[[str | bytes], "SocketRequest"]
    write_error: Callable[[HttpResponse], str]
    write_empty: Callable[[ReplyContext[Json]], tuple[bytes, ...]]
    too_old: Callable[[], HttpResponse]


class SocketRequest(Struct, frozen=True):
    """A request that came as a message; ``is_empty``: its input is kept, and no model asked."""

    body: bytes
    is_empty: bool = False


class KeptResponses(Struct, frozen=True, kw_only=True):
    """What a gateway needs to keep the answers of an API itself.

    - ``read`` returns what a request says of stored answers, or raises Rejected. ``resume`` writes
      it with items before its own and the items that its references mean, and without what only
      a store understands; ``stream`` writes it as a request whose answer is a stream. ``note``
      puts into the context of its answer what that repeats, and that thinking is signed.
    - ``repeat`` writes what a request continues into an answer, or into an event that has one, of a
      service that was sent the history itself.
    - ``references`` are the ids of items that are named instead of sent.
    - ``make_id`` returns the id of the answer that is written with a seed; ``find_holder`` returns
      that id from the id of one of its items. ``name_items`` gives ids to items without one, which
      tell the same.
    - ``find_answer`` returns the answer in a whole body, ``find_ended`` the one in an event that
      has one of ``end_marks``. ``begin`` writes the answer that is fetched later; ``write_status``
      writes an answer as cancelled or failed, with a reason; ``status_of`` reads its state.
    - ``number_of`` returns the number of an event of a stream. ``write_ended`` writes the last
      event of an answer that has ended, with such a number.
    - ``signed_by``: a field, a list, and the word in it with which a service that stores nothing
      signs thinking, so that it can be sent back.
    """

    read: Callable[[HttpRequest], Continuation]
    resume: Callable[[HttpRequest, Sequence[bytes], Mapping[str, bytes]], HttpRequest]
    stream: Callable[[HttpRequest], HttpRequest]
    references: Callable[[Sequence[bytes]], tuple[str, ...]]
    put: Callable[[Sequence[bytes], Mapping[str, bytes]], tuple[bytes, ...]]
    note: Callable[[Json, Continuation], Json]
    repeat: Callable[[bytes, Continuation], bytes]
    make_id: Callable[[bytes], str]
    find_holder: Callable[[str], str | None]
    name_items: Callable[[Sequence[bytes], bytes], NamedItems]
    find_answer: Callable[[bytes], KeptAnswer | None]
    find_ended: Callable[[bytes], KeptAnswer | None]
    end_marks: tuple[bytes, ...]
    begin: Callable[[ReplyContext[Json]], bytes]
    write_status: Callable[[bytes, str, str | None], bytes]
    status_of: Callable[[bytes], str]
    number_of: Callable[[bytes], int | None]
    write_ended: Callable[[bytes, int], bytes]
    signed_by: tuple[str, str]
    endpoints: KeptEndpoints
    socket: SocketFrames
