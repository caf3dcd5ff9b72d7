"""An answer on its way to whoever reads it, with or without asyncio.

In process no time passes while nobody speaks: a pause longer than the caller would wait ends in
its Timeout at once.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from typing import Any

from ..canon import Head
from ..errors import Timeout, Unreachable
from ..exchange import Timeouts
from .fault import Break, Pause, Piece
from .log import Entry

Sleep = Callable[[float], object]
AsyncSleep = Callable[[float], Awaitable[object]]


class Answered:
    """An Answer and an AsyncAnswer in one; awaiting it gives itself, after ``delay`` seconds."""

    def __init__(
        self,
        head: Head,
        pieces: Iterator[Piece],
        *,
        entry: Entry,
        timeouts: Timeouts,
        sleep: Sleep,
        asleep: AsyncSleep,
        delay: float = 0.0,
    ) -> None:
        self.head = head
        self._pieces = pieces
        self._entry = entry
        self._timeouts = timeouts
        self._sleep = sleep
        self._asleep = asleep
        self._delay = delay

    def __await__(self) -> Generator[Any, Any, "Answered"]:
        return self._here().__await__()

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            if isinstance(piece, bytes):
                self._entry.sent += len(piece)
                yield piece
            else:
                self._sleep(self._wait(piece))
        self._ended("complete")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            if isinstance(piece, bytes):
                self._entry.sent += len(piece)
                yield piece
                await self._asleep(0)  # a chance to be cancelled, as with any real connection
            else:
                await self._asleep(self._wait(piece))
        self._ended("complete")

    def close(self) -> None:
        """Let go at once."""
        self._ended("closed")
        self._pieces = iter(())

    async def aclose(self) -> None:
        """Let go at once."""
        self.close()

    async def _here(self) -> "Answered":
        await self._asleep(self._delay)
        return self

    def _wait(self, piece: Pause | Break) -> float:
        try:
            return waited(piece, self._timeouts)
        except Timeout:
            self._ended("timed out")
            raise
        except Unreachable:
            self._ended("broken")
            raise

    def _ended(self, how: str) -> None:
        if self._entry.end is None:
            self._entry.end = how


def waited(piece: Pause | Break, timeouts: Timeouts) -> float:
    """Return how long to wait here; raises where the connection breaks or the caller gives up."""
    if isinstance(piece, Break):
        raise Unreachable("the connection broke before the answer was complete")
    if piece.seconds > timeouts.between_bytes:
        raise Timeout(f"nothing came for {timeouts.between_bytes:g} s")
    return piece.seconds


async def asyncio_sleep(seconds: float) -> None:
    """Wait in the running loop."""
    import asyncio  # noqa: PLC0415 - only where there is a loop already

    await asyncio.sleep(seconds)
