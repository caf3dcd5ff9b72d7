"""Transports of the kit: one records every exchange, one opens a connection for each."""

from collections.abc import Iterator

from ..canon import HttpRequest, ResponseHead
from ..cassettes import RecordedExchange
from ..exchange import Response, Timeouts, Transport
from ..transport import HttpTransport


class FreshHttp:
    """Sends each over its own connection: some servers close those that they promised to keep."""

    needs_key = True

    def __init__(self) -> None:
        self._http = HttpTransport()

    def send(self, request: HttpRequest, timeouts: Timeouts) -> Response:
        """Send it and return the response when its head has arrived."""
        self._http.close()
        return self._http.send(request, timeouts)

    def close(self) -> None:
        """Close the last connection."""
        self._http.close()


class RecordingTransport:
    """Wraps a transport and records every exchange. ``needs_key``: it needs the user's key."""

    def __init__(self, transport: Transport, *, needs_key: bool = False) -> None:
        self.needs_key = needs_key
        self.inner = transport
        self._recorded: list[_RecordingResponse | HttpRequest] = []

    @property
    def exchanges(self) -> tuple[RecordedExchange, ...]:
        """Return every exchange so far; one without an answer has no head."""
        return tuple(
            RecordedExchange(each) if isinstance(each, HttpRequest) else each.recorded
            for each in self._recorded
        )

    def send(self, request: HttpRequest, timeouts: Timeouts) -> Response:
        """Send it, and record the response while it is read."""
        self._recorded.append(request)
        answer = _RecordingResponse(request, self.inner.send(request, timeouts))
        self._recorded[-1] = answer
        return answer

    def close(self) -> None:
        """Do nothing: the owner of the wrapped transport closes it."""


class _RecordingResponse:
    def __init__(self, request: HttpRequest, answer: Response) -> None:
        self._request = request
        self._answer = answer
        self._pieces: list[bytes] = []

    @property
    def head(self) -> ResponseHead:
        return self._answer.head

    @property
    def recorded(self) -> RecordedExchange:
        return RecordedExchange(self._request, self._answer.head, tuple(self._pieces))

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._answer:
            self._pieces.append(piece)
            yield piece

    def close(self) -> None:
        self._answer.close()
