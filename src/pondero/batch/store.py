"""Batches on disk, one SQLite file each, no keys: written before sending, for after a crash."""

import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, Self

import msgspec
from msgspec import Struct

from ..canon import decode_json
from ..errors import BadParameter, StoreError, UsageError
from ..exchange import Exchange
from ..store import FACTS, Database, Jobs, Schema, SecretRedactor, hold_lock, redact_secrets
from .service_api import BatchChunk, BatchLine, BatchOutcome, Ending

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


# A result may replace one that says less: an answer is never lost to an error with the same id.
_SAVE = """INSERT INTO results VALUES (?, ?, ?, ?) ON CONFLICT (line) DO UPDATE SET
    ending = excluded.ending, status = excluded.status, body = excluded.body
    WHERE results.ending = 'lost' AND excluded.ending <> 'lost'
    OR results.ending <> 'answered' AND excluded.ending = 'answered'"""


class BatchFacts(Struct, frozen=True, kw_only=True):
    """What was declared when a batch was made. ``owner``: who made it, such as a sweep."""

    id: str
    started: float
    asks: int
    owner: str = ""
    offline: bool = False


class StoredRequest(Struct, frozen=True):
    """One request: the caller's id, ours, and all that is needed to read its answer."""

    id: str
    line: str
    chunk: int
    exchange: Exchange
    body: bytes


class BatchSummary(Struct, frozen=True):
    """A batch in a list."""

    id: str
    started: float
    state: State
    asks: int
    done: int
    models: tuple[str, ...]
    owner: str = ""


def list_batches() -> list[BatchSummary]:
    """Return every batch, newest first, without files that cannot be read."""
    found = []
    for id in _BATCHES.names():
        try:
            with BatchFile.open(id) as file:
                found.append(file.summary())
        except (StoreError, UsageError):
            continue
    return sorted(found, key=lambda each: each.started, reverse=True)


def batches_of(owner: str) -> "list[BatchFile]":
    """Return the batches of an owner that it has not taken over yet, oldest first."""
    found = []
    for each in reversed(list_batches()):
        if each.owner != owner:
            continue
        file = BatchFile.open(each.id)
        if file.is_taken:
            file.close()
        else:
            found.append(file)
    return found


def find_batch(text: str) -> str:
    """Return the whole id of a batch from its first characters; ``last`` is the newest."""
    return _BATCHES.find(text, [each.id for each in list_batches()])


class BatchFile:
    """One batch's file. The process that talks to the service holds its lock; others may read."""

    def __init__(self, database: Database, facts: BatchFacts) -> None:
        self.facts = facts
        self._database = database
        database.rows("PRAGMA synchronous = FULL")  # a state must survive even a power cut

    @staticmethod
    def new_id() -> str:
        """Return a new id: the day, and a random part."""
        return f"{time.strftime('%Y%m%d', time.gmtime())}-{secrets.token_hex(4)}"

    @classmethod
    def create(
        cls, facts: BatchFacts, lots: Sequence[BatchChunk], asks: Iterable[StoredRequest]
    ) -> "BatchFile":
        """Save a new batch; nothing is sent. Raises BadParameter if a request holds a key."""
        asks = tuple(asks)
        _check_keyless(asks)
        database = _BATCHES.create(facts.id)
        with database.transaction() as connection:
            rows = (
                (n, each.chunk, each.id, each.line, _json(each.exchange), each.body)
                for n, each in enumerate(asks)
            )
            connection.executemany("INSERT INTO asks VALUES (?, ?, ?, ?, ?, ?)", rows)
            connection.executemany(
                "INSERT INTO lots VALUES (?, ?)", ((chunk.number, _json(chunk)) for chunk in lots)
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
        """Close the file; safe to call twice."""
        self._database.close()

    @contextmanager
    def hold_lock(self) -> Iterator[None]:
        """Hold the batch's lock; raise UsageError if another process has it."""
        busy = f"batch {self.facts.id} is being sent or collected by another process"
        with hold_lock(self._database.path, busy):
            yield

    def lots(self) -> tuple[BatchChunk, ...]:
        """Return the chunks in their present state."""
        rows = self._database.rows("SELECT body FROM lots ORDER BY number")
        return tuple(decode_json(body, BatchChunk) for (body,) in rows)

    def put(self, chunk: BatchChunk, **changes: Any) -> BatchChunk:
        """Save changes to a chunk at once, and return it."""
        changed = msgspec.structs.replace(chunk, **changes)
        sql = "UPDATE lots SET body = ? WHERE number = ?"
        self._database.rows(sql, (redact_secrets(_json(changed)), chunk.number))
        return changed

    def lines(self, chunk: BatchChunk) -> list[BatchLine]:
        """Return the requests of a chunk."""
        sql = "SELECT line, body FROM asks WHERE lot = ? ORDER BY number"
        return [BatchLine(line, body) for line, body in self._database.rows(sql, (chunk.number,))]

    def ids(self) -> list[str]:
        """Return the callers' ids of all requests."""
        return [id for (id,) in self._database.rows("SELECT id FROM asks ORDER BY number")]

    def add(
        self, chunk: BatchChunk, outcomes: Iterable[BatchOutcome], **changes: Any
    ) -> BatchChunk:
        """Save results and changes of a chunk in one transaction, and return it."""
        changed = msgspec.structs.replace(chunk, **changes)
        redactor = SecretRedactor()
        rows = ((each.id, each.ending, each.status, redactor.data(each.body)) for each in outcomes)
        with self._database.transaction() as connection:
            connection.executemany(_SAVE, rows)
            sql = "UPDATE lots SET body = ? WHERE number = ?"
            connection.execute(sql, (redactor.text(_json(changed)), chunk.number))
        return changed

    def endings(self, chunk: BatchChunk) -> dict[str, Ending]:
        """Return how the requests of a chunk ended, by line; only those with a result."""
        sql = "SELECT results.line, ending FROM results JOIN asks USING (line) WHERE lot = ?"
        return dict(self._database.rows(sql, (chunk.number,)))

    @property
    def is_taken(self) -> bool:
        """Return whether its owner has taken over all its answers."""
        return bool(self._database.rows("SELECT 1 FROM facts WHERE name = 'taken'"))

    def take(self) -> None:
        """Record that its owner has taken over all its answers."""
        self._database.rows("INSERT OR REPLACE INTO facts VALUES ('taken', '1')")

    def asks(self) -> Iterator[tuple[StoredRequest, BatchOutcome | None]]:
        """Yield each request, in its order, with its result or None."""
        rows = self._database.rows(
            "SELECT id, asks.line, lot, exchange, asks.body, ending, status, results.body "
            "FROM asks LEFT JOIN results ON results.line = asks.line ORDER BY number"
        )
        for id, line, chunk, exchange, body, ending, status, answer in rows:
            request = StoredRequest(id, line, chunk, decode_json(exchange, Exchange), body)
            yield request, None if ending is None else BatchOutcome(line, ending, status, answer)

    @property
    def state(self) -> State:
        """Return the state of the chunk that has progressed least."""
        lots = self.lots()
        states = {chunk.state for chunk in lots}
        if "creating" in states or any(chunk.state == "adding" and chunk.pending for chunk in lots):
            return "unsure"
        if states & {"ready", "adding"}:
            return "unsent"
        return "running" if "sent" in states else "ended"

    def summary(self) -> BatchSummary:
        """Return the batch as a list shows it."""
        lots = self.lots()
        return BatchSummary(
            self.facts.id,
            self.facts.started,
            self.state,
            self.facts.asks,
            sum(chunk.done for chunk in lots),
            tuple(dict.fromkeys(f"{chunk.provider}:{chunk.model}" for chunk in lots)),
            self.facts.owner,
        )


def _check_keyless(asks: Iterable[StoredRequest]) -> None:
    """Raise BadParameter for a request with a key: the file has each request as it is sent."""
    redactor = SecretRedactor()
    for each in asks:
        if redactor.data(each.body) != each.body or redactor.finds(each.id):
            message = (
                f"request {redactor.text(each.id)!r} holds a key, and a batch is saved on disk "
                "before it is sent; remove the key from it"
            )
            raise BadParameter(message)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
