"""Transports of the kit: one that remembers every exchange, one with a fresh connection each."""

from collections.abc import Iterator

from ..canon import HttpRequest, ResponseHead
from ..cassettes import RecordedExchange
from ..exchange import Response, Timeouts, Transport
from ..transport import HttpTransport


class FreshHttp:
    """Sends each exchange over a connection of its own.

    Some servers close a connection that they promised to keep. A client would retry; here each
    scenario has one try, and the failure would be blamed on what it asks.
    """

    needs_key = True

    def __init__(self) -> None:
        self._http = HttpTransport()

    def send(self, request: HttpRequest, timeouts: Timeouts) -> Response:
        """Send it and return the answer as soon as its head is there."""
        self._http.close()
        return self._http.send(request, timeouts)

    def close(self) -> None:
        """Close the last connection."""
        self._http.close()


class RecordingTransport:
    """Wraps a transport and remembers every exchange. ``needs_key``: only with a user's key."""

    def __init__(self, transport: Transport, *, needs_key: bool = False) -> None:
        self.needs_key = needs_key
        self.inner = transport
        self._heard: list[_HeardAnswer | HttpRequest] = []

    @property
    def exchanges(self) -> tuple[RecordedExchange, ...]:
        """Return every exchange so far; one that had no answer has no head."""
        return tuple(
            RecordedExchange(each) if isinstance(each, HttpRequest) else each.recorded
            for each in self._heard
        )

    def send(self, request: HttpRequest, timeouts: Timeouts) -> Response:
        """Send it, and remember the answer as it is read."""
        self._heard.append(request)
        answer = _HeardAnswer(request, self.inner.send(request, timeouts))
        self._heard[-1] = answer
        return answer

    def close(self) -> None:
        """Do nothing: whoever brought the transport closes it."""


class _HeardAnswer:
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
