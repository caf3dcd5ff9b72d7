"""HTTP for the gateway's server, with limits on what a connection may send before it is known.

The parser stores a header until its line ends, and copies all of it with each piece that arrives.
So the bytes are counted before the parser has them: a head has a maximum size, a maximum number of
lines and a deadline, and so have the trailers and chunk extensions of a body. The deadline of a
body is the application's (``requests/read_request.py``), which can answer in the client's API.
A client that reads too little of its answers is cut off, so that they do not wait here for ever.
"""

from asyncio import AbstractEventLoop, Event, Protocol, Transport
from collections.abc import Callable
from itertools import islice
from typing import Any, ClassVar, cast
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ...canon import HttpRequest, HttpResponse
from ...transport import BatchedTransport, WriteBatch
from ..answers.response_writer import RESPONSE
from ..requests.read_request import PROBLEM, WHOLE
from ._response_cycle import ResponseCycle, write_last
from .known_head import LONGEST, KnownHead, write_short_head
from .limits import HEAD_BYTES, HEAD_LINES, HEAD_SECONDS, PIPELINED
from .reading_deadline import ReadingDeadline
from .socket_protocol import make_request, make_socket
from .sockets import has_socket

_SWEEP = 1.0  # seconds between two looks at the deadlines of all connections
_AT_ONCE = 20  # connections that end in one look, which others wait for
_BREATH = 0.01  # seconds until the next look if there may be more
_LINGER = 1.0  # seconds to read on after a rejection: a reset would destroy the answer on its way
_LINGER_BYTES = 1 << 20
_KNOWN = 2  # heads of a connection that are kept; agents also count tokens
_UNREPEATED = 8  # heads in a row that were kept for nothing; then no other is kept

Reject = Callable[[str, int, str, HttpRequest | None], HttpResponse]
"""Records a rejection and returns its answer.

It gets the client's address, the status, the reason, and what is known of the head: None before
the target is whole.
"""
_UPGRADE = (b"upgrade", b"http2-settings")  # options of a connection that ask for another protocol

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
        now = loop.time()
        ended = (each for each in list(connections) if each.check_deadlines(now))
        count = sum(1 for _ in islice(ended, _AT_ONCE))
        self._runs = False
        if connections:
            self.start(loop, connections, _SWEEP if count < _AT_ONCE else _BREATH)


class _LimitedProtocol(HttpToolsProtocol):
    """One connection."""

    sweep: ClassVar["_Sweep"]
    writes: ClassVar[WriteBatch]

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._in_head = True  # or before one
        self._between = True  # nothing of the next request has arrived
        self._went_on = False  # whether a head, a part of a body or a request ended in this piece
        self._size = 0  # bytes since then, which the parser may store
        self._exact = 0  # bytes of the whole lines of a head
        self._lines = 0
        self._has_target = False  # whether the target of this head is whole
        self._target_piece = b""  # the part of it in this piece
        self._is_upgrade = False  # whether the parser expects another protocol after this head
        self._owed_since: float | None = None  # since when the client owes a head
        self._idle_since: float | None = None  # since when all requests are answered
        self._known: tuple[KnownHead, ...] = ()
        self._unrepeated = 0  # since one of them was
        self._repeated: dict[str, Any] | None = None  # the scope of a request with a known head
        self._sent = b""  # the beginning of a piece that begins with another
        self._reading = ReadingDeadline()
        self._socket: Any = None  # who reads on after this head
        self._problem: tuple[int, str] | None = None
        self._dismissed = False
        self._ignored = 0

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Start the deadline of the first head."""
        batched = BatchedTransport(transport, self.writes, self.loop)
        super().connection_made(cast("Transport", batched))
        self._owed_since = self.loop.time()
        self.sweep.start(self.loop, self.connections)

    def eof_received(self) -> None:
        """Write what waits: the transport closes when a client ends its side, and drops it."""
        cast("BatchedTransport", self.transport).flush()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let a request that has not been read yet see that its client left."""
        if self.cycle is not None:
            self.cycle.scope.pop(WHOLE, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Give the parser as much as a head may have, and look what it was."""
        if self._dismissed:
            self._ignore(len(data))
            return
        if self._between and self._owed_since is None:
            self._owed_since = self.loop.time()
        begin, whole = self._find_known(data), len(data)
        while begin < whole and not self._is_over():
            room = HEAD_BYTES - self._size
            if room <= 0:
                self._dismiss(*(_TOO_LARGE if self._in_head else _TRAILERS))
                return
            end = min(begin + room, whole)
            self._went_on = False
            took = self._feed(data if end - begin == whole else data[begin:end])
            # A head that began inside of a piece is counted by its lines alone, until the next.
            self._size = 0 if self._went_on else self._size + took
            begin += took
        if self._socket is not None:
            self._socket.data_received(data[begin:])

    def _find_known(self, data: bytes) -> int:
        """Begin a request if its head is whole and known; return how many bytes that took."""
        if not self._between or self._size or self._is_over():
            return 0
        for known in self._known:
            if digits := known.read_length(data):
                self._unrepeated = 0
                begin = known.count_bytes(digits)
                size = len(data) - begin
                if size == int(digits) <= HIGH_WATER_LIMIT and len(self.pipeline) < PIPELINED:
                    body = data[begin:]
                    self._begin_whole(known.make_scope(digits, body), body)
                    return len(data)
                self._repeated = known.make_scope(digits)
                self._feed(write_short_head(digits))
                return begin
        self._sent = data[:LONGEST]
        return 0

    def _begin_whole(self, scope: dict[str, Any], body: bytes) -> None:
        """Begin a request of which every byte is here, as the callbacks of the parser would."""
        self._idle_since, self._owed_since = None, None
        self.expect_100_continue = False
        self._begin_request(scope, keep_alive=True)
        self.cycle.body, self.cycle.more_body = body, False
        self.cycle.message_event.set()

    def _keep_head(self, scope: dict[str, Any]) -> None:
        """Keep the first head of a piece, so that its repetition is known."""
        sent, self._sent = self._sent, b""
        if sent and self._unrepeated < _UNREPEATED:
            self._unrepeated += 1
            if (known := KnownHead.find(sent, scope, self.url)) is not None:
                self._known = (known, *self._known[: _KNOWN - 1])

    def _feed(self, piece: bytes) -> int:
        """Give the parser a piece; return how many bytes it took."""
        self._idle_since = None
        self._target_piece = b""
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade as stopped:
            if self._is_upgrade:
                if not self._open_socket():
                    self._ignore_upgrade()
                return int(stopped.args[0])
        except httptools.HttpParserError:
            self._look_for_target(piece)
            self.send_400_response("")
        else:
            if self._in_head and not self._between:
                self._look_for_target(piece)
        return len(piece)

    def _look_for_target(self, piece: bytes) -> None:
        """Note whether the target is whole: a line ended after it, or there was no more of it."""
        if self.url and not self._has_target:
            begins = piece.rfind(self._target_piece) if self._target_piece else -1
            self._has_target = piece.rfind(b"\n") > begins or not self._target_piece

    def _open_socket(self) -> bool:
        """Hand the connection over to the protocol of a WebSocket, if there is one at this path."""
        if not self._should_upgrade() or self._is_answering():
            return False
        if not self.url.startswith(b"/"):
            self._use_authority()
        if not has_socket(self.url.partition(b"?")[0].decode("latin-1")):
            return False
        method, version = self.parser.get_method(), self.parser.get_http_version()
        request = make_request(self.url, self.headers)
        if request is None or (method, version) != (b"GET", "1.1"):
            return False
        self.connections.discard(self)
        self._socket = make_socket(self.config, self.server_state, self.app_state)
        self._socket.connection_made(self.transport)
        self.transport.set_protocol(self._socket)
        self._socket.open(request)
        return True

    def _should_upgrade_to_ws(self) -> bool:
        return True

    def _ignore_upgrade(self) -> None:
        """Read the request again without its wish for another protocol (RFC 9110, 7.8).

        The parser takes what follows such a head for the other protocol, and so its body too.
        """
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        head = b"%b %b HTTP/%b\r\n" % (method, self.url, version)
        for name, value in self.headers:
            head += b"%b: %b\r\n" % (name, _omit_upgrade(value) if name == b"connection" else value)
        self._is_upgrade = False
        self.parser: Any = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
        self._feed(head + b"\r\n")

    # -- called by the parser ----------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Begin to count a head."""
        self.url: bytes = b""
        self.headers, self.expect_100_continue = [], False
        self._in_head, self._between, self._has_target = True, False, False
        self._exact = self._lines = 0
        if self._owed_since is None:
            self._owed_since = self.loop.time()

    def on_url(self, url: bytes) -> None:
        """Count the target."""
        self._target_piece = url
        self._exact += len(url)
        if self._exact > HEAD_BYTES:
            self._stop_head()
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header line; a trailer is counted too, and never becomes a header.

        A head has many, so this calls nothing else: it does what uvicorn's does.
        """
        self._lines += 1
        self._exact += len(name) + len(value) + 4
        if self._exact > HEAD_BYTES or self._lines > HEAD_LINES:
            self._stop_head()
        if self._in_head:
            name = name.lower()
            if name == b"expect" and value.lower() == b"100-continue":
                self.expect_100_continue = True
            self.headers.append((name, value))

    def _stop_head(self) -> None:
        self._problem = _TOO_LARGE if self._in_head else _TRAILERS
        raise _TooMuch

    def on_headers_complete(self) -> None:
        """Start the request, unless too many wait for their turn."""
        if self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT":
            self._is_upgrade = True
            return
        self._in_head, self._owed_since, self._went_on = False, None, True
        self._exact = self._lines = 0
        if len(self.pipeline) >= PIPELINED:
            self._problem = _TOO_MANY
            raise _TooMuch
        repeated, self._repeated = self._repeated, None
        self._begin_request(
            repeated or self._make_scope(), keep_alive=bool(self.parser.should_keep_alive())
        )

    def _make_scope(self) -> dict[str, Any]:
        """Return the scope of the request whose head the parser has read."""
        if not self.url.startswith(b"/"):
            self._use_authority()
        parts = httptools.parse_url(self.url)
        path = parts.path.decode("ascii")
        scope = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": self.parser.get_http_version(),
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,
            "root_path": self.root_path,
            "headers": self.headers,
            "method": self.parser.get_method().decode("ascii"),
            "path": unquote(path) if "%" in path else path,
            "raw_path": parts.path,
            "query_string": parts.query or b"",
            "extensions": {RESPONSE: {}},
        }
        self._keep_head(scope)
        return scope

    def _begin_request(self, scope: dict[str, Any], *, keep_alive: bool) -> None:
        """Start the request as uvicorn does, or queue it behind those before it."""
        scope["state"] = self.app_state.copy()
        before: Any = self.cycle  # None before the first request
        self.cycle: Any = ResponseCycle(
            scope=scope,  # type: ignore[arg-type]  # a plain dict
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=scope["http_version"] != "1.0" and keep_alive,
            on_response=self.on_response_complete,
        )
        if before is None or before.response_complete:
            self._start_asgi_task(self.cycle, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))

    def _use_authority(self) -> None:
        """Take the host from an absolute target, which overrides the header (RFC 9112, 3.2.2)."""
        parts = httptools.parse_url(self.url)
        if parts.host:
            host = b"[%b]" % parts.host if b":" in parts.host else parts.host
            if parts.port:
                host += b":%d" % parts.port
            self.headers[:] = [pair for pair in self.headers if pair[0] != b"host"]
            self.headers.append((b"host", host))
        self.url = (parts.path or b"/") + (b"?" + parts.query if parts.query else b"")

    def on_body(self, body: bytes) -> None:
        """Add a piece of a body, as uvicorn does; the parser gives none after an upgrade."""
        self._went_on = True
        cycle = self.cycle
        if not cycle.response_complete:
            cycle.body += body
            if len(cycle.body) > HIGH_WATER_LIMIT:
                self.flow.pause_reading()
            cycle.message_event.set()

    def on_message_complete(self) -> None:
        """Expect the next head."""
        if self._is_upgrade:
            return
        cycle = self.cycle
        if not cycle.response_complete:
            cycle.more_body = False
            cycle.message_event.set()
        self._in_head = self._between = self._went_on = True

    def on_response_complete(self) -> None:
        """Start the next request, if there is one; the sweep closes a connection without any."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        else:
            self._idle_since = self.loop.time()

    # -- rejections --------------------------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - ours says more
        """Reject what the parser could not read, or a callback stopped."""
        self._dismiss(*(self._problem or _UNREADABLE))

    def _dismiss(self, status: int, reason: str) -> None:
        """Answer, read nothing any more, and close, after the answers to earlier requests."""
        self._dismissed = True
        self._idle_since = None
        if self._is_answering():
            cycle = self.cycle  # the last that waits
            cycle.keep_alive = False
            if cycle.more_body and not cycle.response_started:
                # Its own body: the application rejects it in the client's API, and records it.
                cycle.scope[PROBLEM] = (status, reason)
                cycle.more_body = False
                cycle.message_event.set()
                return
            self._reject(status, reason)
            return
        self.transport.write(write_last(self._reject(status, reason)))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(_LINGER, self.transport.close)

    def _reject(self, status: int, reason: str) -> HttpResponse:
        head = None
        in_head = self._in_head and not self._between
        if in_head and (self._has_target or self._lines) and self.url.startswith(b"/"):
            headers = {name.decode("latin-1"): v.decode("latin-1") for name, v in self.headers}
            url = f"http://gateway{self.url.decode('latin-1')}"
            head = HttpRequest(self.parser.get_method().decode("ascii"), url, headers, b"")
        return self.reject(self.client[0] if self.client else "", status, reason, head)

    def reject(
        self, address: str, status: int, reason: str, head: HttpRequest | None
    ) -> HttpResponse:
        """Record a rejection and return its answer."""
        raise NotImplementedError

    def _is_over(self) -> bool:
        return self._dismissed or self._socket is not None or self.transport.is_closing()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _ignore(self, size: int) -> None:
        self._ignored += size
        if self._ignored > _LINGER_BYTES:
            self.transport.close()

    # -- deadlines ---------------------------------------------------------------------------------

    def resume_writing(self) -> None:
        """Note that the client reads."""
        self._reading.reset()
        super().resume_writing()

    def check_deadlines(self, now: float) -> bool:
        """End the connection if the client owes a head, reads too little or asks nothing."""
        return self._check_reading(now) or self._check_head(now) or self._check_idle(now)

    def _check_head(self, now: float) -> bool:
        late = now - HEAD_SECONDS
        if self._is_over() or self._owed_since is None or self._owed_since > late:
            return False
        if self._is_answering():
            self._owed_since = now  # it waits for the answer before it
            return False
        if self._between:
            self.transport.close()  # nothing was asked
        else:
            self._dismiss(*_TOO_SLOW)
        return True

    def _check_idle(self, now: float) -> bool:
        late = now - self.timeout_keep_alive
        if self._idle_since is None or self._idle_since > late or self.transport.is_closing():
            return False
        self.transport.close()
        return True

    def _check_reading(self, now: float) -> bool:
        return self._reading.check(self.transport, now, paused=self.flow.write_paused)


def _omit_upgrade(value: bytes) -> bytes:
    options = (option.strip() for option in value.split(b","))
    return b", ".join(option for option in options if option.lower() not in _UPGRADE)


def make_protocol(reject: Reject, before_write: Callable[[], None]) -> type[Protocol]:
    """Return the protocol of one server, which calls ``reject`` for each rejection.

    ``before_write`` is called before anything is written to clients.
    """

    class ServerProtocol(_LimitedProtocol):
        sweep: ClassVar[_Sweep] = _Sweep()
        writes: ClassVar[WriteBatch] = WriteBatch(before_write)

        def reject(
            self, address: str, status: int, reason: str, head: HttpRequest | None
        ) -> HttpResponse:
            return reject(address, status, reason, head)

    return ServerProtocol
