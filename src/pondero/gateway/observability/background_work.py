"""Work that is done in a thread, twice a second, and once more at the end."""

import logging
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread

LOG = logging.getLogger("pondero.gateway")

EVERY = 0.5
"""Seconds between two calls."""
MOST = 100_000
"""Maximum records in memory that can be written nowhere; then the oldest are lost."""


class BackgroundWork:
    """Calls ``work`` in a thread; an error is logged, and it is called again."""

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        self._work = work
        self._closing = Event()
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def closing(self) -> bool:
        """Return whether the next call is the last."""
        return self._closing.is_set()

    def close(self, seconds: float) -> bool:
        """Call it once more; return whether that ended in time. May be called twice."""
        self._closing.set()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._closing.wait(EVERY):
            self._call()
        self._call()

    def _call(self) -> None:
        try:
            self._work()
        except Exception:
            # Reporting it may fail for the same reason, such as descriptors that have run out.
            with suppress(Exception):
                LOG.exception("%s failed", self._thread.name)
