"""Reads a streamed answer into events: one JSON object a line."""

from pondero.canon import Event, ResponseHead
from pondero.dialects.dialect import AnswerContext
from pondero.errors import Truncated
from pondero.framing import UNREADABLE, FrameStream, NdjsonReader, parse_payload

from .errors import from_error
from .parts import CHUNKS, Answer

_decode = CHUNKS.decode


def stream(head: ResponseHead, where: AnswerContext) -> FrameStream[bytes]:
    """Return a decoder for one streamed answer."""
    return FrameStream(NdjsonReader(), _Lines(head, where), unit="a line")


class _Lines:
    """Reads the lines of one answer; the line with ``done: true`` is the last."""

    ending = False  # the last line has the counts too

    def __init__(self, head: ResponseHead, where: AnswerContext) -> None:
        self._head = head
        self._answer = Answer(reads_logprobs=where.logprobs)

    @property
    def over(self) -> bool:
        """Return whether the line with ``done: true`` has come."""
        return self._answer.over

    def take(self, frames: list[bytes], events: list[Event]) -> None:
        """Add the events of these lines; raises the error that a line reports."""
        answer = self._answer
        for line in frames:
            if answer.over:
                return
            try:
                chunk = _decode(line)
            except UNREADABLE:
                chunk = parse_payload(line, CHUNKS)
            if chunk.error is not None:
                raise from_error(chunk.error, head=self._head, body=line)
            answer.take(chunk, events)

    def end(self, _events: list[Event]) -> None:
        """Raise Truncated if the answer has not ended."""
        if not self._answer.over:
            raise Truncated("the stream ended before a line that says done")
