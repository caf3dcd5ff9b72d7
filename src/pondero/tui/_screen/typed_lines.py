"""The lines of the plain chat that were typed and not taken yet."""

import asyncio
from collections import deque


class CutLine(str):
    """A line that the terminal has cut: its end was typed, and never came."""

    __slots__ = ()


class TypedLines:
    """A queue of lines, None at their end; what answers no question is held back until later."""

    def __init__(self) -> None:
        self._lines: deque[str | None] = deque()
        self._held: list[str] = []
        self._came = asyncio.Event()
        self.count: int = 0  # of all that came

    @property
    def prompts(self) -> tuple[str, ...]:
        """Return those that are prompts, not commands."""
        lines = (*self._held, *(line for line in self._lines if line is not None))
        return tuple(str(line) for line in lines if line.strip() and not line.startswith("/"))

    def put(self, line: str | None) -> None:
        """Add a line."""
        self._lines.append(line)
        self.count += 1
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

    def hold(self, line: str) -> None:
        """Keep a line until ``release``."""
        self._held.append(line)

    def release(self) -> None:
        """Put back what was held, before all others."""
        for line in reversed(self._held):
            self._lines.appendleft(line)
            self._came.set()
        self._held.clear()
