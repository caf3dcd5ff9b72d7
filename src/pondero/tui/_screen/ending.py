"""The signals that end a chat: its window was closed (SIGHUP), or it is to stop (SIGTERM)."""

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress

_NAMES = ("SIGHUP", "SIGTERM")
_FIRST = 128  # exit codes of signals begin here


def is_by_signal(code: int) -> bool:
    """Return whether an exit code is that of a chat that a signal ended."""
    return code > _FIRST


class EndingSignals:
    """Turns such a signal into a call with the exit code, on the running loop.

    A signal that is ignored, as under ``nohup``, stays ignored.
    """

    def __init__(self) -> None:
        self._handled: list[int] = []

    def set_handlers(self, end: Callable[[int], None]) -> None:
        """Call ``end`` when a signal comes; Windows has none that a loop can take."""
        loop = asyncio.get_running_loop()
        known = (getattr(signal, name, None) for name in _NAMES)
        for number in (each for each in known if each is not None):
            if signal.getsignal(number) is signal.SIG_DFL:
                with suppress(NotImplementedError, RuntimeError, ValueError):
                    loop.add_signal_handler(number, end, _FIRST + number)
                    self._handled.append(number)

    def remove_handlers(self) -> None:
        """Let the signals do again what they did before."""
        loop = asyncio.get_running_loop()
        for number in self._handled:
            loop.remove_signal_handler(number)
        self._handled.clear()
