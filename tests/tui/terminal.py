"""A pseudo-terminal with a program in it, and eyes that read its screen."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import monotonic

import pyte

PATIENCE = 60
"""Seconds after which a program that does not show what it should is given up."""

_PROGRAM = """
import fcntl, signal, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that it is told when the window changes its size
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever whoever started it ignores
from pondero.cli import main
main()
"""


class Terminal:
    """Keys go in, a screen comes out."""

    def __init__(
        self, child: "subprocess.Popen[bytes]", master: int, *, columns: int, lines: int
    ) -> None:
        self._child = child
        self._master = master
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self.seen = b""

    @property
    def text(self) -> str:
        """What stands on the screen."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    def press(self, keys: str) -> None:
        """Press keys; an escaped surrogate is a byte that is not UTF-8."""
        os.write(self._master, keys.encode(errors="surrogateescape"))

    def until(self, *words: str) -> str:
        """Wait until all of this is on the screen, and return the screen."""
        end = monotonic() + PATIENCE
        while not all(word in self.text for word in words):
            assert monotonic() < end, f"{words!r} did not come:\n{self.text}"
            if not self._read():
                raise AssertionError(f"it ended before {words!r}:\n{self.text}")
        return self.text

    def without(self, word: str) -> None:
        """Wait until this is no longer on the screen."""
        end = monotonic() + PATIENCE
        while word in self.text:
            assert monotonic() < end, f"{word!r} stayed:\n{self.text}"
            assert self._read(), f"it ended with {word!r}:\n{self.text}"

    def wait(self) -> None:
        """Let the program write something more."""
        assert self._read(), f"it ended:\n{self.text}"

    @property
    def pid(self) -> int:
        """The number of the program's process."""
        return self._child.pid

    def signal(self, number: int) -> None:
        """Send the program a signal."""
        self._child.send_signal(number)

    def ended(self) -> int:
        """Wait until the program ends, and return its exit code."""
        while self._read():
            pass
        return self._child.wait()

    def resize(self, columns: int, lines: int) -> None:
        """Make the window another size."""
        _size(self._master, columns, lines)
        self._screen.resize(lines, columns)

    def close(self) -> None:
        """End the program, if it has not."""
        self._child.kill()
        self._child.wait()
        os.close(self._master)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], PATIENCE)
        assert ready, f"nothing came in {PATIENCE} s:\n{self.text}"
        try:
            data = os.read(self._master, 65536)
        except OSError:  # how Linux says that nobody is at the other end
            return False
        self.seen += data
        self._stream.feed(data)
        return bool(data)


@contextmanager
def running(
    *arguments: str, environment: Mapping[str, str], columns: int = 80, lines: int = 24
) -> Iterator[Terminal]:
    """Run ``pondero`` in a terminal of its own."""
    master, slave = pty.openpty()
    _size(master, columns, lines)
    child = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *arguments],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={"PYTHONPATH": os.environ.get("PYTHONPATH", ""), **environment},
        start_new_session=True,
    )
    os.close(slave)
    terminal = Terminal(child, master, columns=columns, lines=lines)
    try:
        yield terminal
    finally:
        terminal.close()


def _size(master: int, columns: int, lines: int) -> None:
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
