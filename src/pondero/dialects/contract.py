"""What a dialect is: two verbs for the caller, two for the service, each a module of functions.

The two sides are written apart and must agree: encode and decode never import wire, accept or
reply.
"""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from ..canon import Event, Head, HttpRequest, HttpResponse, Json, Reply, Request, Target
from ..errors import ServiceError
from ..thinking import Adjustment, Plan


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
    """A refused request as the service says it would take it, and the one difference."""

    request: HttpRequest
    adjustment: Adjustment


class Rejected(Exception):
    """The service's own refusal: status, headers and body as it would send them."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__(f"{response.status}: {response.body.decode('utf-8', 'replace')}")
        self.response = response


class Accepted(Struct, frozen=True):
    """A request the service takes: the canon it stands for, and what it says about thinking.

    ``thinking`` is the wish as this wire read it: kind off | on | level | budget | unset, with
    ``level`` or ``budget``; ``shown`` is whether readable thinking goes into the answer.
    """

    request: Request
    kind: str = "unset"
    level: str | None = None
    budget: int | None = None
    thinks: bool = False
    shown: bool = False
    raw: Json = None


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
