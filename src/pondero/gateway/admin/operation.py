"""One operation of the admin API: its place, what it takes and answers, and who may call it."""

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from ...canon import Json
from ..answers.response_writer import ResponseWriter
from ..server.context import GatewayContext
from .actor import AdminCall, Role

HOME = "/admin"
JSON = "application/json"

Handler = Callable[[GatewayContext, AdminCall], Awaitable[Json]]
Stream = Callable[[GatewayContext, AdminCall, ResponseWriter], Awaitable[None]]


class Parameter(Struct, frozen=True, kw_only=True):
    """A parameter of an address; ``kind`` is the type of its values, as in a Struct."""

    name: str
    description: str
    kind: Any = str
    required: bool = False


class ActionResult(Struct, frozen=True, kw_only=True):
    """What an operation did, for its answer and for the audit log."""

    answer: Json
    action: str
    subject: str
    before: Json = None
    after: Json = None


class Operation(Struct, frozen=True, kw_only=True):
    """An operation; ``path`` is below ``HOME`` and may end with ``/{name}``.

    ``answer`` is the type of the answer, and None of one that ``stream`` sends in another
    ``media``. ``body`` is the type of the body. ``action`` is the name in the audit log of an
    operation that changes something, which only an admin may call; its handler returns
    ``ActionResult``. ``errors``: statuses of this operation besides those of all.
    """

    method: str
    path: str
    id: str
    summary: str
    answer: Any = None
    handler: Handler | None = None
    stream: Stream | None = None
    media: str = JSON
    parameters: tuple[Parameter, ...] = ()
    name: Parameter | None = None
    body: Any = None
    errors: tuple[int, ...] = ()
    action: str | None = None

    @property
    def role(self) -> Role:
        """Return the role that an actor needs."""
        return "viewer" if self.action is None else "admin"


class ErrorText(Struct, frozen=True):
    """What went wrong, and what to do."""

    message: str


class ErrorAnswer(Struct, frozen=True):
    """The answer to a request that was rejected, or that failed."""

    error: ErrorText
