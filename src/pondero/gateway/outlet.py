"""The answer to one client, over ASGI: its head, its pieces, and a sign of life in long silences.

``answers`` writes through an ``Outlet``. Nothing is sent before there is something to say, so that
another model can be asked first; after that, trouble is told inside the stream.
"""

from asyncio import Task, current_task, ensure_future, sleep
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import Any

from ..asgi import Receive, Send
from ..canon import HttpResponse

SILENCE = 15.0
"""Seconds without a byte after which a stream says that it is still there."""
_LOOK = 1.0
_ENDS = (b"\n\n", b"\r\n\r\n")  # of an event


class Outlet:
    """One answer on its way to the client."""

    __slots__ = ("_ends_whole", "_head", "_ping", "_send", "begun", "ended", "last")

    def __init__(self, send: Send) -> None:
        self._send = send
        self._ping = b""
        self._head: tuple[int, Mapping[str, str]] = (200, {})
        self._ends_whole = True
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
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self) -> None:
        """End a stream."""
        await self._begin()
        self.ended = True
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def ping(self) -> None:
        """Send a sign of life, unless an event is half sent."""
        if self._ping and self._ends_whole and not self.ended:
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


class Watch:
    """Looks after all open streams of an event loop: one task pings those that are silent."""

    def __init__(self) -> None:
        self._open: set[Outlet] = set()
        self._looking: Task[None] | None = None

    def __len__(self) -> int:
        return len(self._open)

    @contextmanager
    def over(self, outlet: Outlet) -> Iterator[None]:
        """Look after a stream while it is open."""
        self._open.add(outlet)
        if self._looking is None or self._looking.done():
            self._looking = ensure_future(self._look())
        try:
            yield
        finally:
            self._open.discard(outlet)

    async def _look(self) -> None:
        while self._open:
            await sleep(_LOOK)
            late = monotonic() - SILENCE
            for outlet in [each for each in self._open if each.last < late]:
                await outlet.ping()


@contextmanager
def cancelled_on_hang_up(receive: Receive, outlet: Outlet) -> Iterator[None]:
    """Cancel what runs in this block when the client hangs up; that closes its upstream at once.

    A server says "disconnect" too once an answer has ended. What is still to be done then goes on:
    a request that is cancelled there takes the connection, and the client's next request, with it.
    """
    task = current_task()
    watching = ensure_future(_hang_up(receive, outlet, task)) if task is not None else None
    try:
        yield
    finally:
        if watching is not None:
            watching.cancel()


async def _hang_up(receive: Receive, outlet: Outlet, task: Task[Any]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    if not outlet.ended:
        task.cancel()
