"""Search in the threads: with an index if SQLite has FTS5, else with LIKE.

A search updates the index, so that writing a turn stays cheap.
"""

from sqlite3 import Connection
from typing import Any

from ...errors import StoreError
from .database import Database
from .records import SearchHit
from .rows import THREAD, decode_thread

_LEAST = 3  # letters: the index is of trigrams
_AROUND = 40

_MAKE = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS search USING fts5"
    "(words, content='kept', content_rowid='row', tokenize='trigram')"
)
_CATCH_UP = (
    "INSERT INTO search (rowid, words) SELECT row, words FROM kept "
    "WHERE row > (SELECT coalesce(max(id), 0) FROM search_docsize)"
)
_FORGET = (
    "INSERT INTO search (search, rowid, words) SELECT 'delete', row, words FROM kept "
    "WHERE thread = ? AND row <= (SELECT coalesce(max(id), 0) FROM search_docsize)"
)
_COLUMNS = ", ".join(f"threads.{name}" for name in THREAD.split(", "))
_MESSAGES = (
    f"SELECT {_COLUMNS}, kept.number, kept.role, kept.words FROM kept "
    "JOIN threads ON threads.id = kept.thread WHERE {} "
    "ORDER BY kept.row DESC LIMIT ?"
)
_TITLES = (
    f"SELECT {THREAD}, NULL, NULL, title FROM threads WHERE {{}} ORDER BY updated DESC LIMIT ?"
)


class SearchIndex:
    """Finds words in messages and titles."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, text: str, *, limit: int, thread: str | None = None) -> tuple[SearchHit, ...]:
        """Return titles, then messages, that contain all words; of a ``thread``, messages only."""
        sought = text.split()
        if not sought:
            return ()
        rows: list[tuple[Any, ...]] = []
        if thread is None:
            titles, values = _like("title", sought)
            rows += self._database.rows(_TITLES.format(titles), (*values, limit))
        rows += self._messages(sought, limit, thread)
        return tuple(_make_hit(row, sought) for row in rows[:limit])

    def forget(self, connection: Connection, thread: str) -> None:
        """Remove a thread's words from the index, if there is one."""
        if self._exists():
            connection.execute(_FORGET, (thread,))

    def _messages(self, sought: list[str], limit: int, thread: str | None) -> list[tuple[Any, ...]]:
        within = "" if thread is None else " AND kept.thread = ?"
        which = () if thread is None else (thread,)
        if all(len(word) >= _LEAST for word in sought) and self._ready():
            match = " AND ".join('"' + word.replace('"', '""') + '"' for word in sought)
            where = "kept.row IN (SELECT rowid FROM search WHERE search MATCH ?)"
            return self._database.rows(_MESSAGES.format(where + within), (match, *which, limit))
        where, values = _like("kept.words", sought)
        return self._database.rows(_MESSAGES.format(where + within), (*values, *which, limit))

    def _ready(self) -> bool:
        """Update the index; return whether there is one."""
        try:
            with self._database.transaction() as connection:
                connection.execute(_MAKE)
                connection.execute(_CATCH_UP)
        except StoreError:  # SQLite lacks FTS5, or the file is read-only
            return False
        return True

    def _exists(self) -> bool:
        return bool(self._database.rows("SELECT 1 FROM sqlite_schema WHERE name = 'search'"))


def _like(column: str, sought: list[str]) -> tuple[str, list[str]]:
    where = " AND ".join(rf"{column} LIKE ? ESCAPE '\'" for _ in sought)
    escapes = str.maketrans({"%": r"\%", "_": r"\_", "\\": r"\\"})
    return where, [f"%{word.translate(escapes)}%" for word in sought]


def _make_hit(row: tuple[Any, ...], sought: list[str]) -> SearchHit:
    *thread, number, role, words = row
    return SearchHit(decode_thread(tuple(thread)), number, role, _snippet(words, sought[0]))


def _snippet(text: str, word: str) -> str:
    at = max(0, text.lower().find(word.lower()))
    begin, end = max(0, at - _AROUND), at + len(word) + _AROUND
    inside = " ".join(text[begin:end].split())
    return f"{'…' if begin else ''}{inside}{'…' if end < len(text) else ''}"
