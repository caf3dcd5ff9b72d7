"""The lines of the plain chat that were typed and not taken yet."""

import asyncio
from collections import deque


class CutLine(str):
    """A line that the terminal has cut: its end was typed, and never came."""

    __slots__ = ()


class LateLine(str):
    """A line that has waited: it is shown again when it is sent."""

    __slots__ = ()


class TypedLines:
    """A queue of lines, None at their end; what answers no question is held back until later."""

    def __init__(self) -> None:
        self._lines: deque[str | None] = deque()
        self._held: list[str] = []
        self._waiting: list[str] = []
        self._came = asyncio.Event()

    @property
    def prompts(self) -> tuple[str, ...]:
        """Return those that are prompts, not commands."""
        come = (line for line in self._lines if line is not None)
        lines = (*self._waiting, *self._held, *come)
        return tuple(str(line) for line in lines if line.strip() and not line.startswith("/"))

    def put(self, line: str | None) -> None:
        """Add a line."""
        self._lines.append(line)
        self._came.set()

    async def wait(self) -> None:
        """Wait until there is a line."""
        await self._came.wait()

    def take(self) -> str | None:
        """Remove the first line and return it."""
        line = self._lines.popleft()
        if not self._lines:
            self._came.clear()
        return line

    def let_wait(self) -> None:
        """Let all lines that have come wait until ``resume``; later ones are taken as usual."""
        come = (line for line in self._lines if line is not None and line.strip())
        self._waiting += [line if isinstance(line, CutLine) else LateLine(line) for line in come]
        is_ended = None in self._lines
        self._lines.clear()
        self._came.clear()
        if is_ended:
            self.put(None)

    def resume(self) -> None:
        """Put back what waits, before all others."""
        self._put_first(self._waiting)

    def count_waiting(self) -> int:
        """Return how many lines wait."""
        return len(self._waiting)

    def hold(self, line: str) -> None:
        """Keep a line until ``release``."""
        self._held.append(line)

    def release(self) -> None:
        """Put back what was held, before all others."""
        self._put_first(self._held)

    def _put_first(self, lines: list[str]) -> None:
        for line in reversed(lines):
            self._lines.appendleft(line)
            self._came.set()
        lines.clear()
