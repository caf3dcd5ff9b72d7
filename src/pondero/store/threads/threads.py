"""Threads on disk: every message with its parts and seals, a turn at a time."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from time import time
from types import EllipsisType, TracebackType
from typing import Any, Self

from msgspec.structs import replace

from ...canon import Json, Message
from ...errors import BadParameter, StoreError, UnknownThread
from ...handoff import Rejection
from ..files import data_folder
from ..secrets import SecretRedactor
from .database import Database, integrity, open_database
from .records import ExportLine, SearchHit, StoredMessage, Thread, UsageTotal
from .rows import (
    ALPHABET,
    LENGTH,
    THREAD,
    append,
    copy_rows,
    decode_row,
    insert,
    is_fully_priced,
    replace_unencodable,
    sum_usage,
    text_of,
    thread_of,
)
from .search import SearchIndex

LAST = "last"
FILE = "threads.db"

_PLAIN = ("model", "title")
_AS_JSON = ("thinking", "system", "refusals")
_ID = re.compile(f"[{ALPHABET}]{{{LENGTH}}}")


class Threads:
    """The threads of one file; safe to share between operating system threads and processes.

    ``notice`` says where a damaged file was moved to. What is written contains no secret this
    process knows: those of ``secrets``, of the environment, and saved keys in use.
    """

    def __init__(
        self, database: Database, *, notice: str | None = None, secrets: Iterable[str] = ()
    ) -> None:
        self.notice = notice
        self._database = database
        self._index = SearchIndex(database)
        self._secrets = tuple(secrets)

    @classmethod
    def open(cls, path: str | Path | None = None, *, secrets: Iterable[str] = ()) -> Self:
        """Return the threads of this file, which is created if necessary; raises StoreError."""
        file = Path(data_folder()) / FILE if path is None else Path(path)
        database, notice = open_database(file)
        return cls(database, notice=notice, secrets=secrets)

    @property
    def path(self) -> Path:
        """Return the path of the file."""
        return self._database.path

    def close(self) -> None:
        """Close the file; may be called twice."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- writing -----------------------------------------------------------------------------

    def start(
        self,
        *,
        model: str,
        thinking: Json = None,
        system: str = "",
        title: str = "",
        refusals: Sequence[Rejection] = (),
        parent: str | None = None,
    ) -> Thread:
        """Begin a thread; without a title its first words become one."""
        said = {
            "model": model,
            "thinking": thinking,
            "system": system,
            "title": title,
            "refusals": refusals,
        }
        with self._database.transaction() as connection:
            id = insert(connection, {**self._columns(said), "parent": parent})
        return self._thread(id)

    def add(self, id: str, kept: Sequence[StoredMessage]) -> None:
        """Add a turn: all of these messages in this order, or none of them."""
        clean = self._clean(kept)
        with self._database.transaction() as connection:
            append(connection, self._thread(self._exact(id)), clean)

    def set(
        self,
        id: str,
        *,
        model: str | EllipsisType = ...,
        thinking: Json = ...,
        system: str | EllipsisType = ...,
        title: str | EllipsisType = ...,
        refusals: Sequence[Rejection] | EllipsisType = ...,
    ) -> None:
        """Change these fields of a thread. A new title does not count as use of the thread."""
        said = {
            "model": model,
            "thinking": thinking,
            "system": system,
            "title": title,
            "refusals": refusals,
        }
        changes: dict[str, Any] = self._columns({k: v for k, v in said.items() if v is not ...})
        if changes.keys() - {"title"}:
            changes["updated"] = time()
        exact = self._exact(id)
        assignments = ", ".join(f"{name} = ?" for name in changes)
        if changes:
            with self._database.transaction() as connection:
                connection.execute(
                    f"UPDATE threads SET {assignments} WHERE id = ?",
                    (*changes.values(), exact),
                )

    def rename(self, id: str, title: str) -> None:
        """Give a thread another title."""
        self.set(id, title=title)

    def delete(self, id: str) -> None:
        """Delete a thread and all its messages."""
        with self._database.transaction() as connection:
            exact = self._exact(id)
            self._index.forget(connection, exact)
            connection.execute("DELETE FROM threads WHERE id = ?", (exact,))
        self._database.settle()

    def fork(
        self,
        id: str,
        upto: int | None = None,
        *,
        model: str | EllipsisType = ...,
        thinking: Json = ...,
    ) -> Thread:
        """Return a new thread that begins with the first ``upto`` messages of this one, or all."""
        if upto is not None and upto < 0:
            message = f"upto={upto!r} cannot be; use a number of messages from 0 on"
            raise BadParameter(message)
        with self._database.transaction() as connection:
            source = self._thread(self._exact(id))
            said = {
                "model": source.model if model is ... else model,
                "thinking": source.thinking if thinking is ... else thinking,
                "system": source.system,
                "title": source.title,
                "refusals": source.refusals,
            }
            new = insert(connection, {**self._columns(said), "parent": source.id})
            copy_rows(connection, source.id, new, source.messages if upto is None else upto)
        return self._thread(new)

    def restore(self, thread: Thread, lines: Sequence[ExportLine]) -> Thread:
        """Import an exported thread, under its own id if that is free.

        Where it is not, the import is a copy, and its cost is not counted again.
        """
        said = {name: getattr(thread, name) for name in (*_PLAIN, *_AS_JSON)}
        kept = self._clean([line.kept for line in lines])
        clean = [replace(line, kept=each) for line, each in zip(lines, kept, strict=True)]
        with self._database.transaction() as connection:
            here = bool(self._database.rows("SELECT 1 FROM threads WHERE id = ?", (thread.id,)))
            id = None if here or not _ID.fullmatch(thread.id) else thread.id
            new = insert(connection, {**self._columns(said), "parent": thread.parent}, id=id)
            for turn, group in groupby(clean, key=lambda line: line.turn):
                turns = list(group)
                copied = here or all(line.copied for line in turns)
                added = [line.kept for line in turns]
                append(connection, self._thread(new), added, turn=turn, copied=copied)
            connection.execute(
                "UPDATE threads SET created = ?, updated = ? WHERE id = ?",
                (thread.created, thread.updated, new),
            )
        return self._thread(new)

    # -- reading -----------------------------------------------------------------------------

    def get(self, id: str) -> Thread:
        """Return a thread by its id, the beginning of its id, or "last"."""
        return self._thread(self._exact(id))

    def load_messages(
        self, id: str, *, last: int | None = None, before: int | None = None
    ) -> tuple[StoredMessage, ...]:
        """Return messages in order: all, or the ``last`` so many of those before ``before``."""
        rows = self._database.rows(
            "SELECT body FROM kept WHERE thread = ? AND number < ? ORDER BY number DESC LIMIT ?",
            (self._exact(id), 2**62 if before is None else before, -1 if last is None else last),
        )
        return tuple(decode_row(body) for (body,) in reversed(rows))

    def messages(self, id: str) -> tuple[Message, ...]:
        """Return the conversation as it was: every part, every seal and every byte of it."""
        return tuple(kept.message for kept in self.load_messages(id))

    def lines(self, id: str) -> tuple[ExportLine, ...]:
        """Return the messages as an export holds them."""
        rows = self._database.rows(
            "SELECT turn, body, copied FROM kept WHERE thread = ? ORDER BY number",
            (self._exact(id),),
        )
        return tuple(
            ExportLine(turn, decode_row(body), bool(copied)) for turn, body, copied in rows
        )

    def list(self, *, limit: int | None = 50) -> tuple[Thread, ...]:
        """Return the threads, the last used first."""
        rows = self._database.rows(
            f"SELECT {THREAD} FROM threads ORDER BY updated DESC, number DESC LIMIT ?",
            (-1 if limit is None else limit,),
        )
        return tuple(map(thread_of, rows))

    def find(
        self, text: str, *, limit: int = 50, thread: str | None = None
    ) -> tuple[SearchHit, ...]:
        """Return the titles and messages that contain all of these words, the latest first.

        Of one ``thread``, only messages are searched.
        """
        exact = None if thread is None else self._exact(thread)
        return self._index.find(replace_unencodable(text), limit=limit, thread=exact)

    def stats(self, *, days: float | None = None) -> tuple[UsageTotal, ...]:
        """Return what each model took at each level, in these last days or ever."""
        return sum_usage(self._database, since=None if days is None else time() - days * 86_400)

    def is_fully_priced(self, id: str) -> bool:
        """Return whether a thread's ``cost`` is all of it: no counted reply lacks a price."""
        return is_fully_priced(self._database, self._exact(id))

    def check(self) -> str:
        """Return "ok", or what is wrong with the file."""
        return integrity(self._database)

    # -- inside one transaction --------------------------------------------------------------

    def _exact(self, id: str) -> str:
        if id == LAST:
            query = "SELECT id FROM threads ORDER BY updated DESC, number DESC LIMIT 1"
            rows = self._database.rows(query)
            if not rows:
                raise UnknownThread(
                    "no saved threads yet; 'pondero ask' and 'pondero chat' save them"
                )
            return str(rows[0][0])
        query = "SELECT id FROM threads WHERE id = ? OR substr(id, 1, ?) = ? ORDER BY id LIMIT 6"
        low = replace_unencodable(id).strip().lower()
        rows = self._database.rows(query, (low, len(low), low)) if low else []
        found = [str(row[0]) for row in rows]
        if low in found or len(found) == 1:
            return low if low in found else found[0]
        raise UnknownThread(self._no_thread(id, found))

    def _no_thread(self, id: str, found: Sequence[str]) -> str:
        if found:
            return f"several threads begin with {id!r}: {' '.join(found)}; write more of it"
        from difflib import get_close_matches  # noqa: PLC0415 - only for an error

        threads = self.list(limit=500)
        names = {thread.id: thread.id for thread in threads}
        names |= {thread.title.lower(): thread.id for thread in reversed(threads)}
        close = get_close_matches(id.lower(), names, n=1, cutoff=0.5)
        guess = f"did you mean {names[close[0]]}? " if close else ""
        return f"no thread {id!r}; {guess}see 'pondero threads list'"

    def _thread(self, id: str) -> Thread:
        query = f"SELECT {THREAD} FROM threads WHERE id = ?"
        return thread_of(self._database.rows(query, (id,))[0])

    def _clean(self, kept: Sequence[StoredMessage]) -> Sequence[StoredMessage]:
        """Return messages without secrets; raises StoreError for what cannot be encoded."""
        hider = SecretRedactor(self._secrets)
        for each in kept:
            text_of(each)
        try:
            return [hider.value(each) for each in kept]
        except RecursionError as error:
            message = f"this cannot be kept: {error}"
            raise StoreError(message) from None

    def _columns(self, said: dict[str, Any]) -> dict[str, str]:
        hider = SecretRedactor(self._secrets)
        clean = {name: hider.value(value) for name, value in said.items()}
        return {
            name: text_of(value) if name in _AS_JSON else replace_unencodable(value)
            for name, value in clean.items()
        }
