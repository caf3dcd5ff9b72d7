"""Reads a streamed answer into events: one short method for each kind of wire event we use."""

from collections.abc import Callable
from typing import Any

from msgspec import Raw, Struct

from pondero.canon import (
    Event,
    Json,
    ResponseHead,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolDelta,
    get_decoder,
    join_pieces,
)
from pondero.dialects.dialect import AnswerContext
from pondero.dialects.token_logprobs import read_logprobs
from pondero.errors import Malformed, Truncated
from pondero.framing import UNREADABLE, FrameStream, SseReader, parse_payload

from .errors import in_stream
from .parts import Item, Items
from .response import Answer, answer_decoder, make_finished


class Frame(Struct, gc=False):
    """One event of the stream, as far as it is read; -1 is a place that was not given."""

    type: str = ""
    delta: str = ""
    output_index: int = -1
    content_index: int = 0
    summary_index: int = 0
    item: Raw = Raw()
    part: Json = None
    response: Raw = Raw()
    error: Json = None
    code: Json = None
    message: Json = None
    logprobs: Json = None


Handler = Callable[[Frame, list[Event]], None]

_frame = get_decoder(Frame)
_decode = _frame.decode
_any = get_decoder(Any)
_output = get_decoder(list[Any])
_THOUGHTS = frozenset({"reasoning_content", "reasoning_text", "reasoning"})


def stream(head: ResponseHead, where: AnswerContext) -> FrameStream[bytes]:
    """Return a decoder for one streamed answer."""
    return FrameStream(SseReader(), _Reading(head, where))


class _Reading:
    """One streamed answer, event by event."""

    def __init__(self, head: ResponseHead, where: AnswerContext) -> None:
        self.over = False
        self._head = head
        self._model = where.model
        self._items = Items(model=where.model, route=where.route)
        self._items.reads_logprobs = where.logprobs
        self._open = self._items.open
        self._started = False
        self._handlers: dict[str, Handler] = {
            "response.output_text.delta": self._text,
            "response.refusal.delta": self._text,
            "response.reasoning_summary_text.delta": self._summary,
            "response.reasoning_summary.delta": self._summary,
            "response.reasoning_text.delta": self._add_thinking,
            "response.reasoning_content.delta": self._add_thinking,
            "response.function_call_arguments.delta": self._arguments,
            "response.custom_tool_call_input.delta": self._arguments,
            "response.created": self._begin,
            "response.queued": self._begin,
            "response.in_progress": self._begin,
            "response.output_item.added": self._item,
            "response.content_part.added": self._content,
            "response.output_item.done": self._item_done,
            "response.completed": self._end,
            "response.incomplete": self._end,
            "response.cancelled": self._end,
            "response.failed": self._fail,
            "response.error": self._fail,
            "error": self._fail,
            "": self._check_error,
        }

    @property
    def ending(self) -> bool:
        """Return whether a text or a call has ended and nothing else has begun."""
        seen = self._items.seen
        return not self._open and (seen.text or seen.calls)

    def take(self, frames: list[bytes], events: list[Event]) -> None:
        """Add the events of these frames; raises the service's error."""
        for payload in frames:
            try:
                frame = _decode(payload)
            except UNREADABLE:
                frame = self._odd(payload)
            if handler := self._handlers.get(frame.type):
                handler(frame, events)
                if self.over:
                    return
        for item in self._open.values():
            for piece in item.pieces.values():
                join_pieces(piece.texts)

    def end(self, _events: list[Event]) -> None:
        """Raise Truncated if the last event is missing."""
        if not self.over:
            raise Truncated("the stream ended before response.completed")

    def _odd(self, payload: bytes) -> Frame:
        """Return an empty frame for an unknown event; raises Malformed for any other."""
        if payload.strip() == b"[DONE]":
            return Frame()
        try:
            return parse_payload(payload, _frame)
        except Malformed:
            raw = parse_payload(payload, _any)
            kind = raw.get("type") if isinstance(raw, dict) else ""
            if isinstance(kind, str) and kind not in self._handlers:
                return Frame()
            raise

    # -- the answer ----------------------------------------------------------------------------

    def _begin(self, frame: Frame, out: list[Event]) -> None:
        if self._started:
            return
        answer = _answer(frame)
        self._items.answer_id = answer.id
        self._items.model = self._model or answer.model
        self._items.stored = answer.store is not False
        self._items.tools = answer.tools
        self._started = True
        out.append(Started(answer.model, answer.id))

    def _begin_unannounced(self, out: list[Event]) -> None:
        if not self._started:
            self._started = True
            out.append(Started())

    def _end(self, frame: Frame, out: list[Event]) -> None:
        self._begin(frame, out)
        answer = _answer(frame)
        if answer.status == "failed":
            raise in_stream(self._head, answer.error)
        if self._open or self._items.none_came:
            self._complete(answer, out)
        self.over = True  # ignore all later frames
        out.append(make_finished(answer, self._items.seen))

    def _complete(self, answer: Answer, out: list[Event]) -> None:
        output: list[Json] = []
        if answer.output:
            output = parse_payload(answer.output, _output, at="$.response.output")
        if self._items.none_came:
            for place, item in enumerate(output):
                self._items.end(place, item, out, at=f"$.response.output[{place}]")
        self._items.end_rest(output, out)

    def _fail(self, frame: Frame, _out: list[Event]) -> None:
        raw = frame.error
        if frame.response:
            raw = _answer(frame).error
        elif raw is None:
            raw = {"code": frame.code, "message": frame.message}
        raise in_stream(self._head, raw)

    def _check_error(self, frame: Frame, out: list[Event]) -> None:
        if frame.error is not None:
            self._fail(frame, out)

    # -- items ---------------------------------------------------------------------------------

    def _item(self, frame: Frame, out: list[Event]) -> None:
        self._begin_unannounced(out)
        self._items.begin(frame.output_index, _raw_item(frame), out)

    def _item_done(self, frame: Frame, out: list[Event]) -> None:
        self._begin_unannounced(out)
        self._items.end(frame.output_index, _raw_item(frame), out)

    def _content(self, frame: Frame, out: list[Event]) -> None:
        kind = str(frame.part.get("type")) if isinstance(frame.part, dict) else ""
        item = self._find(frame, "message", out)
        if item is None or item.type != "message":
            return
        if kind in _THOUGHTS:
            self._items.piece(item, frame.content_index, "thinking", out)
        elif kind in ("output_text", "text", "refusal"):
            self._items.piece(item, frame.content_index, "text", out)

    def _find(self, frame: Frame, kind: str, out: list[Event]) -> Item | None:
        self._begin_unannounced(out)
        return self._items.find(frame.output_index, kind, out)

    # -- deltas --------------------------------------------------------------------------------

    def _text(self, frame: Frame, out: list[Event]) -> None:
        try:
            piece = self._open[frame.output_index].pieces[frame.content_index]
        except KeyError:
            item = self._find(frame, "message", out)
            if item is None:
                return
            piece = self._items.piece(item, frame.content_index, "text", out)
        if delta := frame.delta:
            piece.texts.append(delta)
            tokens = read_logprobs(frame.logprobs) if self._items.reads_logprobs else ()
            out.append(TextDelta(piece.index, delta, tokens))

    def _summary(self, frame: Frame, out: list[Event]) -> None:
        self._think(frame, frame.summary_index, out)

    def _add_thinking(self, frame: Frame, out: list[Event]) -> None:
        self._think(frame, ~frame.content_index, out)

    def _think(self, frame: Frame, section: int, out: list[Event]) -> None:
        item = self._open.get(frame.output_index) or self._find(frame, "reasoning", out)
        if item is None:
            return
        number = frame.content_index if item.type == "message" else 0
        piece = item.pieces.get(number) or self._items.piece(item, number, "thinking", out)
        if piece.section != section:
            piece.section = section
            if piece.texts:
                piece.texts.append("\n\n")
                out.append(ThinkingDelta(piece.index, "\n\n"))
        if delta := frame.delta:
            piece.texts.append(delta)
            out.append(ThinkingDelta(piece.index, delta))

    def _arguments(self, frame: Frame, out: list[Event]) -> None:
        item = self._open.get(frame.output_index) or self._open.get(self._items.latest)
        if item is None or not item.call_id:
            return  # an unannounced call comes whole with its end
        if delta := frame.delta:
            piece = item.pieces[0]
            piece.texts.append(delta)
            out.append(ToolDelta(piece.index, delta))


def _answer(frame: Frame) -> Answer:
    if not frame.response:
        raise Malformed("missing required field `response`")
    return parse_payload(frame.response, answer_decoder, at="$.response")


def _raw_item(frame: Frame) -> Json:
    if not frame.item:
        raise Malformed("missing required field `item`")
    return parse_payload(frame.item, _any, at="$.item")
