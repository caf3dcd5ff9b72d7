"""Looks for bytes in a long text: with the C library, which takes a third of Python's time.

A long request is searched for a dozen marks, and most of them are in none.
"""

import ctypes
from collections.abc import Callable

_LONG = 1_024  # bytes; in a shorter text, Python has found a mark before the library is called


def _load_search() -> Callable[[bytes, int, bytes, int], int | None] | None:
    """Return the library's ``memmem``; None if it has none, as on Windows."""
    try:
        # It keeps the lock of the interpreter: to give it away would take longer than a search.
        search = ctypes.PyDLL(None).memmem
    except (AttributeError, OSError, TypeError):
        return None
    search.argtypes = (ctypes.c_char_p, ctypes.c_size_t) * 2
    search.restype = ctypes.c_void_p
    return search


_search = _load_search()


def contains(text: bytes, mark: bytes) -> bool:
    """Return whether a text has these bytes."""
    size = len(text)
    if size < _LONG or _search is None:
        return bytes.__contains__(text, mark)
    return _search(text, size, mark, len(mark)) is not None


class LongText(bytes):
    """A text in which a mark is looked for once, however often one asks."""

    def __init__(self, _text: bytes) -> None:
        self._found: dict[bytes, bool] = {}

    def __contains__(self, mark: object) -> bool:
        """Return whether a mark is in the text."""
        if not isinstance(mark, bytes):
            return super().__contains__(mark)  # type: ignore[operator]
        found = self._found.get(mark)
        if found is None:
            found = self._found[mark] = contains(self, mark)
        return found
