"""Pages of requests, newest first, from the ledger; each begins where the one before ended.

A page is read for a limited time, whatever the ledger has and however rare the wanted rows are: a
page that found few says how far it looked, and the next continues from there.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator
from io import StringIO
from math import inf, isfinite
from time import monotonic, sleep
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...errors import BadParameter
from .ledger import COLUMNS
from .ledger_database import LedgerDatabase
from .request_filter import Clause, RequestFilter, make_clause
from .request_row import RequestRow, make_request_row

PAGE = 50
"""Requests on a page."""
SCANNED = 10_000
"""Rows of the ledger that one query looks at: others get their turn after it."""
_SEARCH = 0.5  # seconds in which a page that found few looks further
_ORDER = "ORDER BY at DESC, id DESC"
_LIST = ", ".join(COLUMNS)
CSV_NAMES = RequestRow.__struct_fields__
"""The names of the columns in CSV."""
_CSV_PAGE = 1_000
_TURN = 0.001  # seconds between two queries: the writer gets its turn
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # spreadsheets run cells that begin with one


CURSOR = r"([0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]{1,3})?)_([ -~]{0,100})"
"""What the place of a page looks like: a time, and an id."""


class Cursor(Struct, frozen=True):
    """A place in the ledger: everything before it is older."""

    at: float
    id: str

    def __str__(self) -> str:
        return f"{self.at!r}_{self.id}"

    def is_after(self, at: float, id: str) -> bool:
        """Return whether a row with this time and id is older."""
        return (at, id) < (self.at, self.id)


class RequestPage(Struct, frozen=True, kw_only=True):
    """Requests, newest first. ``next``: where older ones begin; ``searched``: how far it looked.

    ``problem``: why older ones are missing, if the ledger does not answer.
    """

    requests: list[RequestRow]
    next: str | None = None
    searched: float | None = None
    problem: str | None = None


def parse_cursor(text: str) -> Cursor:
    """Return the place that a page named as its ``next``; raises BadParameter."""
    found = re.fullmatch(CURSOR, text)
    at = float(found[1]) if found else inf
    if found is None or not isfinite(at):
        message = f"invalid before {text[:40]!r}; use the next of a page"
        raise BadParameter(message)
    return Cursor(at, found[2])


def load_page(
    database: LedgerDatabase,
    wanted: RequestFilter,
    *,
    before: Cursor | None = None,
    count: int = PAGE,
    scanned: int = SCANNED,
) -> RequestPage:
    """Return the newest requests before a place; raises StoreError."""
    edge = _find_edge(database, wanted, before, scanned) if wanted.is_selective else None
    clause = _make_clause(wanted, before, edge)
    sql = f"SELECT {_LIST} FROM pondero_receipts WHERE {clause.sql} {_ORDER} LIMIT ?"  # noqa: S608 - names are ours
    found = database.rows(sql, (*clause.values, count + 1))
    rows = [make_request_row(columns) for columns in found[:count]]
    if len(found) > count:
        return RequestPage(requests=rows, next=str(Cursor(rows[-1].at, rows[-1].id)))
    if edge is not None:
        return RequestPage(requests=rows, next=str(edge), searched=edge.at)
    return RequestPage(requests=rows)


def search_page(
    database: LedgerDatabase,
    wanted: RequestFilter,
    *,
    before: Cursor | None = None,
    count: int = PAGE,
    seconds: float = _SEARCH,
) -> RequestPage:
    """Return the newest requests before a place, after a look at one part of the ledger or more.

    Raises StoreError.
    """
    until = monotonic() + seconds
    page = load_page(database, wanted, before=before, count=count)
    found = page.requests
    while page.searched is not None and page.next is not None and monotonic() < until:
        sleep(_TURN)
        place = parse_cursor(page.next)
        page = load_page(database, wanted, before=place, count=count - len(found))
        found += page.requests
    return replace(page, requests=found)


def find_ids(
    database: LedgerDatabase,
    wanted: RequestFilter,
    *,
    most: int,
    stopped: Callable[[], bool] = bool,
) -> list[str] | None:
    """Return the ids of all wanted requests; None if there are more than ``most``, or if stopped.

    Raises StoreError.
    """
    found: list[str] = []
    before: Cursor | None = None
    while not stopped():
        edge = _find_edge(database, wanted, before, SCANNED)
        clause = _make_clause(wanted, before, edge)
        sql = f"SELECT id FROM pondero_receipts WHERE {clause.sql} {_ORDER} LIMIT ?"  # noqa: S608 - names are ours
        values = (*clause.values, most + 1 - len(found))
        found += (id for (id,) in database.rows(sql, values))
        if edge is None or len(found) > most:
            return found if len(found) <= most else None
        before = edge
        sleep(_TURN)
    return None


def find_request(database: LedgerDatabase, id: str) -> RequestRow | None:
    """Return one request; None if the ledger has none of this id. Raises StoreError."""
    sql = f"SELECT {_LIST} FROM pondero_receipts WHERE id = ?"  # noqa: S608 - names are ours
    return next((make_request_row(columns) for columns in database.rows(sql, (id,))), None)


def _find_edge(
    database: LedgerDatabase, wanted: RequestFilter, before: Cursor | None, scanned: int
) -> Cursor | None:
    """Return the last place that a page looks at; None if that is the ledger's end."""
    span = RequestFilter(since=wanted.since, until=wanted.until)
    clause = _make_clause(span, before, None)
    sql = f"SELECT at, id FROM pondero_receipts WHERE {clause.sql} {_ORDER} LIMIT 1 OFFSET ?"  # noqa: S608 - names are ours
    found = database.rows(sql, (*clause.values, scanned - 1))
    return next((Cursor(at, id) for at, id in found), None)


def _make_clause(wanted: RequestFilter, before: Cursor | None, edge: Cursor | None) -> Clause:
    """Return the condition for wanted rows older than one place and not older than another.

    Each end of the time is stated once: of two, SQLite may choose the one that is further away, and
    read everything from there on.
    """
    if edge is not None:  # which is in the time span
        wanted = replace(wanted, since=None)
    if before is not None and wanted.until is not None and before.at <= wanted.until:
        wanted = replace(wanted, until=None)
    clause = make_clause(wanted)
    sql, values = clause.sql, clause.values
    for cursor, sign in ((before, "<"), (edge, ">=")):
        if cursor is not None:
            sql += f" AND (at, id) {sign} (?, ?)"
            values += (cursor.at, cursor.id)
    return Clause(sql, values)


# -- CSV ------------------------------------------------------------------------------------------


def iter_csv(database: LedgerDatabase, wanted: RequestFilter) -> Iterator[str]:
    """Yield all wanted requests as lines of CSV, a page at a time; raises StoreError."""
    before: Cursor | None = None
    while True:
        page = load_page(database, wanted, before=before, count=_CSV_PAGE)
        yield format_csv(page.requests)
        if page.next is None:
            return
        before = parse_cursor(page.next)


def format_csv(requests: Iterable[RequestRow]) -> str:
    """Return requests as lines of CSV, without the line of names."""
    text = StringIO()
    csv.writer(text).writerows(map(_list_cells, requests))
    return text.getvalue()


def _list_cells(row: RequestRow) -> list[Any]:
    return [format_cell(getattr(row, name)) for name in CSV_NAMES]


def format_cell(value: Any) -> Any:
    """Return a value as a cell that no spreadsheet runs."""
    if isinstance(value, tuple):
        value = " ".join(value)
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"  # clients choose names
    return "" if value is None else value
