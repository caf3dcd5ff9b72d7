"""Handles queued values later, twice a second: a killed process loses at most half a second."""

import logging
from collections import deque
from collections.abc import Callable
from threading import Event, Thread
from typing import Generic, TypeVar

LOG = logging.getLogger("pondero.gateway")

EVERY = 0.5
"""Seconds between two batches: a killed process loses that much."""
MOST = 200_000
"""Maximum queue length, reached if a handler hangs for minutes; newer values are lost."""

T = TypeVar("T")


class BackgroundQueue(Generic[T]):
    """Passes queued values to ``handle`` in a thread; also empty batches."""

    def __init__(self, name: str, handle: Callable[[list[T]], None]) -> None:
        self._waiting: deque[T] = deque()
        self._handle = handle
        self._closing = Event()
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        self.lost: int = 0

    def put(self, value: T) -> None:
        """Queue a value; never waits."""
        if len(self._waiting) < MOST:
            self._waiting.append(value)
        else:
            self.lost += 1

    def close(self) -> None:
        """Handle all queued values and stop; may be called twice."""
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
