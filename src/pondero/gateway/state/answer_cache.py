"""Remembered answers: what a client may lose of them between two requests, by key.

``returned`` says what to look up and what to remember; the gateway does both around an exchange.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from msgspec import Struct

from ...canon import Message


class CachedAnswer(Struct, frozen=True):
    """An answer as it was, with its seals.

    ``answer`` is its mark, as in its envelopes; ``calls`` are the ids that the client knows, in
    order, and ``text`` the words that it saw.
    """

    answer: str
    message: Message
    calls: tuple[str, ...]
    text: str


class AnswerCache(Protocol):
    """Where remembered answers are kept; replicas of a gateway may share one."""

    async def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return what is remembered under these keys; what is used is kept for longer."""
        ...

    async def put(self, items: Mapping[str, bytes]) -> None:
        """Remember these values."""
        ...


class LocalAnswerCache:
    """A memory in this process: what was not used for so long goes, and beyond a size the oldest.

    ``seconds`` and ``size`` (in bytes) are settings of the server; ``clock`` counts seconds.
    """

    def __init__(
        self,
        *,
        seconds: float = 3600,
        size: int = 64 << 20,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds = seconds
        self._size = size
        self._clock = clock
        self._used = 0
        self._items: OrderedDict[str, tuple[float, bytes]] = OrderedDict()  # the oldest first

    async def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return what is remembered under these keys."""
        self._forget()
        found = {key: self._items[key][1] for key in keys if key in self._items}
        for key, value in found.items():
            self._items[key] = (self._clock() + self._seconds, value)
            self._items.move_to_end(key)
        return found

    async def put(self, items: Mapping[str, bytes]) -> None:
        """Remember these values."""
        for key, value in items.items():
            self._drop(key)
            self._items[key] = (self._clock() + self._seconds, value)
            self._used += _weight(key, value)
        self._forget()

    def _forget(self) -> None:
        now = self._clock()
        while self._items:
            key, (until, _) = next(iter(self._items.items()))
            if until > now and self._used <= self._size:
                return
            self._drop(key)

    def _drop(self, key: str) -> None:
        if (known := self._items.pop(key, None)) is not None:
            self._used -= _weight(key, known[1])


_OVERHEAD = 200  # bytes that Python needs for an entry beside its content


def _weight(key: str, value: bytes) -> int:
    return len(key) + len(value) + _OVERHEAD
