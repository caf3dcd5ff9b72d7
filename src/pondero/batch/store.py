"""Batches on disk: one SQLite file each, with every ask, what the service was told, and results.

It is written before the service is told anything, so that a process can be killed at any moment
and another one goes on, days later: what may be at the service is looked for there before anything
is sent again. No key is ever in it.
"""

import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Self

import msgspec
from msgspec import Struct

from ..canon import decode_json
from ..errors import StoreError, UsageError
from ..exchange import Exchange
from ..store import FACTS, Database, Jobs, Schema, hold_lock
from .service_api import BatchChunk, BatchLine, BatchOutcome

State = Literal["unsent", "unsure", "running", "ended"]

_SCHEMA = Schema(
    (
        (
            FACTS,
            "CREATE TABLE lots (number INTEGER PRIMARY KEY, body TEXT NOT NULL)",
            """CREATE TABLE asks (
                number INTEGER PRIMARY KEY, lot INTEGER NOT NULL, id TEXT NOT NULL UNIQUE,
                line TEXT NOT NULL UNIQUE, exchange TEXT NOT NULL, body BLOB NOT NULL
            )""",
            """CREATE TABLE results (
                line TEXT PRIMARY KEY, ending TEXT NOT NULL, status INTEGER NOT NULL,
                body BLOB NOT NULL
            ) WITHOUT ROWID""",
        ),
    ),
    "SELECT value FROM facts LIMIT 1",
)
_BATCHES = Jobs(
    folder="batches", one="batch", many="batches", listed_by="pondero batch list", schema=_SCHEMA
)


class BatchFacts(Struct, frozen=True, kw_only=True):
    """What was declared when a batch was begun. ``owner`` is what it was begun for, a sweep say."""

    id: str
    started: float
    asks: int
    owner: str = ""
    offline: bool = False


class StoredRequest(Struct, frozen=True):
    """One ask: the caller's id for it, ours, and all that is needed to read its answer."""

    id: str
    line: str
    lot: int
    exchange: Exchange
    body: bytes


class BatchSummary(Struct, frozen=True):
    """A batch as it is listed."""

    id: str
    started: float
    state: State
    asks: int
    done: int
    models: tuple[str, ...]
    owner: str = ""


def folder() -> Path:
    """Return the folder of the batches."""
    return _BATCHES.path()


def list_batches() -> list[BatchSummary]:
    """Return every batch, the newest first; a file that cannot be read is left out."""
    found = []
    for id in _BATCHES.names():
        try:
            with BatchFile.open(id) as file:
                found.append(file.summary())
        except (StoreError, UsageError):
            continue
    return sorted(found, key=lambda each: each.started, reverse=True)


def batches_of(owner: str) -> "list[BatchFile]":
    """Return the batches that were begun for something and not taken over yet, oldest first."""
    ids = [each.id for each in reversed(list_batches()) if each.owner == owner]
    found = []
    for id in ids:
        file = BatchFile.open(id)
        if file.is_taken:
            file.close()
        else:
            found.append(file)
    return found


def find_batch(text: str) -> str:
    """Return the whole id of a batch from its beginning; ``last`` is the newest."""
    return _BATCHES.find(text, [each.id for each in list_batches()])


class BatchFile:
    """One batch's file. The process that talks to the service holds its lock; others may read."""

    def __init__(self, database: Database, facts: BatchFacts) -> None:
        self.facts = facts
        self._database = database

    @staticmethod
    def new_id() -> str:
        """Return an id for a batch: the day, and something random."""
        return f"{time.strftime('%Y%m%d', time.gmtime())}-{secrets.token_hex(4)}"

    @classmethod
    def create(
        cls, facts: BatchFacts, lots: Sequence[BatchChunk], asks: Iterable[StoredRequest]
    ) -> "BatchFile":
        """Write a batch down; nothing is sent yet."""
        database = _BATCHES.create(facts.id)
        with database.transaction() as connection:
            rows = (
                (n, each.lot, each.id, each.line, _json(each.exchange), each.body)
                for n, each in enumerate(asks)
            )
            connection.executemany("INSERT INTO asks VALUES (?, ?, ?, ?, ?, ?)", rows)
            connection.executemany(
                "INSERT INTO lots VALUES (?, ?)", ((lot.number, _json(lot)) for lot in lots)
            )
            connection.execute("INSERT INTO facts VALUES ('facts', ?)", (_json(facts),))
        return cls(database, facts)

    @classmethod
    def open(cls, id: str) -> "BatchFile":
        """Return a batch that is on disk."""
        database, facts = _BATCHES.open(id)
        return cls(database, decode_json(facts, BatchFacts))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; may be called twice."""
        self._database.close()

    @contextmanager
    def hold_lock(self) -> Iterator[None]:
        """Hold the batch's lock; raises UsageError where another process has it."""
        busy = f"batch {self.facts.id} is being sent or collected by another process"
        with hold_lock(self._database.path, busy):
            yield

    # -- lots --------------------------------------------------------------------------------------

    def lots(self) -> tuple[BatchChunk, ...]:
        """Return the lots as they are now."""
        rows = self._database.rows("SELECT body FROM lots ORDER BY number")
        return tuple(decode_json(body, BatchChunk) for (body,) in rows)

    def put(self, lot: BatchChunk, **changes: Any) -> BatchChunk:
        """Write down what is new of a lot, at once, and return it."""
        changed = msgspec.structs.replace(lot, **changes)
        sql = "UPDATE lots SET body = ? WHERE number = ?"
        self._database.rows(sql, (_json(changed), lot.number))
        return changed

    def lines(self, lot: BatchChunk) -> list[BatchLine]:
        """Return the asks of a lot as they are sent."""
        sql = "SELECT line, body FROM asks WHERE lot = ? ORDER BY number"
        return [BatchLine(line, body) for line, body in self._database.rows(sql, (lot.number,))]

    def ids(self) -> list[str]:
        """Return the callers' ids of all asks."""
        return [id for (id,) in self._database.rows("SELECT id FROM asks ORDER BY number")]

    def remotes(self) -> set[str]:
        """Return the service's ids of all lots that have one."""
        return {lot.remote for lot in self.lots() if lot.remote is not None}

    def end(self, lot: BatchChunk, outcomes: Iterable[BatchOutcome], **changes: Any) -> None:
        """Keep the results of a lot and that it has ended, both or neither."""
        changed = msgspec.structs.replace(lot, state="ended", **changes)
        rows = ((each.id, each.ending, each.status, each.body) for each in outcomes)
        with self._database.transaction() as connection:
            connection.executemany("INSERT OR IGNORE INTO results VALUES (?, ?, ?, ?)", rows)
            sql = "UPDATE lots SET body = ? WHERE number = ?"
            connection.execute(sql, (_json(changed), lot.number))

    @property
    def is_taken(self) -> bool:
        """Return whether its owner has taken over all its answers."""
        return bool(self._database.rows("SELECT 1 FROM facts WHERE name = 'taken'"))

    def take(self) -> None:
        """Write down that its owner has taken over all its answers."""
        self._database.rows("INSERT OR REPLACE INTO facts VALUES ('taken', '1')")

    # -- what is kept ------------------------------------------------------------------------------

    def asks(self) -> Iterator[tuple[StoredRequest, BatchOutcome | None]]:
        """Yield each ask, in the order it was given, with its result where there is one."""
        rows = self._database.rows(
            "SELECT id, asks.line, lot, exchange, asks.body, ending, status, results.body "
            "FROM asks LEFT JOIN results ON results.line = asks.line ORDER BY number"
        )
        for id, line, lot, exchange, body, ending, status, answer in rows:
            kept = StoredRequest(id, line, lot, decode_json(exchange, Exchange), body)
            yield kept, None if ending is None else BatchOutcome(line, ending, status, answer)

    @property
    def state(self) -> State:
        """Return how far the whole is: as far as the lot that is least far."""
        states = {lot.state for lot in self.lots()}
        if "creating" in states:
            return "unsure"
        if states & {"ready", "adding"}:
            return "unsent"
        return "running" if "sent" in states else "ended"

    def summary(self) -> BatchSummary:
        """Return the batch as it is listed."""
        lots = self.lots()
        return BatchSummary(
            self.facts.id,
            self.facts.started,
            self.state,
            self.facts.asks,
            sum(lot.done for lot in lots),
            tuple(dict.fromkeys(f"{lot.provider}:{lot.model}" for lot in lots)),
            self.facts.owner,
        )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
