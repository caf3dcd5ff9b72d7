"""Owners of ids that the file of owners does not have yet, on disk for all workers.

A process appends to journals of its own, which costs a thousandth of a transaction, and moves many
owners into the file at once. Others read the journals too. Those of a killed process stay until
another one moves them.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import msgspec

from ...canon import load_json
from ...errors import StoreError
from ..observability.journal import ENDING, Journal, JournalFile


class Owner(NamedTuple):
    """The name of a record, the record, and until when it holds."""

    name: str
    record: bytes
    until: float


class OwnerJournal:
    """The journals of one process; ``write`` stores owners in the file, and raises StoreError."""

    def __init__(self, folder: Path, write: Callable[[Sequence[Owner]], None]) -> None:
        self._folder = folder
        self._write = write
        self._journal: Journal | None = None
        self._unsaved: list[Owner] = []  # for one thread
        self._lock = Lock()  # of moves, which keep the order of the lines

    def append(self, owners: Sequence[Owner]) -> bool:
        """Save owners for all processes; return False if no journal can be written."""
        if not self.add(owners):
            return False
        self.flush()
        return True

    def add(self, owners: Sequence[Owner]) -> bool:
        """Save them with the next ``flush``, which must come before a client has their ids."""
        # Opened at the first use: a lock must not pass a fork.
        journal = self._journal = self._journal or Journal(self._folder)
        if not journal.is_open:
            return False
        self._unsaved += owners
        return True

    def flush(self) -> None:
        """Save all that were added, in one write."""
        if self._unsaved and self._journal is not None:
            owners, self._unsaved = self._unsaved, []
            lines = [*map(msgspec.json.encode, owners), b""]
            self._journal.append(b"\n".join(lines), owners)

    def move(self) -> None:
        """Move all owners of this process, and of those that have ended, into the file."""
        if (journal := self._journal) is None:
            return
        with self._lock:
            for file in journal.find_abandoned():
                self._move_file(file)
                file.close(delete=True)
            while (full := journal.find_full()) is not None:
                self._move_file(full)
                full.clear()
            if held := journal.take_held():  # the disk was full
                try:
                    self._write(list(_parse(held)))
                except StoreError:
                    journal.save(held)
                    raise

    def _move_file(self, file: JournalFile) -> None:
        if file.records is not None:
            self._write(file.records)  # type: ignore[arg-type]  # those that ``append`` gave it
            return
        for lines in file.chunks():
            self._write(list(_parse(lines)))

    def find(self, names: Collection[str], now: float) -> dict[str, Owner]:
        """Return the newest owners of these names in the journals of all processes."""
        found: dict[str, Owner] = {}
        for path in self._folder.glob(f"*{ENDING}"):
            try:
                lines = path.read_bytes().splitlines(keepends=True)
            except OSError:
                continue  # another process has moved it
            # The last line may be half written; its id has not been given to anybody.
            for owner in _parse(line for line in lines if line.endswith(b"\n")):
                known = found.get(owner.name)
                is_newer = known is None or known.until <= owner.until
                if owner.name in names and owner.until > now and is_newer:
                    found[owner.name] = owner
        return found

    def close(self) -> None:
        """Close the journals; one with owners waits for the next process."""
        journal, self._journal = self._journal, None
        if journal is not None:
            journal.close()

    def __del__(self) -> None:
        self.close()


def _parse(lines: Iterable[bytes]) -> Iterator[Owner]:
    for line in lines:
        try:
            yield load_json(line, Owner)
        except ValueError:  # of a process that was killed
            continue
