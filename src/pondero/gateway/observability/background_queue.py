"""Takes work off the path of a request: what is put in is handled later, many at once.

The ledger and the access log each have one. A thread wakes twice a second, so that a process that
is killed loses at most what came in since; ``close`` hands over everything first.
"""

import logging
from collections import deque
from collections.abc import Callable
from threading import Event, Thread
from typing import Generic, TypeVar

LOG = logging.getLogger("pondero.gateway")

EVERY = 0.5
"""Seconds between two batches: the most that is lost when a process is killed."""
MOST = 200_000
"""How many may wait. It takes a handler that hangs for minutes; beyond it, the newest are lost."""

T = TypeVar("T")


class BackgroundQueue(Generic[T]):
    """Collects values and gives them to ``handle`` in a thread; an empty batch is given too."""

    def __init__(self, name: str, handle: Callable[[list[T]], None]) -> None:
        self._waiting: deque[T] = deque()
        self._handle = handle
        self._closing = Event()
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        self.lost: int = 0

    def put(self, value: T) -> None:
        """Take a value; never waits."""
        if len(self._waiting) < MOST:
            self._waiting.append(value)
        else:
            self.lost += 1

    def close(self) -> None:
        """Hand over what waits, and end; may be called twice."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing.wait(EVERY):
            self._hand_over()
        self._hand_over()

    def _hand_over(self) -> None:
        batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
        try:
            self._handle(batch)
        except Exception:
            LOG.exception("%s lost %d requests", self._thread.name, len(batch))
            self.lost += len(batch)
