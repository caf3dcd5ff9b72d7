"""One HTTP/1.1 connection: it writes a request, and httptools (llhttp) parses the answer.

A connection carries one request at a time. It reports what happened by its attributes, not by the
exception of a future: a traceback that is kept would keep the whole request alive.
"""

import asyncio
import select
from asyncio.transports import BaseTransport, Transport
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import inf
from typing import Any, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from .batched_writes import BatchedTransport, WriteBatch

_UNREAD = 256 * 1024  # bytes that wait for the reader; more make the service wait
_WITHOUT_BODY = 64 * 1024  # bytes in a row that are no body: heads, chunk extensions, trailers
_HEADERS = 256  # lines of one head; joining more of one name would stop the event loop
_CLOSED_HERE = "closed by this program before the answer was read"
_MOST_NAMES = 1_024  # of headers that are kept in lower case
_LAST_INTERIM = 199  # a status up to here announces that the real one follows


class DirectConnection(asyncio.Protocol):
    """A connection to an origin; ``on_lost`` is called once, when it is closed."""

    transport: BatchedTransport
    is_closed: bool = False
    # Of the answer under way:
    status: int = 0  # 0: no head has come
    headers: dict[str, str]
    parts: list[bytes]  # of the body, unread
    has_ended: bool = True
    error: str = ""
    has_timed_out: bool = False
    is_silent: bool = True  # no byte of it has come
    _is_last: bool = True  # the connection may not carry another one
    _is_interim: bool = False  # its head announced another one
    _is_until_close: bool = False
    _is_paused: bool = False
    _unread: int = 0
    _without_body: int = 0
    _lines: int = 0
    _unsent: int = 0
    _seconds: float = 0.0
    _deadline: float = inf
    _timer: asyncio.TimerHandle | None = None
    _waiter: asyncio.Future[None] | None = None
    _poll: Any = None

    def __init__(
        self, origin: Any, on_lost: Callable[["DirectConnection"], None], writes: WriteBatch
    ) -> None:
        self.origin: Any = origin
        self._writes: WriteBatch = writes
        self.parts = []
        self.on_body: Any = self.parts.append  # a function of Python for each chunk would be slow
        self._on_lost: Callable[[DirectConnection], None] = on_lost
        self._loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        self._parser: Any = HttpResponseParser(self)

    def ask(self, data: Sequence[bytes], seconds: float) -> None:
        """Write a request, whose answer must begin within ``seconds``."""
        self.headers, self.status, self._without_body, self._lines = {}, 0, 0, 0
        self.is_silent, self._is_last, self.has_ended = True, True, False
        if len(data) == 1:
            self.transport.write(data[0])
        else:
            self.transport.writelines(data)
        self._unsent = self.transport.get_write_buffer_size()
        self._start_clock(seconds)

    def wait(self) -> asyncio.Future[None]:
        """Return what ends when something happened: a head, a part, an end or an error."""
        self._waiter = self._loop.create_future()
        return self._waiter

    async def wait_for_part(self, seconds: float) -> None:
        """Return when a part, an end or an error came, or after ``seconds`` without any."""
        self._start_clock(seconds)
        await self.wait()
        self._deadline = inf  # a reader that takes its time is not the service's silence

    def take(self) -> bytes:
        """Return all bytes of the body that have come."""
        parts = self.parts
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        parts.clear()
        self._unread = 0
        if self._is_paused:
            self._is_paused = False
            if not self.is_closed:
                self.transport.resume_reading()
        return data

    def is_reusable(self) -> bool:
        """Return whether the answer is over and another request may follow it."""
        is_over = self.has_ended and not self._is_last and not self.is_closed and not self.parts
        return is_over and not self.transport.get_write_buffer_size()

    def rest(self, seconds: float | None) -> None:
        """Wait for the next request, for ``seconds`` at most."""
        self.headers = {}
        self._start_clock(inf if seconds is None else seconds)

    def is_alive(self) -> bool:
        """Return whether the service keeps this idle connection open, as far as one can know.

        An end that the event loop has not read yet would cost the request that is written now.
        """
        if self.is_closed or self.transport.is_closing():  # the event loop is about to say so
            return False
        return self._poll is None or not self._poll.poll(0)

    def abort(self) -> None:
        """Close the connection at once; a reader of its answer gets an error."""
        if self.parts or not self.has_ended:
            self.error = self.error or _CLOSED_HERE
        self.has_ended = True
        self.parts.clear()
        if hasattr(self, "transport") and not self._loop.is_closed():
            self.transport.abort()

    def drop(self) -> None:
        """Close the connection soon, from any thread: garbage is collected in all of them."""
        with suppress(RuntimeError):  # the event loop is closed, and its connections with it
            self._loop.call_soon_threadsafe(self.abort)

    # The event loop calls these.

    def connection_made(self, transport: BaseTransport) -> None:
        """Keep the transport."""
        inner = cast("Transport", transport)  # uvloop's is no subclass
        self.transport = BatchedTransport(inner, self._writes, self._loop)
        if hasattr(select, "poll"):
            self._poll = select.poll()
            self._poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        """Parse what has come."""
        if self.has_ended:  # it was not asked for, and the next answer must not begin with it
            self._is_last = True
            self.transport.abort()
            return
        self.is_silent = False
        parts, had_head = len(self.parts), self.status
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self._refuse(error)
        else:
            self._check_size(len(data), has_body=len(self.parts) > parts)
        self._tell_reader(had_head)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the answer under way, if there is one."""
        self.is_closed = True
        if not self.has_ended and self.status and self._is_until_close and exc is None:
            self.has_ended = True
        if not self.has_ended:
            self._fail(str(exc or "") or "the connection broke off")
        if self._timer is not None:
            self._timer.cancel()
        self._parser = self.on_body = None  # they refer to this connection
        self._on_lost(self)
        self._wake()

    # The parser calls these.

    def on_message_begin(self) -> None:
        """Refuse a second answer."""
        if self.has_ended:
            raise ValueError("an answer that no request asked for")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header; those that follow the body are ignored."""
        if not self.status:
            self._lines += 1
            if self._lines > _HEADERS:
                raise ValueError(f"more than {_HEADERS} header lines")
            key, text = _names.get(name) or _keep_name(name), value.decode("latin-1")
            had = self.headers.get(key)
            self.headers[key] = text if had is None else f"{had}, {text}"

    def on_headers_complete(self) -> None:
        """Take the head, unless it announces another one."""
        status: int = self._parser.get_status_code()
        if status <= _LAST_INTERIM:
            self.headers, self._lines, self._is_interim = {}, 0, True
            return
        coding = self.headers.get("transfer-encoding")
        if coding is not None and coding.lower() != "chunked":
            raise ValueError(f"transfer-encoding {coding!r}")
        self._is_until_close = coding is None and "content-length" not in self.headers
        self.status = status
        self._deadline = inf

    def on_message_complete(self) -> None:
        """End the answer, unless it only announced another one."""
        if self._is_interim:
            self._is_interim = False
        else:
            self.has_ended, self._is_last = True, not self._parser.should_keep_alive()

    # All that follow are called from above.

    def _refuse(self, error: Exception) -> None:
        self._is_last = True
        if not self.has_ended:  # what follows a whole answer does not harm it
            why = error.__context__ or error  # what one of our functions raised, or the parser
            self._fail(f"the answer is not HTTP: {why}")

    def _check_size(self, size: int, *, has_body: bool) -> None:
        self._without_body = 0 if has_body else self._without_body + size
        self._unread += size if has_body else 0
        if self.has_ended:
            return
        if self._without_body > _WITHOUT_BODY:
            self._fail(f"more than {_WITHOUT_BODY:,} bytes came without any of the body")
        elif self._unread > _UNREAD and not self._is_paused:
            self._is_paused = True
            self.transport.pause_reading()

    def _fail(self, why: str) -> None:
        self.error = self.error or why
        self.has_ended = self._is_last = True
        if not self.is_closed:
            self.transport.abort()

    def _tell_reader(self, had_head: int) -> None:
        if self.parts or self.has_ended or self.status != had_head:  # others set no clock back
            self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _start_clock(self, seconds: float) -> None:
        """Set the deadline; a timer that is set for an earlier time will look again by then."""
        self._seconds = seconds
        self._deadline = self._loop.time() + seconds
        if self._timer is not None and self._timer.when() > self._deadline:
            self._timer.cancel()
            self._timer = None
        if self._timer is None and seconds < inf:
            self._timer = self._loop.call_at(self._deadline, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        left = self._deadline - self._loop.time()
        unsent = self.transport.get_write_buffer_size()
        if left > 0:
            if left < inf:
                self._timer = self._loop.call_at(self._deadline, self._on_timer)
        elif not self.has_ended and unsent < self._unsent:  # a slow service reads the request
            self._unsent = unsent
            self._start_clock(self._seconds)
        elif self.has_ended:  # idle for too long
            self.transport.abort()
        else:
            self.has_timed_out = True
            self._fail("no data came")
            self._wake()


_names: dict[bytes, str] = {}  # of headers as services write them, in lower case


def _keep_name(name: bytes) -> str:
    """Return the name of a header in lower case; nearly all are the same few."""
    if len(_names) >= _MOST_NAMES:
        _names.clear()
    known = _names[name] = name.lower().decode("latin-1")
    return known
