"""Pages of the audit log, newest first, and its CSV; one filter for rows and for recent entries."""

import csv
from collections.abc import Iterable, Iterator, Mapping
from io import StringIO
from typing import Any

from msgspec import Struct, json
from msgspec.structs import replace

from ...errors import BadParameter
from .audit_log import ACTIONS, COLUMNS, OUTCOMES, AuditEntry, read_entry
from .ledger_database import LedgerDatabase
from .request_filter import Clause, read_time
from .request_pages import PAGE, Cursor, format_cell, parse_cursor

CSV_NAMES = COLUMNS
"""The names of the columns in CSV."""
_CSV_PAGE = 1_000
_LONGEST = 200
_LIST = ", ".join(COLUMNS)
_EXACT = ("actor", "action", "subject", "outcome")
_CHOICES: Mapping[str, tuple[str, ...]] = {"action": ACTIONS, "outcome": OUTCOMES}


class AuditFilter(Struct, frozen=True, kw_only=True):
    """Which entries are wanted, by exact names; None: all. Times are seconds since 1970."""

    actor: str | None = None
    action: str | None = None
    subject: str | None = None
    outcome: str | None = None
    since: float | None = None
    until: float | None = None


class AuditPage(Struct, frozen=True, kw_only=True):
    """Entries, newest first. ``next``: where older ones begin.

    ``problem``: why older ones are missing, if the ledger does not answer.
    """

    entries: list[AuditEntry]
    next: str | None = None
    problem: str | None = None


def parse_audit_filter(parameters: Mapping[str, str]) -> AuditFilter:
    """Return the filter that an address asks for; empty values ask for nothing.

    Raises BadParameter.
    """
    found: dict[str, Any] = {}
    for name in AuditFilter.__struct_fields__:
        value = parameters.get(name, "").strip()
        if not value:
            continue
        if (choices := _CHOICES.get(name)) is not None and value not in choices:
            message = f"invalid {name} {value[:20]!r}; use {' '.join(choices)}"
            raise BadParameter(message)
        found[name] = value[:_LONGEST] if name in _EXACT else read_time(name, value)
    return AuditFilter(**found)


def matches(wanted: AuditFilter, entry: AuditEntry) -> bool:
    """Return whether an entry is wanted."""
    for name in _EXACT:
        value = getattr(wanted, name)
        if value is not None and getattr(entry, name) != value:
            return False
    since = wanted.since is None or entry.at >= wanted.since
    return since and (wanted.until is None or entry.at < wanted.until)


def load_audit_page(
    database: LedgerDatabase,
    wanted: AuditFilter,
    *,
    before: Cursor | None = None,
    count: int = PAGE,
) -> AuditPage:
    """Return the newest entries before a place; raises StoreError."""
    clause = _make_clause(wanted, before)
    found = database.rows(
        f"SELECT {_LIST} FROM pondero_audit WHERE {clause.sql} "  # noqa: S608 - names are ours
        "ORDER BY at DESC, id DESC LIMIT ?",
        (*clause.values, count + 1),
    )
    entries = [read_entry(columns) for columns in found[:count]]
    return AuditPage(entries=entries, next=_name_place(entries) if len(found) > count else None)


def add_recent(page: AuditPage, recent: Iterable[AuditEntry], count: int) -> AuditPage:
    """Return a first page with the entries that the ledger may not have yet."""
    end = parse_cursor(page.next) if page.next is not None else None
    written = {entry.id for entry in page.entries}
    new = [
        entry
        for entry in recent
        if entry.id not in written and (end is None or (entry.at, entry.id) > (end.at, end.id))
    ]
    entries = sorted([*page.entries, *new], key=lambda each: (each.at, each.id), reverse=True)
    if len(entries) <= count:
        return replace(page, entries=entries)
    return replace(page, entries=entries[:count], next=_name_place(entries[:count]))


def iter_audit_csv(database: LedgerDatabase, wanted: AuditFilter) -> Iterator[str]:
    """Yield all wanted entries as lines of CSV, a page at a time; raises StoreError."""
    before: Cursor | None = None
    while True:
        page = load_audit_page(database, wanted, before=before, count=_CSV_PAGE)
        yield format_audit_csv(page.entries)
        if page.next is None:
            return
        before = parse_cursor(page.next)


def format_audit_csv(entries: Iterable[AuditEntry]) -> str:
    """Return entries as lines of CSV, without the line of names."""
    text = StringIO()
    csv.writer(text).writerows(
        [format_cell(_flatten(getattr(entry, name))) for name in CSV_NAMES] for entry in entries
    )
    return text.getvalue()


def _flatten(value: Any) -> Any:
    return json.encode(value).decode() if isinstance(value, dict | list) else value


def _name_place(entries: list[AuditEntry]) -> str:
    return str(Cursor(entries[-1].at, entries[-1].id))


def _make_clause(wanted: AuditFilter, before: Cursor | None) -> Clause:
    parts: list[str] = []
    values: list[Any] = []
    for name in _EXACT:
        if (value := getattr(wanted, name)) is not None:
            parts.append(f"{name} = ?")
            values.append(value)
    for value, sql in ((wanted.since, "at >= ?"), (wanted.until, "at < ?")):
        if value is not None:
            parts.append(sql)
            values.append(value)
    if before is not None:
        parts.append("(at, id) < (?, ?)")
        values += [before.at, before.id]
    return Clause(" AND ".join(parts) or "1 = 1", tuple(values))
