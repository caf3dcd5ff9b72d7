"""What a dialect is: two verbs for the caller, two for the service, each a module of functions.

The two sides are written apart and must agree: encode and decode never import wire, accept or
reply.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from ..canon import (
    Event,
    Head,
    HttpRequest,
    HttpResponse,
    Json,
    Message,
    Reply,
    Request,
    Target,
)
from ..errors import ServiceError
from ..thinking import Adjustment, Capability, Plan


class EventStream(Protocol):
    """Bytes in, events out; owns no socket."""

    def feed(self, data: bytes) -> list[Event]:
        """Take more bytes, in any split."""
        ...

    def eof(self) -> list[Event]:
        """Say that no more will come; raises Truncated where the answer was cut."""
        ...


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


class Encode(Protocol):
    """Canon to wire."""

    def request(self, request: Request, plan: Plan, target: Target) -> HttpRequest:
        """Return the request as this wire says it, the plan's fields and headers merged in."""
        ...


class Decode(Protocol):
    """Wire to canon. ``model`` and ``route`` are what was asked; they go into the seals."""

    def response(
        self,
        head: Head,
        body: bytes,
        *,
        model: str | None,
        route: str | None,
        quirks: Mapping[str, Json],
    ) -> list[Event]:
        """Return the events of a whole answer, the same a stream would give."""
        ...

    def stream(
        self, head: Head, *, model: str | None, route: str | None, quirks: Mapping[str, Json]
    ) -> EventStream:
        """Return a decoder for one streamed answer."""
        ...

    def error(self, head: Head, body: bytes) -> ServiceError:
        """Return what the service said was wrong; survives HTML and nothing at all."""
        ...

    def recognises(self, raw: Json, *, stream: bool) -> int:
        """Return how surely this JSON (a body, or a stream's first object) is ours: 0 to 100."""
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
    quirks: Mapping[str, Json] = {}


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


class Rejected(Exception):
    """The service's own refusal: status, headers and body as it would send them."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__(f"{response.status}: {response.body.decode('utf-8', 'replace')}")
        self.response = response


class Accepted(Struct, frozen=True):
    """A request the service takes: the canon it stands for, and what it says about thinking.

    ``thinking`` is the wish as this wire read it: kind off | on | level | budget | unset, with
    ``level`` or ``budget``; ``shown`` is whether readable thinking goes into the answer.
    ``refuses`` is whether the answer is going to be a refusal, which some wires say from the start.
    ``caches`` is what of a prompt is found again: nothing, beginnings that are marked, or all.
    """

    request: Request
    kind: str = "unset"
    level: str | None = None
    budget: int | None = None
    thinks: bool = False
    shown: bool = False
    raw: Json = None
    refuses: bool = False
    caches: Literal["never", "marked", "always"] = "never"


class Listed(Struct, frozen=True):
    """A model on a service's list, with what is known of it; ``context`` is what it can read."""

    name: str
    context: int | None = None


class Beside(Protocol):
    """What a service answers beside conversations; not every dialect has it, or all of it."""

    def asks(self, http: HttpRequest) -> Literal["models", "tokens"] | None:
        """Return what is asked for: a list of models, a count of tokens, or neither."""
        ...

    def models(self, http: HttpRequest, known: Sequence[Listed], *, service: str) -> HttpResponse:
        """Return the list, or the one model asked for; or raise Rejected."""
        ...

    def counts(self, http: HttpRequest) -> HttpRequest:
        """Return the usual request whose tokens are to be counted."""
        ...

    def counted(self, tokens: int) -> HttpResponse:
        """Return so many tokens in the service's shape."""
        ...


class Accept(Protocol):
    """The service reads a request, strictly. ``HOUSE`` is the deployment meant where none is."""

    HOUSE: str

    def serves(self, path: str) -> bool:
        """Return whether an address with this path is one of this wire's."""
        ...

    def request(self, http: HttpRequest, *, service: str) -> Accepted:
        """Return what was asked, or raise Rejected. ``service`` names the emulated deployment."""
        ...


class Respond(Protocol):
    """The service answers, in its exact shape."""

    def response(self, accepted: Accepted, reply: Reply) -> HttpResponse:
        """Return the whole answer."""
        ...

    def stream(self, accepted: Accepted) -> ByteStream:
        """Return an encoder for one streamed answer."""
        ...

    def error(
        self, status: int, message: str, *, code: str | None, retry_after: float | None
    ) -> HttpResponse:
        """Return an error of this status in the service's shape."""
        ...

    def call_id(self, digest: str) -> str:
        """Return the id of a call as the service makes them, from 32 hexadecimal digits."""
        ...


class Dialect(Protocol):
    """A wire format; a package satisfies it."""

    NAME: str
    encode: Encode
    decode: Decode
    accept: Accept
    reply: Respond
