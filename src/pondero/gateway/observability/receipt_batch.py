"""Gives the receipts of answered requests to their observers some at a time.

Python runs the same code for many receipts in a row several times as fast as between the steps of
other requests. A process that is killed meanwhile loses nothing: the journal has each request from
its beginning on, with the most that it may have used.
"""

from asyncio import TimerHandle, get_running_loop
from collections.abc import Callable, Sequence

from .receipt import Receipt

WAIT = 0.005
"""Seconds that a server keeps a receipt for others to come."""
_MOST = 64  # receipts that wait


class ReceiptBatch:
    """Receipts that wait for others; without ``wait``, none does. For one event loop."""

    def __init__(self, tell: Callable[[Sequence[Receipt]], None]) -> None:
        self.wait: float = 0.0
        self._tell = tell
        self._waiting: list[Receipt] = []
        self._timer: TimerHandle | None = None

    def add(self, receipt: Receipt) -> None:
        """Give this receipt to the observers soon."""
        self._waiting.append(receipt)
        if not self.wait or len(self._waiting) >= _MOST:
            self.flush()
        elif self._timer is None:
            self._timer = get_running_loop().call_later(self.wait, self.flush)

    def flush(self) -> None:
        """Give all that wait to the observers now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            self._tell(waiting)
