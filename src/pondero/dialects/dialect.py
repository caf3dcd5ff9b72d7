"""What a dialect is: a record of functions for each of its two sides.

The caller's side turns our requests into the wire's and its answers into events. The service's
side is the other end: it reads requests and writes answers, for the emulator, the contract kit
and gateways. The two are written apart and must agree, so neither imports the other.

A side's package ends in ``CALLER = Caller(...)`` or ``SERVICE = Service(...)``: that line is where
mypy checks every signature.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Literal, Protocol, TypeVar

from msgspec import Struct

from ..canon import (
    Event,
    Head,
    HttpRequest,
    HttpResponse,
    Json,
    Message,
    Part,
    Reply,
    Request,
    Takes,
    Target,
)
from ..errors import ServiceError
from ..thinking import UNSET, Adjustment, Capability, Intent, Plan

Quirks = Mapping[str, Json]
"""What one deployment does differently, from its file in the catalog."""

C = TypeVar("C")
"""What one dialect's answers need to know of the request they answer."""


# -- the caller's side ---------------------------------------------------------------------------


class Where(Struct, frozen=True):
    """Which model was asked, at which deployment: what an answer does not say of itself.

    Seals name both. ``quirks`` are the deployment's.
    """

    model: str | None = None
    route: str | None = None
    quirks: Quirks = {}


class EventStream(Protocol):
    """Bytes in, events out; owns no socket."""

    def feed(self, data: bytes) -> list[Event]:
        """Take more bytes, in any split."""
        ...

    def eof(self) -> list[Event]:
        """Say that no more will come; raises Truncated where the answer was cut."""
        ...


class Recognises(Protocol):
    """Tells how surely a piece of JSON is an answer of this wire."""

    def __call__(self, raw: Json, *, stream: bool) -> int:
        """Return 0 to 100 for a body or, with ``stream``, for the first object of a stream."""
        ...


class Repair(Struct, frozen=True):
    """A refused request as the service says it would take it, and the one difference.

    ``holds_for`` is what will be refused again without it: nothing more, all of this thread, or
    all to this model. ``unsealed`` are the seals it took out, as they stood on the wire.
    """

    request: HttpRequest
    adjustment: Adjustment
    holds_for: Literal["request", "thread", "model"] = "request"
    unsealed: tuple[str, ...] = ()


class Given(Struct, frozen=True):
    """An earlier answer: which exchange it ended, who gave it, and to which body."""

    number: int
    provider: str | None
    model: str | None
    asked: Json
    message: Message


class Past(Protocol):
    """The answers that came before a request, found by what of them is sent back."""

    def of_call(self, id: str) -> Given | None:
        """Return the answer that made a call with this id."""
        ...

    def of_function(self, name: str, arguments: Json) -> Sequence[Given]:
        """Return the answers that called this function so, where the service gives no ids."""
        ...

    def of_seal(self, text: str) -> Given | None:
        """Return the answer in one of whose seals this text stands."""
        ...


class Sent(Struct, frozen=True, kw_only=True):
    """A request that was sent, what the catalog knows of where it went, and what came before.

    ``known`` is whether the catalog has the deployment; what it does not have may be laxer.
    """

    body: dict[str, Json]
    past: Past
    provider: str | None = None
    known: bool = True
    facts: Capability
    quirks: Quirks = {}


class Trap(Struct, frozen=True, kw_only=True):
    """A place in a request that its service refuses or, where not ``refused``, loses thinking at.

    ``path`` is where it stands in the body, ``then`` what the service does about it.
    """

    code: str
    path: str
    what: str
    then: str
    cure: str
    refused: bool = True


class Caller(Struct, frozen=True, kw_only=True):
    """What a caller does with a wire.

    ``decode`` reads a whole answer into the events a stream would give; ``error`` survives HTML
    and an empty body. ``takes`` says what of a past the wire takes back. ``repair`` returns a
    refused request as the service would take it, where the refusal names the cure. ``unsaid``
    names parameters the wire has no words for, ``signed_as`` the service's name in requests that
    are signed instead of bearing a key.
    """

    encode: Callable[[Request, Plan, Target], HttpRequest]
    decode: Callable[[Head, bytes, Where], list[Event]]
    stream: Callable[[Head, Where], EventStream]
    error: Callable[[Head, bytes], ServiceError]
    recognises: Recognises
    takes: Callable[[Quirks], Takes]
    traps: Callable[[Sent], list[Trap]]
    has_past: Callable[[Mapping[str, Json]], bool]
    repair: Callable[[HttpRequest, ServiceError], Repair | None] | None = None
    unsaid: frozenset[str] = frozenset()
    signed_as: str | None = None


# -- the service's side --------------------------------------------------------------------------


class Rejected(Exception):
    """The service's own refusal: status, headers and body as it would send them."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__(f"{response.status}: {response.body.decode('utf-8', 'replace')}")
        self.response = response


class Sealer(Protocol):
    """Says what goes into the opaque slot of a part of one answer.

    ``shown`` is the text the part is sent with, ``before`` the wire's blocks that stand before it
    in the same answer: some signatures cover them. None leaves the slot empty.
    """

    def __call__(self, part: Part, shown: str, before: Sequence[Json], /) -> Json | None:
        """Return the wire's value for the slot."""
        ...


def unsealed(_part: Part, _shown: str, _before: Sequence[Json], /) -> Json | None:
    """Leave every opaque slot empty."""
    return None


class Parsed(Struct, Generic[C], frozen=True, kw_only=True):
    """A request as its wire means it, whatever the service's rules would say about it.

    ``show`` is whether readable thinking was asked for, None where the request does not say.
    ``unknown`` are the paths of fields that this wire does not have; they were passed over.
    """

    request: Request
    intent: Intent = UNSET
    show: bool | None = None
    unknown: tuple[str, ...] = ()
    context: C


class Answering(Struct, Generic[C], frozen=True, kw_only=True):
    """All that is needed to write an answer: the request, and how its answer is to look.

    ``shown`` is whether readable thinking goes into it, ``seal`` fills its opaque slots, and its
    ids are made from ``seed``. ``refuses`` says that the answer is going to be a refusal, which
    some wires announce at the start.
    """

    request: Request
    context: C
    seal: Sealer = unsealed
    seed: bytes = b""
    shown: bool = False
    refuses: bool = False


class Accepted(Answering[C], Generic[C], frozen=True, kw_only=True):
    """A request that the service's rules let pass; its answer is signed by the emulated service.

    ``thinks`` is what comes of ``intent`` on this model. ``caches`` is which part of a prompt is
    found again: none, the beginnings that are marked, or every beginning.
    """

    intent: Intent = UNSET
    thinks: bool = False
    caches: Literal["never", "marked", "always"] = "never"


class ByteStream(Protocol):
    """Events in, bytes out: the service's side of a stream."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the headers this stream is sent with."""
        ...

    def feed(self, event: Event) -> bytes:
        """Return the bytes that say this event; may be empty."""
        ...

    def eof(self) -> bytes:
        """Return the bytes that end the stream."""
        ...

    def fail(self, error: HttpResponse) -> bytes:
        """Return the bytes that say an error after all was well; nothing follows them."""
        ...


class ErrorShape(Protocol):
    """Writes an error as the service does."""

    def __call__(
        self, status: int, message: str, *, code: str | None, retry_after: float | None
    ) -> HttpResponse:
        """Return an error of this status."""
        ...


class Listed(Struct, frozen=True):
    """A model on a service's list; ``context`` is how many tokens it can read."""

    name: str
    context: int | None = None


class Models(Struct, frozen=True, kw_only=True):
    """What a service answers beside conversations: lists of models, and counts of tokens.

    ``asks`` says which of the two a request is for. ``listed`` answers the first for a provider,
    or raises Rejected. ``counts`` returns the usual request whose tokens are to be counted, and
    ``counted`` their number in the service's shape.
    """

    asks: Callable[[HttpRequest], Literal["models", "tokens"] | None]
    listed: Callable[[HttpRequest, Sequence[Listed], str], HttpResponse]
    counts: Callable[[HttpRequest], HttpRequest] | None = None
    counted: Callable[[int], HttpResponse] | None = None


class Service(Struct, Generic[C], frozen=True, kw_only=True):
    """What a service does with a wire.

    ``home`` is the provider that is meant where none is named. ``parse`` reads a request and
    passes over what it does not know; ``accept`` reads it as the provider of that name would,
    strictly, and raises Rejected in its words. ``restated`` puts an error into the shape of one
    provider, where those of a wire differ. ``call_id`` makes an id of 32 hexadecimal digits.
    ``filtered`` are the wire's words for an answer that was withheld, and ``bad_key`` the pairs of
    status and code that mean a refused key here and nowhere else.
    """

    home: str
    serves: Callable[[str], bool]
    model_of: Callable[[HttpRequest], str | None]
    with_model: Callable[[HttpRequest, str], HttpRequest]
    parse: Callable[[HttpRequest], Parsed[C]]
    accept: Callable[[HttpRequest, str], Accepted[C]]
    reply: Callable[[Answering[C], Reply], HttpResponse]
    stream: Callable[[Answering[C]], ByteStream]
    error: ErrorShape
    call_id: Callable[[str], str]
    restated: Callable[[HttpResponse, str], HttpResponse] | None = None
    models: Models | None = None
    filtered: tuple[str | None, ...] = (None,)
    bad_key: tuple[tuple[int, str], ...] = ()


# -- both ----------------------------------------------------------------------------------------


class Dialect(Struct, frozen=True):
    """A wire by its name; each side is loaded when it is first asked for."""

    name: str
    caller: Callable[[], Caller]
    service: Callable[[], Service[Json]]
