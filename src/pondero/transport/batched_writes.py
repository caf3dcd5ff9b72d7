"""Small writes to sockets that leave together, at the end of a turn of the event loop.

A write wakes the process that reads it. Waking one that has just fallen asleep takes longer than
all else about a short message, and of several writes in a row only the first finds it asleep.
"""

import logging
from asyncio import AbstractEventLoop, Transport
from collections.abc import Callable, Iterable
from typing import Any

LOG = logging.getLogger("pondero")

MOST = 8 * 1024
"""Bytes that wait for one socket at most; each system takes as many in one piece."""


def _do_nothing() -> None:
    """Do nothing: there is nothing to save."""


class WriteBatch:
    """The transports of one event loop with writes that wait.

    ``before_write`` is called before anything is written: it saves, once a turn, what must not be
    lost when the other side has read these bytes.
    """

    def __init__(self, before_write: Callable[[], None] = _do_nothing) -> None:
        self.before_write: Callable[[], None] = before_write
        self._waiting: list[BatchedTransport] = []

    def add(self, transport: "BatchedTransport", loop: AbstractEventLoop) -> None:
        """Write what a transport has at the end of this turn."""
        if not self._waiting:
            loop.call_soon(self._flush)
        self._waiting.append(transport)

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        try:
            self.before_write()
        except Exception:  # others wait for these bytes all the same
            LOG.exception("what precedes a write could not be saved")
        for each in waiting:
            try:
                each.write_saved()
            except Exception:  # the others must not lose what they wrote
                LOG.exception("a connection could not be written to")
                each.abort()


class BatchedTransport:
    """A transport whose small writes wait for the end of the turn; their order stays.

    What waits is on its way: it is not in ``get_write_buffer_size``.
    """

    __slots__ = ("_batch", "_inner", "_loop", "_pieces", "_size")

    def __init__(self, inner: Transport, batch: WriteBatch, loop: AbstractEventLoop) -> None:
        self._inner = inner
        self._batch = batch
        self._loop = loop
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Write a piece soon, or at once if it is large."""
        if not data:
            return
        self._size += len(data)
        if not self._pieces and self._size <= MOST:
            self._batch.add(self, self._loop)
        self._pieces.append(data)
        if self._size > MOST:
            self.flush()

    def writelines(self, pieces: Iterable[bytes]) -> None:
        """Write several pieces."""
        self.write(b"".join(pieces))

    def flush(self) -> None:
        """Write what waits, now."""
        if self._pieces:
            self._batch.before_write()
            self.write_saved()

    def write_saved(self) -> None:
        """Write what waits, after ``before_write``."""
        pieces, self._pieces, self._size = self._pieces, [], 0
        if pieces and not self._inner.is_closing():
            self._inner.write(pieces[0] if len(pieces) == 1 else b"".join(pieces))

    def close(self) -> None:
        """Close it when all is written."""
        self.flush()
        self._inner.close()

    def write_eof(self) -> None:
        """End the writes."""
        self.flush()
        self._inner.write_eof()

    def abort(self) -> None:
        """Close it at once; what waits is lost."""
        self._pieces, self._size = [], 0
        self._inner.abort()

    def is_closing(self) -> bool:
        """Return whether it is closed or about to be."""
        return self._inner.is_closing()

    def get_write_buffer_size(self) -> int:
        """Return how many bytes the other side has not taken."""
        return self._inner.get_write_buffer_size()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
