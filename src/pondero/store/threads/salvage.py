"""Reads what is left of a damaged file of threads, row by row, for ``pondero threads salvage``."""

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path
from time import time
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...canon import Usage
from ...errors import StoreError
from .database import connect_to_read
from .page_scan import scan_rows
from .records import ExportLine, Thread
from .rows import THREAD, decode_row, decode_thread
from .threads import Threads

_LOST = "thread whose head was lost"
# The columns of a row of ``kept`` and of ``threads``, as the first migration has them.
_KEPT_COLUMNS, _ROLE, _BODY, _COPIED = 16, 5, 15, 16
_HEAD_COLUMNS = 18
_ROLES = ("user", "assistant", "system")


class SalvagedThreads(Struct, frozen=True):
    """The threads that were read from a damaged file, and how many rows could not be."""

    threads: tuple[Thread, ...]
    messages: int
    lost: int


class _PageRows(Struct, frozen=True):
    """Rows that were found in pages: heads by id, messages by thread and number."""

    heads: dict[str, Thread]
    lines: dict[tuple[str, int], ExportLine]


def salvage(path: Path, into: Threads) -> SalvagedThreads:
    """Copy every readable row of a damaged file into the user's threads; raises StoreError.

    Each row is read alone, so that one damaged page costs only the rows in it. Rows that SQLite
    cannot reach, because the way to them is damaged, are searched for in all pages.
    """
    scanned = _scan_pages(path)
    try:
        connection = connect_to_read(path)
        heads, lost_heads = _read_heads(connection)
        lines, lost_lines = _read_lines(connection)
        connection.close()
    except (sqlite3.Error, OSError) as error:
        if not scanned.lines:
            raise StoreError(f"nothing of {path} can be read ({error})") from error
        heads, lost_heads, lines, lost_lines = {}, 0, {}, 0
    more_heads = {id: head for id, head in scanned.heads.items() if id not in heads}
    more_lines = {place: line for place, line in scanned.lines.items() if place not in lines}
    lost = max(0, lost_heads - len(more_heads)) + max(0, lost_lines - len(more_lines))
    heads |= more_heads
    lines |= more_lines
    threads = dict[str, list[ExportLine]]()
    for (id, _), line in sorted(lines.items(), key=lambda pair: pair[0]):
        threads.setdefault(id, []).append(line)
    saved = []
    for id, kept in threads.items():
        head = heads.get(id) or _make_head(id, kept)
        saved.append(into.restore(replace(head, usage=Usage(), cost=None), kept))
    return SalvagedThreads(tuple(saved), len(lines), lost)


def _scan_pages(path: Path) -> _PageRows:
    """Return the rows that are in any page of a file."""
    found = _PageRows({}, {})
    with (
        suppress(OSError, ValueError),
        path.open("rb") as file,
        mmap(file.fileno(), 0, access=ACCESS_READ) as data,
    ):
        for row in scan_rows(data):
            _add_row(found, row)
    return found


def _add_row(found: _PageRows, row: tuple[Any, ...]) -> None:
    """Add a row if it is one of the table ``threads`` or ``kept``; others are of no use."""
    with suppress(ValueError, TypeError, IndexError, StoreError):
        if len(row) >= _KEPT_COLUMNS and row[_ROLE] in _ROLES:
            _, id, number, turn, *_ = row
            copied = bool(row[_COPIED]) if len(row) > _COPIED else False
            found.lines[id, int(number)] = ExportLine(int(turn), decode_row(row[_BODY]), copied)
        elif len(row) >= _HEAD_COLUMNS:
            head = decode_thread((*row[1:_HEAD_COLUMNS], *(row[_HEAD_COLUMNS:] or ("[]",))))
            found.heads[head.id] = head


def _make_head(id: str, lines: list[ExportLine]) -> Thread:
    """Return a head for messages whose own cannot be read."""
    origins = [line.kept.message.origin for line in lines if line.kept.message.origin]
    model = f"{origins[-1].provider}:{origins[-1].model}" if origins else ""
    now = time()
    asked = any(line.kept.message.role == "user" for line in lines)
    title = "" if asked else _LOST  # the first words become one
    return Thread(id=id, title=title, model=model, created=now, updated=now)


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


def _read_lines(
    connection: sqlite3.Connection,
) -> tuple[dict[tuple[str, int], ExportLine], int]:
    columns = {row[1] for row in connection.execute("PRAGMA table_info(kept)")}
    copied = "copied" if "copied" in columns else "0"
    found, lost = dict[tuple[str, int], ExportLine](), 0
    for row in _rows(connection, "kept", "row", f"thread, number, turn, body, {copied}"):
        try:
            thread, number, turn, body, is_copied = row or ()
            line = ExportLine(int(turn), decode_row(body), bool(is_copied))
        except (ValueError, TypeError, StoreError):
            lost += 1
        else:
            found[str(thread), int(number)] = line
    return found, lost


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
