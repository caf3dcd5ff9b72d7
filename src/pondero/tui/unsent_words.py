"""What waits to be sent, on disk; at the end in a text file, if it cannot be written."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from secrets import token_hex

from ..errors import PonderoError
from ..store import Drafts, Threads, redact_secrets, write_in_folders

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
        self._emptied: set[str] = set()  # places whose words are gone, but not on disk
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
        except PonderoError as error:  # whatever this is, the chat continues
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
        self._emptied.discard(place)
        if not self._late:
            self.why_unsaved = self._why = None

    def _note_late(self, place: str, drafts: Drafts) -> None:
        if drafts != Drafts():
            self._late[place] = drafts
            self._emptied.discard(place)
        else:
            self._late.pop(place, None)
            self._emptied.add(place)

    def save_set_aside(
        self, threads: Threads | None, words: tuple[str, ...], *, patient: bool
    ) -> None:
        """Write the words that were set aside."""
        if words == self._set_aside:
            self.note_saved(SET_ASIDE)
        elif self.save(threads, SET_ASIDE, Drafts(set_aside=words), patient=patient):
            self._set_aside = words

    @property
    def has_late(self) -> bool:
        """Return whether words are not on disk."""
        return bool(self._late)

    def find_unwritten(self) -> dict[str, Drafts]:
        """Return what waits at each place and is not on disk; nothing, if that is what waits."""
        return {**dict.fromkeys(self._emptied, Drafts()), **self._late}

    def list_words(self) -> tuple[str, ...]:
        """Return the words that are not on disk."""
        return tuple(each for drafts in self._late.values() for each in _list_words(drafts))

    def write_again(self, threads: Threads | None) -> None:
        """Write what could not be written before."""
        for place, drafts in self.find_unwritten().items():
            if threads is not None:
                self.save(threads, place, drafts, patient=False)

    def describe_unwritten(self, why: str | None) -> str:
        """Return a line about words that are not on disk; empty if all are, or need not be."""
        why = (self._why or why) if self._late else None
        return f"what you typed and did not send was not saved: {why}" if why else ""

    def write_file(self, folders: Sequence[Path]) -> Path:
        """Write the words to a text file in one of these folders; raises OSError."""
        words = redact_secrets("\n\n".join(self.list_words())) + "\n"
        return write_in_folders(folders, f"pondero-{token_hex(4)}.txt", words)


def _list_words(drafts: Drafts) -> Iterator[str]:
    yield from (message.text for message in drafts.queue)
    yield from drafts.set_aside
    if drafts.typed:
        yield drafts.typed
