"""The bytes of an answer to events: streamed, or whole."""

from msgspec import UNSET

from pondero.canon import Event, Head
from pondero.errors import Malformed, PonderoError, ServerFailed, Truncated
from pondero.framing import MAX_FRAME, SseReader

from .answers import read
from .builder import Builder
from .errors import error_in

_DONE = b"[DONE]"


class Stream:
    """Chunks -> events. Feed bytes as they come, then call eof().

    ``marked`` is whether the stream ends with a marker; where that is not known (None), an answer
    that said why it ended and what it cost is whole without one.
    """

    def __init__(self, head: Head, builder: Builder, *, marked: bool | None) -> None:
        self._head = head
        self._builder = builder
        self._marked = marked
        self._frames = SseReader()
        self._last = 0  # the last byte: a stream that was not cut ends with a line
        self._ended = False
        self._failure: PonderoError | None = None
        self._body: Body | None = None
        self._blank = True

    def feed(self, data: bytes) -> list[Event]:
        """Return the events these bytes complete; an error waits until they are out."""
        if self._failure is not None:
            raise self._failure
        if self._blank and data and not data.isspace():
            self._blank = False
            if data.lstrip().startswith(b"{"):  # a whole body where a stream was asked for
                self._body = Body(self._head, self._builder)
        if self._body is not None:
            return self._body.feed(data)
        events: list[Event] = []
        try:
            for frame in self._frames.feed(data):
                self._take(frame, events)
        except PonderoError as error:
            self._failure = error
            if not events:
                raise
        if data:
            self._last = data[-1]
        return events

    def eof(self) -> list[Event]:
        """Return the last events; raises Truncated where the answer was cut."""
        if self._failure is not None:
            raise self._failure
        if self._body is not None:
            return self._body.eof()
        events: list[Event] = []
        try:
            for frame in () if self._ended else self._frames.eof():
                self._take(frame, events)
        except Malformed:
            raise Truncated("the stream ended inside a chunk") from None
        if not self._ended:
            if not self._is_whole():
                raise Truncated("the stream ended before the answer did")
            self._end(events)
        return events

    def _take(self, frame: bytes, events: list[Event]) -> None:
        if self._ended:
            return
        if frame == _DONE:
            self._end(events)
            return
        answer = read(frame)
        suspect = answer.error or answer.choices is None or answer.choices is UNSET
        if suspect and not self._builder.notes.over and (error := error_in(self._head, frame)):
            raise error
        self._builder.take(answer, events)

    def _end(self, events: list[Event]) -> None:
        self._builder.end(events)
        self._ended = True

    def _is_whole(self) -> bool:
        notes = self._builder.notes
        if self._marked or not notes.over or self._last != 10:
            return False
        return self._marked is False or notes.counts is not None


class Body:
    """A whole answer, in however many pieces it comes."""

    def __init__(self, head: Head, builder: Builder) -> None:
        self._head = head
        self._builder = builder
        self._bytes = bytearray()

    def feed(self, data: bytes) -> list[Event]:
        """Keep the bytes; the answer is read when all have come."""
        self._bytes += data
        if len(self._bytes) > MAX_FRAME:
            raise Malformed(f"a body of more than {MAX_FRAME:,} bytes")
        return []

    def eof(self) -> list[Event]:
        """Return the events of the answer; raises what the service said went wrong."""
        body = bytes(self._bytes)
        answer = read(body)
        if (answer.error or not answer.choices) and (error := error_in(self._head, body)):
            raise error
        if answer.choices is UNSET:
            raise Malformed("the answer has no choices", path="$.choices")
        if not answer.choices:
            raise ServerFailed("the service answered with no choice to read", body=body)
        for choice in answer.choices:
            if choice.message is not None:
                choice.delta = None  # some send an empty one along
        events: list[Event] = []
        self._builder.take(answer, events)
        self._builder.end(events)
        return events
