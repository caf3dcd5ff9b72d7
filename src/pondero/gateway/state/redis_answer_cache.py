"""The answer cache of all replicas, in Redis, with what this process knows of it in memory.

What is cached under a key stays the same, so an entry in memory needs no look at Redis. Reading it
extends its time: in memory at once, in Redis with the next entries that are stored, and no more
often than needed.
"""

import asyncio
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any

from .answer_cache import LocalAnswerCache, MakeEntries
from .redis_link import PREFIX, RedisLink, SharedStateLost

_PARTS = 8  # of its time: an entry is extended once in each, and kept for one more
_LATEST = 1.0  # seconds until times are extended without anything to store


class LocalCopies(LocalAnswerCache):
    """What this process knows, and when it last extended the time of each entry in Redis.

    An entry that is read again keeps that moment: its time in Redis only ever grew since.
    """

    def __init__(self, *, seconds: float, size: int) -> None:
        super().__init__(seconds=seconds, size=size)
        self._extended: dict[str, float] = {}

    def list_due(self, keys: Iterable[str], before: float) -> list[str]:
        """Return those of these keys that were not extended since a moment."""
        return [key for key in keys if self._extended.get(key, before - 1) < before]

    def note_extended(self, keys: Iterable[str], now: float) -> None:
        """Note that the time of these entries begins now."""
        self._extended |= {key: now for key in keys if key in self._items}

    def _drop(self, key: str) -> None:
        super()._drop(key)
        self._extended.pop(key, None)


class RedisAnswerCache:
    """The answer cache of all replicas; unused entries expire."""

    def __init__(self, link: RedisLink, local: LocalCopies, *, seconds: float) -> None:
        self._link = link
        self._local = local
        self._interval = max(0.001, seconds / _PARTS)
        self._kept = max(1, round((seconds + self._interval) * 1000))
        self._used: dict[str, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the values of these keys, and extend their time."""
        names = list(keys)
        known = self.find_known(names)
        reading = self.begin(names)
        return known if reading is None else known | await reading

    def find_known(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the values that this process knows, without waiting."""
        found = self._local.find_known(keys)
        if found:
            self._note_used(found)
        return found

    def begin(self, keys: Iterable[str], *, latest: bool = False) -> "_Reading | None":
        """Begin to read the values that this process does not know; None if it knows all."""
        names = list(keys)
        if not latest:
            known = self._local.find_known(names)
            names = [name for name in names if name not in known]
        if not names or self._link.is_away:
            return None
        return _Reading(self, names, self._link.send("MGET", *map(_make_name, names)))

    async def take(self, names: Sequence[str], answer: "asyncio.Future[Any]") -> dict[str, bytes]:
        """Return what a reading found; what this process knows if Redis is lost."""
        try:
            values = await answer
        except SharedStateLost:
            return self._local.find_known(names)
        found = {
            name: value for name, value in zip(names, values, strict=True) if value is not None
        }
        if found:
            self._local.store(found)
            self._note_used(found)
        return found

    async def put(self, items: Mapping[str, bytes]) -> None:
        """Store these values: this process knows them at once, others without its waiting.

        Redis is sent them with the other commands of this step, and after those before.
        """
        if not items:
            return
        self._local.store(items)
        for name, value in items.items():
            self._link.post("SET", _make_name(name), value, "PX", self._kept)
            self._used.pop(name, None)
        self._local.note_extended(items, time.monotonic())
        self._extend()

    def put_later(self, _make: MakeEntries, _size: int) -> bool:
        """Store nothing: the next request may reach another replica."""
        return False

    async def claim(self, key: str, value: bytes) -> bytes:
        """Store a value unless there is one; return the one that is there then.

        One round trip. While Redis is lost, each replica has its own.
        """
        name = _make_name(key)
        commands = (("SET", name, value, "NX", "PX", self._kept), ("GET", name))
        try:
            _, found = await self._link.send_all(commands)
        except SharedStateLost:
            return await self._local.claim(key, value)
        found = found or value
        self._local.store({key: found})
        return bytes(found)

    def _note_used(self, names: Iterable[str]) -> None:
        due = self._local.list_due(names, time.monotonic() - self._interval)
        if not due:
            return
        self._used |= dict.fromkeys(due)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_LATEST, self._extend)

    def _extend(self) -> None:
        """Extend the time of the entries that were used."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        used, self._used = self._used, {}
        if used:
            for name in used:
                self._link.post("PEXPIRE", _make_name(name), self._kept)
            self._local.note_extended(used, time.monotonic())


class _Reading:
    """Values that are being read."""

    __slots__ = ("_answer", "_cache", "_names")

    def __init__(
        self, cache: RedisAnswerCache, names: Sequence[str], answer: "asyncio.Future[Any]"
    ) -> None:
        self._cache = cache
        self._names = names
        self._answer = answer

    def __await__(self) -> Generator[Any, None, dict[str, bytes]]:
        return self._cache.take(self._names, self._answer).__await__()


def name_answer(key: str) -> str:
    """Return the name of an entry in Redis, after the prefix of all names."""
    return f"answer:{key}"


def _make_name(key: str) -> str:
    return f"{PREFIX}answer:{key}"
