"""Wire to canon: a streamed answer, one server-sent event at a time."""

from collections.abc import Callable

from msgspec import Struct

from pondero.canon import Event, ResponseHead, Started, get_decoder
from pondero.dialects.dialect import AnswerContext
from pondero.errors import Truncated
from pondero.framing import FrameStream, SseReader, parse_payload

from .errors import in_stream
from .parts import Counts, Parts, Piece, finished


class Frame(Struct):
    """One event of the stream; what its kind does not have stays empty."""

    event: str = ""
    id: str | None = None
    model: str | None = None
    part: Piece = Piece()
    text: str = ""
    proof: str | None = None
    finish: str = ""
    counts: Counts = Counts()
    message: str = ""


_FRAME = get_decoder(Frame)


def stream(head: ResponseHead, where: AnswerContext) -> FrameStream[bytes]:
    """Return a decoder for one streamed answer."""
    return FrameStream(SseReader(), _Reading(head, where))


class _Reading:
    """One short method for each kind of event; kinds we do not know are passed over."""

    ending = False  # the last event has the counts too

    def __init__(self, head: ResponseHead, where: AnswerContext) -> None:
        self.over = False
        self._head = head
        self._parts = Parts(where)
        self._model: str | None = None
        self._handlers: dict[str, Callable[[Frame, list[Event]], None]] = {
            "begin": self._begin,
            "part": self._part,
            "more": self._more,
            "part_end": self._part_end,
            "end": self._end,
            "error": self._error,
        }

    def take(self, frames: list[bytes], events: list[Event]) -> None:
        for data in frames:
            if self.over:
                return
            frame = parse_payload(data, _FRAME)
            if handle := self._handlers.get(frame.event):
                handle(frame, events)

    def end(self, _events: list[Event]) -> None:
        if not self.over:
            raise Truncated("the stream ended before its last event")

    def _begin(self, frame: Frame, events: list[Event]) -> None:
        if self._model is None:
            self._model = frame.model or ""
            events.append(Started(frame.model, frame.id))

    def _part(self, frame: Frame, events: list[Event]) -> None:
        self._parts.begin(frame.part, events)

    def _more(self, frame: Frame, events: list[Event]) -> None:
        self._parts.add(frame.text, events)

    def _part_end(self, frame: Frame, events: list[Event]) -> None:
        self._parts.end(events, frame.proof)

    def _end(self, frame: Frame, events: list[Event]) -> None:
        self._parts.end(events)
        events.append(finished(frame.finish, frame.counts, self._model, self._parts.ended))
        self.over = True

    def _error(self, frame: Frame, _events: list[Event]) -> None:
        raise in_stream(self._head, frame.message)
