"""Writes a reply as events and bytes. Pauses take no time: a long one raises Timeout at once."""

import re
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from ..canon import (
    Event,
    Finished,
    HttpResponse,
    Json,
    Message,
    Part,
    Reply,
    ResponseHead,
    Text,
    TextDelta,
    ToolCall,
    UsageUpdate,
    iter_events,
)
from ..dialects import AcceptedRequest, ByteStream, Dialect, Service
from ..errors import Timeout, Unreachable
from ..exchange import Timeouts
from .candidates import interleave, list_replies, weigh
from .faults import AsyncSleep, Break, Fault, Pause, Piece, Sleep, apply_fault, check_pause
from .log import LogEntry

_WORDS = re.compile(r"\s*(?:\S{1,24}\s*){1,3}|\s+", re.DOTALL)


def events(reply: Reply) -> Iterator[Event]:
    """Return the events of a streamed answer, a few words at a time."""
    return iter_events(reply, cut=pieces, cut_text=_text_deltas)


def _text_deltas(index: int, part: Text) -> Iterator[TextDelta]:
    """Yield a text in pieces, each with its own tokens."""
    weighed = bool(part.logprobs)
    for piece in pieces(part.text):
        yield TextDelta(index, piece, weigh(piece) if weighed else ())


def pieces(text: str) -> list[str]:
    """Split a text into pieces of a few words."""
    return _WORDS.findall(text)


_BEGUN = 4  # events after which an answer has visibly begun


class EmulatedResponse(NamedTuple):
    """A response: its head and the pieces of its body."""

    head: ResponseHead
    pieces: Iterator[Piece]


def whole_response(response: HttpResponse, fault: Fault | None = None) -> EmulatedResponse:
    """Send a response in one piece."""
    body = (response.body,) if response.body else ()
    damage = _shorten(fault, len(response.body)) if fault else None
    pieces = apply_fault(damage, body) if damage else iter(body)
    return EmulatedResponse(ResponseHead(response.status, response.headers), pieces)


def write_response(
    wire: Dialect, accepted: AcceptedRequest[Json], reply: Reply, fault: Fault | None
) -> EmulatedResponse:
    """Write the answer as a stream or in one piece, as requested."""
    if accepted.request.stream:
        service = wire.service()
        accepted, replies = _make_replies(service, accepted, reply)
        streams: Sequence[ByteStream] = (service.stream(accepted),)
        if service.several is not None:
            streams = service.several.streams(accepted, len(replies))
        pieces = _frames(streams, replies, fault, wire)
        return EmulatedResponse(
            ResponseHead(200, streams[0].headers), apply_fault(fault, pieces) if fault else pieces
        )
    if fault is not None and fault.kind == "error_event":
        return whole_response(fault.error(wire))
    return whole_response(write_whole(wire, accepted, reply), fault)


def write_whole(wire: Dialect, accepted: AcceptedRequest[Json], reply: Reply) -> HttpResponse:
    """Write the answer in one piece, or all answers that are asked for."""
    service = wire.service()
    accepted, replies = _make_replies(service, accepted, reply)
    if service.several is None:
        return service.reply(accepted, replies[0])
    return service.several.reply(accepted, replies)


def _make_replies(
    service: Service[Json], accepted: AcceptedRequest[Json], reply: Reply
) -> tuple[AcceptedRequest[Json], tuple[Reply, ...]]:
    """Return the answers that a request asks for, and the request as their writers need it."""
    top = service.portability.answers.read(accepted.request.extras).top
    accepted = msgspec.structs.replace(
        accepted, refuses=reply.finish == "refusal", top_logprobs=top
    )
    replies = list_replies(service, accepted, reply)
    return accepted, replies if top is None else tuple(map(_weigh_reply, replies))


def _weigh_reply(reply: Reply) -> Reply:
    parts = tuple(
        msgspec.structs.replace(
            part, tokens=tuple(token for each in pieces(part.text) for token in weigh(each))
        )
        if isinstance(part, Text)
        else part
        for part in reply.message.parts
    )
    return msgspec.structs.replace(reply, message=Message("assistant", parts))


def begin_with(do: Callable[[], None], response: EmulatedResponse) -> EmulatedResponse:
    """Do something when the first byte of a response is read."""
    return response._replace(pieces=_call_first(do, response.pieces))


def _call_first(do: Callable[[], None], pieces: Iterator[Piece]) -> Iterator[Piece]:
    begun = False
    for piece in pieces:
        if not begun and isinstance(piece, bytes):
            begun = True
            do()
        yield piece


def with_ids(reply: Reply, accepted: AcceptedRequest[Json], wire: Dialect) -> Reply:
    """Add an id to every call, in the service's format."""
    parts = reply.message.parts
    if not any(isinstance(part, ToolCall) and not part.id for part in parts):
        return reply
    seed = blake2b(msgspec.json.encode(accepted.request.messages), digest_size=16)

    def add_id(number: int, part: Part) -> Part:
        if not isinstance(part, ToolCall) or part.id:
            return part
        own = seed.copy()
        own.update(str(number).encode())
        return msgspec.structs.replace(part, id=wire.service().call_id(own.hexdigest()))

    made = tuple(add_id(number, part) for number, part in enumerate(parts))
    return msgspec.structs.replace(reply, message=Message("assistant", made))


def _frames(
    streams: Sequence[ByteStream], replies: Sequence[Reply], fault: Fault | None, wire: Dialect
) -> Iterator[bytes]:
    kind = fault.kind if fault else None
    number = -1
    for answer, event in interleave([list(events(each)) for each in replies]):
        number += number < 0 or not isinstance(
            event, UsageUpdate
        )  # later counts are not events of the answer
        last = isinstance(event, Finished)
        if fault is not None and kind == "error_event":
            begun = _BEGUN if fault.at is None else fault.at
            if number == begun or last:
                yield streams[0].fail(fault.error(wire))
                return
        if kind == "no_end" and last:
            return
        if said := streams[answer].feed(event):
            yield said
    if end := streams[0].eof():
        yield end


def _shorten(fault: Fault, size: int) -> Fault:
    if fault.kind != "no_end":
        return fault
    return msgspec.structs.replace(fault, kind="cut", at=size // 2)


class ResponseHandle:
    """A Response and an AsyncResponse; awaiting it waits ``delay`` seconds."""

    def __init__(
        self,
        head: ResponseHead,
        pieces: Iterator[Piece],
        *,
        entry: LogEntry,
        timeouts: Timeouts,
        sleep: Sleep,
        asleep: AsyncSleep,
        delay: float = 0.0,
    ) -> None:
        self.head = head
        self._pieces = pieces
        self._entry = entry
        self._timeouts = timeouts
        self._sleep = sleep
        self._asleep = asleep
        self._delay = delay

    def __await__(self) -> Generator[Any, Any, "ResponseHandle"]:
        return self._here().__await__()

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            if isinstance(piece, bytes):
                self._entry.sent += len(piece)
                yield piece
            else:
                self._sleep(self._wait(piece))
        self._log_end("complete")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            if isinstance(piece, bytes):
                self._entry.sent += len(piece)
                yield piece
                await self._asleep(0)  # lets the task be cancelled, as a real connection does
            else:
                await self._asleep(self._wait(piece))
        self._log_end("complete")

    def close(self) -> None:
        """Close the response at once."""
        self._log_end("closed")
        self._pieces = iter(())

    async def aclose(self) -> None:
        """Close the response at once."""
        self.close()

    async def _here(self) -> "ResponseHandle":
        await self._asleep(self._delay)
        return self

    def _wait(self, piece: Pause | Break) -> float:
        try:
            return check_pause(piece, self._timeouts)
        except Timeout:
            self._log_end("timed out")
            raise
        except Unreachable:
            self._log_end("broken")
            raise

    def _log_end(self, how: str) -> None:
        if self._entry.end is None:
            self._entry.end = how
