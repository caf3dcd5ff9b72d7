"""Cuts the input of a terminal into keys and bracketed pastes. Nothing in a paste is obeyed.

Textual's parser obeys escape sequences inside a paste, and takes what follows an end marker in the
pasted text for keys. Some terminals send that marker as it is, so a paste could press Enter.
"""

from collections.abc import Iterator

from msgspec import Struct

BEGIN = "\x1b[200~"
END = "\x1b[201~"


class KeyInput(Struct, frozen=True):
    """Text that came from the keyboard."""

    text: str


class PasteInput(Struct, frozen=True):
    """The whole text of a paste."""

    text: str


class PasteReader:
    """Takes the input piece by piece, and is told of each pause.

    A terminal sends a paste without one: of the end markers before the next pause, the last is the
    terminal's, and the others are pasted text.
    """

    def __init__(self) -> None:
        self._half = ""  # the last keys, which may be the first half of a marker
        self._paste: list[str] | None = None
        self._tail = ""  # of the paste: a marker can arrive in two pieces
        self._has_end = False

    @property
    def needs_pause(self) -> bool:
        """Return whether a pause decides what has come."""
        return bool(self._half) or self._has_end

    def feed(self, text: str) -> Iterator[KeyInput | PasteInput]:
        """Yield what is certain by now."""
        if self._paste is not None:
            self._collect(self._paste, text)
            return
        keys, begins, rest = (self._half + text).partition(BEGIN)
        size = 0 if begins else _count_half(keys)
        self._half = keys[len(keys) - size :]
        if keys := keys[: len(keys) - size]:
            yield KeyInput(keys)
        if begins:
            self._paste = []
            self._collect(self._paste, rest)

    def pause(self) -> Iterator[KeyInput | PasteInput]:
        """Yield what is certain if nothing has come for a moment."""
        keys, self._half = self._half, ""
        if self._paste is not None and self._has_end:
            pasted, _, keys = "".join(self._paste).rpartition(END)
            self._paste, self._tail, self._has_end = None, "", False
            yield PasteInput(pasted)
        if keys:
            yield KeyInput(keys)

    def _collect(self, paste: list[str], text: str) -> None:
        seen = self._tail + text
        self._has_end = self._has_end or END in seen
        self._tail = seen[-len(END) :]
        paste.append(text)


def _count_half(keys: str) -> int:
    """Return how many of the last characters may begin a paste."""
    return next((size for size in range(len(BEGIN) - 1, 0, -1) if keys.endswith(BEGIN[:size])), 0)
