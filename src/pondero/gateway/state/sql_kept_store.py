"""The store of answers in a database, SQLite or PostgreSQL."""

import time
from asyncio import get_running_loop, timeout, to_thread
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from ...errors import Overloaded, StoreError
from ...store import Schema, data_folder
from ..observability.ledger_database import (
    WRITING,
    LedgerDatabase,
    PostgresDatabase,
    SqliteDatabase,
)
from .kept_store import measure_entry

FILE = "gateway-responses.db"
"""The SQLite file, in the data folder."""
SCHEMA = Schema(
    (
        (
            # Types that both have.
            """CREATE TABLE pondero_kept (
                name TEXT PRIMARY KEY,
                value BYTEA NOT NULL,
                until DOUBLE PRECISION NOT NULL,
                size BIGINT NOT NULL
            )""",
            "CREATE INDEX pondero_kept_by_age ON pondero_kept (until, size)",
        ),
    ),
    "SELECT name FROM pondero_kept LIMIT 1",
)
_FORM = "pondero_kept_form"
_WHAT = "the store of answers"
_PAGE = 500  # names in one query
_FRESH = 0.9  # of the time: an entry with more of it left is not written again
_THREADS = 2  # that read, and as many that write
_TIDY = 60.0  # seconds between two looks for entries that are too old or too many
_PUT = (
    "INSERT INTO pondero_kept (name, value, until, size) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (name) DO UPDATE SET value = excluded.value, until = excluded.until, "
    "size = excluded.size"
)
_OLDEST = "SELECT name, size FROM pondero_kept ORDER BY until LIMIT 100"

Value = TypeVar("Value")


class SqlKeptStore:
    """A store in a database; raises Overloaded if that fails."""

    def __init__(
        self,
        database: LedgerDatabase,
        *,
        seconds: float,
        size: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._database = database
        self._seconds = seconds
        self._size = size
        self._clock = clock
        self._tidied = 0.0
        # Its own: while a database hangs, nothing else waits for a thread, such as names of hosts.
        self._readers = ThreadPoolExecutor(_THREADS, "pondero-kept-read")
        self._writers = ThreadPoolExecutor(_THREADS, "pondero-kept-write")

    async def get(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return the values of these names, and extend their time."""
        wanted = list(names)
        return await _run(self._readers, self._read, wanted) if wanted else {}

    async def put(self, items: Mapping[str, bytes]) -> None:
        """Store these values."""
        if items:
            await _run(self._writers, self._write, dict(items))

    async def delete(self, names: Iterable[str]) -> None:
        """Forget these names."""
        await _run(self._writers, self._delete, list(names))

    async def swap(self, name: str, old: bytes | None, new: bytes) -> bool:
        """Replace a value, or add it if ``old`` is None; return False if it is another by now."""
        return await _run(self._writers, self._swap, (name, old, new))

    async def aclose(self) -> None:
        """Close the database."""
        for threads in (self._readers, self._writers):
            threads.shutdown(wait=False, cancel_futures=True)
        await to_thread(self._database.close)

    def _read(self, names: Sequence[str]) -> dict[str, bytes]:
        now, found = self._clock(), dict[str, bytes]()
        stale: list[str] = []
        until = now + self._seconds
        for at in range(0, len(names), _PAGE):
            page = names[at : at + _PAGE]
            marks = ", ".join("?" * len(page))
            sql = f"SELECT name, value, until FROM pondero_kept WHERE name IN ({marks})"  # noqa: S608 - marks alone
            for name, value, end in self._database.rows(f"{sql} AND until > ?", (*page, now)):
                found[name] = bytes(value)
                if end - now < self._seconds * _FRESH:
                    stale.append(name)
        if stale:
            sql = "UPDATE pondero_kept SET until = ? WHERE name = ?"
            self._database.write(sql, [(until, name) for name in stale])
        return found

    def _write(self, items: Mapping[str, bytes]) -> None:
        now = self._clock()
        until = now + self._seconds
        rows = [(n, value, until, measure_entry(n, value)) for n, value in items.items()]
        self._database.write(_PUT, rows)
        if now - self._tidied >= _TIDY:
            self._tidied = now
            self._tidy(now)

    def _tidy(self, now: float) -> None:
        self._database.write("DELETE FROM pondero_kept WHERE until <= ?", [(now,)])
        ((used,),) = self._database.rows("SELECT coalesce(sum(size), 0) FROM pondero_kept")
        while used > self._size and (oldest := self._database.rows(_OLDEST)):
            gone: list[str] = []
            for name, size in oldest:
                if used <= self._size:
                    break
                gone.append(name)
                used -= size
            self._delete(gone)

    def _delete(self, names: Sequence[str]) -> None:
        sql = "DELETE FROM pondero_kept WHERE name = ?"
        self._database.write(sql, [(name,) for name in names])

    def _swap(self, change: tuple[str, bytes | None, bytes]) -> bool:
        name, old, new = change
        now = self._clock()
        row = (name, new, now + self._seconds, measure_entry(name, new))
        if old is None:
            gone = "DELETE FROM pondero_kept WHERE name = ? AND until <= ?"
            self._database.write(gone, [(name, now)])
            added = _PUT.partition("DO UPDATE")[0] + "DO NOTHING"
            return self._database.write(added, [row]) == 1
        sql = (
            "UPDATE pondero_kept SET value = ?, until = ?, size = ? "
            "WHERE name = ? AND value = ? AND until > ?"
        )
        return self._database.write(sql, [(*row[1:], name, old, now)]) == 1


async def _run(
    threads: ThreadPoolExecutor, step: "Callable[[Argument], Value]", argument: "Argument"
) -> Value:
    """Run a step in a thread, with the wait for one: a database may take its time."""
    try:
        async with timeout(WRITING):
            return await get_running_loop().run_in_executor(threads, step, argument)
    except StoreError as error:
        raise Overloaded(f"{_WHAT} is unreachable: {error}", status=503, retry_after=1.0) from None
    except TimeoutError:
        raise Overloaded(f"{_WHAT} does not answer", status=503, retry_after=1.0) from None


Argument = TypeVar("Argument")


def open_answers(address: str) -> LedgerDatabase:
    """Return the database at an address, unopened; "sqlite" is a file in the data folder."""
    if address == "sqlite":
        return SqliteDatabase(Path(data_folder()) / FILE, SCHEMA)
    return PostgresDatabase(address, SCHEMA, form=_FORM, what=_WHAT)
