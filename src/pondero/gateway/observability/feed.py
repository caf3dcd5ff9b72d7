"""The latest requests of this process and their viewers; full queues drop the oldest."""

from asyncio import Queue
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .receipt import Receipt

KEPT = 200
"""Maximum stored requests, and maximum waiting for one viewer."""


def _never() -> bool:
    return False


class Feed:
    """The latest receipts. ``is_over``: whether the server is about to stop."""

    def __init__(self) -> None:
        self._latest: deque[Receipt] = deque(maxlen=KEPT)
        self._viewers: set[Queue[Receipt]] = set()
        self.is_over: Callable[[], bool] = _never

    def note(self, receipt: Receipt) -> None:
        """Store a receipt and send it to all viewers; never waits."""
        self._latest.append(receipt)
        for queue in self._viewers:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(receipt)

    def latest(self) -> list[Receipt]:
        """Return the stored receipts, newest first."""
        return list(reversed(self._latest))

    @property
    def viewers(self) -> int:
        """Return the number of viewers."""
        return len(self._viewers)

    @contextmanager
    def watch(self) -> Iterator[Queue[Receipt]]:
        """Yield a queue of the receipts from now on."""
        queue: Queue[Receipt] = Queue(KEPT)
        self._viewers.add(queue)
        try:
            yield queue
        finally:
            self._viewers.discard(queue)
