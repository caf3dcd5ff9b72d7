"""The ledger's database, SQLite or PostgreSQL; SQL is written once, with ``?`` for values."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from math import inf
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, Protocol
from urllib.parse import urlsplit

from msgspec import Struct

from ...errors import MissingExtra, StoreError
from ...extras import install_hint
from ...store import Database, Schema, data_folder, redact_secrets, register_secret
from ..config.model import REFERENCES
from ..config.secrets import read_reference

FILE = "gateway.db"
"""The SQLite file, in the data folder."""

_MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # Types that both have. Costs are billionths of a dollar: whole numbers add up exactly.
        """CREATE TABLE pondero_receipts (
            id TEXT PRIMARY KEY,
            at DOUBLE PRECISION NOT NULL,
            minute BIGINT NOT NULL,
            key TEXT NOT NULL,
            front TEXT NOT NULL,
            said TEXT NOT NULL,
            provider TEXT,
            model TEXT,
            road TEXT NOT NULL,
            asked TEXT,
            sent TEXT,
            why TEXT,
            adjustments TEXT NOT NULL,
            status BIGINT NOT NULL,
            ended TEXT NOT NULL,
            finish TEXT,
            verdict TEXT,
            input BIGINT,
            cache_read BIGINT,
            cache_write BIGINT,
            output BIGINT,
            thinking BIGINT,
            cost BIGINT,
            tries BIGINT NOT NULL,
            stream BIGINT NOT NULL,
            first DOUBLE PRECISION,
            seconds DOUBLE PRECISION NOT NULL,
            offline BIGINT NOT NULL
        )""",
        "CREATE INDEX pondero_receipts_by_time ON pondero_receipts (minute)",
        "CREATE INDEX pondero_receipts_by_key ON pondero_receipts (key, minute)",
    ),
    (
        "ALTER TABLE pondero_receipts ADD COLUMN estimated BIGINT NOT NULL DEFAULT 0",
        "ALTER TABLE pondero_receipts ADD COLUMN reason TEXT",
    ),
    (
        "ALTER TABLE pondero_receipts ADD COLUMN purpose TEXT",
        "ALTER TABLE pondero_receipts ADD COLUMN route TEXT",
    ),
    (
        "ALTER TABLE pondero_receipts ADD COLUMN first_try DOUBLE PRECISION",
        "ALTER TABLE pondero_receipts ADD COLUMN last_try DOUBLE PRECISION",
        "ALTER TABLE pondero_receipts ADD COLUMN first_answer DOUBLE PRECISION",
        # Pages of the console begin where the one before ended.
        "CREATE INDEX pondero_receipts_by_moment ON pondero_receipts (at, id)",
    ),
    (
        "ALTER TABLE pondero_receipts ADD COLUMN endpoint TEXT",
        "ALTER TABLE pondero_receipts ADD COLUMN units TEXT",
    ),
    ("ALTER TABLE pondero_receipts ADD COLUMN deployment TEXT",),
    (
        # The group of the key at that time, which may be in another later.
        "ALTER TABLE pondero_receipts ADD COLUMN key_group TEXT",
        # What admins did; rows are added and never changed. ``before`` and ``after`` are JSON.
        """CREATE TABLE pondero_audit (
            id TEXT PRIMARY KEY,
            at DOUBLE PRECISION NOT NULL,
            actor TEXT NOT NULL,
            role TEXT NOT NULL,
            how TEXT NOT NULL,
            address TEXT NOT NULL,
            action TEXT NOT NULL,
            subject TEXT NOT NULL,
            before TEXT,
            after TEXT,
            outcome TEXT NOT NULL,
            reason TEXT
        )""",
        "CREATE INDEX pondero_audit_by_moment ON pondero_audit (at, id)",
    ),
)
SCHEMA = Schema(_MIGRATIONS, "SELECT id FROM pondero_receipts LIMIT 1")

_LOCK = 0x706F6E64  # of the advisory lock; any number that no other program uses
_IDLE = 4  # connections to a file that are kept open for the next use
READING = 3.0
"""Seconds for a query in PostgreSQL, with the wait for others: the console waits for it."""
WRITING = 10.0
"""Seconds for a batch of rows in PostgreSQL."""
_PATIENCE = 3  # seconds for a connection
_REST = 1.0  # second after an error in which nothing is tried


class LedgerDatabase(Protocol):
    """The ledger's database. Each ``write`` is one transaction; any thread may call."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query; raises StoreError."""

    def write(self, sql: str, rows: Sequence[Sequence[Any]]) -> int:
        """Run a statement for each row, all or none; return how many rows it changed.

        Raises StoreError.
        """

    def probe(self) -> None:
        """Raise StoreError if the database does not answer; waits for no query of the console."""

    def close(self) -> None:
        """Close it; may be called twice."""


class SqliteDatabase:
    """A local file; several processes may write to it.

    Each use has a connection of its own, so that no use waits for a long query.
    """

    def __init__(self, path: Path, schema: Schema | None = None) -> None:
        self._path = path
        self._schema = schema or SCHEMA
        self._lock = Lock()
        self._write_lock = Lock()
        self._idle: list[Database] = []
        self._closed = 0  # times

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with self._connection() as database:
            return database.rows(sql, values)

    def write(self, sql: str, rows: Sequence[Sequence[Any]]) -> int:
        """Run a statement for each row; return how many rows it changed."""
        # SQLite lets writers of one process try again and again; here, each has its turn.
        with (
            self._write_lock,
            self._connection() as database,
            database.transaction() as connection,
        ):
            return connection.executemany(sql, rows).rowcount

    def probe(self) -> None:
        """Ask the file for nothing."""
        self.rows("SELECT 1")

    def close(self) -> None:
        """Close the file; a connection in use is closed after its use."""
        with self._lock:
            idle, self._idle = self._idle, []
            self._closed += 1
        for database in idle:
            database.close()

    @contextmanager
    def _connection(self) -> Iterator[Database]:
        with self._lock:
            database = self._idle.pop() if self._idle else None
            closed = self._closed
        database = database or Database(self._path, self._schema)
        try:
            yield database
        finally:
            with self._lock:
                keeps = closed == self._closed and len(self._idle) < _IDLE
                if keeps:
                    self._idle.append(database)
            if not keeps:
                database.close()


class PostgresDatabase:
    """A PostgreSQL server. Reads, writes and probes have a connection each; none waits for another.

    Every use has a deadline, also if the server hangs without closing its socket.
    """

    def __init__(
        self,
        address: str,
        schema: Schema | None = None,
        *,
        form: str = "pondero_form",
        what: str = "the ledger",
    ) -> None:
        try:
            import psycopg  # noqa: F401, PLC0415 - an extra
        except ImportError:
            message = f"{what} in PostgreSQL needs psycopg; {install_hint('gateway')}"
            raise MissingExtra(message) from None
        tables = _Tables(schema or SCHEMA, form, what)
        self._reads = _PostgresLink(address, READING, tables)
        self._writes = _PostgresLink(address, WRITING, tables)
        self._probes = _PostgresLink(address, READING, tables)
        if password := urlsplit(address).password:
            register_secret(password)

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with self._reads.transaction() as connection:
            asked = connection.execute(_postgres_sql(sql), [_clean(each) for each in values])
            found: list[tuple[Any, ...]] = asked.fetchall()
            return found

    def write(self, sql: str, rows: Sequence[Sequence[Any]]) -> int:
        """Run a statement for each row; return how many rows it changed."""
        with self._writes.transaction() as connection:
            cursor = connection.cursor()
            cursor.executemany(_postgres_sql(sql), rows)
            return int(cursor.rowcount)

    def probe(self) -> None:
        """Ask the server for nothing."""
        with self._probes.transaction() as connection:
            connection.execute("SELECT 1")

    def close(self) -> None:
        """Close the connections."""
        for link in (self._reads, self._writes, self._probes):
            link.close()


class _Tables(Struct, frozen=True):
    """What is in a database: the tables, the table with their version, and a name for errors."""

    schema: Schema
    form: str
    what: str


_LEDGER = _Tables(SCHEMA, "pondero_form", "the ledger")


class _PostgresLink:
    """One connection, made at first use and again after an error.

    After an error it fails at once for a moment, so that callers do not queue for a hung server.
    """

    def __init__(self, address: str, seconds: float, tables: _Tables) -> None:
        self._address = address
        self._seconds = seconds
        self._tables = tables
        self._lock = Lock()
        self._connection: Any = None
        self._failed: tuple[float, str] = (0.0, "")

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """Yield the connection in a transaction; raises StoreError, at the latest in time."""
        import psycopg  # noqa: PLC0415 - an extra

        deadline = monotonic() + self._seconds
        if not self._lock.acquire(timeout=self._seconds):
            raise StoreError(f"{self._tables.what} in PostgreSQL is busy: others wait for it")
        try:
            until, message = self._failed
            if monotonic() < until:
                raise StoreError(message)
            connection = self._connect(deadline)
            connection.deadline = deadline
            with connection.transaction():
                # Not for the session, which a pooler may share: the server stops when we do.
                connection.execute(f"SET LOCAL statement_timeout = {self._seconds * 1000:.0f}")
                yield connection
        except psycopg.Error as error:
            self._drop()
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            message = f"{self._tables.what} in PostgreSQL failed: {redact_secrets(reason)}"
            self._failed = (monotonic() + _REST, message)
            raise StoreError(message) from None
        finally:
            self._lock.release()

    def close(self) -> None:
        """Close the connection, unless another thread uses it."""
        if self._lock.acquire(timeout=1):
            self._drop()
            self._failed = (0.0, "")
            self._lock.release()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _connect(self, deadline: float) -> Any:
        if self._connection is not None and not self._connection.closed:
            return self._connection
        connection = _connection_class().connect(
            self._address,
            autocommit=True,
            application_name="pondero",
            connect_timeout=_PATIENCE,
            prepare_threshold=None,  # a pooler may give every transaction another connection
        )
        connection.deadline = deadline
        try:
            _migrate(connection, self._tables)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection


@cache
def _connection_class() -> Any:
    import psycopg  # noqa: PLC0415 - an extra

    class TimedConnection(psycopg.Connection[tuple[Any, ...]]):
        """A connection with a deadline, after which it is closed.

        psycopg waits for the server's answers in ``wait``, and looks every tenth of a second
        whether it shall go on; neither it nor libpq gives up on a server that is there and silent.
        """

        deadline: float = inf

        def wait(self, gen: Any, *args: Any, **options: Any) -> Any:
            return super().wait(self._until_deadline(gen), *args, **options)

        def _until_deadline(self, gen: Any) -> Any:
            try:
                wanted = next(gen)
                while True:
                    ready = yield wanted
                    if monotonic() > self.deadline:
                        self.close()
                        raise psycopg.OperationalError("the server does not answer in time")
                    wanted = gen.send(ready)
            except StopIteration as end:
                return end.value

    return TimedConnection


def _migrate(connection: Any, tables: _Tables = _LEDGER) -> None:
    """Update the tables; the lock lets one of several starting processes do it."""
    schema, form = tables.schema, tables.form
    if _find_version(connection, form) == schema.version:
        return  # also a server that lets us only read has the tables
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        connection.execute(f"CREATE TABLE IF NOT EXISTS {form} (version BIGINT NOT NULL)")
        found = connection.execute(f"SELECT max(version) FROM {form}").fetchone()[0] or 0  # noqa: S608 - a name of ours
        if found > schema.version:
            message = (
                f"{tables.what} was written by a newer pondero (form {found}; this one reads "
                f"{schema.version}); update pondero, or name another database"
            )
            raise StoreError(message)
        for number, steps in enumerate(schema.migrations[found:], found + 1):
            for step in steps:
                connection.execute(step)
            connection.execute(f"INSERT INTO {form} VALUES (%s)", (number,))  # noqa: S608 - a name of ours


def _find_version(connection: Any, form: str) -> int:
    """Return the version of the tables; 0 if there are none."""
    if connection.execute("SELECT to_regclass(%s)", (form,)).fetchone()[0] is None:
        return 0
    return connection.execute(f"SELECT max(version) FROM {form}").fetchone()[0] or 0  # noqa: S608 - a name of ours


def _clean(value: Any) -> Any:
    """Return a value to look for that PostgreSQL takes: no stored text has a NUL."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value


def _postgres_sql(sql: str) -> str:
    # SQLite's LIKE takes small and capital Latin letters for the same.
    return sql.replace("?", "%s").replace(" LIKE ", " ILIKE ")


def ledger_database(ledger: str) -> LedgerDatabase | None:
    """Return the database that ``ledger`` names, unopened; None for "off"."""
    address = read_reference(ledger) if ledger.startswith(REFERENCES) else ledger
    if address == "off":
        return None
    if address == "sqlite":
        return SqliteDatabase(Path(data_folder()) / FILE)
    return PostgresDatabase(address)
