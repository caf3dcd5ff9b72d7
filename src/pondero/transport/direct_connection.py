"""One HTTP/1.1 connection: it writes a request, and httptools (llhttp) parses the answer.

A connection carries one request at a time. It reports what happened by its attributes, not by
exceptions of a future: a traceback that is kept would keep the whole request alive.
"""

import asyncio
import select
from asyncio.transports import BaseTransport, Transport
from collections.abc import Callable, Sequence
from math import inf
from typing import Any, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

_UNREAD = 256 * 1024  # bytes that wait for the reader; more make the service wait
_WITHOUT_BODY = 64 * 1024  # bytes in a row that are no body: heads, chunk extensions, trailers
_LAST_INTERIM = 199  # a status up to here announces that the real one follows


class DirectConnection(asyncio.Protocol):
    """A connection of a pool; ``on_lost`` is called once, when it is closed."""

    def __init__(self, origin: object, on_lost: Callable[["DirectConnection"], None]) -> None:
        self.origin = origin
        self.is_made = False
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self.headers: dict[str, str] = {}
        self.parts: list[bytes] = []
        self.on_body: Any = self.parts.append  # a function of Python for each chunk would be slow
        self._parser: Any = HttpResponseParser(self)
        self._poll: Any = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = self._deadline = inf
        self._waiter: asyncio.Future[None] | None = None
        self.closed = self.paused = self.until_close = self._interim = False
        self.ended = True
        self._forget_answer()

    # -- what the pool and the reader call -------------------------------------------------------

    def ask(self, data: Sequence[bytes], seconds: float) -> None:
        """Write a request; the answer has so many seconds to begin."""
        self._forget_answer()
        self.ended = False
        if len(data) == 1:
            self.transport.write(data[0])
        else:
            self.transport.writelines(data)
        self._unsent = self.transport.get_write_buffer_size()
        self._start_clock(seconds)

    async def wait(self) -> None:
        """Return when something happened: bytes, an end or an error."""
        waiter = self._waiter = self._loop.create_future()
        try:
            await waiter
        finally:
            self._waiter = None

    async def wait_for_body(self, seconds: float) -> None:
        """Return when more of a body or its end has come, or when nothing came for so long."""
        self._start_clock(seconds)
        await self.wait()
        self._deadline = inf  # a reader that takes its time is not the service's silence

    def take(self) -> bytes:
        """Return all bytes of the body that have come."""
        parts = self.parts
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        parts.clear()
        self._unread = 0
        if self.paused:
            self.paused = False
            if not self.closed:
                self.transport.resume_reading()
        return data

    def is_reusable(self) -> bool:
        """Return whether the answer is over and another request may follow it."""
        over = self.ended and self.keep and not self.closed and not self.parts
        return over and not self.transport.get_write_buffer_size()

    def rest(self, seconds: float | None) -> None:
        """Wait for the next request, for so many seconds at most."""
        self.headers = {}
        if seconds is None:
            self._deadline = inf
        else:
            self._start_clock(seconds)

    def is_alive(self) -> bool:
        """Return whether the service keeps this idle connection open, as far as one can know.

        An end that the event loop has not read yet would cost the request that is written now.
        """
        if self.closed:
            return False
        return self._poll is None or not self._poll.poll(0)

    def abort(self) -> None:
        """Close the connection at once."""
        self.ended = True
        self.parts.clear()
        if self.is_made and not self._loop.is_closed():
            self.transport.abort()

    # -- what the event loop calls ---------------------------------------------------------------

    def connection_made(self, transport: BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast("Transport", transport)  # uvloop's is no subclass
        self.is_made = True
        if hasattr(select, "poll"):
            self._poll = select.poll()
            self._poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        """Parse what has come."""
        if self.ended:  # nobody asked for it, and the next answer must not begin with it
            self.keep = False
            self.transport.abort()
            return
        self.silent = False
        parts, had_head = len(self.parts), self.status
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self._refuse(error)
        else:
            self._bound(len(data), has_body=len(self.parts) > parts)
        self._tell_reader(had_head)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the answer under way, if there is one."""
        self.closed = True
        if not self.ended:
            if self.status and self.until_close and exc is None:
                self.ended = True
            else:
                self._fail(str(exc or "") or "the connection broke off")
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._parser = self.on_body = self._poll = None  # they refer to this connection
        self._on_lost(self)
        self._wake()

    # -- what the parser calls -------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Refuse a second answer."""
        if self.ended:
            raise ValueError("nobody asked for another answer")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header; those that follow the body are ignored."""
        if not self.status:
            key, text = name.lower().decode("latin-1"), value.decode("latin-1")
            had = self.headers.get(key)
            self.headers[key] = text if had is None else f"{had}, {text}"

    def on_headers_complete(self) -> None:
        """Take the head, unless it announces another one."""
        status: int = self._parser.get_status_code()
        if status <= _LAST_INTERIM:
            self.headers = {}
            self._interim = True
            return
        coding = self.headers.get("transfer-encoding")
        if coding is not None and coding.lower() != "chunked":
            raise ValueError(f"transfer-encoding {coding!r}")
        self.until_close = coding is None and "content-length" not in self.headers
        self.status = status
        self._deadline = inf

    def on_message_complete(self) -> None:
        """End the answer, unless it was one that announces another."""
        if self._interim:
            self._interim = False
            return
        self.ended = True
        self.keep = self._parser.should_keep_alive()

    # -- inside ----------------------------------------------------------------------------------

    def _forget_answer(self) -> None:
        self.headers = {}
        self.status = self._unread = self._without_body = 0
        self.error, self.timed_out, self.keep, self.silent = "", False, False, True

    def _refuse(self, error: Exception) -> None:
        self.keep = False
        if not self.ended:  # what follows a whole answer does not harm it
            self._fail(f"the answer is not HTTP: {error}")

    def _bound(self, size: int, *, has_body: bool) -> None:
        if self.ended:
            return
        if not has_body:
            self._without_body += size
            if self._without_body > _WITHOUT_BODY:
                self._fail(f"more than {_WITHOUT_BODY:,} bytes came without any of the body")
            return
        self._without_body = 0
        self._unread += size
        if self._unread > _UNREAD and not self.paused:
            self.paused = True
            self.transport.pause_reading()

    def _fail(self, why: str) -> None:
        self.error = self.error or why
        self.ended, self.keep = True, False
        if not self.closed:
            self.transport.abort()

    def _tell_reader(self, had_head: int) -> None:
        if self.parts or self.ended or self.status != had_head:  # other bytes set no clock back
            self._wake()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _start_clock(self, seconds: float) -> None:
        """Set the deadline; a timer that is set for an earlier time looks again by then."""
        self._seconds = seconds
        self._deadline = self._loop.time() + seconds
        if self._timer is not None:
            if self._timer_at <= self._deadline:
                return
            self._timer.cancel()
        self._set_timer()

    def _set_timer(self) -> None:
        self._timer_at = self._deadline
        self._timer = self._loop.call_at(self._deadline, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if self._deadline > self._loop.time():
            if self._deadline < inf:
                self._set_timer()
            return
        unsent = self.transport.get_write_buffer_size()
        if not self.ended and unsent < self._unsent:  # a slow service still reads the request
            self._unsent = unsent
            self._start_clock(self._seconds)
            return
        if not self.ended:
            self.timed_out = True
            self._fail("no data came")
            self._wake()
        self.transport.abort()
