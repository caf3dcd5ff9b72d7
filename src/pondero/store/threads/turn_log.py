"""Turns under way and prompts that were not sent: on disk at once, so that no kill loses them.

A turn is in the table ``unfinished`` from before its question is sent until it is a turn of its
thread. Each row belongs to a process, which holds a lock while it lives: a row whose lock is free
was left behind, and ``Threads.recover_turns`` makes a turn of it.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from secrets import token_hex
from sqlite3 import Connection
from threading import Event, Thread
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...canon import Message, Text, load_json
from ...errors import PonderoError, UsageError
from ...handoff import answer_interrupted
from .database import Database, hold_lock
from .records import Drafts, StoredMessage, UnfinishedTurn
from .rows import encode_text

if TYPE_CHECKING:
    from .threads import Threads

_EVERY = 1.0
"""Seconds between two writings of an answer that is arriving."""


class TurnLog:
    """The rows of turns under way, in a database that processes share."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._owner: str | None = None
        self._lock = ExitStack()

    def begin(self, turn: UnfinishedTurn) -> int:
        """Write a turn that begins, and return its number."""
        with self._database.transaction() as connection:
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

    def list_left(self, *, own: bool = False) -> list[tuple[int, str, UnfinishedTurn]]:
        """Return the turns of processes that have ended, or of this one, oldest first.

        Each has its number and its process.
        """
        rows = self._database.rows("SELECT number, owner, body FROM unfinished ORDER BY number")
        owners = {owner for _, owner, _ in rows}
        gone = {self._owner} if own else {each for each in owners if self._is_gone(each)}
        left = [row for row in rows if row[1] in gone]
        return [(number, owner, load_json(body, UnfinishedTurn)) for number, owner, body in left]

    # -- prompts that were not sent ---------------------------------------------------------------

    def save_drafts(self, thread: str, drafts: Drafts) -> None:
        """Write what waits for a thread; nothing removes it.

        A thread that has not begun is "", and a process's further ones begin with a "+".
        """
        with self._database.transaction() as connection:
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

    def list_drafts(self) -> list[str]:
        """Return the threads for which something waits that no living process will send."""
        rows = self._database.rows(
            "SELECT thread, owner FROM drafts WHERE substr(thread, 1, 1) NOT IN ('', '+') "
            "ORDER BY rowid DESC"
        )
        return list(dict.fromkeys(thread for thread, owner in rows if self._is_gone(owner)))

    def take_drafts(self, thread: str) -> Drafts:
        """Remove and return what waits for a thread, unless a program that lives will send it."""
        rows = self._database.rows(
            "SELECT owner, thread FROM drafts WHERE thread = ? "
            "OR (? = '' AND substr(thread, 1, 1) = '+') ORDER BY rowid",
            (thread, thread),
        )
        left = [row for row in rows if self._is_gone(row[0])]
        if not left:
            return Drafts()
        found: list[Drafts] = []
        with self._database.transaction() as connection:
            for row in left:  # another program may have taken it meanwhile
                here = "FROM drafts WHERE owner = ? AND thread = ?"
                bodies = connection.execute(f"SELECT body {here}", row).fetchall()
                connection.execute(f"DELETE {here}", row)
                found += (load_json(body, Drafts) for (body,) in bodies)
        typed = [each.typed for each in found if each.typed]
        earlier = [Message("user", (Text(words),)) for words in typed[:-1]]
        queue = (prompt for each in found for prompt in each.queue)
        cut = any(each.cut for each in found)
        attached = tuple(part for each in found for part in each.attached)
        return Drafts((*queue, *earlier), typed[-1] if typed else "", cut, attached)

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
            self._lock.enter_context(hold_lock(self._lock_path(owner), "another program has it"))
            self._owner = owner
        return self._owner

    def _is_gone(self, owner: str) -> bool:
        if owner == self._owner:
            return False
        try:
            # Without patience: who lives keeps its lock, and it may be this very process.
            with hold_lock(self._lock_path(owner), "it lives", patience=0):
                pass
        except UsageError:
            return False
        self._remove_lock(owner)
        return True

    def _lock_path(self, owner: str) -> Path:
        return self._database.path.with_name(f"turn-{owner}")

    def _lock_file(self, owner: str) -> Path:
        return self._lock_path(owner).with_suffix(".lock")

    def _remove_lock(self, owner: str) -> None:
        with suppress(OSError):
            self._lock_file(owner).unlink()


class TurnJournal:
    """Keeps one turn on disk while it runs; what fails here never stops the turn.

    ``note`` returns at once: a thread of its own writes, at most once a second. ``before``: what
    comes before the turn and is not on disk yet.
    """

    def __init__(
        self,
        threads: "Threads | None",
        turn: UnfinishedTurn,
        before: tuple[StoredMessage, ...] = (),
    ) -> None:
        self.number: int | None = None
        self._turn = turn = replace(turn, messages=(*before, *turn.messages))
        self._before = before
        self._threads = threads
        self._news: Callable[[], Sequence[StoredMessage]] | None = None
        self._closed = Event()
        self._writer: Thread | None = None
        if threads is not None:
            with suppress(PonderoError):
                self.number = threads.begin_turn(turn)

    def note(self, messages: Callable[[], Sequence[StoredMessage]]) -> None:
        """Write the messages so far, soon."""
        if self.number is None:
            return
        self._news = messages
        if self._writer is None:
            self._writer = Thread(target=self._write, name="pondero-turn", daemon=True)
            self._writer.start()

    def discard(self) -> None:
        """Forget a turn of which nothing is to be kept."""
        self.close()
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
            if (news := self._news) is not None:
                self._news = None
                self._update(news)

    def _update(self, news: Callable[[], Sequence[StoredMessage]]) -> None:
        # The turn goes on meanwhile: if it changes while it is read, the next writing has it all.
        with suppress(PonderoError, RuntimeError):
            turn = replace(self._turn, messages=(*self._before, *news()))
            if self._threads is not None and self.number is not None:
                self._threads.update_turn(self.number, turn)


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
