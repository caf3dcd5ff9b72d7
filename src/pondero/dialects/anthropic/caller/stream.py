"""Reads a streamed answer into events: one short method for each kind of frame."""

from collections.abc import Callable, Mapping
from typing import ClassVar

from msgspec import Raw, Struct
from msgspec.json import Decoder

from pondero.canon import Event, Json, ResponseHead, Usage, get_decoder, join_pieces
from pondero.dialects.dialect import AnswerContext
from pondero.errors import Malformed, Truncated
from pondero.framing import UNREADABLE, FrameStream, SseReader, Stencil, parse_payload

from .errors import failure
from .parts import Block, Delta, TextBlock, ThinkingBlock, block
from .response import Answer, Opening
from .usage import Counts


class Frame(Struct, gc=False):
    """The fields of all kinds of frames."""

    type: str
    index: int = -1
    delta: Delta | None = None
    content_block: Raw = Raw()
    message: Raw = Raw()
    usage: Counts | None = None
    context_management: Json = None


class _Type(Struct):
    type: str


_FRAME = get_decoder(Frame)
_decode = _FRAME.decode
_WORDS = (TextBlock, ThinkingBlock)
_OPENING = get_decoder(Opening)
_TYPE = get_decoder(_Type)
_ANY: Decoder[Json] = Decoder()


def stream(head: ResponseHead, where: AnswerContext) -> FrameStream[bytes]:
    """Return a decoder for one streamed answer."""
    return FrameStream(SseReader(), _AnswerReader(head, where), unit="a frame")


class _AnswerReader:
    """One answer, frame by frame."""

    def __init__(self, head: ResponseHead, where: AnswerContext) -> None:
        self._answer = Answer(head, where)
        self._open: dict[int, Block] = {}
        self._begun = 0
        self._counted = False
        self._stencil: Stencil[TextBlock | ThinkingBlock | None] = Stencil(None)
        self.over = False
        self.ending = False

    @property
    def usage(self) -> Usage | None:
        """Return the counts that have come."""
        return self._answer.usage

    def take(self, frames: list[bytes], events: list[Event]) -> None:
        """Add the events of these frames; skip frames of unknown kinds."""
        at = 0
        while at < len(frames) and not self.over:  # frames after the end are ignored
            if (texts := self._stencil.texts(frames, at)) and self._stencil.place is not None:
                events += self._stencil.place.say(texts)
                at += len(texts)
                continue
            payload = frames[at]
            at += 1
            try:
                frame = _decode(payload)
            except UNREADABLE:
                if _passes_over(payload):
                    continue
                frame = parse_payload(payload, _FRAME)
            handler = self.handlers.get(frame.type)
            if handler is not None:
                handler(self, frame, payload, events)
            if frame.type == "content_block_delta" and self._stencil.is_wanted:
                self._stencil.cut(payload, self._words)
        for opened in self._open.values():
            if isinstance(opened, _WORDS):
                join_pieces(opened.texts)

    def end(self, _events: list[Event]) -> None:
        """Raise Truncated if there was no message_stop."""
        if not self.over:
            raise Truncated("the stream ended before message_stop")

    def _message_start(self, frame: Frame, _payload: bytes, events: list[Event]) -> None:
        if self._begun:
            raise Malformed("a second message_start", path="$.type")
        self._begun = 1
        _check_present(frame.message, "message")
        events += self._answer.start(parse_payload(frame.message, _OPENING, at="$.message"))

    def _start(self, frame: Frame, _payload: bytes, events: list[Event]) -> None:
        if not self._begun:
            raise Malformed("a content block before message_start", path="$.type")
        _check_present(frame.content_block, "content_block")
        if frame.index < 0 or frame.index in self._open:
            raise Malformed("a block that is already open or has no index", path="$.index")
        opened = block(frame.content_block, self._begun - 1, at="$.content_block")
        self._open[frame.index] = opened
        self._begun += 1
        events += self._answer.begin_part(opened)

    def _delta(self, frame: Frame, payload: bytes, events: list[Event]) -> None:
        opened = self._open.get(frame.index)
        if opened is None:
            raise Malformed(f"no block {frame.index} is open", path="$.index")
        if frame.delta is None:
            raise Malformed("a required key is missing", path="$.delta")
        event = opened.add(frame.delta, payload)
        if event is not None:
            events.append(event)

    def _words(self, payload: bytes) -> tuple[TextBlock | ThinkingBlock, str] | None:
        frame = parse_payload(payload, _FRAME)
        opened = self._open.get(frame.index)
        if frame.type != "content_block_delta" or not isinstance(opened, _WORDS):
            return None
        text = opened.words(frame.delta) if frame.delta is not None else ""
        return (opened, text) if text else None

    def _stop(self, frame: Frame, _payload: bytes, events: list[Event]) -> None:
        opened = self._open.pop(frame.index, None)
        if opened is None:
            raise Malformed(f"no block {frame.index} is open", path="$.index")
        self._stencil = Stencil(None)
        events.append(self._answer.end_part(opened))

    def _message_delta(self, frame: Frame, _payload: bytes, _events: list[Event]) -> None:
        if frame.delta is None:
            raise Malformed("a required key is missing", path="$.delta")
        if frame.usage is not None and not self._counted:
            self._answer.forget_output()
            self._counted = True
        self._answer.note_ending(frame.delta, frame.usage, frame.context_management)
        self.ending = True

    def _message_stop(self, _frame: Frame, _payload: bytes, events: list[Event]) -> None:
        if not self._begun:
            raise Malformed("message_stop before message_start", path="$.type")
        events += [self._answer.end_part(opened) for opened in self._open.values()]
        if not self._counted:
            self._answer.forget_output()
        events.append(self._answer.finish())
        self.over = True

    def _error(self, _frame: Frame, payload: bytes, _events: list[Event]) -> None:
        raise failure(parse_payload(payload, _ANY), self._answer.head, body=payload, status=None)

    handlers: ClassVar[
        Mapping[str, Callable[["_AnswerReader", Frame, bytes, list[Event]], None]]
    ] = {
        "message_start": _message_start,
        "content_block_start": _start,
        "content_block_delta": _delta,
        "content_block_stop": _stop,
        "message_delta": _message_delta,
        "message_stop": _message_stop,
        "error": _error,
    }


def _passes_over(payload: bytes) -> bool:
    try:
        return _TYPE.decode(payload).type not in _AnswerReader.handlers
    except UNREADABLE:
        return payload.strip() == b"[DONE]"


def _check_present(raw: Raw, key: str) -> None:
    if not bytes(raw):
        raise Malformed("a required key is missing", path=f"$.{key}")
