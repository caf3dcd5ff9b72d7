"""Reads a streamed answer into events, chunk by chunk."""

from pondero.canon import Event, ResponseHead, Usage
from pondero.dialects.dialect import AnswerContext
from pondero.errors import Malformed, Truncated
from pondero.framing import MAX_FRAME, FrameStream, OversizedAnswer, SseReader, Stencil

from .errors import error_in
from .parts import read
from .quirks import quirks_of
from .response import Builder, builder_for, events_of, words_alone

_DONE = b"[DONE]"
_NEWLINE = 10


def stream(head: ResponseHead, where: AnswerContext) -> FrameStream[bytes]:
    """Return a decoder for one streamed answer."""
    frames = _Frames()
    marked = quirks_of(where.quirks).done_marker
    chunks = _Chunks(head, builder_for(where), frames, marked=marked)
    return FrameStream(frames, chunks, unit="a chunk")


class _Frames:
    """The frames of a stream, or a whole body; ``last``: a complete stream ends with a newline."""

    def __init__(self) -> None:
        self.body: bytearray | None = None
        self.last = 0
        self._sse = SseReader()
        self._blank = True

    def feed(self, data: bytes) -> list[bytes]:
        if self._blank and data and not data.isspace():
            self._blank = False
            if data.lstrip().startswith(b"{"):
                self.body = bytearray()
        if self.body is not None:
            self.body += data
            if len(self.body) > MAX_FRAME:
                raise OversizedAnswer(f"a body of more than {MAX_FRAME:,} bytes")
            return []
        if data:
            self.last = data[-1]
        return self._sse.feed(data)

    def eof(self) -> list[bytes]:
        return [] if self.body is not None else self._sse.eof()


class _Chunks:
    """Reads chunks; ``marked`` None: a finish reason and token counts can replace the marker."""

    def __init__(
        self, head: ResponseHead, builder: Builder, frames: _Frames, *, marked: bool | None
    ) -> None:
        self.over = False
        self._head = head
        self._builder = builder
        self._frames = frames
        self._marked = marked
        self._stencil = Stencil("content")
        self._is_ours = self._is_strange = False

    @property
    def ending(self) -> bool:
        """Return whether a finish reason has come; the counts come after it."""
        return self._builder.notes.over

    @property
    def usage(self) -> Usage | None:
        """Return the counts that have come; some services send them with every chunk."""
        return self._builder.usage

    def take(self, frames: list[bytes], events: list[Event]) -> None:
        builder, stencil = self._builder, self._stencil
        at = 0
        while at < len(frames):
            if texts := stencil.texts(frames, at):
                builder.take_words(stencil.place, texts, events)
                at += len(texts)
                continue
            frame = frames[at]
            at += 1
            if frame == _DONE:
                self._finish(events)
                return
            answer = read(frame)
            if isinstance(answer.choices, list):
                self._is_ours = True
            if answer.error or not isinstance(answer.choices, list):
                self._check(frame)
                self._is_strange = True
            builder.take(answer, events)
            if not builder.candidate and stencil.is_wanted:
                stencil.cut(frame, self._words)
        builder.fold()

    def end(self, events: list[Event]) -> None:
        if self._frames.body is not None:
            events += events_of(self._head, bytes(self._frames.body), self._builder)
        elif not self.over:
            if not self._is_whole():
                raise Truncated("the stream ended before the answer did")
            self._finish(events)

    def _words(self, frame: bytes) -> tuple[str, str] | None:
        return words_alone(read(frame), self._builder.word_fields)

    def _check(self, frame: bytes) -> None:
        """Raise the error in a chunk, unless the answer ended before it."""
        if not self._builder.notes.over and (error := error_in(self._head, frame)):
            raise error

    def _finish(self, events: list[Event]) -> None:
        if self._is_strange and not self._is_ours:
            raise Malformed("no chunk has choices", path="$.choices")
        self._builder.end(events)
        self.over = True

    def _is_whole(self) -> bool:
        notes = self._builder.notes
        if self._marked or not notes.over or self._frames.last != _NEWLINE:
            return False
        return self._marked is False or notes.counts is not None
