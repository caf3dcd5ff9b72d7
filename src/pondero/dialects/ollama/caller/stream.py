"""Bytes to the lines of an answer."""

from pondero.canon import Event, Head
from pondero.dialects.dialect import Where
from pondero.errors import Malformed, PonderoError, Truncated
from pondero.framing import UNREADABLE, NdjsonReader, parse

from .chunk import CHUNKS
from .errors import from_error
from .parts import Answer

_decode = CHUNKS.decode


def stream(head: Head, _where: Where) -> "Stream":
    """Return a decoder for one streamed answer."""
    return Stream(head)


class Stream:
    """/api/chat to events: a JSON object a line."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self._answer = Answer()
        self._lines = NdjsonReader()
        self._failure: PonderoError | None = None

    def feed(self, data: bytes) -> list[Event]:
        """Take more bytes; what came before a failure is given first, the failure next time."""
        if self._failure is not None:
            raise self._failure
        events: list[Event] = []
        try:
            self._take(self._lines.feed(data), events)
        except PonderoError as failure:
            self._failure = failure
            if not events:
                raise
        return events

    def eof(self) -> list[Event]:
        """Return the end of the answer, or raise what cut it off."""
        if self._failure is not None:
            raise self._failure
        events: list[Event] = []
        if not self._answer.over:
            try:
                self._take(self._lines.eof(), events)
            except Malformed as error:
                raise Truncated("the stream ended inside a line") from error
        if not self._answer.over:
            raise Truncated("the stream ended before a line that says done")
        return events

    def _take(self, lines: list[bytes], events: list[Event]) -> None:
        answer = self._answer
        for line in lines:
            if answer.over:
                return
            try:
                chunk = _decode(line)
            except UNREADABLE:
                chunk = parse(line, CHUNKS)
            if chunk.error is not None:
                raise from_error(chunk.error, head=self._head, body=line)
            answer.take(chunk, events)
