"""Search in the threads: with an index if SQLite has FTS5, else with LIKE.

A search updates the index, so that writing a turn stays cheap. It does so in short transactions:
other programs can write in between.
"""

from collections.abc import Callable
from sqlite3 import Connection
from time import sleep
from typing import Any

from ...errors import StoreError
from .database import Database
from .records import SearchHit
from .rows import THREAD, decode_row, decode_thread, searchable_words

_LEAST = 3  # letters: the index is of trigrams
_BEFORE, _AFTER = 18, 62  # letters of a snippet around the word: a narrow list shows its beginning

_MAKE = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS search USING fts5"
    "(words, content='kept', content_rowid='row', tokenize='trigram')"
)
_BATCH = 1_000  # messages that are indexed in one transaction
_PAUSE = 0.11  # seconds between two; SQLite looks for a free lock at least every 0.1 seconds
_NEXT = (
    "SELECT row, body, words FROM kept "
    "WHERE row > (SELECT coalesce(max(id), 0) FROM search_docsize) ORDER BY row LIMIT ?"
)
_INDEX = "INSERT INTO search (rowid, words) VALUES (?, ?)"
_OPEN = (
    "SELECT count(*), (SELECT count(*) FROM kept) FROM kept "
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


Progress = Callable[[int, int], None]
"""Called while the index is brought up to date: how many messages are in it, and how many are."""


class SearchIndex:
    """Finds words in messages and titles."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._progress: Progress | None = None

    def find(
        self,
        text: str,
        *,
        limit: int,
        thread: str | None = None,
        progress: Progress | None = None,
    ) -> tuple[SearchHit, ...]:
        """Return titles, then messages, that contain all words; of a ``thread``, messages only."""
        sought, self._progress = text.split(), progress
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
            if not self._exists():
                with self._database.transaction() as connection:
                    connection.execute(_MAKE)
            while self._index_batch():
                sleep(_PAUSE)  # without it, another program that writes waits for many batches
        except StoreError:  # SQLite lacks FTS5, or the file is read-only
            return False
        return True

    def _index_batch(self) -> bool:
        """Add some messages to the index; return whether there may be more."""
        with self._database.transaction() as connection:
            rows = connection.execute(_NEXT, (_BATCH,)).fetchall()
            for row, body, words in rows:
                known = _all_words(body, words)
                if known != words:  # written by a version that kept visible text alone
                    connection.execute("UPDATE kept SET words = ? WHERE row = ?", (known, row))
                connection.execute(_INDEX, (row, known))
        if self._progress is not None and rows:
            [(open_, whole)] = self._database.rows(_OPEN)
            self._progress(whole - open_, whole)
        return len(rows) == _BATCH

    def _exists(self) -> bool:
        return bool(self._database.rows("SELECT 1 FROM sqlite_schema WHERE name = 'search'"))


def _all_words(body: str, words: str) -> str:
    try:
        return searchable_words(decode_row(body).message)
    except StoreError:  # a message that cannot be read any more is found by its old words
        return words


def _like(column: str, sought: list[str]) -> tuple[str, list[str]]:
    where = " AND ".join(rf"{column} LIKE ? ESCAPE '\'" for _ in sought)
    escapes = str.maketrans({"%": r"\%", "_": r"\_", "\\": r"\\"})
    return where, [f"%{word.translate(escapes)}%" for word in sought]


def _make_hit(row: tuple[Any, ...], sought: list[str]) -> SearchHit:
    *thread, number, role, words = row
    return SearchHit(decode_thread(tuple(thread)), number, role, _snippet(words, sought[0]))


def _snippet(text: str, word: str) -> str:
    at = max(0, text.lower().find(word.lower()))
    begin, end = max(0, at - _BEFORE), at + len(word) + _AFTER
    inside = " ".join(text[begin:end].split())
    return f"{'…' if begin else ''}{inside}{'…' if end < len(text) else ''}"
