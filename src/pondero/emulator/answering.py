"""A reply as what is sent: a head and pieces of a body, with or without a fault in them."""

from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from ..canon import Finished, Head, HttpResponse, Json, Message, Part, Reply, ToolCall
from ..dialects import Accepted, ByteStream, Dialect
from .fault import Fault, Piece, damaged
from .telling import events

_BEGUN = 4  # events after which an answer has visibly begun


class Played(NamedTuple):
    """What comes of a request."""

    head: Head
    pieces: Iterator[Piece]


def whole(response: HttpResponse, fault: Fault | None = None) -> Played:
    """Return a response that is sent in one."""
    body = (response.body,) if response.body else ()
    damage = _shortened(fault, len(response.body)) if fault else None
    pieces = damaged(damage, body) if damage else iter(body)
    return Played(Head(response.status, response.headers), pieces)


def answered(wire: Dialect, accepted: Accepted[Json], reply: Reply, fault: Fault | None) -> Played:
    """Return the answer as it was asked for: streamed, or at once."""
    accepted = msgspec.structs.replace(accepted, refuses=reply.finish == "refusal")
    if accepted.request.stream:
        stream = wire.service().stream(accepted)
        pieces = _frames(stream, reply, fault, wire)
        return Played(Head(200, stream.headers), damaged(fault, pieces) if fault else pieces)
    if fault is not None and fault.kind == "error_event":
        return whole(fault.error(wire))
    return whole(wire.service().reply(accepted, reply), fault)


def with_ids(reply: Reply, accepted: Accepted[Json], wire: Dialect) -> Reply:
    """Return a reply whose calls have ids, each as the service makes them."""
    parts = reply.message.parts
    if not any(isinstance(part, ToolCall) and not part.id for part in parts):
        return reply
    seed = blake2b(msgspec.json.encode(accepted.request.messages), digest_size=16)

    def named(number: int, part: Part) -> Part:
        if not isinstance(part, ToolCall) or part.id:
            return part
        own = seed.copy()
        own.update(str(number).encode())
        return msgspec.structs.replace(part, id=wire.service().call_id(own.hexdigest()))

    made = tuple(named(number, part) for number, part in enumerate(parts))
    return msgspec.structs.replace(reply, message=Message("assistant", made))


def _frames(
    stream: ByteStream, reply: Reply, fault: Fault | None, wire: Dialect
) -> Iterator[bytes]:
    kind = fault.kind if fault else None
    for number, event in enumerate(events(reply)):
        last = isinstance(event, Finished)
        if fault is not None and kind == "error_event":
            begun = _BEGUN if fault.at is None else fault.at
            if number == begun or last:
                yield stream.fail(fault.error(wire))
                return
        if kind == "no_end" and last:
            return
        if said := stream.feed(event):
            yield said
    if end := stream.eof():
        yield end


def _shortened(fault: Fault, size: int) -> Fault:
    """Return what a missing end means where there are no events: half is missing."""
    if fault.kind != "no_end":
        return fault
    return msgspec.structs.replace(fault, kind="cut", at=size // 2)
