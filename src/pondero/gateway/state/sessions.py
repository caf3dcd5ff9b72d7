"""Sessions of people who signed in to the console, for all workers and replicas.

An entry is stored under a digest, so that who reads the store cannot use what is in it. It ends at
its time. Without a Redis, entries are in a private file of the data folder.
"""

import time
from asyncio import to_thread
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Protocol

from ...store import Database, Schema, data_folder
from .redis_link import PREFIX, RedisLink

FILE = "gateway-sessions.db"

_SCHEMA = Schema(
    (
        (
            "CREATE TABLE sessions (id TEXT PRIMARY KEY, value BLOB NOT NULL, until REAL NOT NULL)",
            "CREATE INDEX sessions_until ON sessions (until)",
        ),
    ),
    "SELECT id FROM sessions LIMIT 1",
)


class SessionStore(Protocol):
    """Entries that end; raises StoreError or SharedStateLost if they cannot be read or written."""

    async def add(self, id: str, value: bytes, seconds: float) -> bool:
        """Store a new entry for some time; False if there is one already."""
        ...

    async def find(self, id: str) -> bytes | None:
        """Return an entry; None if there is none any more."""
        ...

    async def remove(self, id: str) -> None:
        """Delete an entry."""
        ...


class LocalSessions:
    """Sessions in this process's memory."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._entries: dict[str, tuple[float, bytes]] = {}

    async def add(self, id: str, value: bytes, seconds: float) -> bool:
        """Store a new entry, and forget those that ended."""
        now = self._clock()
        self._entries = {key: each for key, each in self._entries.items() if each[0] > now}
        return self._entries.setdefault(_digest(id), entry := (now + seconds, value)) is entry

    async def find(self, id: str) -> bytes | None:
        """Return an entry."""
        until, value = self._entries.get(_digest(id), (0.0, b""))
        return value if until > self._clock() else None

    async def remove(self, id: str) -> None:
        """Delete an entry."""
        self._entries.pop(_digest(id), None)


class FileSessions:
    """Sessions in a file, which the workers of this machine share and which outlives a restart."""

    def __init__(self, path: Path | None = None, *, clock: Callable[[], float] = time.time) -> None:
        self._path = path or Path(data_folder()) / FILE
        self._clock = clock
        self._database: Database | None = None
        self._lock = Lock()  # threads of this process take turns

    async def add(self, id: str, value: bytes, seconds: float) -> bool:
        """Store a new entry, and forget those that ended."""
        return await to_thread(self._add, _digest(id), value, seconds)

    async def find(self, id: str) -> bytes | None:
        """Return an entry."""
        return await to_thread(self._find, _digest(id))

    async def remove(self, id: str) -> None:
        """Delete an entry."""
        await to_thread(self._remove, _digest(id))

    def _add(self, key: str, value: bytes, seconds: float) -> bool:
        now = self._clock()
        with self._lock, self._open().transaction() as connection:
            connection.execute("DELETE FROM sessions WHERE until <= ?", (now,))
            sql = "INSERT OR IGNORE INTO sessions VALUES (?, ?, ?)"
            return connection.execute(sql, (key, value, now + seconds)).rowcount == 1

    def _find(self, key: str) -> bytes | None:
        with self._lock:
            if self._database is None and not self._path.exists():
                return None
            sql = "SELECT value FROM sessions WHERE id = ? AND until > ?"
            rows = self._open().rows(sql, (key, self._clock()))
        return rows[0][0] if rows else None

    def _remove(self, key: str) -> None:
        with self._lock, self._open().transaction() as connection:
            connection.execute("DELETE FROM sessions WHERE id = ?", (key,))

    def _open(self) -> Database:
        # Opened at the first use: a connection must not pass a fork.
        self._database = self._database or Database(self._path, _SCHEMA)
        return self._database


class RedisSessions:
    """Sessions of all replicas; while Redis is unreachable, there are none."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link

    async def add(self, id: str, value: bytes, seconds: float) -> bool:
        """Store a new entry."""
        most = max(1, round(seconds * 1000))
        return await self._link.send("SET", _make_key(id), value, "PX", most, "NX") is not None

    async def find(self, id: str) -> bytes | None:
        """Return an entry."""
        found: bytes | None = await self._link.send("GET", _make_key(id))
        return found

    async def remove(self, id: str) -> None:
        """Delete an entry."""
        await self._link.send("DEL", _make_key(id))


def _digest(id: str) -> str:
    """Return the name under which an entry is stored; ids are random, so a plain digest will do."""
    return sha256(id.encode()).hexdigest()


def _make_key(id: str) -> str:
    return f"{PREFIX}session:{_digest(id)}"
