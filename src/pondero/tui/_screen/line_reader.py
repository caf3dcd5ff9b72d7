"""Reads standard input line by line for the plain chat, in a thread of its own."""

import os
import select
import sys
from asyncio import AbstractEventLoop
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

from .typed_lines import CutLine, TypedLines

_MOST = 65536
_LONGEST = 4095
"""Bytes of a line that a terminal of Linux collects; it drops the others until Enter."""
_PATIENCE = 0.2
"""Seconds for a line that was begun to come from the terminal."""


class LineReader:
    """Puts lines into a queue, None at their end; not by sys.stdin, whose lock delays the end."""

    def __init__(self, loop: AbstractEventLoop, lines: TypedLines) -> None:
        self._loop = loop
        self._lines = lines
        self._rest = b""
        self._came = Event()

    def start(self) -> None:
        """Begin to read."""
        Thread(target=self._read, daemon=True).start()

    @contextmanager
    def guard_begun_line(self) -> Iterator[None]:
        """Let Ctrl+C leave a line that was begun: by default the terminal drops it (NOFLSH)."""
        if sys.platform == "win32":
            yield
            return
        import termios  # noqa: PLC0415 - Windows has none

        before = None
        with suppress(termios.error, OSError):  # standard input is no terminal
            before = termios.tcgetattr(0)
            keeps = [*before]
            keeps[3] |= termios.NOFLSH
            termios.tcsetattr(0, termios.TCSANOW, keeps)
        try:
            yield
        finally:
            if before is not None:
                with suppress(termios.error, OSError):
                    termios.tcsetattr(0, termios.TCSANOW, before)

    def take_begun_line(self) -> str:
        """Take the line that was begun and not ended from the terminal, and return it."""
        if sys.platform == "win32":
            return ""
        import termios  # noqa: PLC0415 - Windows has none

        self._came.clear()
        with suppress(termios.error, OSError):  # standard input is no terminal, or it is gone
            before = termios.tcgetattr(0)
            letter_by_letter = [*before]
            letter_by_letter[3] &= ~(termios.ICANON | termios.ECHO)
            termios.tcsetattr(0, termios.TCSANOW, letter_by_letter)
            self._came.wait(_PATIENCE)
            termios.tcsetattr(0, termios.TCSANOW, before)
        begun, self._rest = self._rest, b""
        return begun.decode("utf-8", "replace")

    def _read(self) -> None:
        with suppress(OSError, RuntimeError):  # the terminal, or the loop, is gone
            while came := _read_some():
                *whole, self._rest = (self._rest + came).split(b"\n")
                self._came.set()
                for line in whole:
                    text = line.decode("utf-8", "replace")
                    self._put(CutLine(text) if len(line) == _LONGEST and os.isatty(0) else text)
        with suppress(RuntimeError):
            if self._rest:
                last, self._rest = self._rest, b""
                self._put(last.decode("utf-8", "replace"))
            self._put(None)

    def _put(self, line: str | None) -> None:
        self._loop.call_soon_threadsafe(self._lines.put, line)


def _read_some() -> bytes:
    if sys.platform != "win32":
        # A read that begins while the terminal gives single letters would miss its next Ctrl+D.
        select.select([0], [], [])
    return os.read(0, _MOST)
