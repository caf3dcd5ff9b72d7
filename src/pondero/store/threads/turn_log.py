"""Turns under way and prompts that were not sent: on disk at once, so that no kill loses them.

A turn is in the table ``unfinished`` from before its question is sent until it is a turn of its
thread. Each row belongs to a process, which holds a lock while it lives: a row whose lock is free
was left behind, and ``Threads.recover_turns`` makes a turn of it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from sqlite3 import Connection
from threading import Event, Lock, Thread
from time import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...canon import Message, Text, load_json
from ...errors import PonderoError, StoreError, UsageError
from ...handoff import answer_interrupted
from .database import Database, hold_lock, is_busy
from .records import Drafts, StoredMessage, UnfinishedTurn
from .rescue import RescuedTurn, find_rescued, remove_rescued
from .rows import encode_text

if TYPE_CHECKING:
    from .threads import Threads

_EVERY = 1.0
"""Seconds between two writings of an answer that is arriving."""
_OLD = 60.0
"""Seconds after which a lock that no program holds is one that was left."""
_PATIENCE = 0.05
"""Seconds that such a writing waits for another program: the next one has it all."""


class TurnLog:
    """The rows of turns under way, in a database that processes share."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._owner: str | None = None
        self._dropped: set[int] = set()  # rows that a full disk did not let go
        self._lock = ExitStack()

    def begin(self, turn: UnfinishedTurn, in_place_of: Iterable[int] = ()) -> int:
        """Write a turn that begins, and return its number; it has what these others had."""
        with self._transact() as connection:
            for number in in_place_of:
                self.end(connection, number)
            cursor = connection.execute(
                "INSERT INTO unfinished (owner, body) VALUES (?, ?)",
                (self._own(), encode_text(turn)),
            )
            return int(cursor.lastrowid or 0)

    def update(self, number: int, turn: UnfinishedTurn) -> None:
        """Write what has arrived of a turn; does nothing if it has ended."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE unfinished SET body = ? WHERE number = ?", (encode_text(turn), number)
            )

    def end(self, connection: Connection, number: int) -> bool:
        """Remove a turn that has ended; return whether it was there."""
        cursor = connection.execute("DELETE FROM unfinished WHERE number = ?", (number,))
        return cursor.rowcount > 0

    def drop(self, number: int) -> None:
        """Remove a turn of which nothing is to be kept; if that fails, the next writing does it."""
        self._dropped.add(number)
        self._end_dropped()

    def _end_dropped(self) -> None:
        if self._dropped:
            with self._transact():
                pass

    @contextmanager
    def _transact(self) -> Iterator[Connection]:
        """Run a transaction, which also removes the rows that could not be removed before."""
        dropped = frozenset(self._dropped)
        with self._database.transaction() as connection:
            for number in dropped:
                self.end(connection, number)
            yield connection
        self._dropped -= dropped

    def list_left(self, *, own: bool = False) -> list[tuple[int, str, UnfinishedTurn]]:
        """Return the turns of processes that have ended, or of this one, oldest first.

        Each has its number and its process.
        """
        with suppress(PonderoError):
            self._end_dropped()
        rows = self._database.rows("SELECT number, owner, body FROM unfinished ORDER BY number")
        owners = {owner for _, owner, _ in rows}
        gone = {self._owner} if own else {each for each in owners if self._is_gone(each)}
        if not own:
            self._remove_old_locks()
        left = [row for row in rows if row[1] in gone and row[0] not in self._dropped]
        return [(number, owner, load_json(body, UnfinishedTurn)) for number, owner, body in left]

    # -- what a program could not write -----------------------------------------------------------

    @property
    def owner(self) -> str | None:
        """Return the name of this process in the tables; None if it has written nothing."""
        return self._owner

    def take_rescued(self) -> None:
        """Make rows of the files that programs left which could not write them."""
        for path, work in find_rescued(self._database.path):
            owner = work.owner or path.stem
            with self._transact() as connection:
                for each in work.turns:
                    for number in each.rows:  # those of this owner: the database may be another
                        connection.execute(
                            "DELETE FROM unfinished WHERE number = ? AND owner = ?", (number, owner)
                        )
                    if not _is_saved(connection, each.turn):
                        connection.execute(
                            "INSERT INTO unfinished (owner, body) VALUES (?, ?)",
                            (owner, encode_text(each.turn)),
                        )
                for thread, drafts in work.drafts.items():
                    _remove_drafts(connection, owner, thread)
                    if drafts != Drafts():
                        connection.execute(
                            "INSERT INTO drafts (owner, thread, body) VALUES (?, ?, ?)",
                            (owner, thread, encode_text(drafts)),
                        )
            remove_rescued(path, work)

    # -- prompts that were not sent ---------------------------------------------------------------

    def save_drafts(self, thread: str, drafts: Drafts) -> None:
        """Write what waits for a thread; nothing removes it.

        A thread that has not begun is "", and a process's further ones begin with a "+".
        """
        with self._transact() as connection:
            owner = self._own()
            connection.execute("DELETE FROM drafts WHERE owner = ? AND thread = ?", (owner, thread))
            if drafts != Drafts():
                connection.execute(
                    "INSERT INTO drafts (owner, thread, body) VALUES (?, ?, ?)",
                    (owner, thread, encode_text(drafts)),
                )

    def move_drafts(self, owner: str, draft: str, thread: str) -> None:
        """Give what waits for a process's new thread to the thread that it became."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE OR REPLACE drafts SET thread = ? WHERE owner = ? AND thread = ?",
                (thread, owner, draft),
            )

    def mark_cut(self, thread: str) -> None:
        """Note that the end of this process cut a thread's answer off, for ``list_drafts``."""
        with self._transact() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO drafts (owner, thread, body) VALUES (?, ?, ?)",
                (self._own(), thread, encode_text(Drafts(cut=True))),
            )

    def list_drafts(self, *, cut: bool = False) -> list[str]:
        """Return the threads for which something waits that no living process will send.

        ``cut``: only those whose last answer the end of a process cut off.
        """
        rows = self._database.rows(
            "SELECT thread, owner, body FROM drafts WHERE substr(thread, 1, 1) NOT IN ('', '+') "
            "ORDER BY rowid DESC"
        )
        left = [(thread, body) for thread, owner, body in rows if self._is_gone(owner)]
        wanted = [thread for thread, body in left if not cut or load_json(body, Drafts).cut]
        return list(dict.fromkeys(wanted))

    def take_drafts(self, thread: str, place: str | None = None) -> Drafts:
        """Return what waits for a thread, unless a program that lives will send it.

        From now on it waits for this process, at ``place``: a kill right after this loses nothing.
        """
        place = thread if place is None else place
        rows = self._database.rows(
            "SELECT owner, thread FROM drafts WHERE thread = ? "
            "OR (? = '' AND substr(thread, 1, 1) = '+') ORDER BY rowid",
            (thread, thread),
        )
        left = [row for row in rows if self._is_gone(row[0])]
        if not left:
            return Drafts()
        with self._database.transaction() as connection:
            here = (self._own(), place)
            found = [each for row in left for each in _remove_drafts(connection, *row)]
            taken = _join_drafts(found)  # another program may have taken it meanwhile
            kept = _join_drafts([*_remove_drafts(connection, *here), taken])
            if kept != Drafts():
                connection.execute(
                    "INSERT INTO drafts (owner, thread, body) VALUES (?, ?, ?)",
                    (*here, encode_text(kept)),
                )
        return taken

    def close(self) -> None:
        """Release the lock; what is left of this process can be recovered."""
        self._lock.close()
        if self._owner is not None:
            self._remove_lock(self._owner)
            self._owner = None

    def _own(self) -> str:
        if self._owner is not None and not self._lock_file(self._owner).exists():
            self.close()  # its folder was deleted: for others, this process would have ended
        if self._owner is None:
            owner = token_hex(8)
            path, known = self._lock_path(owner), self._database.path
            self._lock.enter_context(hold_lock(path, "another program has it", named=known))
            self._owner = owner
        return self._owner

    def _is_gone(self, owner: str) -> bool:
        if owner == self._owner:
            return False
        try:
            # Without patience: who lives keeps its lock, and it may be this very process.
            with hold_lock(self._lock_path(owner), "it lives", patience=0):
                pass
        except (UsageError, StoreError):
            return False
        self._remove_lock(owner)
        return True

    def _remove_old_locks(self) -> None:
        """Remove the locks of killed processes that left nothing else."""
        with suppress(OSError, PonderoError):
            for file in self._database.path.parent.glob("turn-*.lock"):
                if time() - file.stat().st_mtime > _OLD:  # a younger one may not be locked yet
                    self._is_gone(file.stem.removeprefix("turn-"))

    def _lock_path(self, owner: str) -> Path:
        return self._database.path.with_name(f"turn-{owner}")

    def _lock_file(self, owner: str) -> Path:
        return self._lock_path(owner).with_suffix(".lock")

    def _remove_lock(self, owner: str) -> None:
        for name in (self._lock_file(owner), self._lock_path(owner).with_suffix(".lock-journal")):
            with suppress(OSError):
                name.unlink()


class TurnJournal:
    """Keeps one turn on disk while it runs; what fails here never stops the turn.

    ``note`` returns at once: a thread of its own writes, at most once a second, and begins if that
    was not possible before. ``before``: what comes before the turn and is not in its thread yet;
    ``rows``: the unfinished turns that have it.
    """

    def __init__(
        self,
        threads: "Threads | None",
        turn: UnfinishedTurn,
        before: tuple[StoredMessage, ...] = (),
        rows: tuple[int, ...] = (),
    ) -> None:
        self.number: int | None = None
        self._turn = replace(turn, messages=(*before, *turn.messages))
        self._before = before
        self._rows = rows
        self._threads = threads
        self._news: Callable[[], Sequence[StoredMessage]] | None = None
        self.failure: PonderoError | None = None  # of the last writing
        self._writing = Lock()
        self._closed = Event()
        self._writer: Thread | None = None
        if threads is not None:
            asked = turn.messages
            try:
                self.number = threads.begin_turn(self._turn, in_place_of=rows)
            except PonderoError as error:
                self.failure = error
                self.note(lambda: asked)

    @property
    def is_written(self) -> bool:
        """Return whether all of the turn so far is on disk."""
        return self.number is not None and self._news is None

    @property
    def is_busy(self) -> bool:
        """Return whether another program kept it from being written."""
        return self.failure is not None and is_busy(self.failure.__cause__)

    @property
    def unwritten(self) -> RescuedTurn | None:
        """Return the turn so far if it could not be written; None if it could."""
        if self.failure is None:
            return None
        news = self._news
        turn = self._turn if news is None else self._make_turn(news)
        return RescuedTurn(turn, self._rows if self.number is None else (self.number,))

    def note(self, messages: Callable[[], Sequence[StoredMessage]]) -> None:
        """Write the messages so far, soon."""
        if self._threads is None:
            return
        self._news = messages
        if self._writer is None:
            self._writer = Thread(target=self._write, name="pondero-turn", daemon=True)
            self._writer.start()

    def finish(self, messages: Sequence[StoredMessage]) -> None:
        """Write the whole turn, which becomes one of a thread only when the user decides."""
        self.close()
        self._news = lambda: messages
        self.try_again()

    def try_again(self) -> None:
        """Write what is not on disk yet, if there is something, without a long wait."""
        with self._writing:
            if (news := self._news) is None:
                return
            self._news = None
            if not self._update(news):
                self._put_back(news)

    def _put_back(self, news: Callable[[], Sequence[StoredMessage]]) -> None:
        if self._news is None:  # no later ones have come
            self._news = news

    def discard(self) -> None:
        """Forget a turn of which nothing is to be kept."""
        self.close()
        self._news = self.failure = None
        if self._threads is not None and self.number is not None:
            with suppress(PonderoError):
                self._threads.discard_turn(self.number)
        self.number = None

    def close(self) -> None:
        """Write no more; what is not written yet, the turn's end will write."""
        self._closed.set()
        if self._writer is not None:
            self._writer.join()

    def _write(self) -> None:
        while not self._closed.wait(_EVERY):
            self.try_again()

    def _update(self, news: Callable[[], Sequence[StoredMessage]]) -> bool:
        """Write these messages; return whether that was done."""
        if self._threads is None:
            return True
        # The turn goes on meanwhile: if it changes while it is read, the next writing has it all.
        with suppress(RuntimeError):
            turn = self._make_turn(news)
            try:
                with self._threads.patience(_PATIENCE):
                    if self.number is None:
                        self.number = self._threads.begin_turn(turn, in_place_of=self._rows)
                    else:
                        self._threads.update_turn(self.number, turn)
            except PonderoError as error:
                self.failure = error
                return False
            self.failure = None
            return True
        return False

    def _make_turn(self, news: Callable[[], Sequence[StoredMessage]]) -> UnfinishedTurn:
        return replace(self._turn, messages=(*self._before, *news()))


def mark_partial(turn: UnfinishedTurn) -> UnfinishedTurn:
    """Return a turn that was cut off, with an answer that says so, perhaps an empty one.

    Tool calls of its last message get a result that says they were not run.
    """
    *before, last = turn.messages
    if last.message.role != "assistant":
        empty = StoredMessage(Message("assistant", ()), partial=True)
        return replace(turn, messages=(*turn.messages, empty))
    if last.finish is None:
        last = replace(last, partial=True)
    calls = last.message.tool_calls
    results = (StoredMessage(answer_interrupted(calls)),)
    return replace(turn, messages=(*before, last, *(results if calls else ())))


def _is_saved(connection: Connection, turn: UnfinishedTurn) -> bool:
    """Return whether a thread has the turn, because the user has imported it or two read it."""
    body = encode_text(turn.messages[-1])
    found = connection.execute("SELECT 1 FROM kept WHERE body = ? LIMIT 1", (body,)).fetchone()
    return turn.messages[-1].message.role == "assistant" and found is not None


def _remove_drafts(connection: Connection, owner: str, thread: str) -> list[Drafts]:
    here, row = "FROM drafts WHERE owner = ? AND thread = ?", (owner, thread)
    bodies = connection.execute(f"SELECT body {here}", row).fetchall()
    connection.execute(f"DELETE {here}", row)
    return [load_json(body, Drafts) for (body,) in bodies]


def _join_drafts(found: Sequence[Drafts]) -> Drafts:
    typed = [each.typed for each in found if each.typed]
    earlier = [Message("user", (Text(words),)) for words in typed[:-1]]
    queue: list[Message] = []
    commands: list[int] = []
    for each in found:
        commands += (len(queue) + at for at in each.commands)
        queue += each.queue
    cut = any(each.cut for each in found)
    attached = tuple(part for each in found for part in each.attached)
    aside = tuple(words for each in found for words in each.set_aside)
    return Drafts(
        (*queue, *earlier), typed[-1] if typed else "", cut, attached, aside, tuple(commands)
    )
