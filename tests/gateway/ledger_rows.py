"""A large ledger, made in the database itself, and the work that a query takes there."""

from collections.abc import Callable
from pathlib import Path

from pondero.gateway.observability.ledger_database import SqliteDatabase

_MAKE = """INSERT INTO pondero_receipts (id, at, minute, key, front, said, provider, model, road,
    asked, sent, adjustments, status, ended, input, output, thinking, cost, tries, stream, first,
    seconds, offline, reason)
  WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < {count})
  SELECT printf('%024x', n), {until} - ({count} - n), CAST(({until} - ({count} - n)) / 60 AS INT),
    'key-' || (n % 7), 'openai_chat', 'model-' || (n % 5), 'openai', 'model-' || (n % 5), 'passed',
    'high', CASE n % 3 WHEN 0 THEN 'high' WHEN 1 THEN 'off' ELSE '4096' END, '',
    CASE WHEN n % 50 THEN 200 ELSE 529 END, CASE WHEN n % 50 THEN 'done' ELSE 'failed' END,
    100, 20 + n % 10, 300, 1000000, 1, 1, 0.25, 1.5, {offline},
    CASE n WHEN 7 THEN 'needle in a haystack' END FROM numbers"""


def make_ledger(path: Path, count: int, *, until: float, offline: bool = False) -> SqliteDatabase:
    """Return a ledger with one request a second; the eighth has a needle in its reason.

    ``offline``: as a gateway with the emulator records them.
    """
    database = SqliteDatabase(path)
    database.write(_MAKE.format(count=count, until=int(until), offline=int(offline)), [()])
    return database


def count_work(database: SqliteDatabase, act: Callable[[], object]) -> int:
    """Return how many instructions of SQLite's machine something takes: a few for each row."""
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    database.rows("SELECT 1")  # on the connection that is used next, too
    connection = database._idle[-1]._connection
    connection.set_progress_handler(step, 1)
    try:
        act()
    finally:
        connection.set_progress_handler(None, 0)
    return steps
