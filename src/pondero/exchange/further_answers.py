"""Reads the answers after the first from the bytes of a response that has several."""

from msgspec.structs import replace

from ..canon import Event, Finished, ResponseHead
from ..dialects import AnswerContext, EventStream, get_dialect
from ..errors import PonderoError, Truncated
from .answer_restorer import AnswerRestorer
from .request import Exchange
from .strange_answer import is_whole


class FurtherAnswers:
    """Feed it the bytes of a response; ``take`` returns the events of each further answer.

    The first answer is read elsewhere, with the counts and errors of the response. What is wrong
    with a further one waits for ``check``.
    """

    def __init__(self, exchange: Exchange, count: int) -> None:
        self._exchange = exchange
        self._count = count - 1
        self._caller = get_dialect(exchange.dialect).caller()
        self.begin(ResponseHead(200))

    def begin(self, head: ResponseHead) -> None:
        """Begin with another response: the one before was not answered."""
        self._head = head
        self._body: list[bytes] | None = None if self._exchange.stream else []
        self._streams: list[EventStream] = []
        self._events: list[list[Event]] = [[] for _ in range(self._count)]
        self._finished: set[int] = set()
        self._error: PonderoError | None = None
        restore = self._exchange.restore
        self._restorers = [AnswerRestorer(self._exchange, restore) for _ in range(self._count)]

    def feed(self, data: bytes) -> None:
        """Read the next bytes."""
        if self._body is None and not self._streams:
            if is_whole(self._head, data):
                self._body = []
            else:
                where = map(self._make_context, range(self._count))
                self._streams = [self._caller.stream(self._head, each) for each in where]
        if self._body is not None:
            self._body.append(data)
            return
        for number, stream in enumerate(self._streams):
            self._read(number, stream, data)

    def eof(self) -> None:
        """Read the end of the response."""
        if self._body is None:
            for number, stream in enumerate(self._streams):
                self._read(number, stream, None)
            return
        body = b"".join(self._body)
        for number in range(self._count):
            self._decode(number, body)

    def take(self) -> list[list[Event]]:
        """Return the events of each answer since the last call."""
        taken, self._events = self._events, [[] for _ in range(self._count)]
        return taken

    def check(self) -> None:
        """Raise what is wrong with an answer, once the first one is complete."""
        if self._error is not None:
            raise self._error
        if len(self._finished) < self._count:
            raise Truncated("the response ended before all its answers did")

    def _make_context(self, number: int) -> AnswerContext:
        return replace(self._exchange.context, candidate=number + 1)

    def _read(self, number: int, stream: EventStream, data: bytes | None) -> None:
        if self._error is not None or number in self._finished:
            return
        try:
            events = stream.eof() if data is None else stream.feed(data)
        except PonderoError as error:
            self._error = error.with_traceback(None)
        else:
            self._add(number, events)

    def _decode(self, number: int, body: bytes) -> None:
        try:
            events = self._caller.decode(self._head, body, self._make_context(number))
        except PonderoError as error:
            self._error = error.with_traceback(None)
        else:
            self._add(number, events)

    def _add(self, number: int, events: list[Event]) -> None:
        events = self._restorers[number].take(events) if events else events
        self._events[number] += events
        if events and isinstance(events[-1], Finished):
            self._finished.add(number)
