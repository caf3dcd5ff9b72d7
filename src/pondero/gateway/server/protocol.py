"""HTTP for the gateway's server, with limits on what a connection may send before it is known.

The parser stores a header until its line ends, and copies all of it with each piece that arrives.
So the bytes are counted before the parser has them: a head has a maximum size, a maximum number of
lines and a deadline, and so have the trailers and chunk extensions of a body. The deadline of a
body is the application's (``requests/read_request.py``), which can answer in the client's API.
"""

from asyncio import AbstractEventLoop, Transport
from collections.abc import Callable
from itertools import islice
from typing import Any, ClassVar

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from ..requests.read_request import PROBLEM
from .limits import HEAD_BYTES, HEAD_LINES, HEAD_SECONDS, PIPELINED

_SWEEP = 1.0  # seconds between two looks at the deadlines of all connections
_AT_ONCE = 20  # connections that end in one look, which others wait for
_BREATH = 0.01  # seconds until the next look if there may be more
_LINGER = 1.0  # seconds to read on after a rejection: a reset would destroy the answer on its way
_LINGER_BYTES = 1 << 20

Note = Callable[[str, int, str], None]
"""Called with a client's address, the status and the reason of a rejection."""

_TOO_LARGE = (
    431,
    f"the head of a request may have {HEAD_BYTES // 1024} KiB and {HEAD_LINES} lines",
)
_TOO_SLOW = (408, f"the head of a request must arrive within {HEAD_SECONDS:.0f} seconds")
_TRAILERS = (400, f"trailers and chunk extensions may have {HEAD_BYTES // 1024} KiB")
_TOO_MANY = (400, f"{PIPELINED} requests wait on this connection already")
_UNREADABLE = (400, "this is not an HTTP request")


class _TooMuch(Exception):
    """Stops the parser inside one of its callbacks."""


class _Sweep:
    """Looks at the deadlines of all connections; one timer for all costs a request nothing."""

    def __init__(self) -> None:
        self._runs = False

    def start(self, loop: AbstractEventLoop, connections: set[Any], wait: float = _SWEEP) -> None:
        """Look once a second, as long as there are connections."""
        if not self._runs:
            self._runs = True
            loop.call_later(wait, self._look, loop, connections)

    def _look(self, loop: AbstractEventLoop, connections: set[Any]) -> None:
        late = loop.time() - HEAD_SECONDS
        ended = (each for each in list(connections) if each.check_deadline(late))
        count = sum(1 for _ in islice(ended, _AT_ONCE))
        self._runs = False
        if connections:
            self.start(loop, connections, _SWEEP if count < _AT_ONCE else _BREATH)


class LimitedProtocol(HttpToolsProtocol):
    """One connection."""

    sweep: ClassVar["_Sweep"]

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._in_head = True  # or before one
        self._between = True  # nothing of the next request has arrived
        self._went_on = False  # whether a head, a part of a body or a request ended in this piece
        self._size = 0  # bytes since then, which the parser may store
        self._exact = 0  # bytes of the whole lines of a head
        self._lines = 0
        self._owed_since: float | None = None  # since when the client owes a head
        self._problem: tuple[int, str] | None = None
        self._dismissed = False
        self._ignored = 0

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Start the deadline of the first head."""
        super().connection_made(transport)
        self._owed_since = self.loop.time()
        self.sweep.start(self.loop, self.connections)

    def data_received(self, data: bytes) -> None:
        """Give the parser as much as a head may have, and look what it was."""
        if self._dismissed:
            self._ignore(len(data))
            return
        if self._between and self._owed_since is None:
            self._owed_since = self.loop.time()
        begin, whole = 0, len(data)
        while begin < whole and not self._is_over():
            room = HEAD_BYTES - self._size
            if room <= 0:
                self._dismiss(*(_TOO_LARGE if self._in_head else _TRAILERS))
                return
            end = min(begin + room, whole)
            self._went_on = False
            super().data_received(data if end - begin == whole else data[begin:end])
            # A head that began inside of a piece is counted by its lines alone, until the next.
            self._size = 0 if self._went_on else self._size + end - begin
            begin = end

    # -- called by the parser ----------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Begin to count a head."""
        super().on_message_begin()
        self._in_head, self._between = True, False
        self._exact = self._lines = 0
        if self._owed_since is None:
            self._owed_since = self.loop.time()

    def on_url(self, url: bytes) -> None:
        """Count the target."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header line; a trailer is counted too, and never becomes a header."""
        self._lines += 1
        self._count(len(name) + len(value) + 4)
        if self._in_head:
            super().on_header(name, value)

    def _count(self, size: int) -> None:
        self._exact += size
        if self._exact > HEAD_BYTES or self._lines > HEAD_LINES:
            self._problem = _TOO_LARGE if self._in_head else _TRAILERS
            raise _TooMuch

    def on_headers_complete(self) -> None:
        """Start the request, unless too many wait for their turn."""
        self._in_head, self._owed_since, self._went_on = False, None, True
        self._exact = self._lines = 0
        if len(self.pipeline) >= PIPELINED:
            self._problem = _TOO_MANY
            raise _TooMuch
        if not self.url.startswith(b"/"):
            self._use_authority()
        super().on_headers_complete()

    def _use_authority(self) -> None:
        """Take the host from an absolute target, which overrides the header (RFC 9112, 3.2.2)."""
        parts = httptools.parse_url(self.url)
        if parts.host:
            host = b"[%b]" % parts.host if b":" in parts.host else parts.host
            if parts.port:
                host += b":%d" % parts.port
            self.headers[:] = [pair for pair in self.headers if pair[0] != b"host"]
            self.headers.append((b"host", host))
        self.url: bytes = (parts.path or b"/") + (b"?" + parts.query if parts.query else b"")

    def on_body(self, body: bytes) -> None:
        """Note that a body goes on."""
        self._went_on = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Expect the next head."""
        super().on_message_complete()
        self._in_head = self._between = self._went_on = True

    # -- rejections --------------------------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - ours says more
        """Reject what the parser could not read, or a callback stopped."""
        self._dismiss(*(self._problem or _UNREADABLE))

    def _dismiss(self, status: int, reason: str) -> None:
        """Answer, read nothing any more, and close, after the answers to earlier requests."""
        self._dismissed = True
        self._unset_keepalive_if_required()
        if self._is_answering():
            cycle: Any = self.cycle  # the last that waits
            cycle.keep_alive = False
            if cycle.more_body and not cycle.response_started:
                # Its own body: the application rejects it in the client's API, and records it.
                cycle.scope[PROBLEM] = (status, reason)
                cycle.more_body = False
                cycle.message_event.set()
                return
            self.note(self.client[0] if self.client else "", status, reason)
            return
        self.note(self.client[0] if self.client else "", status, reason)
        body = b'{"error":{"message":"%b"}}' % reason.encode("ascii")
        self.transport.write(
            b"%bcontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"
            % (STATUS_LINE[status], len(body), body)
        )
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(_LINGER, self.transport.close)

    def note(self, address: str, status: int, reason: str) -> None:
        """Record a rejection."""

    def _is_over(self) -> bool:
        return self._dismissed or self.transport.is_closing()

    def _is_answering(self) -> bool:
        cycle: Any = self.cycle  # None before the first request
        return cycle is not None and not cycle.response_complete

    def _ignore(self, size: int) -> None:
        self._ignored += size
        if self._ignored > _LINGER_BYTES:
            self.transport.close()

    # -- deadlines ---------------------------------------------------------------------------------

    def check_deadline(self, late: float) -> bool:
        """Close the connection if its head was due before this time; return whether it was."""
        if self._is_over() or self._owed_since is None or self._owed_since > late:
            return False
        if self._is_answering():
            self._owed_since = self.loop.time()  # it waits for the answer before it
            return False
        if self._between:
            self.transport.close()  # nothing was asked
        else:
            self._dismiss(*_TOO_SLOW)
        return True


def make_protocol(note: Note) -> type[LimitedProtocol]:
    """Return the protocol of one server, which calls ``note`` for each rejection."""

    class ServerProtocol(LimitedProtocol):
        sweep = _Sweep()

        def note(self, address: str, status: int, reason: str) -> None:
            note(address, status, reason)

    return ServerProtocol
