"""What the writers of one file share: turns and words that are not in it yet, and a rescue file."""

import shlex
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from ..errors import StoreError
from ..store import (
    RescuedTurn,
    RescuedWork,
    RescueFile,
    Threads,
    TurnJournal,
    data_folder,
    redact_secrets,
)
from .unsent_words import MOMENT, DraftRows
from .waiting_turns import WaitingTurn, describe_turns, describe_unsaved, write_turns

_USUAL = 0.25
"""Seconds that a chat waits for another program at once: the screen stands still meanwhile."""
_LAST = 0.5
"""The same, once, when the chat ends."""
_FILE = "threads.db"


class LateWriter(Protocol):
    """A conversation with turns that wait; ``is_left``: no tab has it any more."""

    is_left: bool

    @property
    def why_unsaved(self) -> str | None:
        """Return why they wait."""

    @property
    def waiting(self) -> tuple[WaitingTurn, ...]:
        """Return them."""

    @property
    def unwritten(self) -> RescuedTurn | None:
        """Return them as one, as they go into the file."""

    def write_waiting(self, *, quiet: bool = False) -> object:
        """Write them."""


class WriterFamily:
    """The file, what could not be written to it, and how many conversations there were.

    ``find``: opens the file that could not be opened before, within these seconds.
    """

    def __init__(self, threads: Threads | None, find: Callable[[float], Threads] | None) -> None:
        self.threads = threads
        self.drafts: DraftRows = DraftRows()
        self.late: list[LateWriter] = []
        self.count = 1
        self.lost: tuple[str, ...] = ()
        self._find = find
        self._journals: dict[TurnJournal, LateWriter | None] = {}
        self._rescue: RescueFile | None = None
        if threads is not None:
            self._use(threads)
        elif find is not None:
            self._rescue = RescueFile(Path(data_folder()) / _FILE)

    def _use(self, threads: Threads) -> None:
        self.threads = threads
        threads.shorten_patience(_USUAL)
        self._rescue = RescueFile(threads.path)

    def open_again(self) -> None:
        """Open the file, if that was not possible before and is now."""
        if self.threads is None and self._find is not None:
            with suppress(StoreError):
                before, threads = self._rescue, self._find(MOMENT)
                self._use(threads)
                if before is not None:
                    before.remove()
                self.write_rescue()

    @property
    def why_late(self) -> str | None:
        """Return why something is not in the file; None if all is."""
        if self.late:
            return self.late[0].why_unsaved
        begun = (str(each.failure) for each in self._journals if each.failure is not None)
        return next(begun, self.drafts.why_unsaved)

    def add_journal(self, journal: TurnJournal, writer: LateWriter | None) -> None:
        """Note a turn that begins; it has what waits in ``writer``."""
        self._journals[journal] = writer

    def remove_journal(self, journal: TurnJournal | None) -> None:
        """Forget a turn that is over: its writer has it."""
        if journal is not None:
            self._journals.pop(journal, None)

    # -- the end ----------------------------------------------------------------------------------

    def close(self, why: str | None) -> tuple[str, ...]:
        """Write what can still be written, and close the file; return lines about the rest.

        ``why``: nothing is saved. Texts that no disk took are in ``lost`` afterwards.
        """
        self._write_all()
        if (threads := self.threads) is not None:
            with suppress(StoreError):
                threads.recover_turns(own=True)
        lines = self._rescue_all(why)
        if threads is not None:
            threads.close()
        return lines

    def _write_all(self) -> None:
        """Write all; after another program's lock was waited for once, without a wait."""
        if self.threads is None:
            return
        self.threads.shorten_patience(_LAST)
        for each in tuple(self.late):
            each.write_waiting()
            if each in self.late:
                self.threads.shorten_patience(MOMENT)
        if self.drafts.has_late:
            self.threads.shorten_patience(MOMENT)
        self.drafts.write_again(self.threads)

    def _rescue_all(self, why: str | None) -> tuple[str, ...]:
        late = [each for each in self.late if each.why_unsaved]
        unsent = self.drafts.describe_unwritten(why)
        if not late and not unsent:
            with suppress(OSError, StoreError):
                self.write_rescue(has_ended=True)
            return ()
        is_rescued = self._try_rescue()
        kept: list[Path] = []
        lines = [self._rescue_turns(each, kept, is_rescued=is_rescued) for each in late]
        if unsent:
            lines.append(self._rescue_words(unsent, kept, is_rescued=is_rescued))
        if is_rescued and kept:
            self._try_rescue(tuple(map(str, kept)))
        return tuple(lines)

    def _try_rescue(self, files: Sequence[str] = ()) -> bool:
        try:
            return self.write_rescue(files=files, has_ended=True) is not None
        except (OSError, StoreError):
            return False

    def _rescue_turns(self, writer: LateWriter, kept: list[Path], *, is_rescued: bool) -> str:
        said = describe_unsaved(writer.waiting, writer.why_unsaved or "")
        try:
            kept.append(write_turns(writer.waiting, self._folders))
        except OSError as error:
            return self._give_up(said, error, describe_turns(writer.waiting), is_rescued=is_rescued)
        by_hand = f"pondero threads import {shlex.quote(str(kept[-1]))}"
        later = f"the next chat does it, or {by_hand}" if is_rescued else by_hand
        return f"{said}. For later: {later}"

    def _rescue_words(self, said: str, kept: list[Path], *, is_rescued: bool) -> str:
        try:
            kept.append(self.drafts.write_file(self._folders))
        except OSError as error:
            words = redact_secrets("\n\n".join(self.drafts.list_words()))
            return self._give_up(said, error, words, is_rescued=is_rescued)
        later = ", and the next chat has it again" if is_rescued else ""
        return f"{said}. It is in {kept[-1]}{later}"

    def _give_up(self, said: str, error: OSError, text: str, *, is_rescued: bool) -> str:
        if is_rescued and self._rescue is not None:
            return f"{said}. The next chat reads it from {self._rescue.path}"
        self.lost = (*self.lost, text)
        return f"{said}; nor in another file: {error}. It is printed here, and nowhere else"

    @property
    def _folders(self) -> list[Path]:
        """Return where readable copies go: the temporary folder first."""
        found = self._rescue.folders if self._rescue is not None else []
        return sorted(found, key=lambda each: str(each) != tempfile.tempdir)

    # -- the rescue file --------------------------------------------------------------------------

    @property
    def has_late(self) -> bool:
        """Return whether something is not in the file, turns under way included."""
        return bool(self._find_work().turns) or self.drafts.has_late

    @property
    def rescue(self) -> RescueFile | None:
        """Return the rescue file; None if nothing is to be saved."""
        return self._rescue

    def write_rescue(self, *, files: Sequence[str] = (), has_ended: bool = False) -> Path | None:
        """Write what waits to the rescue file; return where it is. None if nothing waits.

        Raises OSError or StoreError if no folder takes it, and the chat has ended.
        """
        if self._rescue is None:
            return None
        work = self._find_work(files)
        if not work.turns and not self.drafts.has_late:
            self._rescue.remove()
            return None
        try:
            return self._rescue.write(work, has_ended=has_ended)
        except (OSError, StoreError):
            if has_ended:
                raise
            return None

    def _find_work(self, files: Sequence[str] = ()) -> RescuedWork:
        begun = [each.unwritten for each in self._journals]
        covered = [writer for writer in self._journals.values() if writer is not None]
        waiting = [each.unwritten for each in self.late if each not in covered]
        owner = self.threads.owner if self.threads is not None else None
        return RescuedWork(
            tuple(each for each in (*waiting, *begun) if each is not None),
            self.drafts.find_unwritten(),
            owner or "",
            tuple(files),
        )
