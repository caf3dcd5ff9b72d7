"""What waits to be sent, on disk; at the end in a text file, if it cannot be written."""

import os
from collections.abc import Iterator
from contextlib import nullcontext
from tempfile import mkstemp

from ..errors import StoreError
from ..store import Drafts, Threads, redact_secrets

MOMENT = 0.02
"""Seconds that a writing on the side waits for another program: the screen stands still."""
SET_ASIDE = "+0"
"""Where the words are that were set aside; they belong to no thread."""


class DraftRows:
    """The drafts of all conversations of a chat, each at its place: a thread, or a new one.

    ``why_unsaved``: why some are not on disk, unless another program just wrote for a moment.
    """

    def __init__(self) -> None:
        self.why_unsaved: str | None = None
        self._late: dict[str, Drafts] = {}
        self._why: str | None = None
        self._set_aside: tuple[str, ...] = ()

    def save(
        self, threads: Threads | None, place: str, drafts: Drafts, *, patient: bool = True
    ) -> bool:
        """Write what waits at a place; return whether that was done."""
        if threads is None:
            self._note_late(place, drafts)
            return False
        try:
            with nullcontext() if patient else threads.patience(MOMENT):
                threads.save_drafts(place, drafts)
        except StoreError as error:
            self._why = str(error)
            if patient or place in self._late:
                self.why_unsaved = self._why
            self._note_late(place, drafts)
            return False
        self.note_saved(place)
        return True

    def note_saved(self, place: str) -> None:
        """Note that what waits at a place is on disk, as it was before a writing that failed."""
        self._late.pop(place, None)
        if not self._late:
            self.why_unsaved = self._why = None

    def _note_late(self, place: str, drafts: Drafts) -> None:
        if drafts != Drafts():
            self._late[place] = drafts
        else:
            self._late.pop(place, None)

    def save_set_aside(
        self, threads: Threads | None, words: tuple[str, ...], *, patient: bool
    ) -> None:
        """Write the words that were set aside."""
        if words == self._set_aside:
            self.note_saved(SET_ASIDE)
        elif self.save(threads, SET_ASIDE, Drafts(set_aside=words), patient=patient):
            self._set_aside = words

    def close(self, threads: Threads | None, why: str | None) -> tuple[str, ...]:
        """Write what could not be written, or else a text file; return the line that names it."""
        for place, drafts in tuple(self._late.items()):
            if threads is not None:
                self.save(threads, place, drafts, patient=False)
        if not self._late or not (why := self._why or why):
            return ()
        said = f"what you typed and did not send was not saved: {why}"
        try:
            return (f"{said}. It is in {self._write_file()}",)
        except OSError as error:
            return (f"{said}; nor in another file: {error}",)

    def _write_file(self) -> str:
        words = (each for drafts in self._late.values() for each in _list_words(drafts))
        handle, name = mkstemp(prefix="pondero-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(redact_secrets("\n\n".join(words)) + "\n")
        return name


def _list_words(drafts: Drafts) -> Iterator[str]:
    yield from (message.text for message in drafts.queue)
    yield from drafts.set_aside
    if drafts.typed:
        yield drafts.typed
