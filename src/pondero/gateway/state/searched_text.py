"""Texts that were searched before: a mark is looked for once in each, however often one asks.

A search of a long conversation takes longer than reading it, and there are many marks to look for.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar, cast

from .long_text import contains

T = TypeVar("T")

Mark = bytes | Callable[[bytes], bool]
"""Bytes that a text may contain, or a function that looks for something else in one."""

_MOST = 128  # marks that are remembered; the gateway looks for fewer
_SHORTER = 3  # beginnings to ask: a request remembers as many, of which the last knows the least


class SearchedText:
    """Texts, and what is known of them: which marks are in one of them, and what was read there."""

    __slots__ = ("_found", "_joined", "_read", "_shorter", "texts")

    def __init__(
        self,
        texts: tuple[bytes, ...] = (),
        found: dict[Mark, bool] | None = None,
        shorter: tuple[tuple[dict[Mark, bool], int], ...] = (),
        *,
        joined: bytes | None = None,
    ) -> None:
        """Hold the texts; ``joined``: all of them in one, where no mark is partly in two."""
        self.texts: tuple[bytes, ...] = texts
        self._joined = joined
        self._found: dict[Mark, bool] = {} if found is None else found
        self._read: dict[Hashable, object] = {}
        # What was found in the first texts, and their number: a mark may be looked for there later.
        self._shorter = shorter

    def contains(self, mark: Mark) -> bool:
        """Return whether a text has this mark."""
        found = self._found.get(mark)
        if found is None:
            found = self._look_for(mark)
            if len(self._found) >= _MOST:  # those of secrets that were replaced
                self._found.clear()
            self._found[mark] = found
        return found

    def _look_for(self, mark: Mark) -> bool:
        for found, count in self._shorter:
            if (is_in := found.get(mark)) is not None:
                return is_in or _is_in(mark, self.texts[count:])
        if self._joined is not None and isinstance(mark, bytes):
            return contains(self._joined, mark)
        return _is_in(mark, self.texts)

    def read(self, name: Hashable, read: Callable[[], T]) -> T:
        """Return what is read from these texts alone; the same name is read once."""
        if name not in self._read:
            if len(self._read) >= _MOST:
                self._read.clear()
            self._read[name] = read()
        return cast("T", self._read[name])

    def extend(
        self, texts: Sequence[bytes], among: Sequence["SearchedText"] = ()
    ) -> "SearchedText":
        """Return these texts and more; only the new ones are searched.

        Each of ``among`` has all the new texts, so that a mark that it lacks is not looked for.
        """
        found = {
            mark: is_in or (all(each.may_have(mark) for each in among) and _is_in(mark, texts))
            for mark, is_in in self._found.items()
        }
        shorter = ((self._found, len(self.texts)), *self._shorter)[:_SHORTER]
        return SearchedText((*self.texts, *texts), found, shorter)

    def may_have(self, mark: Mark) -> bool:
        """Return whether a mark is in one of the texts, or it takes long to find out."""
        if self._joined is not None and isinstance(mark, bytes):
            return self.contains(mark)
        return self._found.get(mark) is not False


def _is_in(mark: Mark, texts: Sequence[bytes]) -> bool:
    if not isinstance(mark, bytes):
        return any(map(mark, texts))
    for text in texts:  # noqa: SIM110 - twice as fast as a generator, for every mark of a request
        if contains(text, mark):
            return True
    return False
