"""The store of answers and conversations: what every kind can do, and the one in memory.

A store has names and bytes; what they mean is known to its users. Entries without use for the
configured time are gone, and so are the oldest ones if all together are too large.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

_OVERHEAD = 200  # bytes of an entry in addition to its content


class KeptStore(Protocol):
    """A store of answers; raises Overloaded if it cannot be read or written."""

    async def get(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return the values of these names, and extend their time."""
        ...

    async def put(self, items: Mapping[str, bytes]) -> None:
        """Store these values."""
        ...

    async def delete(self, names: Iterable[str]) -> None:
        """Forget these names."""
        ...

    async def swap(self, name: str, old: bytes | None, new: bytes) -> bool:
        """Replace a value, or add it if ``old`` is None; return False if it is another by now."""
        ...

    async def aclose(self) -> None:
        """Close what is open."""
        ...


class LocalKeptStore:
    """A store in this process, of ``size`` bytes; entries unused for ``seconds`` are gone."""

    def __init__(
        self,
        *,
        seconds: float,
        size: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds = seconds
        self._size = size
        self._clock = clock
        self._used = 0
        self._items: OrderedDict[str, tuple[float, bytes]] = OrderedDict()  # the oldest first

    async def get(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return the values of these names, and extend their time."""
        now = self._clock()
        self._forget(now)
        until = now + self._seconds
        found: dict[str, bytes] = {}
        for name in names:
            if name in self._items:
                found[name] = value = self._items[name][1]
                self._items[name] = (until, value)
                self._items.move_to_end(name)
        return found

    async def put(self, items: Mapping[str, bytes]) -> None:
        """Store these values."""
        now = self._clock()
        until = now + self._seconds
        for name, value in items.items():
            self._add(name, value, until)
        self._forget(now)

    async def delete(self, names: Iterable[str]) -> None:
        """Forget these names."""
        for name in names:
            self._drop(name)

    async def swap(self, name: str, old: bytes | None, new: bytes) -> bool:
        """Replace a value, or add it if ``old`` is None; return False if it is another by now."""
        now = self._clock()
        self._forget(now)
        known = self._items.get(name)
        if (None if known is None else known[1]) != old:
            return False
        self._add(name, new, now + self._seconds)
        self._forget(now)
        return True

    async def aclose(self) -> None:
        """Nothing is open."""

    def _add(self, name: str, value: bytes, until: float) -> None:
        if name in self._items:
            self._drop(name)
        self._items[name] = (until, value)
        self._used += measure_entry(name, value)

    def _forget(self, now: float) -> None:
        while self._items:
            name, (until, _) = next(iter(self._items.items()))
            if until > now and self._used <= self._size:
                return
            self._drop(name)

    def _drop(self, name: str) -> None:
        if (known := self._items.pop(name, None)) is not None:
            self._used -= measure_entry(name, known[1])


def measure_entry(name: str, value: bytes) -> int:
    """Return the bytes that an entry takes."""
    return len(name) + len(value) + _OVERHEAD
