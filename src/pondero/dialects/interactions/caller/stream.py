"""Reads a streamed answer into events: one short method for each kind of wire event."""

from collections.abc import Callable
from typing import Any

from msgspec import Raw, Struct

from pondero.canon import Event, Json, ResponseHead, Started, get_decoder
from pondero.dialects.dialect import AnswerContext
from pondero.errors import Malformed, Truncated
from pondero.framing import UNREADABLE, FrameStream, SseReader, parse_payload

from .errors import in_stream
from .interaction import Answer, answer_decoder, end_answer
from .parts import Delta, Steps


class Frame(Struct, gc=False):
    """One event of the stream, as far as it is read."""

    event_type: str = ""
    index: int = 0
    delta: Delta | None = None
    step: Json = None
    interaction: Raw = Raw()
    error: Json = None


class _WholeDelta(Struct, gc=False):
    delta: Json = None


_frame = get_decoder(Frame)
_decode = _frame.decode
_any = get_decoder(Any)
_delta = get_decoder(_WholeDelta)


def stream(head: ResponseHead, where: AnswerContext) -> FrameStream[bytes]:
    """Return a decoder for one streamed answer."""
    return FrameStream(SseReader(), _Reading(head, where))


class _Reading:
    """One streamed answer; kinds of events that we do not know are passed over."""

    ending = False  # the last event has the counts too

    def __init__(self, head: ResponseHead, where: AnswerContext) -> None:
        self.over = False
        self._head = head
        self._model = where.model
        self._steps = Steps(where.model, where.route)
        self._started = False
        self._payload = b""
        self._handlers: dict[str, Callable[[Frame, list[Event]], None]] = {
            "step.delta": self._add,
            "step.start": self._begin_step,
            "step.stop": self._end_step,
            "interaction.created": self._begin,
            "interaction.completed": self._end,
            "error": self._fail,
            "": self._check_error,
        }

    def take(self, frames: list[bytes], events: list[Event]) -> None:
        """Add the events of these frames; raises the service's error."""
        for payload in frames:
            try:
                frame = _decode(payload)
            except UNREADABLE:
                frame = self._odd(payload)
            if handler := self._handlers.get(frame.event_type):
                self._payload = payload
                handler(frame, events)
                if self.over:
                    return
        self._steps.join()

    def end(self, _events: list[Event]) -> None:
        """Raise Truncated if the last event is missing."""
        if not self.over:
            raise Truncated("the stream ended before interaction.completed")

    def _odd(self, payload: bytes) -> Frame:
        """Return an empty frame for the end or an unknown event; raises Malformed for others."""
        if payload.strip() == b"[DONE]":
            return Frame()
        try:
            return parse_payload(payload, _frame)
        except Malformed:
            raw = parse_payload(payload, _any)
            kind = raw.get("event_type") if isinstance(raw, dict) else ""
            if isinstance(kind, str) and kind not in self._handlers:
                return Frame()
            raise

    def _begin(self, frame: Frame, events: list[Event]) -> None:
        if self._started:
            return
        answer = _answer(frame)
        self._started = True
        self._steps.answer_id = answer.id or None
        self._steps.model = self._model or answer.model
        events.append(Started(answer.model, answer.id or None))

    def _begin_unannounced(self, events: list[Event]) -> None:
        if not self._started:
            self._started = True
            events.append(Started())

    def _begin_step(self, frame: Frame, events: list[Event]) -> None:
        self._begin_unannounced(events)
        self._steps.begin(frame.index, frame.step, events)

    def _add(self, frame: Frame, events: list[Event]) -> None:
        self._begin_unannounced(events)
        if frame.delta is not None:
            self._steps.add(frame.index, frame.delta, self._read_delta, events)

    def _read_delta(self) -> Json:
        return parse_payload(self._payload, _delta).delta

    def _end_step(self, frame: Frame, events: list[Event]) -> None:
        self._steps.end(frame.index, events)

    def _end(self, frame: Frame, events: list[Event]) -> None:
        self._begin(frame, events)
        end_answer(_answer(frame), self._steps, events)
        self.over = True  # ignore all later frames

    def _fail(self, frame: Frame, _events: list[Event]) -> None:
        raise in_stream(self._head, frame.error)

    def _check_error(self, frame: Frame, events: list[Event]) -> None:
        if frame.error is not None:
            self._fail(frame, events)


def _answer(frame: Frame) -> Answer:
    if not frame.interaction:
        raise Malformed("missing required field `interaction`")
    return parse_payload(frame.interaction, answer_decoder, at="$.interaction")
