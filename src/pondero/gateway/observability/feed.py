"""The latest requests of this process, and those who watch them come.

``gate`` tells it of every request; the admin API shows what it has to the console. It holds a
bounded number of receipts, and so does what waits for a viewer who reads slowly: the oldest go.
"""

from asyncio import Queue
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .receipt import Receipt

KEPT = 200
"""How many requests are kept, and how many may wait for one viewer."""


def _never() -> bool:
    return False


class Feed:
    """Receipts as they come. ``is_over`` says whether the server is about to end."""

    def __init__(self) -> None:
        self._latest: deque[Receipt] = deque(maxlen=KEPT)
        self._viewers: set[Queue[Receipt]] = set()
        self.is_over: Callable[[], bool] = _never

    def note(self, receipt: Receipt) -> None:
        """Keep a receipt and show it to all viewers; never waits."""
        self._latest.append(receipt)
        for queue in self._viewers:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(receipt)

    def latest(self) -> list[Receipt]:
        """Return what is kept, the newest first."""
        return list(reversed(self._latest))

    @property
    def viewers(self) -> int:
        """Return how many watch."""
        return len(self._viewers)

    @contextmanager
    def watch(self) -> Iterator[Queue[Receipt]]:
        """Yield what comes from now on."""
        queue: Queue[Receipt] = Queue(KEPT)
        self._viewers.add(queue)
        try:
            yield queue
        finally:
            self._viewers.discard(queue)
