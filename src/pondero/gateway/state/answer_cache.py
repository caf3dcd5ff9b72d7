"""The answer cache: parts of answers that a client may lose between two requests."""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Protocol

from msgspec import Struct

from ...canon import Message


class CachedAnswer(Struct, frozen=True):
    """An answer with its signatures.

    ``answer`` is its id, as in its envelopes; ``calls`` are the ids the client knows, in order, and
    ``text`` the text it saw.
    """

    answer: str
    message: Message
    calls: tuple[str, ...]
    text: str


class AnswerCache(Protocol):
    """A cache that replicas may share."""

    async def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the values of these keys, and extend their time."""
        ...

    async def put(self, items: Mapping[str, bytes]) -> None:
        """Store these values: this process knows them at once, others without its waiting."""
        ...

    def find_known(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the values that this process knows, without waiting."""
        ...

    def begin(
        self, keys: Iterable[str], *, latest: bool = False
    ) -> Awaitable[dict[str, bytes]] | None:
        """Begin to read the values that this process does not know; None if there is none to read.

        ``latest``: also those it knows, since others may have changed them.
        """
        ...


class ConversationCache(AnswerCache, Protocol):
    """A cache that also has the homes of conversations, of which each has one."""

    async def claim(self, key: str, value: bytes) -> bytes:
        """Store a value unless there is one; return the one that is there then."""
        ...


class LocalAnswerCache:
    """A cache in this process, of ``size`` bytes; entries unused for ``seconds`` expire."""

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
        """Return the values of these keys."""
        return self.find_known(keys)

    async def put(self, items: Mapping[str, bytes]) -> None:
        """Store these values."""
        self.store(items)

    async def claim(self, key: str, value: bytes) -> bytes:
        """Store a value unless there is one; return the one that is there then."""
        found = self.find_known([key]).get(key)
        if found is None:
            self.store({key: value})
        return found or value

    def find_known(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the values of these keys."""
        self._forget()
        found = {key: self._items[key][1] for key in keys if key in self._items}
        until = self._clock() + self._seconds
        for key, value in found.items():
            self._items[key] = (until, value)
            self._items.move_to_end(key)
        return found

    def begin(self, keys: Iterable[str], *, latest: bool = False) -> None:
        """Read nothing: this process knows all."""

    def store(self, items: Mapping[str, bytes]) -> None:
        """Store these values."""
        until = self._clock() + self._seconds
        for key, value in items.items():
            if key in self._items:
                self._drop(key)
            self._items[key] = (until, value)
            self._used += len(key) + len(value) + _OVERHEAD
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
            self._used -= len(key) + len(known[1]) + _OVERHEAD


_OVERHEAD = 200  # bytes of an entry in addition to its content
