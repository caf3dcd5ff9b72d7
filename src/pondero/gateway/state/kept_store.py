"""The store of answers and conversations: what every kind can do, and the one in memory.

A store has names and bytes; what they mean is known to its users. Entries without use for the
configured time are gone, and so are the oldest ones if all together are too large.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from .answer_cache import LocalAnswerCache

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


class LocalKeptStore(LocalAnswerCache):
    """A store in this process, of ``size`` bytes; entries unused for ``seconds`` are gone."""

    async def delete(self, names: Iterable[str]) -> None:
        """Forget these names."""
        self.make_waiting()
        for name in names:
            self._drop(name)

    async def swap(self, name: str, old: bytes | None, new: bytes) -> bool:
        """Replace a value, or add it if ``old`` is None; return False if it is another by now."""
        self.make_waiting()
        now = self._clock()
        self._forget(now)
        known = self._items.get(name)
        if (None if known is None else known[1]) != old:
            return False
        self.store({name: new})
        return True

    async def aclose(self) -> None:
        """Nothing is open."""


def measure_entry(name: str, value: bytes) -> int:
    """Return the bytes that an entry takes."""
    return len(name) + len(value) + _OVERHEAD
