"""Makes the receipts of answered requests, and gives them to their observers, some at a time.

Python runs the same code for many receipts in a row several times as fast as between the steps of
other requests. A process that is killed meanwhile loses nothing: the journal has each request from
its beginning on, with the most that it may have used.
"""

import logging
from asyncio import TimerHandle, get_running_loop
from collections.abc import Callable, Sequence

from .receipt import Receipt

LOG = logging.getLogger("pondero.gateway")

WAIT = 0.005
"""Seconds that a server keeps a receipt for others to come."""
_MOST = 64  # receipts that wait


class ReceiptBatch:
    """Receipts that wait for others; without ``wait``, none does. For one event loop."""

    def __init__(self, tell: Callable[[Sequence[Receipt]], None]) -> None:
        self.wait: float = 0.0
        self._tell = tell
        self._waiting: list[Callable[[], Receipt]] = []
        self._timer: TimerHandle | None = None

    def add(self, make: Callable[[], Receipt]) -> None:
        """Give the receipt that this makes to the observers soon."""
        self._waiting.append(make)
        if not self.wait or len(self._waiting) >= _MOST:
            self.flush()
        elif self._timer is None:
            self._timer = get_running_loop().call_later(self.wait, self.flush)

    def flush(self) -> None:
        """Give all that wait to the observers now; one that cannot be made fails no other."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, []
        receipts: list[Receipt] = []
        for make in waiting:
            try:
                receipts.append(make())
            except Exception:
                LOG.exception("a request could not be recorded")
        if receipts:
            self._tell(receipts)
