"""Reads what is left of a damaged file of threads, row by row, for ``pondero threads salvage``."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from time import time
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...canon import Usage
from ...errors import StoreError
from .database import connect_to_read
from .records import ExportLine, Thread
from .rows import THREAD, decode_row, decode_thread
from .threads import Threads

_LOST = "thread whose head was lost"


class SalvagedThreads(Struct, frozen=True):
    """The threads that were read from a damaged file, and how many rows could not be."""

    threads: tuple[Thread, ...]
    messages: int
    lost: int


def salvage(path: Path, into: Threads) -> SalvagedThreads:
    """Copy every readable row of a damaged file into the user's threads; raises StoreError.

    Each row is read alone, so that one damaged page costs only the rows in it.
    """
    try:
        connection = connect_to_read(path)
        heads, lost_heads = _read_heads(connection)
        lines, lost = _read_lines(connection)
        connection.close()
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"nothing of {path} can be read ({error})") from error
    saved = []
    for id, kept in lines.items():
        head = heads.get(id) or _make_head(id, kept)
        saved.append(into.restore(replace(head, usage=Usage(), cost=None), kept))
    return SalvagedThreads(tuple(saved), sum(map(len, lines.values())), lost + lost_heads)


def _make_head(id: str, lines: list[ExportLine]) -> Thread:
    """Return a head for messages whose own cannot be read."""
    origins = [line.kept.message.origin for line in lines if line.kept.message.origin]
    model = f"{origins[-1].provider}:{origins[-1].model}" if origins else ""
    now = time()
    return Thread(id=id, title=_LOST, model=model, created=now, updated=now)


def _read_heads(connection: sqlite3.Connection) -> tuple[dict[str, Thread], int]:
    columns = {row[1] for row in connection.execute("PRAGMA table_info(threads)")}
    wanted = [name if name in columns else f"'[]' AS {name}" for name in THREAD.split(", ")]
    found, lost = {}, 0
    for row in _rows(connection, "threads", "number", ", ".join(wanted)):
        try:
            thread = None if row is None else decode_thread(row)
        except (ValueError, TypeError):
            thread = None
        if thread is None:
            lost += 1
        else:
            found[thread.id] = thread
    return found, lost


def _read_lines(connection: sqlite3.Connection) -> tuple[dict[str, list[ExportLine]], int]:
    columns = {row[1] for row in connection.execute("PRAGMA table_info(kept)")}
    copied = "copied" if "copied" in columns else "0"
    found, lost = dict[str, list[tuple[int, ExportLine]]](), 0
    for row in _rows(connection, "kept", "row", f"thread, number, turn, body, {copied}"):
        try:
            thread, number, turn, body, is_copied = row or ()
            line = ExportLine(int(turn), decode_row(body), bool(is_copied))
        except (ValueError, TypeError, StoreError):
            lost += 1
        else:
            found.setdefault(str(thread), []).append((int(number), line))
    ordered = {
        id: [line for _, line in sorted(lines, key=lambda pair: pair[0])]
        for id, lines in found.items()
    }
    return ordered, lost


def _rows(
    connection: sqlite3.Connection, table: str, key: str, columns: str
) -> Iterator[tuple[Any, ...] | None]:
    """Yield each row of a table, None for one that cannot be read."""
    for number in range(1, _highest(connection, table, key) + 1):
        try:
            row = connection.execute(
                f"SELECT {columns} FROM {table} WHERE {key} = ?", (number,)
            ).fetchone()
        except sqlite3.Error:
            yield None
            continue
        if row is not None:  # else it was deleted
            yield row


def _highest(connection: sqlite3.Connection, table: str, key: str) -> int:
    """Return the highest key of a table: its own, or that of SQLite's counter."""
    asked = (
        (f"SELECT max({key}) FROM {table}", ()),
        ("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)),
    )
    for sql, values in asked:
        try:
            row = connection.execute(sql, values).fetchone()
        except sqlite3.Error:
            continue
        if row is not None and row[0] is not None:
            return int(row[0])
    return 0
