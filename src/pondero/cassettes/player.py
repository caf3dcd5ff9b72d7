"""Plays a cassette: finds the recorded exchange for each request."""

from collections.abc import AsyncIterator, Generator, Iterator
from threading import Lock
from types import coroutine

from .. import errors
from ..canon import HttpRequest, ResponseHead
from ..errors import CassetteError, PonderoError, TransportError, Unreachable, WireError
from ..exchange import note_recording
from .file_format import EarlyEnd, RecordedExchange
from .redaction import Redactor, exchange_secrets
from .request_match import describe_mismatch, differences


class Player:
    """Plays each exchange once: the first unplayed one that matches the request."""

    def __init__(
        self,
        exchanges: tuple[RecordedExchange, ...],
        *,
        name: str,
        match: tuple[str, ...],
        redactor: Redactor,
    ) -> None:
        self._exchanges = exchanges
        self._name = name
        self._match = match
        self._redactor = redactor
        self._left = dict(enumerate(exchanges, 1))
        self._lock = Lock()

    @property
    def unplayed(self) -> tuple[RecordedExchange, ...]:
        """Return the exchanges not played yet."""
        return tuple(self._left.values())

    def respond(self, request: HttpRequest) -> "PlayedResponse":
        """Return the response recorded for this request, or raise the recorded error."""
        exchange = self.take(request)
        place = f"{self._name}, line {exchange.line}" if exchange.line else self._name
        return PlayedResponse(exchange, place)

    def take(self, request: HttpRequest) -> RecordedExchange:
        """Return the exchange recorded for this request; raises with the differences."""
        sent = self._redactor.request(request)
        with self._lock:
            for number, exchange in self._left.items():
                if not differences(exchange.request, sent, self._match):
                    return self._left.pop(number)
            raise self._mismatch_error(request)

    def check(self) -> None:
        """Raise CassetteError if an exchange was not played."""
        if not self._left:
            return
        lines = [
            f"{len(self._left)} of {len(self._exchanges)} exchanges in {self._name} not played"
        ]
        lines += [f"  {_where(number, each)}" for number, each in self._left.items()]
        raise CassetteError("\n".join(lines))

    def _mismatch_error(self, request: HttpRequest) -> CassetteError:
        # An error message may show no more than a file holds.
        learned = exchange_secrets(RecordedExchange(request))
        sent = Redactor(self._redactor.secrets.union(learned)).request(request)
        what, total = f"{sent.method} {sent.url}", len(self._exchanges)
        again = "If the request is right, record again with VCR_RECORD=1."
        if not self._left:
            played = {0: "it is empty", 1: "its one exchange was played"}
            why = played.get(total, f"all its {total} exchanges were played")
            return CassetteError(f"{self._name} has nothing for {what}: {why}. {again}")
        found = {
            number: differences(exchange.request, sent, self._match)
            for number, exchange in self._left.items()
        }
        nearest = min(found, key=lambda number: sum(each.weight for each in found[number]))
        lines = [
            f"{self._name} has no exchange for {what}",
            f"the nearest of {len(found)} left is {_where(nearest, self._left[nearest])}",
            describe_mismatch(found[nearest]),
            again,
        ]
        return CassetteError("\n".join(lines))


def _where(number: int, exchange: RecordedExchange) -> str:
    line = f", line {exchange.line}" if exchange.line else ""
    return f"exchange {number}{line}: {exchange.request.method} {exchange.request.url}"


class PlayedResponse:
    """A response from the file; it fails as the recorded one did.

    ``recorded_in``: file and line, which errors about this response name.
    """

    def __init__(self, recorded: RecordedExchange, recorded_in: str) -> None:
        self.recorded_in: str = recorded_in
        self.head: ResponseHead = _recorded_head(recorded, recorded_in)
        self._pieces = iter(recorded.pieces)
        self._end = recorded.end

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces
        if error := _failure(self._end, self.recorded_in):
            raise error

    def close(self) -> None:
        """Read nothing more."""
        self._pieces, self._end = iter(()), None


class AsyncPlayedResponse:
    """A response from the file, for asyncio."""

    def __init__(self, played: PlayedResponse) -> None:
        self._played = played
        self.recorded_in: str = played.recorded_in
        self.head: ResponseHead = played.head

    async def __aiter__(self) -> AsyncIterator[bytes]:
        await _let_others_run()
        for piece in self._played:
            yield piece
            await _let_others_run()

    async def aclose(self) -> None:
        """Read nothing more."""
        self._played.close()


def _recorded_head(recorded: RecordedExchange, place: str) -> ResponseHead:
    if recorded.head is not None:
        return recorded.head
    if error := _failure(recorded.end, place):
        raise error
    cancelled = Unreachable("the recorded request was cancelled by its caller")
    note_recording(cancelled, place)
    raise cancelled


def _failure(end: EarlyEnd | None, place: str) -> PonderoError | None:
    """Return the error that ended a response; None if its reader closed it."""
    if end is None or end.error is None:
        return None
    kind = getattr(errors, end.error, TransportError)
    if not (isinstance(kind, type) and issubclass(kind, TransportError | WireError)):
        kind = TransportError
    error: PonderoError = kind.__new__(kind)
    error.args = (end.message,)  # the recorded text; some constructors would add to it
    if isinstance(error, TransportError):
        error.connected = end.connected
    note_recording(error, place)
    return error


@coroutine
def _let_others_run() -> Generator[None]:
    yield
