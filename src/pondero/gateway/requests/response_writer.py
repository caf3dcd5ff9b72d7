"""The answer to one client, over ASGI: its head, its pieces, and a sign of life in long silences.

``answers`` writes through an ``ResponseWriter``. Nothing is sent before there is something to say,
so that another model can be asked first; after that, trouble is told inside the stream.
"""

from asyncio import Task, current_task, ensure_future, sleep
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import Any

from ...asgi import Receive, Send
from ...canon import HttpResponse

SILENCE = 15.0
"""Seconds without a byte after which a stream says that it is still there."""
_LOOK = 0.05  # seconds
_ENDS = (b"\n\n", b"\r\n\r\n")  # of an event


class ResponseWriter:
    """One answer on its way to the client."""

    __slots__ = ("_busy", "_ends_whole", "_head", "_ping", "_send", "begun", "ended", "last")

    def __init__(self, send: Send) -> None:
        self._send = send
        self._ping = b""
        self._head: tuple[int, Mapping[str, str]] = (200, {})
        self._ends_whole = True
        self._busy = False
        self.begun: bool = False
        self.ended: bool = False
        self.last: float = monotonic()

    async def whole(self, response: HttpResponse) -> None:
        """Send a whole answer."""
        self.begun = self.ended = True
        await self._start(response.status, {**response.headers, **_length(response.body)})
        await self._send({"type": "http.response.body", "body": response.body})

    def streams(self, headers: Mapping[str, str], ping: bytes) -> None:
        """Say what a stream would begin with; nothing is sent yet."""
        self._head, self._ping = (200, headers), ping
        self.last = monotonic()

    async def write(self, data: bytes) -> None:
        """Send a piece of a stream, its head first."""
        if not data:
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
        """Return whether it is a stream, and no event is half sent or still to be read."""
        return bool(self._ping) and self._ends_whole and not self._busy and not self.ended

    async def ping(self) -> None:
        """Send a sign of life, if there may be one."""
        if self.may_ping:
            await self.write(self._ping)

    async def _begin(self) -> None:
        if not self.begun:
            self.begun = True
            await self._start(*self._head)

    async def _start(self, status: int, headers: Mapping[str, str]) -> None:
        pairs = [
            (name.encode("latin-1"), value.encode("latin-1", "replace"))
            for name, value in headers.items()
        ]
        await self._send({"type": "http.response.start", "status": status, "headers": pairs})


def _length(body: bytes) -> dict[str, str]:
    return {"content-length": str(len(body))}


class ClientWatch:
    """Looks after all open answers of an event loop, in one task.

    It notes when a client hangs up, and pings streams that are silent. Most answers have ended
    before it looks at them at all.
    """

    def __init__(self) -> None:
        self._open: set[ResponseWriter] = set()
        self._new: dict[ResponseWriter, tuple[Receive, Task[Any]]] = {}
        self._waits: dict[ResponseWriter, Task[None]] = {}
        self._pings: set[Task[None]] = set()
        self._looking: Task[None] | None = None

    @contextmanager
    def watch(self, writer: ResponseWriter, receive: Receive) -> Iterator[None]:
        """Look after an answer; a client that hangs up cancels what runs in this block.

        That closes its upstream at once. A server says "disconnect" too once an answer has ended.
        What is still to be done then goes on: a request that is cancelled there takes the
        connection, and the client's next request, with it.
        """
        task = current_task()
        self._open.add(writer)
        if task is not None:
            self._new[writer] = (receive, task)
        if self._looking is None or self._looking.done():
            self._looking = ensure_future(self._look())
        try:
            yield
        finally:
            self._open.discard(writer)
            self._new.pop(writer, None)
            if (waits := self._waits.pop(writer, None)) is not None:
                waits.cancel()

    async def _look(self) -> None:
        while self._open:
            await sleep(_LOOK)
            new, self._new = self._new, {}
            for writer, (receive, task) in new.items():
                self._waits[writer] = ensure_future(_hang_up(receive, writer, task))
            late = monotonic() - SILENCE
            for writer in [each for each in self._open if each.last < late and each.may_ping]:
                ping = ensure_future(writer.ping())  # who does not read holds up nobody else
                self._pings.add(ping)
                ping.add_done_callback(self._pings.discard)


async def _hang_up(receive: Receive, writer: ResponseWriter, task: Task[Any]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    if not writer.ended:
        task.cancel()
