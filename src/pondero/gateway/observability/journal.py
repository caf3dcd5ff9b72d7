"""The journal: each record is on disk from the end of its request until the ledger has it.

A process appends to one of two private files while its ledger reads the other. It holds a lock on
both, which the system releases however the process ends; then any process may bring them in.
Nothing is synced: the files survive a killed process, not a power failure.
"""

import logging
import os
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from threading import Lock

from .background_work import MOST

LOG = logging.getLogger("pondero.gateway")

ENDING = ".jsonl"
_CHUNK = 1024 * 1024  # bytes
_REMEMBERED = 10_000  # records of a file; with more, it is read
_TRIES = 3
_BINARY = getattr(os, "O_BINARY", 0)


class JournalFile:
    """A file of lines. ``size``: its bytes; ``done``: those whose lines the ledger has.

    ``records``: what its lines say, so that it need not be read; None if it must be.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.size: int = os.fstat(descriptor).st_size
        self.done: int = 0
        self.records: list[object] | None = None if self.size else []
        self._descriptor = descriptor

    def append(self, lines: bytes, records: Sequence[object] = ()) -> bool:
        """Append some lines; return False if they did not fit.

        ``records``: what they say, unless the ledger has no use for it.
        """
        try:
            wrote = os.write(self._descriptor, lines)
        except OSError:
            return False
        if wrote == len(lines):
            self.size += wrote
            if records and self.records is not None:
                self.records += records
                if len(self.records) > _REMEMBERED:
                    self.records = None
            return True
        os.ftruncate(self._descriptor, self.size)  # the disk is full: no half lines
        return False

    def chunks(self) -> Iterator[list[bytes]]:
        """Yield the lines that the ledger does not have; the caller writes each list.

        A process that was killed while it wrote leaves half a line at the end, which is omitted.
        """
        while self.done < self.size:
            os.lseek(self._descriptor, self.done, os.SEEK_SET)  # appending ignores it
            data = os.read(self._descriptor, _CHUNK)
            end = data.rfind(b"\n") + 1
            if end == 0 and len(data) == _CHUNK:  # a line is never this long
                LOG.error("%s has %s bytes that are not a record", self.path, _CHUNK)
                end = _CHUNK
            elif end == 0:
                return
            yield data[:end].splitlines()
            self.done += end

    def clear(self) -> None:
        """Remove all lines."""
        os.ftruncate(self._descriptor, 0)
        self.size = self.done = 0
        self.records = []

    def close(self, *, delete: bool) -> None:
        """Close it; the lock ends with it."""
        if delete:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)
        os.close(self._descriptor)


class Journal:
    """The records of this process that the ledger does not have; ``append`` is for any thread.

    ``lost``: the records that were lost because neither the disk nor the memory had room.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()
        self._files: list[JournalFile] = []  # the first is appended to, the second is read
        self._held: deque[bytes] = deque()
        self._full = False
        self.lost: int = 0
        self.open()

    @property
    def is_open(self) -> bool:
        """Return whether there is a file to append to."""
        return bool(self._files)

    @property
    def held(self) -> int:
        """Return how many records are in memory only."""
        return len(self._held)

    def open(self) -> None:
        """Create the files, if the disk lets us."""
        try:
            while len(self._files) < 2:
                self._files.append(_create(self._folder))
        except OSError as error:
            LOG.debug("no journal in %s: %s", self._folder, error)

    def append(
        self, lines: bytes, records: Sequence[object] = (), *, is_needed: bool = True
    ) -> None:
        """Save lines that end with a newline; see ``JournalFile.append``.

        ``is_needed``: they wait in memory if the disk is full.
        """
        with self._lock:
            if self._files and self._files[0].append(lines, records):
                self._full = False
            elif is_needed:
                self._hold(lines.splitlines(keepends=True))

    def find_full(self) -> JournalFile | None:
        """Return a file with records, to which nothing is appended until it is cleared."""
        with self._lock:
            if len(self._files) < 2:
                return None
            if not self._files[1].size:
                self._files.reverse()
            return self._files[1] if self._files[1].size else None

    def take_held(self) -> list[bytes]:
        """Return the records that are in memory only, which are then the caller's."""
        with self._lock:
            lines, self._held = list(self._held), deque()
        return lines

    def save(self, lines: list[bytes]) -> None:
        """Save these lines again, on disk if there is room by now."""
        with self._lock:
            saved = 0
            while self._files and saved < len(lines) and self._files[0].append(lines[saved]):
                self._files[0].records = None  # what these lines say is on disk alone
                saved += 1
            newer, self._held = self._held, deque(lines[saved:])
            self._hold(newer)

    def find_abandoned(self) -> Iterator[JournalFile]:
        """Yield the files of processes that have ended, the oldest first; the caller closes each.

        Of the two files of a process, the newer one has what was said later about a request.
        """
        ours = {file.path for file in self._files}
        for path in sorted(self._folder.glob(f"*{ENDING}"), key=_find_time):
            if path in ours:
                continue
            try:
                descriptor = os.open(path, os.O_RDWR | _BINARY)
            except OSError:
                continue  # another process was quicker
            if _take_lock(descriptor):
                yield JournalFile(path, descriptor)
            else:
                os.close(descriptor)

    def close(self) -> None:
        """Close the files; those with records stay, and wait for the next process."""
        with self._lock:
            files, self._files = self._files, []
            for file in files:
                file.close(delete=not file.size)

    def _hold(self, lines: "deque[bytes] | list[bytes]") -> None:
        self._held += lines
        if self._held and not self._full:
            LOG.error("records find no room in %s and wait in memory", self._folder)
            self._full = True
        while len(self._held) > MOST:
            self._held.popleft()
            self.lost += 1


def _find_time(path: Path) -> tuple[int, str]:
    """Return what sorts files by their last line."""
    try:
        return path.stat().st_mtime_ns, path.name
    except OSError:  # another process was quicker
        return 0, path.name


def _create(folder: Path) -> JournalFile:
    """Create a file that is ours; raises OSError."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for _ in range(_TRIES):
        path = folder / f"{token_hex(8)}{ENDING}"
        flags = os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_RDWR | _BINARY
        descriptor = os.open(path, flags, 0o600)
        # Before the lock, another process may have taken it for an abandoned one and deleted it.
        if _take_lock(descriptor) and path.exists():
            return JournalFile(path, descriptor)
        os.close(descriptor)
        path.unlink(missing_ok=True)
    message = f"no file in {folder} can be locked"
    raise OSError(message)


if sys.platform == "win32":

    def _take_lock(_descriptor: int) -> bool:
        return True  # an open file cannot be deleted, which is the only harm

else:
    from fcntl import LOCK_EX, LOCK_NB, flock

    def _take_lock(descriptor: int) -> bool:
        try:
            flock(descriptor, LOCK_EX | LOCK_NB)
        except OSError:
            return False
        return True
