"""Bytes to the pieces of an answer, in whichever of three framings they come."""

from ...canon import Event, Head
from ...errors import Malformed, PonderoError, Truncated
from ...framing import UNREADABLE, FrameReader, JsonArrayReader, SseReader
from .answer import Answer
from .chunk import Chunk, decode_chunk, parsed
from .failure import from_error

_BOM = b"\xef\xbb\xbf"


class Stream:
    """streamGenerateContent to events: server-sent, a JSON array, or an object a line."""

    def __init__(self, head: Head, *, model: str | None, route: str | None) -> None:
        self._head = head
        self._answer = Answer(model, route)
        self._frames: FrameReader | None = None
        self._start = b""
        self._failure: PonderoError | None = None

    def feed(self, data: bytes) -> list[Event]:
        """Take more bytes; what came before a failure is given first, the failure next time."""
        if self._failure is not None:
            raise self._failure
        events: list[Event] = []
        try:
            if self._frames is None:
                data = self._sniffed(data)
            if self._frames is not None:
                self._take(self._frames.feed(data), events)
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
        for frame in self._frames.eof() if self._frames is not None else ():
            try:
                self._take([frame], events)
            except Malformed as error:
                raise Truncated("the stream ended inside a piece of it") from error
        self._answer.end(events, whole=False)
        return events

    def _sniffed(self, data: bytes) -> bytes:
        data = self._start + data
        start = data.removeprefix(_BOM).lstrip()
        if not start or _BOM.startswith(start):
            self._start = data
            return b""
        self._start = b""
        # One object, or one a line, is to this reader an array without its brackets.
        self._frames = JsonArrayReader() if start[:1] in (b"[", b"{") else SseReader()
        return data

    def _take(self, frames: list[bytes], events: list[Event]) -> None:
        take = self._answer.take
        for frame in frames:
            chunk: Chunk | None
            try:
                chunk = decode_chunk(frame)
            except UNREADABLE:
                chunk = parsed(frame)
            if chunk is None:
                continue
            if chunk.response is not None:
                chunk = chunk.response
            if chunk.error is not None:
                raise from_error(chunk.error, head=self._head, body=frame)
            take(chunk, frame, events)
