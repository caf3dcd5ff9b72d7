"""The ledger's database, SQLite or PostgreSQL; SQL is written once, with ``?`` for values."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, Protocol
from urllib.parse import urlsplit

from ...errors import MissingExtra, StoreError
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
)
SCHEMA = Schema(_MIGRATIONS, "SELECT id FROM pondero_receipts LIMIT 1")

_LOCK = 0x706F6E64  # of the advisory lock; any number that no other program uses
_PATIENCE = 5  # seconds for a connection
_SILENCE = 10_000  # milliseconds without an answer after which a connection is given up


class LedgerDatabase(Protocol):
    """The ledger's database. Each ``write`` is one transaction; any thread may call."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query; raises StoreError."""

    def write(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement for each row, all or none; raises StoreError."""

    def close(self) -> None:
        """Close it; may be called twice."""


class SqliteDatabase:
    """A local file; several processes may write to it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = RLock()
        self._opened: Database | None = None

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return self._database().rows(sql, values)

    def write(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement for each row."""
        with self._database().transaction() as connection:
            connection.executemany(sql, rows)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
            self._opened = None

    def _database(self) -> Database:
        with self._lock:
            if self._opened is None:
                self._opened = Database(self._path, SCHEMA)
            return self._opened


class PostgresDatabase:
    """A PostgreSQL server, connected at first use and again after an error."""

    def __init__(self, address: str) -> None:
        try:
            import psycopg  # noqa: PLC0415 - an extra
        except ImportError:
            message = "a ledger in PostgreSQL needs psycopg; pip install 'pondero[gateway]'"
            raise MissingExtra(message) from None
        self._psycopg = psycopg
        self._address = address
        self._lock = RLock()
        self._connection: Any = None
        if password := urlsplit(address).password:
            register_secret(password)

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with self._use_connection() as connection:
            found: list[tuple[Any, ...]] = connection.execute(_postgres_sql(sql), values).fetchall()
            return found

    def write(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement for each row."""
        with self._use_connection() as connection, connection.transaction():
            connection.cursor().executemany(_postgres_sql(sql), rows)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    @contextmanager
    def _use_connection(self) -> Iterator[Any]:
        with self._lock:
            try:
                if self._connection is None or self._connection.closed:
                    self._connection = self._connect()
                yield self._connection
            except self._psycopg.Error as error:
                self.close()
                reason = str(error).strip().partition("\n")[0] or type(error).__name__
                message = f"the ledger in PostgreSQL failed: {redact_secrets(reason)}"
                raise StoreError(message) from None

    def _connect(self) -> Any:
        connection = self._psycopg.connect(
            self._address,
            autocommit=True,
            application_name="pondero",
            connect_timeout=_PATIENCE,
            tcp_user_timeout=_SILENCE,
            prepare_threshold=None,  # a pooler may give every transaction another connection
        )
        try:
            _migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection


def _migrate(connection: Any) -> None:
    """Update the tables; the lock lets one of several starting processes do it."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        connection.execute("CREATE TABLE IF NOT EXISTS pondero_form (version BIGINT NOT NULL)")
        found = connection.execute("SELECT max(version) FROM pondero_form").fetchone()[0] or 0
        if found > SCHEMA.version:
            message = (
                f"the ledger was written by a newer pondero (form {found}; this one reads "
                f"{SCHEMA.version}); update pondero, or name another database"
            )
            raise StoreError(message)
        for number, steps in enumerate(SCHEMA.migrations[found:], found + 1):
            for step in steps:
                connection.execute(step)
            connection.execute("INSERT INTO pondero_form VALUES (%s)", (number,))


def _postgres_sql(sql: str) -> str:
    return sql.replace("?", "%s")


def ledger_database(ledger: str) -> LedgerDatabase | None:
    """Return the database that ``ledger`` names, unopened; None for "off"."""
    address = read_reference(ledger) if ledger.startswith(REFERENCES) else ledger
    if address == "off":
        return None
    if address == "sqlite":
        return SqliteDatabase(Path(data_folder()) / FILE)
    return PostgresDatabase(address)
