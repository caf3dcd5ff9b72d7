"""Ids of tool calls in the alphabet of whoever reads them, each of them once.

The same id becomes the same other id every time, so that a prompt cache still finds its prefix.
"""

import re
from collections.abc import Callable, Iterable
from hashlib import blake2b

from .surrogates import is_whole


class Ids:
    """Gives each call its id; ``given`` are the ids of all calls, which are not given twice."""

    def __init__(self, pattern: str | None, length: int, given: Iterable[str]) -> None:
        self._matches: Callable[[str], object] = re.compile(pattern or r"[\s\S]+").fullmatch
        self._length = length
        self._taken = {id for id in given if self._fits(id)}
        self._seen: dict[str, int] = {}

    def take(self, id: str) -> str:
        """Return the id for the next call that has this one: itself, if it fits and is free."""
        before = self._seen.get(id, 0)
        self._seen[id] = before + 1
        return id if before == 0 and self._fits(id) else self._made(id, before)

    def _fits(self, id: str) -> bool:
        return bool(self._matches(id)) and is_whole(id)

    def _made(self, id: str, before: int) -> str:
        attempt = 0
        while True:
            seed = f"{before} {attempt} {id}".encode("utf-8", "surrogatepass")
            made = blake2b(seed).hexdigest()[: self._length]
            if made not in self._taken:
                self._taken.add(made)
                return made
            attempt += 1
