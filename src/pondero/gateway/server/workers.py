"""Keeps a number of worker processes alive and forwards signals to them."""

import logging
import os
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Thread
from time import monotonic, sleep
from typing import Any, NoReturn

from ...errors import BadParameter

LOG = logging.getLogger("pondero.gateway")

END = {signal.SIGTERM, signal.SIGINT}
"""The signals that end a worker."""
_AGAIN = {signal.SIGHUP} if hasattr(signal, "SIGHUP") else set()
_SIGNALS = END | _AGAIN
# A signal of its own: a worker cannot tell whether SIGHUP came from its parent or from an
# administrator who took it for the gateway.
_RELOAD = {signal.SIGUSR1} if hasattr(signal, "SIGUSR1") else set()
_PAUSE = 1.0  # second before another worker is started, if the last one did not live longer


def block_signals() -> None:
    """Hold signals back until there are handlers for them."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS | _RELOAD)


def unblock_signals(names: Iterable[signal.Signals]) -> None:
    """Deliver these signals, also those held back."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, names)


def handle_reload(reload: Callable[[], None], *, parent: int | None = None) -> None:
    """Call ``reload`` at SIGHUP, or in a worker of ``parent`` when the parent says so.

    A worker that gets SIGHUP itself sends it to its parent, so that all of them reload or none.
    """
    if parent is None:
        _handle(_AGAIN, reload)
        return
    _handle(_AGAIN, lambda: _send_up(parent))
    _handle(_RELOAD, reload)


def _handle(names: set[signal.Signals], react: Callable[[], None]) -> None:
    for name in names:
        signal.signal(name, lambda *_: react())
    unblock_signals(names)


def _send_up(parent: int) -> None:
    if os.getppid() == parent:  # the id of a dead parent may be another program's
        os.kill(parent, signal.SIGHUP)


class Workers:
    """Runs ``count`` processes of ``work``, which begins with signals blocked.

    ``gone`` is called with the id of each that ends, ``reload`` after the workers were told to
    reload. ``work`` calls ``handle_reload``.

    A worker that still runs ``patience`` seconds after the signal to end is killed. Workers whose
    parent is killed end by themselves: a pipe, of which only the parent holds the end to write to,
    is then at its end.
    """

    def __init__(
        self,
        count: int,
        work: Callable[[], None],
        gone: Callable[[int], None],
        reload: Callable[[], None],
        *,
        patience: float,
    ) -> None:
        if not hasattr(os, "fork"):
            raise BadParameter("several workers need fork, which this system lacks; use one")
        self._count = count
        self._work = work
        self._gone = gone
        self._reload = reload
        self._patience = patience
        self._children: set[int] = set()
        self._heard: set[int] = set()
        self._started = 0.0
        self._since = 0.0
        self._parent_lives = os.pipe()

    def run(self) -> None:
        """Return when all have ended because of a signal; one that dies is replaced."""
        for name in _SIGNALS:
            signal.signal(name, self._pass_on)
        signal.signal(signal.SIGALRM, self._kill)
        self._start()
        while self._children or not self._heard & END:
            if self._children:
                self._bury(*os.wait())
            if not self._heard & END and monotonic() - self._started < _PAUSE:
                sleep(_PAUSE)
            self._start()

    @property
    def seconds(self) -> float:
        """Return how long ago the first signal to end came."""
        return monotonic() - self._since

    def _bury(self, child: int, status: int) -> None:
        self._children.discard(child)
        self._gone(child)
        if not self._heard & END:
            LOG.error("worker %s ended with %s; another is started", child, status)

    def _start(self) -> None:
        """Start missing workers, with signals blocked: a new one would miss or mishandle them."""
        block_signals()
        try:
            while len(self._children) < self._count and not self._heard & END:
                self._started = monotonic()
                child = os.fork()
                if not child:
                    self._be_worker()
                self._children.add(child)
        except OSError as error:
            LOG.error("no worker can be started: %s", error)  # noqa: TRY400 - no traceback
        unblock_signals(_SIGNALS)

    def _be_worker(self) -> NoReturn:
        status = 1
        try:
            reading, writing = self._parent_lives
            os.close(writing)
            Thread(target=_end_with_parent, args=(reading,), daemon=True).start()
            self._work()
            status = 0
        finally:
            os._exit(status)

    def _pass_on(self, number: int, _frame: Any) -> None:
        if number in END and not self._heard & END:
            self._since = monotonic()
            signal.setitimer(signal.ITIMER_REAL, self._patience)
        self._heard.add(number)
        if number in END:
            self._send(number)
            return
        for name in _RELOAD:
            self._send(name)
        self._reload()

    def _kill(self, _number: int, _frame: Any) -> None:
        self._send(signal.SIGKILL)

    def _send(self, number: int) -> None:
        for child in self._children:
            with suppress(ProcessLookupError):  # it has ended, and its removal follows
                os.kill(child, number)


def _end_with_parent(reading: int) -> None:
    os.read(reading, 1)  # until the parent has ended, however that happened
    os.kill(os.getpid(), signal.SIGTERM)
