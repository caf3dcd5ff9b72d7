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
from .parts import NAME, Block, Delta, block, first_of
from .usage import Counts, finish


class Ending(Struct, rename="camel"):
    """How the message ended, and the fields of the model's own that were asked for."""

    stop_reason: str
    additional_model_response_fields: Json = None


class Metadata(Struct, rename="camel"):
    """What comes beside the message: counts, timing, a trace."""

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
    """The parts of an answer so far, and its end; for streams and whole answers."""

    def __init__(self, model: str | None, route: str | None) -> None:
        self._model, self._route = model, route
        self._parts: list[Part] = []

    def ended(self, open_: Block) -> Event:
        """Return the end of a part that is complete."""
        part = open_.end(self._seal)
        self._parts.append(part)
        return PartEnd(open_.index, part)

    def finished(self, ending: Ending, metadata: Metadata) -> Event:
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
            model=_routed(trace) or self._model,
            safety=trace.get("guardrail"),
            extras={name: value for name, value in extras.items() if value is not None} or None,
        )

    def _seal(self, value: Json) -> Signature:
        return Signature(NAME, value, self._model, self._route)


def stream(head: ResponseHead, where: AnswerContext) -> FrameStream[AwsEvent]:
    """Return a decoder for one streamed answer."""
    answer = _StreamedAnswer(head, where)
    return FrameStream(_Frames(answer), answer, unit=None)


class _Frames:
    """The frames of an answer; one that is cut after messageStop is not missed."""

    def __init__(self, answer: "_StreamedAnswer") -> None:
        self._answer = answer
        self._reader = AwsEventsReader()
        self.feed = self._reader.feed

    def eof(self) -> list[AwsEvent]:
        """Raise Truncated where a frame is cut that the answer cannot do without."""
        try:
            return self._reader.eof()
        except Truncated:
            if not self._answer.ended:
                raise
            return []


class _StreamedAnswer:
    """Reads the frames of one answer; messageStop comes before the counts, or after them.

    An answer that is cut between the two is whole, and its counts are unknown.
    """

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
            "metadata": self._counted,
        }

    @property
    def ended(self) -> bool:
        """Return whether messageStop has come."""
        return self._ending is not None

    def take(self, frames: list[AwsEvent], events: list[Event]) -> None:
        """Add the events of these frames; raises the exception that a frame is."""
        handlers = self._handlers
        for frame in frames:
            handler = handlers.get(frame.headers.get(":event-type", ""))
            if handler is not None:
                handler(frame.payload, events)
            elif frame.headers.get(":message-type", "event") != "event":
                raise self._failure(frame)

    def end(self, events: list[Event]) -> None:
        """Add the end, where it came without its counts; raises Truncated where it never came."""
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
            self._opened(begun.content_block_index, opened, events)

    def _delta(self, payload: bytes, events: list[Event]) -> None:
        try:
            more = _more(payload)
        except UNREADABLE:
            more = parse_payload(payload, _MORE)
        opened = self._open.get(more.content_block_index)
        if opened is None:
            opened = first_of(more.delta, self._begun)
            if opened is None:
                return
            self._opened(more.content_block_index, opened, events)
        event = opened.add(more.delta, payload)
        if event is not None:
            events.append(event)

    def _opened(self, index: int, opened: Block, events: list[Event]) -> None:
        if not self._started:
            self._begin(events)
        if self._ending is not None:
            raise Malformed("a block after messageStop")
        self._open[index] = opened
        self._begun += 1
        events += opened.begin()

    def _stop(self, payload: bytes, events: list[Event]) -> None:
        opened = self._open.pop(parse_payload(payload, _STOP).content_block_index, None)
        if opened is not None:  # an empty block has a stop and nothing else
            events.append(self._answer.ended(opened))

    def _message_stop(self, payload: bytes, events: list[Event]) -> None:
        if self._ending is not None:
            raise Malformed("a second messageStop")
        self._ending = parse_payload(payload, _ENDING)
        if not self._started:
            self._begin(events)
        events += [self._answer.ended(opened) for opened in self._open.values()]
        self._open.clear()
        if self._metadata is not None:
            self._finish(self._ending, self._metadata, events)

    def _counted(self, payload: bytes, events: list[Event]) -> None:
        self._metadata = parse_payload(payload, _METADATA)
        if self._ending is not None:
            self._finish(self._ending, self._metadata, events)

    def _finish(self, ending: Ending, metadata: Metadata, events: list[Event]) -> None:
        events.append(self._answer.finished(ending, metadata))
        self.over = True
        self._handlers.clear()  # what follows the end is not read

    def _failure(self, frame: AwsEvent) -> ServiceError:
        """Return the error of a frame: named in a header, its message there or in the body."""
        name = frame.headers.get(":exception-type") or frame.headers.get(":error-code")
        body = frame.payload or encode({"message": frame.headers.get(":error-message")})
        return failure(name, self._head, body=body, status=None)


def _routed(trace: dict[str, Json]) -> str | None:
    """Return the model that a router chose."""
    router = trace.get("promptRouter")
    model = router.get("invokedModelId") if isinstance(router, dict) else None
    return model if isinstance(model, str) else None
