"""Cuts the input of a terminal into keys and bracketed pastes. Nothing in a paste is obeyed.

Textual's parser obeys escape sequences inside a paste, and takes what follows an end marker in the
pasted text for keys. Some terminals send that marker as it is, so a paste could press Enter.
"""

from collections.abc import Iterator

from msgspec import Struct

BEGIN = "\x1b[200~"
END = "\x1b[201~"
_LONGEST_KEY = 8
"""Characters of an escape sequence that a key sends, at most."""


class KeyInput(Struct, frozen=True):
    """Text that came from the keyboard."""

    text: str


class PasteInput(Struct, frozen=True):
    """The whole text of a paste."""

    text: str


class PasteReader:
    """Takes the input piece by piece, and is told of each pause.

    A terminal sends a paste without one: of the end markers before the next pause, the last is the
    terminal's, and the others are pasted text. A paste whose end does not come is given out as far
    as it has come (``give_up``); what follows belongs to it until a key is pressed alone.
    """

    def __init__(self) -> None:
        self._half = ""  # the last keys, which may be the first half of a marker
        self._is_broken = False  # whether the paste was given out without its end
        self._paste: list[str] | None = None
        self._tail = ""  # of the paste: a marker can arrive in two pieces
        self._has_end = False

    @property
    def needs_pause(self) -> bool:
        """Return whether a pause decides what has come."""
        return bool(self._half) or self._has_end

    @property
    def unfinished(self) -> str:
        """Return what has come of a paste that has not ended."""
        return "".join(self._paste or ())

    def feed(self, text: str) -> Iterator[KeyInput | PasteInput]:
        """Yield what is certain by now."""
        if self._is_broken and not self._paste and _is_key(text):
            self._paste, self._tail, self._is_broken = None, "", False
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
            self._paste, self._tail = None, ""
            self._has_end = self._is_broken = False
            yield PasteInput(pasted)
        if keys:
            yield KeyInput(keys)

    def give_up(self) -> Iterator[PasteInput]:
        """Yield what has come of a paste whose end does not come."""
        if self._paste and not self._has_end:
            pasted, self._paste = "".join(self._paste), []
            self._is_broken = True
            yield PasteInput(pasted)

    def _collect(self, paste: list[str], text: str) -> None:
        seen = self._tail + text
        self._has_end = self._has_end or END in seen
        self._tail = seen[-len(END) :]
        paste.append(text)


def _is_key(text: str) -> bool:
    """Return whether this is one key, not a piece of a paste: a letter, or an escape sequence."""
    return len(text) == 1 or (text.startswith("\x1b") and text != END and len(text) <= _LONGEST_KEY)


def _count_half(keys: str) -> int:
    """Return how many of the last characters may begin a paste."""
    return next((size for size in range(len(BEGIN) - 1, 0, -1) if keys.endswith(BEGIN[:size])), 0)
