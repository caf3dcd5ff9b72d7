"""One SQLite file: migrated when opened, and written in transactions.

Only this file handles SQLite's errors; callers get a StoreError with a message for users.
"""

import os
import shlex
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from errno import EACCES, ENOSPC, EPERM, EROFS
from pathlib import Path
from threading import RLock
from typing import Any

from msgspec import Struct

from ...errors import StoreError, UsageError

BUSY = 10.0
"""Seconds to wait for another program's write to end."""
_LOOK = 1.0  # seconds that a process may look whether a lock is held


class Schema(Struct, frozen=True):
    """The migrations of a file, and a short query that finds damage when the file is opened."""

    migrations: tuple[tuple[str, ...], ...]
    probe: str

    @property
    def version(self) -> int:
        """Return the version that this program writes."""
        return len(self.migrations)


_MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE threads (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            title TEXT NOT NULL,
            model TEXT NOT NULL,
            thinking TEXT NOT NULL,
            system TEXT NOT NULL,
            created REAL NOT NULL,
            updated REAL NOT NULL,
            parent TEXT,
            turns INTEGER NOT NULL DEFAULT 0,
            messages INTEGER NOT NULL DEFAULT 0,
            input INTEGER, cache_read INTEGER, cache_write INTEGER, output INTEGER,
            thought INTEGER, total INTEGER, cost TEXT
        )""",
        "CREATE INDEX threads_by_age ON threads (updated DESC, number DESC)",
        """CREATE TABLE kept (
            row INTEGER PRIMARY KEY AUTOINCREMENT,
            thread TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
            number INTEGER NOT NULL,
            turn INTEGER NOT NULL,
            at REAL NOT NULL,
            role TEXT NOT NULL,
            model TEXT, level TEXT,
            input INTEGER, cached INTEGER, output INTEGER, thought INTEGER,
            cost TEXT, seconds REAL,
            words TEXT NOT NULL,
            body TEXT NOT NULL,
            UNIQUE (thread, number)
        )""",
    ),
    # A fork holds copies, whose cost must count once.
    (
        "ALTER TABLE kept ADD COLUMN copied INTEGER NOT NULL DEFAULT 0",
        "CREATE INDEX kept_by_age ON kept (at)",
    ),
    ("ALTER TABLE threads ADD COLUMN refusals TEXT NOT NULL DEFAULT '[]'",),
    # The emulator's answers cost nothing.
    ("ALTER TABLE kept ADD COLUMN offline INTEGER NOT NULL DEFAULT 0",),
    # Origins did not say that the emulator wrote an answer: no service may get what it signed. The
    # answers of recordings are marked as well: nothing tells them from the emulator's.
    (
        """UPDATE kept SET body = json_set(body, '$.message.origin.emulator', 'offline')
        WHERE offline AND json_valid(body) AND json_type(body, '$.message.origin') = 'object'""",
    ),
    # A turn under way, and prompts that were not sent, survive a killed process.
    (
        """CREATE TABLE IF NOT EXISTS unfinished (
            number INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, body TEXT NOT NULL
        )""",
        """CREATE TABLE IF NOT EXISTS drafts (
            owner TEXT NOT NULL, thread TEXT NOT NULL, body TEXT NOT NULL,
            PRIMARY KEY (owner, thread)
        )""",
    ),
    # 0.1.0 did not mark the emulator's answers; its own sentences tell them from a service's. The
    # index had visible text alone: the next search builds it again, with everything.
    (
        """UPDATE kept SET offline = 1, body = json_set(json_set(body, '$.offline', json('true')),
            '$.message.origin.emulator', 'offline')
        WHERE role = 'assistant' AND NOT offline AND json_valid(body)
            AND json_type(body, '$.message.origin') = 'object'
            AND (words LIKE '%I am an emulator; this is all I can say to it.%'
                OR (coalesce(seconds, 0) < 0.5
                    AND json_extract(body, '$.message.parts[0].type') = 'thinking'
                    AND json_extract(body, '$.message.parts[0].text') LIKE 'The question is "%')
                OR (coalesce(seconds, 0) < 0.5  -- a sum, of a model that did not think
                    AND words GLOB '[0-9]* [-+*/] [0-9]* = *[0-9]'
                    AND words NOT GLOB '*[a-zA-Z]*')
            )""",
        "DROP TABLE IF EXISTS search",
    ),
)
THREADS = Schema(_MIGRATIONS, "SELECT id FROM threads ORDER BY updated DESC LIMIT 1")
VERSION = THREADS.version


class Database:
    """A connection that threads may share; every write is one transaction.

    ``read_only``: until the file can be written. ``alone``: lock other programs out, and need no
    room on the disk next to the file. ``patience``: how long it may wait while it is opened.
    """

    def __init__(
        self,
        path: Path,
        schema: Schema = THREADS,
        *,
        read_only: bool = False,
        alone: bool = False,
        patience: float = BUSY,
    ) -> None:
        self.path = path
        self._schema = schema
        self.is_alone = alone
        self._lock = RLock()
        self._patience = patience
        self._usual = BUSY
        self._closed = False
        self._file: tuple[int, int] | None = None
        with _translate_errors(path):
            if read_only:
                self._connection = _migrated_copy(_connect_or_empty(path), schema)
                with _close_on_error(self._connection):
                    self._check()
            else:
                self._connect()
        self._set_patience(BUSY)

    def _connect(self) -> None:
        _create(self.path)
        self._connection = sqlite3.connect(
            self.path, timeout=self._patience, isolation_level=None, check_same_thread=False
        )
        self._file = _identify(self.path)
        with _close_on_error(self._connection):
            self._prepare()

    @property
    def is_read_only(self) -> bool:
        """Return whether the file could not be written when it was opened, and since."""
        return self._file is None

    def _follow(self) -> None:
        """Connect again if the file was deleted or replaced: what is written there is lost.

        Also if it could only be read, and can be written now.
        """
        if self._closed or self._connection.in_transaction:
            return
        if self._file is None:
            if _may_write(self.path):
                with suppress(StoreError, sqlite3.Error, OSError):
                    self._connect_again()
        elif _identify(self.path) != self._file:
            self._connect_again()

    def _connect_again(self) -> None:
        before, file = self._connection, self._file
        try:
            self._connect()
        except BaseException:
            self._connection, self._file = before, file
            raise
        before.close()

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with self._lock, _translate_errors(self.path):
            self._follow()
            return self._connection.execute(sql, values).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run one transaction, committed whole or rolled back."""
        with self._lock, _translate_errors(self.path):
            self._follow()
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # a full disk may have ended it already
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def patience(self, seconds: float) -> Iterator[None]:
        """Wait only so long for another program, or for another thread of this one."""
        if not self._lock.acquire(timeout=seconds):
            message = f"another thread is writing to {self.path}"
            raise StoreError(message) from TimeoutError(message)
        try:
            self._set_patience(seconds)
            yield
        finally:
            self._set_patience(self._usual)
            self._lock.release()

    def shorten_patience(self, seconds: float) -> None:
        """Wait only so long for another program from now on."""
        with self._lock:
            self._usual = seconds
            self._set_patience(seconds)

    def _set_patience(self, seconds: float) -> None:
        self._patience = seconds
        with suppress(sqlite3.Error):  # it was closed: what follows says so
            self._connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")

    @contextmanager
    def transaction_in_place(self) -> Iterator[sqlite3.Connection]:
        """Run a transaction that takes no room on the disk, for a disk that is full.

        What it changes is remembered in memory alone, so a crash within it can damage the file.
        """
        with self._lock, _translate_errors(self.path):
            execute = self._connection.execute
            execute("PRAGMA wal_checkpoint(TRUNCATE)")
            execute("PRAGMA journal_mode = MEMORY")
        try:
            with self.transaction() as connection:
                yield connection
        finally:
            with self._lock, suppress(sqlite3.Error):  # the next opening does it, if this cannot
                self._connection.execute("PRAGMA journal_mode = WAL")

    def compact(self) -> None:
        """Rewrite the file without its free pages, and empty the write-ahead log."""
        self.rows("VACUUM")
        self.settle()

    def settle(self) -> None:
        """Move the write-ahead log into the file, so that it keeps no deleted page."""
        self.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    def aggregate(self, name: str, kind: type) -> None:
        """Register a class as an SQL aggregate function."""
        with self._lock, _translate_errors(self.path):
            self._follow()
            self._connection.create_aggregate(name, 1, kind)

    def close(self) -> None:
        """Close it; may be called twice."""
        with self._lock:
            self._closed = True
            self._connection.close()

    def _prepare(self) -> None:
        execute = self._connection.execute
        if self.is_alone:
            execute("PRAGMA locking_mode = EXCLUSIVE")  # the log's index is then in memory
        execute("PRAGMA foreign_keys = ON")
        execute("PRAGMA synchronous = NORMAL")  # in WAL: survives a killed process
        execute("PRAGMA secure_delete = ON")  # overwrites deleted rows
        self._log_ahead()
        ours = self._schema.version
        if self._version() < ours:
            self._migrate()
        self._check()

    def _check(self) -> None:
        ours = self._schema.version
        if (version := self._version()) > ours:
            message = (
                f"{self.path} was written by a newer pondero (form {version}; this one reads "
                f"{ours}); update pondero, or name another folder with PONDERO_DATA_DIR"
            )
            raise StoreError(message)
        self._connection.execute(self._schema.probe).fetchall()

    def _log_ahead(self) -> None:
        """Switch to WAL; SQLite does not wait for another program that does the same."""
        deadline = time.monotonic() + self._patience
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if not _is_sqlite_error(error, "SQLITE_BUSY") or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return

    def _version(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def _migrate(self) -> None:
        with self.transaction() as connection:
            for number, steps in enumerate(self._schema.migrations, 1):
                if number > self._version():  # read again: another program may have migrated it
                    for step in steps:
                        connection.execute(step)
                    connection.execute(f"PRAGMA user_version = {number}")


@contextmanager
def hold_lock(
    path: Path, busy: str, *, patience: float = _LOOK, named: Path | None = None
) -> Iterator[None]:
    """Hold a lock next to a file; raises UsageError(busy) if another process has it.

    It is a lock of SQLite, which the system releases if the process is killed. It waits for
    ``is_locked`` of another process, which takes a moment. ``named``: the file that an error is
    about, if the user does not know the one of the lock.
    """
    with _translate_errors(named or path):
        # A turn's own thread may take it, and another one gives it back.
        name = path.with_suffix(".lock")
        lock = sqlite3.connect(name, timeout=patience, check_same_thread=False)
    try:
        with _translate_errors(named or name):
            lock.execute("BEGIN EXCLUSIVE")
    except StoreError as error:
        lock.close()
        if is_busy(error.__cause__):
            raise UsageError(busy) from None
        raise
    try:
        yield
    finally:
        lock.close()


def is_locked(path: Path) -> bool:
    """Return whether a process has the lock next to a file."""
    lock = sqlite3.connect(path.with_suffix(".lock"), timeout=0)
    try:
        lock.execute("SELECT 1 FROM sqlite_schema")
    except sqlite3.OperationalError:
        return True
    finally:
        lock.close()
    return False


def open_database(path: Path, *, patience: float = BUSY) -> tuple[Database, str | None]:
    """Return the database, and a notice if it was damaged, is read-only, or its disk is full."""
    try:
        return Database(path, patience=patience), None
    except StoreError as error:
        if is_full(error.__cause__):
            said = f"the disk is full: nothing is saved in {path} until you make room"
            return Database(path, alone=True, patience=patience), said
        if _is_unwritable(error.__cause__) and path.is_file():
            said = f"{path} can only be read; nothing is saved there"
            return Database(path, read_only=True), said
        if _is_forbidden(error.__cause__) and not path.exists():
            said = f"{path} cannot be written; nothing is saved there"
            return Database(path, read_only=True), said
        if not _is_damage(error.__cause__):
            raise
    moved = _move_aside(path)
    notice = (
        f"{path} was damaged; it was moved to {moved}, and a new one begun. For what can still be "
        f"read of it: pondero threads salvage {shlex.quote(str(moved))}"
    )
    return Database(path), notice


def _connect_or_empty(path: Path) -> sqlite3.Connection:
    """Return a connection that only reads; to an empty database if there is no file."""
    if path.is_file():
        return connect_to_read(path)
    return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Return a connection that writes nothing, not even a log next to the file."""
    log = path.with_name(f"{path.name}-wal")
    # Without a log, the file is all there is, and it can be read where nothing can be written.
    mode = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}",
        uri=True,
        timeout=BUSY,
        isolation_level=None,
        check_same_thread=False,
    )


def _migrated_copy(connection: sqlite3.Connection, schema: Schema) -> sqlite3.Connection:
    """Return the connection, or one to a copy in memory if the file has an older form."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version >= schema.version:
        return connection
    copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    with connection:
        connection.backup(copy)
    connection.close()
    for steps in schema.migrations[version:]:
        for step in steps:
            copy.execute(step)
    copy.execute(f"PRAGMA user_version = {schema.version}")
    copy.execute("PRAGMA query_only = ON")  # what is written to a copy in memory would be lost
    return copy


@contextmanager
def _close_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _may_write(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _identify(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        message = f"{_describe_error(error, path)} ({error})"
        raise StoreError(message) from error


def _describe_error(error: BaseException, path: Path) -> str:
    if is_full(error):
        return f"the disk is full: {path} cannot grow; make room"
    if is_busy(error):
        return f"another program is writing to {path}; try again"
    if _is_damage(error):
        return f"{path} is damaged; 'pondero doctor' says more"
    if _is_unwritable(error):
        return (
            f"{path} cannot be written; make its folder writable, or name another with "
            "PONDERO_DATA_DIR"
        )
    return f"{path} cannot be read or written"


def _is_sqlite_error(error: BaseException | None, *names: str) -> bool:
    return getattr(error, "sqlite_errorname", "").startswith(names)


def _is_unwritable(error: BaseException | None) -> bool:
    return isinstance(error, PermissionError | OSError) or _is_sqlite_error(
        error, "SQLITE_READONLY", "SQLITE_CANTOPEN"
    )


def _is_forbidden(error: BaseException | None) -> bool:
    """Return whether the folder can be read only, by its permissions or those of the disk."""
    return getattr(error, "errno", None) in {EACCES, EPERM, EROFS}


def is_busy(error: BaseException | None) -> bool:
    """Return whether another program, or another thread, was writing."""
    return isinstance(error, TimeoutError) or _is_sqlite_error(
        error, "SQLITE_BUSY", "SQLITE_LOCKED"
    )


def is_full(error: BaseException | None) -> bool:
    """Return whether the disk had no more room."""
    # Even to read, SQLite makes an index of the write-ahead log next to the file.
    names = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")
    return _is_sqlite_error(error, *names) or getattr(error, "errno", None) == ENOSPC


def _is_damage(error: BaseException | None) -> bool:
    return _is_sqlite_error(error, "SQLITE_CORRUPT", "SQLITE_NOTADB")


def _create(path: Path) -> None:
    """Create the file for its owner only; SQLite gives -wal and -shm the same mode.

    A file that exists is not opened: closing it would end the locks that this process has on it
    (POSIX), and another program would delete the log that this one still writes to.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _move_aside(path: Path) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    names = (f"{path.name}.broken-{stamp}{more}" for more in ("", *(f"-{n}" for n in range(2, 99))))
    moved = next(path.with_name(name) for name in names if not path.with_name(name).exists())
    with _translate_errors(path):
        path.rename(moved)
        for tail in ("-wal", "-shm"):
            if (beside := path.with_name(path.name + tail)).exists():
                beside.rename(moved.with_name(moved.name + tail))
    return moved
