"""Reads the server-sent events of a streamed answer into our events."""

from collections.abc import Callable

from pondero.canon import Event, ResponseHead
from pondero.dialects.dialect import AnswerContext
from pondero.errors import Truncated
from pondero.framing import UNREADABLE, FrameStream, SseReader, parse_payload

from .errors import in_stream
from .parts import FRAMES, Answer, Call, Delta, Frame, Piece, raw_part

_decode = FRAMES.decode
_NO_DELTA = Delta()


def stream(head: ResponseHead, where: AnswerContext) -> FrameStream[bytes]:
    """Return a decoder for one streamed answer."""
    return FrameStream(SseReader(), _Reading(head, Answer(where.model, where.route)))


class _Reading:
    """One short method for each kind of event."""

    ending = False  # the last event has the counts too

    def __init__(self, head: ResponseHead, answer: Answer) -> None:
        self.over = False
        self._head = head
        self._answer = answer
        self._begun = False
        self._handlers: dict[str | None, Callable[[Frame, bytes, list[Event]], None]] = {
            "content-start": self._start,
            "content-end": self._stop,
            "tool-plan-delta": self._plan,
            "tool-call-start": self._call,
            "tool-call-delta": self._argue,
            "tool-call-end": self._stop,
            "citation-start": self._cite,
            "message-end": self._end,
        }

    def end(self, _events: list[Event]) -> None:
        if not self.over:
            raise Truncated("the stream ended before message-end")

    def take(self, frames: list[bytes], events: list[Event]) -> None:
        answer = self._answer
        for data in frames:
            if self.over:
                return  # only [DONE] follows
            try:
                frame = _decode(data)
            except UNREADABLE:
                frame = parse_payload(data, FRAMES)
            if not self._begun:
                self._begun = True
                answer.begin(frame.id, events)
            if frame.type == "content-delta":  # the usual case, so it is first
                self._delta(frame, events)
            elif (handle := self._handlers.get(frame.type)) is not None:
                handle(frame, data, events)

    def _delta(self, frame: Frame, events: list[Event]) -> None:
        piece = _piece(frame)
        if piece is not None:
            if piece.thinking:
                self._answer.say("thinking", piece.thinking, events)
            if piece.text:
                self._answer.say("text", piece.text, events)
        if frame.logprobs is not None:
            self._answer.weigh(frame.logprobs)

    def _start(self, frame: Frame, data: bytes, events: list[Event]) -> None:
        self._answer.close(events)
        piece = _piece(frame)
        if piece is not None and piece.type not in ("text", "thinking", None):
            self._answer.keep(raw_part(data, None), events)
        else:
            self._delta(frame, events)

    def _stop(self, _frame: Frame, _data: bytes, events: list[Event]) -> None:
        self._answer.close(events)

    def _plan(self, frame: Frame, _data: bytes, events: list[Event]) -> None:
        message = (frame.delta or _NO_DELTA).message
        if message is not None and message.tool_plan:
            self._answer.say("plan", message.tool_plan, events)

    def _call(self, frame: Frame, _data: bytes, events: list[Event]) -> None:
        self._answer.call(_find_call(frame) or Call(), events)

    def _argue(self, frame: Frame, _data: bytes, events: list[Event]) -> None:
        call = _find_call(frame)
        if call is not None and call.function is not None and call.function.arguments:
            self._answer.argue(call.function.arguments, events)

    def _cite(self, frame: Frame, _data: bytes, _events: list[Event]) -> None:
        message = (frame.delta or _NO_DELTA).message
        if message is not None and isinstance(message.citations, dict):
            self._answer.cite(message.citations)

    def _end(self, frame: Frame, data: bytes, events: list[Event]) -> None:
        delta = frame.delta or _NO_DELTA
        if delta.error:
            raise in_stream(delta.error, code=delta.error_type, head=self._head, body=data)
        self._answer.end(delta.finish_reason, delta.usage, events)
        self.over = True


def _piece(frame: Frame) -> Piece | None:
    message = (frame.delta or _NO_DELTA).message
    content = message.content if message is not None else None
    return content if isinstance(content, Piece) else None


def _find_call(frame: Frame) -> Call | None:
    message = (frame.delta or _NO_DELTA).message
    calls = message.tool_calls if message is not None else None
    return calls if isinstance(calls, Call) else None
