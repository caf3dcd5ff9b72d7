"""Whose the ids are that answers gave: a file in the data folder, for all workers and restarts."""

import logging
import time
from asyncio import Task, ensure_future, shield, sleep, to_thread, wait
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path

from ...errors import StoreError
from ...store import Database, Schema, data_folder
from .answer_cache import LocalAnswerCache
from .owner_journal import Owner, OwnerJournal

LOG = logging.getLogger("pondero.gateway")

FILE = "gateway-owners.db"
JOURNALS = "gateway-owners-aside"
"""The folder, next to that file, of owners that wait to be moved into it."""
_PACE = 0.002  # seconds between two writes: one write of many ids costs little more than of one
_MOVE = 0.25  # seconds until owners in a journal are moved, many at once; twice after a failure
_TRIES = 10  # to use the file, in some minutes, before this process does without it

_SCHEMA = Schema(
    (
        (
            "CREATE TABLE owners (id TEXT PRIMARY KEY, owner BLOB NOT NULL, until REAL NOT NULL)",
            "CREATE INDEX owners_by_age ON owners (until)",
        ),
    ),
    "SELECT id FROM owners LIMIT 1",
)


class FileOwners:
    """Owners in a file, with the newest in memory; if it cannot be used, in memory alone."""

    def __init__(
        self,
        local: LocalAnswerCache,
        *,
        seconds: float,
        path: Path | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._local = local
        self._seconds = seconds
        self._path = path or Path(data_folder()) / FILE
        self._clock = clock
        self._database: Database | None = None
        self._is_broken = False
        self._unsaved: dict[str, bytes] = {}
        self._next: Task[None] | None = None  # the write of ``_unsaved``
        self._last: Task[None] | None = None  # the one before it
        self._wrote = 0.0  # when that began
        self._journal = OwnerJournal(self._path.with_name(JOURNALS), self._write_moved)
        self._add = self._journal.append
        self._moving: Task[None] | None = None
        self._failures = 0  # since the file could last be written

    async def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the owners of these ids."""
        wanted = tuple(keys)
        found = await self._local.get(wanted)
        missing = [key for key in wanted if key not in found]
        if missing and not self._is_broken:
            try:
                found |= await to_thread(self._read, missing)
            except StoreError as error:
                self._do_without(error)
        return found

    def find_known(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the owners that are in memory."""
        return self._local.find_known(keys)

    def begin(
        self, keys: Iterable[str], *, latest: bool = False
    ) -> Awaitable[dict[str, bytes]] | None:
        """Begin to read the owners that are not in memory."""
        known = {} if latest else self.find_known(keys)
        missing = [key for key in keys if key not in known]
        if not missing or self._is_broken:
            return None
        return ensure_future(self._get_latest(missing) if latest else self.get(missing))

    async def _get_latest(self, keys: list[str]) -> dict[str, bytes]:
        """Return owners as the file has them: another worker may have stored others."""
        try:
            found = await to_thread(self._read, keys)
        except StoreError as error:
            self._do_without(error)
            return self.find_known(keys)
        await self._local.put(found)
        return found

    async def put(self, items: Mapping[str, bytes]) -> None:
        """Store whose these ids are; those that come during a write share the next one."""
        await self._local.put(items)
        if self._is_broken:
            return
        self._journal.flush()  # what was given before is stored before
        self._unsaved |= items
        if self._next is None or self._next.done():
            self._next = ensure_future(self._save(self._last))
        await shield(self._next)  # others wait for it too

    async def put_given(self, items: Mapping[str, bytes]) -> None:
        """Store whose ids are that an answer gives, which no other process stores.

        All processes know them from now on; the file gets them soon.
        """
        until = self._clock() + self._seconds
        owners = [Owner(name, record, until) for name, record in items.items()]
        if self._is_broken or not self._add(owners):
            await self.put(items)
            return
        await self._local.put(items)
        if self._moving is None or self._moving.done():
            self._moving = ensure_future(self._move_later())

    def defer_given(self) -> Callable[[], None]:
        """Let given ids wait for each other; return what saves them, before clients have any."""
        self._add = self._journal.add
        return self._journal.flush

    async def _move_later(self) -> None:
        await sleep(_MOVE * 2**self._failures)
        await self._move()

    async def _move(self) -> None:
        try:
            await to_thread(self._journal.move)
        except StoreError as error:
            self._note_failure(error)
        else:
            self._failures = 0

    async def aclose(self) -> None:
        """Close the file."""
        if writes := [each for each in (self._last, self._next) if each is not None]:
            await wait(writes)
        self._journal.flush()
        if self._moving is not None:
            self._moving.cancel()
            await wait([self._moving])
        await self._move()
        self._journal.close()
        if self._database is not None:
            self._database.close()

    async def _save(self, before: Task[None] | None) -> None:
        """Write all that has come once the write before it is over, and some time has passed."""
        if before is not None and not before.done():
            await wait([before])
        if (pause := self._wrote + _PACE - time.monotonic()) > 0:
            await sleep(pause)
        self._wrote = time.monotonic()
        items, self._unsaved = self._unsaved, {}
        self._last, self._next = self._next, None
        if self._is_broken:
            return
        try:
            await to_thread(self._write, items)
        except StoreError as error:
            until = self._clock() + self._seconds
            if self._journal.append([Owner(*each, until) for each in items.items()]):
                self._note_failure(error)
            else:
                self._do_without(error)

    def _read(self, keys: list[str]) -> dict[str, bytes]:
        sql, now = "SELECT owner, until FROM owners WHERE id = ? AND until > ?", self._clock()
        found = self._journal.find(set(keys), now)  # first: what is moved meanwhile is in the file
        if self._database is not None or self._path.exists():
            database = self._open()
            for key in keys:
                for record, until in database.rows(sql, (key, now)):
                    if key not in found or found[key].until <= until:
                        found[key] = Owner(key, record, until)
        return {key: owner.record for key, owner in found.items()}

    def _write(self, items: dict[str, bytes]) -> None:
        until = self._clock() + self._seconds
        self._journal.move()  # what was stored before stays before
        self._write_rows([Owner(key, owner, until) for key, owner in items.items()])

    def _write_moved(self, rows: Sequence[Owner]) -> None:
        """Store owners that waited; another process may have stored newer ones meanwhile."""
        self._write_rows(rows, "WHERE excluded.until >= until")

    def _write_rows(self, rows: Sequence[Owner], only: str = "") -> None:
        sql = (
            "INSERT INTO owners VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE "  # noqa: S608 - ours
            f"SET owner = excluded.owner, until = excluded.until {only}"
        )
        with self._open().transaction() as connection:
            connection.execute("DELETE FROM owners WHERE until <= ?", (self._clock(),))
            connection.executemany(sql, rows)

    def _open(self) -> Database:
        # Opened at the first use: a connection must not pass a fork.
        self._database = self._database or Database(self._path, _SCHEMA)
        return self._database

    def _note_failure(self, error: StoreError) -> None:
        """Leave owners in the journals, which all processes read, until the file can be written."""
        self._failures += 1
        if self._failures >= _TRIES:
            self._do_without(error)

    def _do_without(self, error: StoreError) -> None:
        if not self._is_broken:
            LOG.warning("ids of stored answers are known to this process alone: %s", error)
        self._is_broken = True
