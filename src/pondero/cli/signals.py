"""Signals that end a program: the terminal was closed (SIGHUP), or it is to stop (SIGTERM)."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

ENDING = tuple(getattr(signal, name) for name in ("SIGHUP", "SIGTERM") if hasattr(signal, name))
"""The signals of this system after which a program saves what it has and ends."""


@contextmanager
def exit_on_signals() -> Iterator[None]:
    """Raise SystemExit at such a signal, so that all that is open is saved and closed.

    A signal that is ignored, as under ``nohup``, stays ignored.
    """
    before = {each: signal.getsignal(each) for each in ENDING}
    handled = [each for each, handler in before.items() if handler is signal.SIG_DFL]
    for each in handled:
        signal.signal(each, _exit)
    try:
        yield
    finally:
        for each in handled:
            signal.signal(each, before[each])


def _exit(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
