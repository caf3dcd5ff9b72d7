"""Reads a streamed answer into events: one short method for each kind of frame."""

from collections.abc import Callable

from msgspec import Raw, Struct
from msgspec.json import encode

from pondero.canon import (
    Event,
    Finished,
    Json,
    Part,
    PartEnd,
    ResponseHead,
    Signature,
    Started,
    get_decoder,
)
from pondero.dialects.dialect import AnswerContext
from pondero.errors import Malformed, ServiceError, Truncated
from pondero.framing import UNREADABLE, AwsEvent, AwsEventsReader, FrameStream, parse_payload

from .errors import failure
from .parts import NAME, Block, Delta, block, open_first
from .usage import Counts, finish


class Ending(Struct, rename="camel"):
    """How the message ended, and the model's own fields that the request asked for."""

    stop_reason: str
    additional_model_response_fields: Json = None


class Metadata(Struct, rename="camel"):
    """Counts, timing and trace of an answer."""

    usage: Counts | None = None
    metrics: Json = None
    trace: Json = None
    performance_config: Json = None
    service_tier: Json = None


class _Start(Struct, rename="camel"):
    start: dict[str, Raw]
    content_block_index: int


class _More(Struct, gc=False, rename="camel"):
    delta: Delta
    content_block_index: int


class _Stop(Struct, rename="camel"):
    content_block_index: int


_START = get_decoder(_Start)
_MORE = get_decoder(_More)
_STOP = get_decoder(_Stop)
_ENDING = get_decoder(Ending)
_METADATA = get_decoder(Metadata)
_more = _MORE.decode


class Answer:
    """The parts of an answer, as far as they were read, and its end."""

    def __init__(self, model: str | None, route: str | None) -> None:
        self._model, self._route = model, route
        self._parts: list[Part] = []

    def end_part(self, open_: Block) -> Event:
        """Return the end of a part that is complete."""
        part = open_.end(self._sign)
        self._parts.append(part)
        return PartEnd(open_.index, part)

    def finish_answer(self, ending: Ending, metadata: Metadata) -> Event:
        """Return the end of the answer."""
        counts = metadata.usage or Counts()
        own = ending.additional_model_response_fields
        usage = counts.usage(own)
        extras = {
            "metrics": metadata.metrics,
            "performanceConfig": metadata.performance_config,
            "serviceTier": metadata.service_tier,
            "additionalModelResponseFields": own,
            **counts.extras(),
        }
        trace = metadata.trace if isinstance(metadata.trace, dict) else {}
        return Finished(
            finish(ending.stop_reason, self._parts, usage),
            usage=usage,
            raw_finish=ending.stop_reason,
            model=_find_routed_model(trace) or self._model,
            safety=trace.get("guardrail"),
            extras={name: value for name, value in extras.items() if value is not None} or None,
        )

    def _sign(self, value: Json) -> Signature:
        return Signature(NAME, value, self._model, self._route)


def stream(head: ResponseHead, where: AnswerContext) -> FrameStream[AwsEvent]:
    """Return a decoder for one streamed answer."""
    answer = _StreamedAnswer(head, where)
    return FrameStream(_Frames(answer), answer, unit=None)


class _Frames:
    """Reads frames; ignores one that is cut after messageStop."""

    def __init__(self, answer: "_StreamedAnswer") -> None:
        self._answer = answer
        self._reader = AwsEventsReader()
        self.feed = self._reader.feed

    def eof(self) -> list[AwsEvent]:
        """Raise Truncated if a frame is cut before messageStop."""
        try:
            return self._reader.eof()
        except Truncated:
            if not self._answer.ending:
                raise
            return []


class _StreamedAnswer:
    """Reads the frames of one answer; the counts come before or after messageStop, or never."""

    def __init__(self, head: ResponseHead, where: AnswerContext) -> None:
        self.over = False
        self._head = head
        self._answer = Answer(where.model, where.route)
        self._open: dict[int, Block] = {}
        self._begun = 0
        self._started = False
        self._ending: Ending | None = None
        self._metadata: Metadata | None = None
        self._handlers: dict[str, Callable[[bytes, list[Event]], None]] = {
            "messageStart": self._message_start,
            "contentBlockStart": self._start,
            "contentBlockDelta": self._delta,
            "contentBlockStop": self._stop,
            "messageStop": self._message_stop,
            "metadata": self._read_metadata,
        }

    @property
    def ending(self) -> bool:
        """Return whether messageStop was read."""
        return self._ending is not None

    def take(self, frames: list[AwsEvent], events: list[Event]) -> None:
        """Add the events of these frames; raises ServiceError for an exception frame."""
        handlers = self._handlers
        for frame in frames:
            handler = handlers.get(frame.headers.get(":event-type", ""))
            if handler is not None:
                handler(frame.payload, events)
            elif frame.headers.get(":message-type", "event") != "event":
                raise self._failure(frame)

    def end(self, events: list[Event]) -> None:
        """Add the end if its counts are missing; raises Truncated if there was no messageStop."""
        if self.over:
            return
        if self._ending is None:
            raise Truncated("the stream ended before messageStop")
        self._finish(self._ending, Metadata(), events)

    def _message_start(self, _payload: bytes, events: list[Event]) -> None:
        if self._started:
            raise Malformed("a second messageStart")
        self._begin(events)

    def _begin(self, events: list[Event]) -> None:
        self._started = True
        events.append(Started())

    def _start(self, payload: bytes, events: list[Event]) -> None:
        begun = parse_payload(payload, _START)
        if begun.content_block_index in self._open:
            raise Malformed("a block that is already open", path="$.contentBlockIndex")
        opened = block(begun.start, self._begun, at="$.start")
        if opened is not None:
            self._open_block(begun.content_block_index, opened, events)

    def _delta(self, payload: bytes, events: list[Event]) -> None:
        try:
            more = _more(payload)
        except UNREADABLE:
            more = parse_payload(payload, _MORE)
        opened = self._open.get(more.content_block_index)
        if opened is None:
            opened = open_first(more.delta, self._begun)
            if opened is None:
                return
            self._open_block(more.content_block_index, opened, events)
        event = opened.add(more.delta, payload)
        if event is not None:
            events.append(event)

    def _open_block(self, index: int, opened: Block, events: list[Event]) -> None:
        if not self._started:
            self._begin(events)
        if self._ending is not None:
            raise Malformed("a block after messageStop")
        self._open[index] = opened
        self._begun += 1
        events += opened.begin()

    def _stop(self, payload: bytes, events: list[Event]) -> None:
        opened = self._open.pop(parse_payload(payload, _STOP).content_block_index, None)
        if opened is not None:  # an empty block has only a stop
            events.append(self._answer.end_part(opened))

    def _message_stop(self, payload: bytes, events: list[Event]) -> None:
        if self._ending is not None:
            raise Malformed("a second messageStop")
        self._ending = parse_payload(payload, _ENDING)
        if not self._started:
            self._begin(events)
        events += [self._answer.end_part(opened) for opened in self._open.values()]
        self._open.clear()
        if self._metadata is not None:
            self._finish(self._ending, self._metadata, events)

    def _read_metadata(self, payload: bytes, events: list[Event]) -> None:
        self._metadata = parse_payload(payload, _METADATA)
        if self._ending is not None:
            self._finish(self._ending, self._metadata, events)

    def _finish(self, ending: Ending, metadata: Metadata, events: list[Event]) -> None:
        events.append(self._answer.finish_answer(ending, metadata))
        self.over = True
        self._handlers.clear()  # frames after the end are ignored

    def _failure(self, frame: AwsEvent) -> ServiceError:
        name = frame.headers.get(":exception-type") or frame.headers.get(":error-code")
        body = frame.payload or encode({"message": frame.headers.get(":error-message")})
        return failure(name, self._head, body=body, status=None)


def _find_routed_model(trace: dict[str, Json]) -> str | None:
    router = trace.get("promptRouter")
    model = router.get("invokedModelId") if isinstance(router, dict) else None
    return model if isinstance(model, str) else None
