"""A streamed answer to events: one short method for each kind of frame."""

from msgspec import Raw, Struct
from msgspec.json import Decoder

from pondero.canon import Event, Finished, Head, Json, Part, PartEnd, Seal, Started, UsageNow
from pondero.errors import Malformed, PonderoError, Truncated
from pondero.framing import UNREADABLE, SseReader, parse

from .ending import finish
from .errors import failure
from .parts import NAME, Block, Delta, block
from .usage import Counts


class Frame(Struct, gc=False):
    """Any frame of the stream; what a kind does not have stays empty."""

    type: str
    index: int = -1
    delta: Delta | None = None
    content_block: Raw = Raw()
    message: Raw = Raw()
    usage: Counts | None = None
    context_management: Json = None


class Opening(Struct):
    """The message as it stands before its first block."""

    id: str | None = None
    model: str | None = None
    usage: Counts | None = None
    container: Json = None
    input_transformations: Json = None


class _Type(Struct):
    type: str


_FRAME = Decoder(Frame)
_decode = _FRAME.decode
_OPENING = Decoder(Opening)
_TYPE = Decoder(_Type)
_ANY: Decoder[Json] = Decoder()
_KNOWN = frozenset(
    {
        *("message_start", "content_block_start", "content_block_delta", "content_block_stop"),
        *("message_delta", "message_stop", "error"),
    }
)


class Answer:
    """What an answer has been so far; a stream and a whole response both end here."""

    def __init__(self, head: Head, model: str | None, route: str | None) -> None:
        self.head = head
        self.parts: list[Part] = []
        self._model, self._route = model, route
        self._maker = model  # as it was asked for: answers name a snapshot where an alias was asked
        self._counts = Counts()
        self._extras: dict[str, Json] = {}
        self._last = Delta()

    def started(self, opening: Opening) -> list[Event]:
        """Take the message's head."""
        self._model = opening.model or self._model
        self._maker = self._maker or opening.model
        self._note("container", opening.container)
        self._note("input_transformations", opening.input_transformations)
        events: list[Event] = [Started(opening.model, opening.id)]
        if opening.usage is not None:
            self._counts = opening.usage
            events.append(UsageNow(opening.usage.usage()))
        return events

    def ended(self, open_: Block) -> Event:
        """Take a part that is complete."""
        part = open_.end(self._seal)
        self.parts.append(part)
        return PartEnd(open_.index, part)

    def noted(self, delta: Delta, counts: Counts | None, context_management: Json) -> None:
        """Take how the message ended."""
        self._last = delta
        if counts is not None:
            self._counts = self._counts.then(counts)
        self._note("container", delta.container)
        self._note("stop_sequence", delta.stop_sequence)
        self._note("context_management", context_management)

    def finished(self) -> Event:
        """Return the end."""
        usage = self._counts.usage()
        word = self._last.stop_reason
        return Finished(
            finish(word, self.parts, usage),
            usage=usage,
            raw_finish=word,
            model=self._model,
            safety=self._last.stop_details,
            extras=(self._extras | self._counts.extras()) or None,
        )

    def _note(self, name: str, value: Json) -> None:
        if value is not None:
            self._extras[name] = value

    def _seal(self, value: Json) -> Seal:
        return Seal(NAME, value, self._maker, self._route)


class Stream:
    """Feed bytes as they come, then call eof()."""

    def __init__(self, head: Head, model: str | None, route: str | None) -> None:
        self._frames = SseReader()
        self._answer = Answer(head, model, route)
        self._open: dict[int, Block] = {}
        self._begun = 0
        self._finished = False
        self._broken: PonderoError | None = None
        self._handlers = {
            "message_start": self._message_start,
            "content_block_start": self._start,
            "content_block_delta": self._delta,
            "content_block_stop": self._stop,
            "message_delta": self._message_delta,
            "message_stop": self._message_stop,
            "error": self._error,
        }

    def feed(self, data: bytes) -> list[Event]:
        """Return the events that these bytes complete.

        What went wrong after some of them is raised by the next call, so that none is lost.
        """
        if self._broken is not None:
            raise self._broken
        events: list[Event] = []
        handlers = self._handlers
        try:
            for payload in self._frames.feed(data):
                try:
                    frame = _decode(payload)
                except UNREADABLE:
                    if _passes_over(payload):
                        continue
                    frame = parse(payload, _FRAME)
                handler = handlers.get(frame.type)
                if handler is not None:
                    handler(frame, payload, events)
        except PonderoError as error:
            self._broken = error
            if not events:
                raise
        return events

    def eof(self) -> list[Event]:
        """Return the events of a last frame; raise Truncated where message_stop never came."""
        if self._broken is not None:
            raise self._broken
        try:
            events = self.feed(b"\n\n")  # a last frame may lack its blank line
        except Malformed as error:
            raise Truncated(f"the stream ended inside a frame: {error}") from None
        if not self._finished:
            raise Truncated("the stream ended before message_stop")
        return events

    def _message_start(self, frame: Frame, _payload: bytes, events: list[Event]) -> None:
        if self._begun:
            raise Malformed("a second message_start", path="$.type")
        self._begun = 1
        _required(frame.message, "message")
        events += self._answer.started(parse(frame.message, _OPENING, at="$.message"))

    def _start(self, frame: Frame, _payload: bytes, events: list[Event]) -> None:
        if not self._begun:
            raise Malformed("a content block before message_start", path="$.type")
        _required(frame.content_block, "content_block")
        if frame.index < 0 or frame.index in self._open:
            raise Malformed("a block that is already open or has no index", path="$.index")
        opened = block(frame.content_block, self._begun - 1, at="$.content_block")
        self._open[frame.index] = opened
        self._begun += 1
        events += opened.begin()

    def _delta(self, frame: Frame, payload: bytes, events: list[Event]) -> None:
        opened = self._open.get(frame.index)
        if opened is None:
            raise Malformed(f"no block {frame.index} is open", path="$.index")
        if frame.delta is None:
            raise Malformed("a required key is missing", path="$.delta")
        event = opened.add(frame.delta, payload)
        if event is not None:
            events.append(event)

    def _stop(self, frame: Frame, _payload: bytes, events: list[Event]) -> None:
        opened = self._open.pop(frame.index, None)
        if opened is None:
            raise Malformed(f"no block {frame.index} is open", path="$.index")
        events.append(self._answer.ended(opened))

    def _message_delta(self, frame: Frame, _payload: bytes, _events: list[Event]) -> None:
        if frame.delta is None:
            raise Malformed("a required key is missing", path="$.delta")
        self._answer.noted(frame.delta, frame.usage, frame.context_management)

    def _message_stop(self, _frame: Frame, _payload: bytes, events: list[Event]) -> None:
        if not self._begun:
            raise Malformed("message_stop before message_start", path="$.type")
        events += [self._answer.ended(opened) for opened in self._open.values()]
        events.append(self._answer.finished())
        self._finished = True
        self._handlers.clear()  # what follows the end is not read

    def _error(self, _frame: Frame, payload: bytes, _events: list[Event]) -> None:
        raise failure(parse(payload, _ANY), self._answer.head, body=payload, status=None)


def _passes_over(payload: bytes) -> bool:
    """Whether a frame that does not fit our types is one we need not read: unknown, or [DONE]."""
    try:
        return _TYPE.decode(payload).type not in _KNOWN
    except UNREADABLE:
        return payload.strip() == b"[DONE]"


def _required(raw: Raw, key: str) -> None:
    if not bytes(raw):
        raise Malformed("a required key is missing", path=f"$.{key}")
