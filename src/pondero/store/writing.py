"""Rows written within one transaction that the caller holds."""

import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from sqlite3 import Connection, IntegrityError
from time import time
from typing import Any

from ..canon import Usage
from .kept import Kept, Thread
from .rows import COUNTS, KEPT, figure, money, row_of, title_of

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # without letters that look like others
LENGTH = 6


def insert(connection: Connection, columns: Mapping[str, Any], *, id: str | None = None) -> str:
    """Write a new thread and return its id: this one, or one that is free."""
    now = time()
    values = {**columns, "created": now, "updated": now}
    names, marks = ", ".join(values), ", ".join("?" * len(values))
    while True:
        chosen = id or "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
        with suppress(IntegrityError):
            connection.execute(
                f"INSERT INTO threads (id, {names}) VALUES (?, {marks})",  # noqa: S608 - names of ours
                (chosen, *values.values()),
            )
            return chosen


def append(
    connection: Connection,
    thread: Thread,
    kept: Sequence[Kept],
    *,
    turn: int | None = None,
    copied: bool = False,
) -> None:
    """Write a turn to the end of a thread; what a copy cost is not added up again."""
    turn = thread.turns if turn is None else turn
    rows = [
        row_of(each, thread=thread.id, number=thread.messages + n, turn=turn, copied=copied)
        for n, each in enumerate(kept)
    ]
    marks = ", ".join("?" * len(KEPT.split(",")))
    connection.executemany(f"INSERT INTO kept ({KEPT}) VALUES ({marks})", rows)  # noqa: S608 - names of ours
    paid = () if copied else kept
    usages = [each.usage for each in paid if each.usage is not None]
    costs = [money(cost) for cost in (thread.cost, *(each.cost for each in paid))]
    known = [cost for cost in costs if cost is not None]
    titles = (title_of(each.message) for each in kept if each.message.role == "user")
    connection.execute(
        "UPDATE threads SET title = ?, turns = ?, messages = messages + ?, input = ?, "
        "cache_read = ?, cache_write = ?, output = ?, thought = ?, total = ?, cost = ?, "
        "updated = ? WHERE id = ?",
        (
            thread.title or next(filter(None, titles), ""),
            turn + 1,
            len(kept),
            *(_sum(thread.usage, usages, name) for name in COUNTS),
            str(sum(known)) if known else None,
            time(),
            thread.id,
        ),
    )


def copy(connection: Connection, source: str, new: str, upto: int) -> None:
    """Write the first messages of one thread to another that is empty."""
    names = KEPT.removeprefix("thread, ").removesuffix(", copied")
    connection.execute(
        f"INSERT INTO kept (thread, {names}, copied) "  # noqa: S608 - names of ours
        f"SELECT ?, {names}, 1 FROM kept WHERE thread = ? AND number < ? ORDER BY number",
        (new, source, upto),
    )
    connection.execute(
        "UPDATE threads SET (messages, turns) = "
        "(SELECT count(*), coalesce(max(turn) + 1, 0) FROM kept WHERE thread = ?) WHERE id = ?",
        (new, new),
    )


def _sum(before: Usage, usages: Sequence[Usage], name: str) -> int | None:
    counts = [figure(getattr(usage, name)) for usage in (before, *usages)]
    known = [count for count in counts if count is not None]
    return figure(sum(known)) if known else None
