"""Keeps a number of worker processes alive and forwards signals to them."""

import logging
import os
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NoReturn, Protocol

from ...errors import BadParameter

LOG = logging.getLogger("pondero.gateway")

END = {signal.SIGTERM, signal.SIGINT}
"""The signals that end a worker."""
_AGAIN = {signal.SIGHUP} if hasattr(signal, "SIGHUP") else set()
_SIGNALS = END | _AGAIN


def block_signals() -> None:
    """Hold signals back until there are handlers for them."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)


def unblock_signals(names: Iterable[signal.Signals]) -> None:
    """Deliver these signals, also those held back."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, names)


class WorkerBody(Protocol):
    """The work of one process, begun with signals blocked; ``changed``: SIGHUP came before."""

    def __call__(self, *, changed: bool) -> None:
        """Run until told to end."""
        ...


class Workers:
    """Runs ``count`` processes; ``gone`` is called with the id of each that ends."""

    def __init__(self, count: int, work: WorkerBody, gone: Callable[[int], None]) -> None:
        if not hasattr(os, "fork"):
            raise BadParameter("several workers need fork, which this system lacks; use one")
        self._count = count
        self._work = work
        self._gone = gone
        self._children: set[int] = set()
        self._heard: set[int] = set()

    def run(self) -> None:
        """Return when all have ended because of a signal; one that dies is replaced."""
        for name in _SIGNALS:
            signal.signal(name, self._pass_on)
        self._start()
        while self._children:
            child, status = os.wait()
            self._children.discard(child)
            self._gone(child)
            if not self._heard & END:
                LOG.error("worker %s ended with %s; another is started", child, status)
            self._start()

    def _start(self) -> None:
        """Start missing workers, with signals blocked: a new one would miss or mishandle them."""
        block_signals()
        while len(self._children) < self._count and not self._heard & END:
            child = os.fork()
            if not child:
                self._be_worker()
            self._children.add(child)
        unblock_signals(_SIGNALS)

    def _be_worker(self) -> NoReturn:
        status = 1
        try:
            self._work(changed=bool(self._heard & _AGAIN))
            status = 0
        finally:
            os._exit(status)

    def _pass_on(self, number: int, _frame: Any) -> None:
        self._heard.add(number)
        for child in self._children:
            with suppress(ProcessLookupError):  # it has ended, and its removal follows
                os.kill(child, number)
