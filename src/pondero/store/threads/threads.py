"""Threads on disk: whole turns, every message with its parts and signatures."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import groupby
from pathlib import Path
from sqlite3 import Connection
from time import time
from types import EllipsisType
from typing import Any, Self

from msgspec.structs import replace

from ...canon import Json, Message
from ...errors import BadParameter, StoreError, UnknownThread
from ...handoff import Rejection
from ..files import data_folder
from ..secrets import SecretRedactor
from .database import BUSY, Database, is_full, open_database
from .records import (
    Drafts,
    ExportLine,
    SavedPlace,
    SearchHit,
    StoredMessage,
    Thread,
    ThreadEnd,
    ThreadUsage,
    UnfinishedTurn,
    UsageTotal,
)
from .rows import (
    ALPHABET,
    LENGTH,
    THREAD,
    append,
    copy_rows,
    count_replies,
    decode_row,
    decode_thread,
    encode_text,
    find_thread_end,
    insert,
    replace_unencodable,
    sum_usage,
    use_after,
)
from .search import Progress, SearchIndex
from .turn_log import TurnLog, mark_partial

LAST = "last"
FILE = "threads.db"

_PLAIN = ("model", "title")
_AS_JSON = ("thinking", "system", "refusals")
_ID = re.compile(f"[{ALPHABET}]{{{LENGTH}}}")


class Threads:
    """The threads of one file, which system threads and processes may share.

    ``notice`` names the copy of a damaged file. Secrets are redacted: those of ``secrets``, of the
    environment, and saved keys in use.
    """

    def __init__(
        self, database: Database, *, notice: str | None = None, secrets: Iterable[str] = ()
    ) -> None:
        self.notice = notice
        self._database = database
        self._index = SearchIndex(database)
        self._secrets = tuple(secrets)
        self._turns = TurnLog(database)

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        secrets: Iterable[str] = (),
        patience: float = BUSY,
    ) -> Self:
        """Open the threads of a file, or create it; raises StoreError.

        ``patience``: the seconds to wait for another program that does something to it.
        """
        file = Path(data_folder()) / FILE if path is None else Path(path)
        database, notice = open_database(file, patience=patience)
        return cls(database, notice=notice, secrets=secrets)

    @property
    def path(self) -> Path:
        """Return the path of the file."""
        return self._database.path

    @property
    def is_alone(self) -> bool:
        """Return whether other programs are locked out, because the disk is full."""
        return self._database.is_alone

    @property
    def is_read_only(self) -> bool:
        """Return whether nothing can be saved; ``notice`` says so."""
        return self._database.is_read_only

    def close(self) -> None:
        """Close the file; may be called twice."""
        self._turns.close()
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
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
        """Create a thread; without a title, its first words become one."""
        columns = self._columns(
            model=model, thinking=thinking, system=system, title=title, refusals=refusals
        )
        with self._database.transaction() as connection:
            id = insert(connection, {**columns, "parent": parent})
        return self._thread(id)

    def add(self, id: str, kept: Sequence[StoredMessage]) -> None:
        """Add the messages of a turn, all or none."""
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
        """Change fields of a thread; only a new title leaves its time of use unchanged."""
        changes: dict[str, Any] = self._columns(
            model=model, thinking=thinking, system=system, title=title, refusals=refusals
        )
        if changes.keys() - {"title"}:
            changes["updated"] = time()
        exact = self._exact(id)
        assignments = ", ".join(f"{name} = ?" for name in changes)
        if changes:
            with self._database.transaction() as connection:
                connection.execute(
                    f"UPDATE threads SET {assignments} WHERE id = ?", (*changes.values(), exact)
                )

    def rename(self, id: str, title: str) -> None:
        """Change the title of a thread."""
        self.set(id, title=title)

    def delete(self, id: str) -> None:
        """Delete a thread and all its messages, also on a disk that is full."""
        self._delete((self._exact(id),))

    def prune(self, *, before: float) -> tuple[Thread, ...]:
        """Delete the threads that were last used before a time, and return them."""
        found = tuple(each for each in self.list(limit=None) if each.updated < before)
        self._delete(tuple(each.id for each in found))
        return found

    def _delete(self, ids: Sequence[str]) -> None:
        try:
            with self._database.transaction() as connection:
                self._delete_rows(connection, ids)
            self._database.settle()
        except StoreError as error:
            if not is_full(error.__cause__):
                raise
            with self._database.transaction_in_place() as connection:
                self._delete_rows(connection, ids)

    def _delete_rows(self, connection: Connection, ids: Sequence[str]) -> None:
        for id in ids:
            self._index.forget(connection, id)
            connection.execute("DELETE FROM threads WHERE id = ?", (id,))
            connection.execute("DELETE FROM drafts WHERE thread = ?", (id,))

    def compact(self) -> tuple[int, int]:
        """Give the room of deleted threads back to the disk; return the bytes before and after."""
        before = self.size
        self._database.compact()
        return before, self.size

    @property
    def size(self) -> int:
        """Return the bytes of the file and of its write-ahead log."""
        names = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(each.stat().st_size for each in names if each.exists())

    def fork(
        self,
        id: str,
        upto: int | None = None,
        *,
        model: str | EllipsisType = ...,
        thinking: Json = ...,
    ) -> Thread:
        """Return a new thread with a copy of the first ``upto`` messages, or all."""
        if upto is not None and upto < 0:
            message = f"invalid upto={upto!r}; use a number of messages from 0 on"
            raise BadParameter(message)
        with self._database.transaction() as connection:
            source = self._thread(self._exact(id))
            columns = self._columns(
                model=source.model if model is ... else model,
                thinking=source.thinking if thinking is ... else thinking,
                system=source.system,
                title=source.title,
                refusals=source.refusals,
            )
            new = insert(connection, {**columns, "parent": source.id})
            copy_rows(connection, source.id, new, source.messages if upto is None else upto)
        return self._thread(new)

    # -- turns under way ---------------------------------------------------------------------

    def patience(self, seconds: float) -> AbstractContextManager[None]:
        """Let what is written meanwhile wait only so long for other programs; raises StoreError."""
        return self._database.patience(seconds)

    def shorten_patience(self, seconds: float) -> None:
        """Wait only so long for other programs from now on: a screen stands still meanwhile."""
        self._database.shorten_patience(seconds)

    @property
    def owner(self) -> str | None:
        """Return the name of this process in the tables; None if it has written nothing."""
        return self._turns.owner

    def save_turn(
        self, turn: UnfinishedTurn, *, number: int | None = None, left: bool = False
    ) -> SavedPlace:
        """Add a whole turn to its thread, in one transaction; ``number``: as it was begun.

        If the thread has other messages than those that the turn follows, the turn goes into a
        copy of these; if it was deleted, into a new thread. The thread of a turn with a name stays
        the last one used. ``left``: by another process; raises StoreError if that has saved it in
        the meantime.
        """
        clean = self._clean(turn.messages)
        columns = self._columns(
            model=turn.model,
            thinking=turn.thinking,
            system=turn.system,
            title="",
            refusals=turn.refusals,
        )
        with self._database.transaction() as connection:
            if number is not None and not self._turns.end(connection, number) and left:
                raise StoreError("its process has saved this turn")
            source = self._find_source(turn)
            grown = source is not None and not turn.copy and source.messages != turn.after
            if source is None or turn.copy or grown:
                parent = None if source is None else source.id
                title = "" if source is None or not turn.after else source.title
                values = {**columns, "title": title, "parent": parent}
                id = insert(connection, values)
                if source is not None and turn.after:
                    copy_rows(connection, source.id, id, turn.after)
            else:
                id = source.id
                changes = {name: each for name, each in columns.items() if name != "title"}
                names = ", ".join(f"{name} = ?" for name in changes)
                connection.execute(
                    f"UPDATE threads SET {names} WHERE id = ?", (*changes.values(), id)
                )
            append(connection, self._thread(id), clean)
            if turn.name:
                connection.execute(
                    "UPDATE threads SET title = title || ? WHERE id = ?", (f" ({turn.name})", id)
                )
                if source is not None:
                    use_after(connection, source.id, id)
        return SavedPlace(self._thread(id), grown)

    def _find_source(self, turn: UnfinishedTurn) -> Thread | None:
        if turn.thread is None:
            return None
        rows = self._database.rows(f"SELECT {THREAD} FROM threads WHERE id = ?", (turn.thread,))
        return decode_thread(rows[0]) if rows else None

    def begin_turn(self, turn: UnfinishedTurn, *, in_place_of: Iterable[int] = ()) -> int:
        """Keep a turn that begins, and return its number; it has what these others had."""
        return self._turns.begin(SecretRedactor(self._secrets).value(turn), in_place_of)

    def update_turn(self, number: int, turn: UnfinishedTurn) -> None:
        """Keep what has arrived of a turn that has begun."""
        self._turns.update(number, SecretRedactor(self._secrets).value(turn))

    def discard_turn(self, number: int) -> None:
        """Forget a turn that has begun."""
        self._turns.drop(number)

    def recover_turns(self, *, own: bool = False) -> tuple[Thread, ...]:
        """Save the turns that killed processes left, or the ``own`` ones, and return the threads.

        The question stays, with as much of the answer as was written, marked as partial. Rescue
        files of ended processes are read first.
        """
        if not own:
            self._turns.take_rescued()
        found: dict[str, Thread] = {}
        for number, owner, turn in self._turns.list_left(own=own):
            try:
                thread = self.save_turn(mark_partial(turn), number=number, left=True).thread
            except StoreError:  # it has ended since it was listed
                continue
            found[thread.id] = thread
            if turn.thread is None:
                self._turns.move_drafts(owner, turn.draft, thread.id)
            if own:  # the next program names it
                self._turns.mark_cut(thread.id)
        return tuple(found.values())

    def save_drafts(self, thread: str | None, drafts: Drafts) -> None:
        """Keep what waits for a thread; None is one that has not begun."""
        self._turns.save_drafts(thread or "", SecretRedactor(self._secrets).value(drafts))

    def list_drafts(self, *, cut: bool = False) -> tuple[Thread, ...]:
        """Return the threads for which something waits that no living program will send.

        ``cut``: only those whose last answer the end of a program cut off.
        """
        return tuple(
            decode_thread(row)
            for id in self._turns.list_drafts(cut=cut)
            for row in self._database.rows(f"SELECT {THREAD} FROM threads WHERE id = ?", (id,))
        )

    def take_drafts(self, thread: str | None, place: str | None = None) -> Drafts:
        """Return what waits for a thread, unless a program that lives will send it.

        It waits for this program then, as that thread's or at ``place``.
        """
        return self._turns.take_drafts(thread or "", place)

    def restore(self, thread: Thread, lines: Sequence[ExportLine]) -> Thread:
        """Import an exported thread under its own id.

        If the id is taken, the import is a copy, whose cost does not count again.
        """
        columns = self._columns(**{n: getattr(thread, n) for n in (*_PLAIN, *_AS_JSON)})
        stored = self._clean([line.kept for line in lines])
        clean = [replace(line, kept=each) for line, each in zip(lines, stored, strict=True)]
        with self._database.transaction() as connection:
            here = bool(self._database.rows("SELECT 1 FROM threads WHERE id = ?", (thread.id,)))
            id = None if here or not _ID.fullmatch(thread.id) else thread.id
            new = insert(connection, {**columns, "parent": thread.parent}, id=id)
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
        """Return a thread by its id, a prefix of it, or "last"."""
        return self._thread(self._exact(id))

    def load_messages(
        self, id: str, *, last: int | None = None, before: int | None = None
    ) -> tuple[StoredMessage, ...]:
        """Return messages in order: all, or the ``last`` ones before number ``before``."""
        rows = self._database.rows(
            "SELECT body FROM kept WHERE thread = ? AND number < ? ORDER BY number DESC LIMIT ?",
            (self._exact(id), 2**62 if before is None else before, -1 if last is None else last),
        )
        return tuple(decode_row(body) for (body,) in reversed(rows))

    def messages(self, id: str) -> tuple[Message, ...]:
        """Return the conversation unchanged: every part, signature and byte."""
        return tuple(stored.message for stored in self.load_messages(id))

    def lines(self, id: str) -> tuple[ExportLine, ...]:
        """Return the messages for an export."""
        rows = self._database.rows(
            "SELECT turn, body, copied FROM kept WHERE thread = ? ORDER BY number",
            (self._exact(id),),
        )
        return tuple(
            ExportLine(turn, decode_row(body), bool(copied)) for turn, body, copied in rows
        )

    def list(self, *, limit: int | None = 50) -> tuple[Thread, ...]:
        """Return the threads, last used first."""
        rows = self._database.rows(
            f"SELECT {THREAD} FROM threads ORDER BY updated DESC, number DESC LIMIT ?",
            (-1 if limit is None else limit,),
        )
        return tuple(map(decode_thread, rows))

    def find(
        self,
        text: str,
        *,
        limit: int = 50,
        thread: str | None = None,
        progress: Progress | None = None,
    ) -> tuple[SearchHit, ...]:
        """Return titles, then messages, that contain all words; of a ``thread``, messages only.

        Thinking, tool calls and their results are searched too. ``progress`` is called while the
        index is brought up to date.
        """
        exact = None if thread is None else self._exact(thread)
        words = replace_unencodable(text)
        return self._index.find(words, limit=limit, thread=exact, progress=progress)

    def stats(self, *, days: float | None = None) -> tuple[UsageTotal, ...]:
        """Return the usage by model and level, in these last days or ever."""
        return sum_usage(self._database, since=None if days is None else time() - days * 86_400)

    def count_replies(self, id: str, *, upto: int) -> ThreadUsage:
        """Return the usage of the replies among the first messages, copies of a fork included."""
        return count_replies(self._database, self._exact(id), upto)

    def find_ends(self, threads: Sequence[Thread]) -> Mapping[str, ThreadEnd]:
        """Return the end of each of these threads that is a copy or has one, by its id.

        Copies have the title of their source: the end tells them apart.
        """
        sources = {thread.parent for thread in threads}
        family = (each for each in threads if each.parent is not None or each.id in sources)
        return {each.id: find_thread_end(self._database, each) for each in family}

    def check(self) -> str:
        """Return "ok", or the damage that SQLite finds."""
        rows = self._database.rows("PRAGMA integrity_check(5)")
        return "; ".join(str(row[0]) for row in rows)

    # -- inside one transaction --------------------------------------------------------------

    def _exact(self, id: str) -> str:
        if id == LAST:
            # One without a message was begun on a full disk: there is nothing to continue.
            query = (
                "SELECT id FROM threads ORDER BY messages = 0, updated DESC, number DESC LIMIT 1"
            )
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
        return decode_thread(self._database.rows(query, (id,))[0])

    def _clean(self, kept: Sequence[StoredMessage]) -> Sequence[StoredMessage]:
        redactor = SecretRedactor(self._secrets)
        for each in kept:
            encode_text(each)
        try:
            return [redactor.value(each) for each in kept]
        except RecursionError as error:
            message = f"this cannot be saved: {error}"
            raise StoreError(message) from None

    def _columns(self, **values: Any) -> dict[str, str]:
        """Return the columns of a thread, without those whose value is ``...``."""
        redactor = SecretRedactor(self._secrets)
        clean = {name: redactor.value(each) for name, each in values.items() if each is not ...}
        return {
            name: encode_text(value) if name in _AS_JSON else replace_unencodable(value)
            for name, value in clean.items()
        }
