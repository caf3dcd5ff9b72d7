"""A transport that remembers: what was sent, and the bytes that came back."""

from collections.abc import Iterator

from ..canon import Head, HttpRequest
from ..exchange import Answer, Timeouts, Transport
from ..transport import Recorded


class Overheard:
    """Any transport, listened to. ``needs_key``: a request must carry a key of one's own."""

    def __init__(self, transport: Transport, *, needs_key: bool = False) -> None:
        self.needs_key = needs_key
        self.inner = transport
        self._heard: list[_Listening | HttpRequest] = []

    @property
    def exchanges(self) -> tuple[Recorded, ...]:
        """Return every exchange so far; one that had no answer has no head."""
        return tuple(
            Recorded(each) if isinstance(each, HttpRequest) else each.recorded
            for each in self._heard
        )

    def send(self, request: HttpRequest, timeouts: Timeouts) -> Answer:
        """Send it, and listen to the answer."""
        self._heard.append(request)
        answer = _Listening(request, self.inner.send(request, timeouts))
        self._heard[-1] = answer
        return answer

    def close(self) -> None:
        """Do nothing: whoever brought the transport closes it."""


class _Listening:
    def __init__(self, request: HttpRequest, answer: Answer) -> None:
        self._request = request
        self._answer = answer
        self._pieces: list[bytes] = []

    @property
    def head(self) -> Head:
        return self._answer.head

    @property
    def recorded(self) -> Recorded:
        return Recorded(self._request, self._answer.head, tuple(self._pieces))

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._answer:
            self._pieces.append(piece)
            yield piece

    def close(self) -> None:
        self._answer.close()
