"""Writes one answer over ASGI; before the first piece nothing, so another model can be asked."""

from asyncio import Task, current_task, ensure_future, sleep
from collections.abc import Awaitable, Callable, Mapping, Sequence
from time import monotonic
from typing import Any

from msgspec import Struct, field

from ...asgi import Receive, Send
from ...canon import HttpResponse

RESPONSE = "pondero.response"
"""The type of a message that is a whole response: an extension of ASGI by our server."""
SILENCE = 15.0
"""Seconds without a byte before a ping."""
READ_ON = 5.0
"""Seconds to read the end of an answer whose client has left, for its token counts."""
_LOOK = 0.05  # seconds
_CLOSING = 2.0  # seconds
_ENDS = (b"\n\n", b"\r\n\r\n")  # of an event


class ResponseWriter(Struct, eq=False):
    """One response to a client; ``left``: the client hung up before its end.

    ``is_ending`` returns whether the answer is nearly complete, so that it is read on for its token
    counts although the client has left.
    """

    _send: Send
    _sends_whole: bool = False  # whether the server takes ``RESPONSE``
    _ping: bytes = b""
    _head: tuple[int, Mapping[str, str]] = (200, {})
    _ends_whole: bool = True
    _busy: bool = False
    begun: bool = False
    ended: bool = False
    last: float = field(default_factory=monotonic)
    left: bool = False
    is_ending: Callable[[], bool] = bool

    async def whole(
        self,
        response: HttpResponse,
        linger: Callable[[], Awaitable[None]] | None = None,
        *,
        cookies: Sequence[str] = (),
    ) -> None:
        """Send a whole response; ``linger`` is awaited after its last byte and before its end."""
        self.begun = self.ended = True
        if self._sends_whole and linger is None and not cookies:
            status, headers, body = response.status, response.headers, response.body
            message = {"type": RESPONSE, "status": status, "headers": headers, "body": body}
            await self._send(message)
            return
        headers = {**response.headers, "content-length": str(len(response.body))}
        await self._start(response.status, headers, cookies)
        if linger is not None:
            message = {"type": "http.response.body", "body": response.body, "more_body": True}
            await self._send(message)
            await linger()
            response = HttpResponse(response.status)
        await self._send({"type": "http.response.body", "body": response.body})

    def streams(self, headers: Mapping[str, str], ping: bytes, status: int = 200) -> None:
        """Set the head and the ping of a stream; nothing is sent yet."""
        self._head, self._ping = (status, headers), ping
        self.last = monotonic()

    async def write(self, data: bytes) -> None:
        """Send a piece of a stream, after its head."""
        if not data or self.left:
            return
        await self._begin()
        self._ends_whole = data is self._ping or data.endswith(_ENDS)
        self.last = monotonic()
        self._busy = True  # until the client has room for it
        await self._send({"type": "http.response.body", "body": data, "more_body": True})
        self._busy = False

    async def end(self) -> None:
        """End a stream."""
        await self._begin()
        self.ended = True
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    @property
    def may_ping(self) -> bool:
        """Return whether a ping is possible: a stream, between events, with a client that reads."""
        return bool(self._ping) and self._ends_whole and not self._busy and not self.ended

    async def ping(self) -> None:
        """Send a ping, if possible."""
        if self.may_ping:
            await self.write(self._ping)

    async def _begin(self) -> None:
        if not self.begun:
            self.begun = True
            await self._start(*self._head)

    async def _start(
        self, status: int, headers: Mapping[str, str], cookies: Sequence[str] = ()
    ) -> None:
        pairs = [
            (name.encode("latin-1"), value.encode("latin-1", "replace"))
            for name, value in headers.items()
        ]
        if cookies:
            pairs += [(b"set-cookie", cookie.encode("ascii")) for cookie in cookies]
        await self._send({"type": "http.response.start", "status": status, "headers": pairs})


class ClientWatch:
    """Watches all open responses of a loop: disconnected clients, and pings silent streams."""

    def __init__(self) -> None:
        self._open: set[ResponseWriter] = set()
        self._new: dict[ResponseWriter, tuple[Receive, Task[Any]]] = {}
        self._waits: dict[ResponseWriter, Task[None]] = {}
        self._pings: set[Task[None]] = set()
        self._looking: Task[None] | None = None

    def watch(self, writer: ResponseWriter, receive: Receive) -> "WatchedResponse":
        """Watch a response; if the client disconnects, cancel the task that runs this block.

        After the end servers report a disconnect too; cancelling then would close the connection
        under the client's next request.
        """
        return WatchedResponse(self, writer, receive)

    def begin(self, writer: ResponseWriter, receive: Receive) -> None:
        """Watch a response until ``end``."""
        looking = self._looking
        if looking is None or looking.done():
            looking = self._looking = ensure_future(self._look())
        # Without its loop, asyncio asks the system for the process every time.
        task = current_task(looking.get_loop()) or current_task()
        self._open.add(writer)
        if task is not None:
            self._new[writer] = (receive, task)

    def end(self, writer: ResponseWriter) -> None:
        """Watch a response no longer."""
        self._open.discard(writer)
        self._new.pop(writer, None)
        if (waits := self._waits.pop(writer, None)) is not None:
            waits.cancel()

    async def wait_until_closed(self) -> None:
        """Wait until no response is open, for a short time."""
        until = monotonic() + _CLOSING
        while self._open and monotonic() < until:  # noqa: ASYNC110 - only when a server stops
            await sleep(_LOOK)

    async def _look(self) -> None:
        while self._open:
            await sleep(_LOOK)
            new, self._new = self._new, {}
            for writer, (receive, task) in new.items():
                self._waits[writer] = ensure_future(_hang_up(receive, writer, task))
            late = monotonic() - SILENCE
            for writer in [each for each in self._open if each.last < late and each.may_ping]:
                ping = ensure_future(writer.ping())  # a slow client must not delay the others
                self._pings.add(ping)
                ping.add_done_callback(self._pings.discard)


class WatchedResponse:
    """A block in which a response is watched; a generator would cost a request twice as much."""

    __slots__ = ("_receive", "_watch", "_writer")

    def __init__(self, watch: ClientWatch, writer: ResponseWriter, receive: Receive) -> None:
        self._watch = watch
        self._writer = writer
        self._receive = receive

    def __enter__(self) -> None:
        self._watch.begin(self._writer, self._receive)

    def __exit__(self, *_: object) -> None:
        self._watch.end(self._writer)


async def _hang_up(receive: Receive, writer: ResponseWriter, task: Task[Any]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    if writer.ended:
        return
    writer.left = True
    if writer.is_ending():
        await sleep(READ_ON)
    if not writer.ended:
        task.cancel()
