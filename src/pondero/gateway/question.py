"""A conversation at the gate as it was meant: read, routed, with what its client cannot keep.

``answers`` and ``counts`` begin with it; ``job`` turns it into a request to one model.
"""

from msgspec import Struct

from ..canon import HttpRequest, Json, Request
from ..dialects import Parsed, Service
from ..errors import PermissionDenied
from .dial import Wish, wish_of
from .gate import Gate, Who
from .returned import keys_of, restored
from .routing import Resolved, allows
from .turns import Turn, turns_of


class Call(Struct, frozen=True, kw_only=True):
    """A request at the gate, and who makes it."""

    id: str
    front: str
    http: HttpRequest
    who: Who


class Question(Struct, frozen=True, kw_only=True):
    """A conversation as it was meant: ``request`` has again what travelled in envelopes.

    ``turns`` are the answers in it as the client sent them.
    """

    call: Call
    service: Service[Json]
    parsed: Parsed[Json]
    request: Request
    turns: tuple[Turn, ...]
    resolved: Resolved
    wish: Wish


async def read_question(gate: Gate, call: Call, service: Service[Json]) -> Question:
    """Return what is asked, and of whom; raises Rejected, UnknownModel and PermissionDenied."""
    parsed = service.parse(call.http)
    resolved = gate.routing.resolve(parsed.request.model)
    if call.who.key is not None and not allows(call.who.key, resolved):
        message = f"this key may not ask for {parsed.request.model!r}"
        raise PermissionDenied(message, status=403)
    wish = wish_of(
        header=call.http.headers.get("x-pondero-thinking"),
        suffix=resolved.level,
        body=parsed.intent,
        words=resolved.entries[0].capability.extra_words,
        kind=call.http.headers.get("x-pondero-kind"),
    )
    asked, client = parsed.request, call.who.id
    turns = turns_of(asked.messages)
    keys = keys_of(asked, client=client, turns=turns)
    found = await gate.memory.get(keys) if keys else {}
    return Question(
        call=call,
        service=service,
        parsed=parsed,
        request=restored(asked, call.front, client=client, found=found, turns=turns),
        turns=tuple(turns),
        resolved=resolved,
        wish=wish,
    )
