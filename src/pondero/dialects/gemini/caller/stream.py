"""Reads a streamed answer into events: server-sent events, a JSON array, or one object a line."""

from pondero.canon import Event, ResponseHead, Usage
from pondero.dialects.dialect import AnswerContext
from pondero.errors import Malformed, Truncated
from pondero.framing import UNREADABLE, FrameReader, FrameStream, JsonArrayReader, SseReader

from .chunks import Chunk, decode_chunk, parse_chunk
from .errors import from_error
from .parts import Answer

_BOM = b"\xef\xbb\xbf"


def stream(head: ResponseHead, where: AnswerContext) -> FrameStream[bytes]:
    """Return a decoder for one streamed answer."""
    frames = _Frames()
    reading = _Reading(head, Answer(where), frames)
    return FrameStream(frames, reading, unit=None)


class _Frames:
    """Picks the reader by the first bytes: alt=sse is asked for, but proxies reframe streams."""

    def __init__(self) -> None:
        self.ended = False
        self._reader: FrameReader | None = None
        self._start = b""

    def feed(self, data: bytes) -> list[bytes]:
        if self._reader is not None:
            return self._reader.feed(data)
        data = self._start + data
        start = data.removeprefix(_BOM).lstrip()
        if not start or _BOM.startswith(start):
            self._start = data
            return []
        self._start = b""
        # To JsonArrayReader, one object or one a line is an array without its brackets.
        self._reader = JsonArrayReader() if start[:1] in (b"[", b"{") else SseReader()
        return self._reader.feed(data)

    def eof(self) -> list[bytes]:
        self.ended = True
        return self._reader.eof() if self._reader is not None else []


class _Reading:
    """Gives every chunk to the answer; an unreadable last frame was cut off."""

    over = False  # some answers finish more than once, so only the end of the bytes is the end

    def __init__(self, head: ResponseHead, answer: Answer, frames: _Frames) -> None:
        self._head = head
        self._answer = answer
        self._frames = frames

    @property
    def ending(self) -> bool:
        """Return whether a finish reason has come."""
        return self._answer.ending

    @property
    def usage(self) -> Usage | None:
        """Return the counts of the last chunk."""
        return self._answer.counted

    def take(self, frames: list[bytes], events: list[Event]) -> None:
        try:
            self._take(frames, events)
        except Malformed as error:
            if not self._frames.ended:
                raise
            raise Truncated("the stream ended inside a chunk") from error

    def end(self, events: list[Event]) -> None:
        self._answer.end(events, whole=False)

    def _take(self, frames: list[bytes], events: list[Event]) -> None:
        take = self._answer.take
        for frame in frames:
            chunk: Chunk | None
            try:
                chunk = decode_chunk(frame)
            except UNREADABLE:
                chunk = parse_chunk(frame)
            if chunk is None:
                continue
            if chunk.response is not None:
                chunk = chunk.response
            if chunk.error is not None:
                raise from_error(chunk.error, head=self._head, body=frame)
            take(chunk, frame, events)
