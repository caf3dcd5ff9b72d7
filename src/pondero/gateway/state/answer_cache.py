"""The answer cache: parts of answers that a client may lose between two requests."""

import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Protocol

from msgspec import Struct

from ...canon import Message

LOG = logging.getLogger("pondero.gateway")


class CachedAnswer(Struct, frozen=True):
    """An answer with its signatures.

    ``answer`` is its id, as in its envelopes; ``calls`` are the ids the client knows, in order, and
    ``text`` the text it saw.
    """

    answer: str
    message: Message
    calls: tuple[str, ...]
    text: str


MakeEntries = Callable[[], Mapping[str, bytes]]


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

    def put_later(self, make: MakeEntries, size: int) -> bool:
        """Store what ``make`` returns, of about so many bytes, when anything is read.

        False if nothing can wait, since other processes read it too.
        """
        ...

    async def claim(self, key: str, value: bytes) -> bytes:
        """Store a value unless there is one; return the one that is there then."""
        ...


class LocalAnswerCache:
    """A cache in this process, of ``size`` bytes; entries unused for ``seconds`` expire.

    Most questions are never continued, so what may never be read waits for the next look into the
    cache. Python makes many entries in a row in less time than each between two requests.
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
        self._waiting: list[tuple[float, MakeEntries]] = []  # until when they are kept, as above
        self._reserved = 0  # bytes of those, about; they count as used

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
        self.make_waiting()
        now = self._clock()
        self._forget(now)
        found = {key: self._items[key][1] for key in keys if key in self._items}
        until = now + self._seconds
        for key, value in found.items():
            self._items[key] = (until, value)
            self._items.move_to_end(key)
        return found

    def begin(self, keys: Iterable[str], *, latest: bool = False) -> None:
        """Read nothing: this process knows all."""

    def store(self, items: Mapping[str, bytes]) -> None:
        """Store these values."""
        self.make_waiting()
        now = self._clock()
        self._add(items, now + self._seconds)
        self._forget(now)

    def put_later(self, make: MakeEntries, size: int) -> bool:
        """Store what ``make`` returns, of about so many bytes, when anything is read or many wait.

        If that fails, the log says why: another request may be the one that needs it.
        """
        self._waiting.append((self._clock() + self._seconds, make))
        self._reserved += size + _OVERHEAD
        if len(self._waiting) >= _MOST_WAITING or self._reserved > self._size // _WAITING_SHARE:
            self.make_waiting()
            self._forget(self._clock())
        return True

    def make_waiting(self) -> None:
        """Make all entries that wait."""
        if self._waiting:
            waiting, self._waiting, self._reserved = self._waiting, [], 0
            for until, make in waiting:
                try:
                    self._add(make(), until)
                except Exception:  # the request that reads now is another
                    LOG.exception("an answer could not be put into the cache")

    def _add(self, items: Mapping[str, bytes], until: float) -> None:
        kept, used = self._items, self._used
        for key, value in items.items():
            if (known := kept.pop(key, None)) is not None:  # the new one is the newest
                used -= len(key) + len(known[1]) + _OVERHEAD
            kept[key] = (until, value)
            used += len(key) + len(value) + _OVERHEAD
        self._used = used

    def _forget(self, now: float) -> None:
        while self._items:
            key, (until, _) = next(iter(self._items.items()))
            if until > now and self._used + self._reserved <= self._size:
                return
            self._drop(key)

    def _drop(self, key: str) -> None:
        if (known := self._items.pop(key, None)) is not None:
            self._used -= len(key) + len(known[1]) + _OVERHEAD


_OVERHEAD = 200  # bytes of an entry in addition to its content
_MOST_WAITING = 64  # answers whose entries are not made yet; all of them take half a millisecond
_WAITING_SHARE = 64  # of the size, for these answers
