"""A file for turns and words that the database cannot take; the next program reads it.

It has rows of the tables ``unfinished`` and ``drafts``. If the disk is full or another program
holds a lock, they are in the first folder that has room; ``TurnLog.take_rescued`` makes rows of
them, and ``Threads.recover_turns`` turns.
"""

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from platform import node
from secrets import token_hex
from tempfile import gettempdir
from time import time

from msgspec import Struct

from ...canon import load_json
from ...errors import PonderoError
from ..secrets import SecretRedactor
from .records import Drafts, UnfinishedTurn
from .rows import encode_text

_NAME = "pondero-*.rescue"
_ELSEWHERE = 3600.0
"""Seconds after which the file of another computer was left behind."""
_SHARED = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - _is_own checks what is read there


class RescuedTurn(Struct, frozen=True, omit_defaults=True):
    """A turn, and the rows among the unfinished ones that it takes the place of."""

    turn: UnfinishedTurn
    rows: tuple[int, ...] = ()


class RescuedWork(Struct, frozen=True, omit_defaults=True):
    """All that a chat could not write: turns, and the drafts of each place.

    ``owner``: the chat in the tables. ``files``: readable copies of it, which go with it.
    """

    turns: tuple[RescuedTurn, ...] = ()
    drafts: dict[str, Drafts] = {}
    owner: str = ""
    files: tuple[str, ...] = ()


class _Process(Struct, frozen=True):
    number: int
    began: str
    computer: str


class _Contents(Struct, frozen=True):
    pondero_rescue: int
    database: str
    process: _Process
    has_ended: bool
    work: RescuedWork


class RescueFile:
    """The file of one chat; ``write`` replaces it, ``remove`` is for when nothing waits."""

    def __init__(self, database: Path, secrets: Sequence[str] = ()) -> None:
        self._database = _absolute(database)
        self._secrets = secrets
        self._token = token_hex(8)
        self._path: Path | None = None
        self._last: RescuedWork | None = None

    @property
    def path(self) -> Path | None:
        """Return where it is; None if there is none."""
        return self._path

    def write(self, work: RescuedWork, *, has_ended: bool = False) -> Path:
        """Write all of it to the first folder that takes it; raises OSError or StoreError.

        ``has_ended``: another chat may read it from now on, even in this process.
        """
        same = work == self._last and not has_ended
        if self._path is not None and same and self._path.exists():
            return self._path
        clean = SecretRedactor(self._secrets).value(work)
        contents = _Contents(1, str(self._database), _this_process(), has_ended, clean)
        text = encode_text(contents)
        name = _NAME.replace("*", self._token)
        before, self._path = self._path, write_in_folders(self.folders, name, text)
        if before not in (None, self._path):
            _unlink(before)
        self._last = work
        return self._path

    @property
    def folders(self) -> list[Path]:
        """Return the folders to try, the database's first."""
        return list_folders(self._database)

    def remove(self) -> None:
        """Remove it: all is in the database."""
        _unlink(self._path)
        self._path = self._last = None


def list_folders(database: Path) -> list[Path]:
    """Return where a rescue file may be."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    temporary = (os.environ.get("TMPDIR", ""), _find_temporary())
    named = (str(database.parent), runtime, *temporary, *_SHARED, str(Path.home()))
    folders = [Path(each) for each in dict.fromkeys(named) if each]
    return [each for each in folders if each.is_dir()]


def _find_temporary() -> str:
    try:
        found = gettempdir()
        # Where no other has room it is the working folder: the next chat may begin in another.
        return "" if Path(found) == Path.cwd() else found
    except OSError:  # it tries to write, and no disk has room
        return ""


def write_in_folders(folders: Sequence[Path], name: str, text: str) -> Path:
    """Write a private file in the first folder that takes all of it; raises OSError."""
    data = text.encode("utf-8", "replace")
    failed: OSError | None = None
    for folder in folders:
        half = folder / f".{name}.half"
        try:
            _write_private(half, data)
            return half.replace(folder / name)
        except OSError as error:
            failed = failed or error
            _unlink(half)
    raise failed or FileNotFoundError("no folder can be written")


def find_rescued(database: Path) -> Iterator[tuple[Path, RescuedWork]]:
    """Yield the files that ended programs left for this database."""
    database = _absolute(database)
    for folder in list_folders(database):
        for path in _list_files(folder):
            with suppress(OSError, PonderoError, ValueError):
                if not _is_own(path):
                    continue
                contents = load_json(path.read_text("utf-8"), _Contents)
                alive = not contents.has_ended and _is_alive(contents.process, path)
                if contents.database == str(database) and not alive:
                    yield path, contents.work


def _list_files(folder: Path) -> list[Path]:
    try:
        return sorted(folder.glob(_NAME))
    except OSError:  # it is gone, or another user's
        return []


def remove_rescued(path: Path, work: RescuedWork) -> None:
    """Remove a file that was read, and its readable copies."""
    _unlink(path)
    for file in work.files:
        if Path(file).name.startswith("pondero-"):
            _unlink(Path(file))


def _write_private(path: Path, data: bytes) -> None:
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
    _unlink(path)
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())  # some file systems say only now that there is no room


def _unlink(path: Path | None) -> None:
    if path is not None:
        with suppress(OSError):
            path.unlink()


def _absolute(path: Path) -> Path:
    return path.absolute()


def _is_own(path: Path) -> bool:
    """Return whether this user wrote a file: anyone may write to some of the folders."""
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode):
        return False
    return sys.platform == "win32" or (found.st_uid == os.getuid() and not found.st_mode & 0o77)


def _this_process() -> _Process:
    number = os.getpid()
    return _Process(number, _find_start(number) or "", node())


def _find_start(number: int) -> str | None:
    """Return when a process began, in units of the system; None if that is not known."""
    try:
        after_name = Path(f"/proc/{number}/stat").read_text("ascii", "replace").rpartition(")")[2]
    except OSError:
        return None
    return after_name.split()[19]


def _is_alive(process: _Process, path: Path) -> bool:
    if process.computer != node():
        return time() - path.stat().st_mtime < _ELSEWHERE
    if sys.platform == "win32":  # a signal 0 would end it
        return process.number != os.getpid() and time() - path.stat().st_mtime < _ELSEWHERE
    if process.began:
        return _find_start(process.number) == process.began
    try:
        os.kill(process.number, 0)
    except OSError:
        return False
    return True
