"""Messages and threads as rows of the database; ``Threads`` calls it."""

import re
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from sqlite3 import Connection, IntegrityError
from time import time
from typing import Any

from msgspec import Struct

from ...canon import (
    COUNTS,
    Json,
    Message,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    dump_json,
    load_json,
)
from ...errors import StoreError
from ...handoff import Rejection
from .database import Database
from .records import StoredMessage, Thread, ThreadEnd, ThreadUsage, UsageTotal

THREAD = (
    "id, title, model, thinking, system, created, updated, parent, turns, messages, "
    "input, cache_read, cache_write, output, thought, total, cost, refusals"
)
KEPT = (
    "thread, number, turn, at, role, model, level, input, cached, output, thought, cost, seconds, "
    "words, body, offline, copied"
)

_TITLE = 60
_BIGGEST = 2**53  # a larger count is a mistake, and SQLite could not sum it


def decode_thread(row: tuple[Any, ...]) -> Thread:
    """Decode a row of the columns THREAD."""
    id, title, model, thinking, system, created, updated, parent, turns, messages, *rest = row
    *counts, cost, refusals = rest
    return Thread(
        id=id,
        title=title,
        model=model,
        thinking=load_json(thinking, object),
        system=load_json(system, str),
        created=created,
        updated=updated,
        parent=parent,
        turns=turns,
        messages=messages,
        usage=Usage(**dict(zip(COUNTS, counts, strict=True))),
        cost=cost,
        refusals=load_json(refusals, tuple[Rejection, ...]),
    )


def _encode_row(
    kept: StoredMessage, *, thread: str, number: int, turn: int, copied: bool = False
) -> tuple[Any, ...]:
    """Encode a message as a row of the columns KEPT; only its body is read back."""
    usage, origin = kept.usage or Usage(), kept.message.origin
    cached = [count for count in (usage.cache_read, usage.cache_write) if count is not None]
    return (
        thread,
        number,
        turn,
        time() if origin is None or origin.at is None else origin.at,
        kept.message.role,
        None if origin is None else replace_unencodable(f"{origin.provider}:{origin.model}"),
        None if origin is None or origin.level is None else replace_unencodable(origin.level),
        figure(usage.input),
        figure(sum(cached)) if cached else None,
        figure(usage.output),
        figure(usage.thinking),
        kept.cost if as_number(kept.cost) is not None else None,
        kept.seconds,
        searchable_words(kept.message),
        encode_text(kept),
        kept.offline,
        copied,
    )


def decode_row(body: str) -> StoredMessage:
    """Decode the body of a row."""
    try:
        return load_json(body, StoredMessage)
    except ValueError as error:
        message = f"a message of this thread is not readable: {error}"
        raise StoreError(message) from None


def encode_text(value: Json) -> str:
    """Encode a value as JSON text; raises StoreError."""
    try:
        return dump_json(value)
    except (ValueError, TypeError, RecursionError) as error:
        message = f"this cannot be saved: {error}"
        raise StoreError(message) from None


def replace_unencodable(text: str) -> str:
    """Replace each character that UTF-8 cannot encode by a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


_FENCED = re.compile(r"(?P<name>[^\n]+):\n\n`{3,}\n")  # a text file, as attachments are written


def searchable_words(message: Message) -> str:
    """Return all that a search may find in a message: text, thinking, calls and results."""
    return replace_unencodable("\n".join(filter(None, map(_words_of, message.parts))))


def _words_of(part: Part) -> str:
    match part:
        case Text() | Thinking():
            return part.text
        case ToolCall():
            return f"{part.name} {encode_text(part.arguments)}"
        case ToolResult():
            said = " ".join(each.text for each in part.content if isinstance(each, Text))
            return f"{part.name or ''} {said}"
        case _:
            return ""


def _make_title(message: Message) -> str:
    """Return the first typed words: files and piped text come before them."""
    texts = [part.text for part in message.parts if isinstance(part, Text) and part.text.strip()]
    typed = texts[-1] if texts else ""
    if fenced := _FENCED.match(typed):
        typed = fenced["name"]
    text = re.sub(r"\s+", " ", replace_unencodable(typed)).strip()
    if len(text) <= _TITLE:
        return text
    cut = text[:_TITLE].rsplit(" ", 1)[0] if " " in text[:_TITLE] else text[: _TITLE - 1]
    return f"{cut}…"


def figure(count: int | None) -> int | None:
    """Return a count that SQLite can sum; None if it is out of range."""
    return count if count is not None and 0 <= count < _BIGGEST else None


def as_number(cost: str | None) -> Decimal | None:
    """Return a cost as a number; None if unknown."""
    try:
        found = Decimal(cost) if cost else None
    except InvalidOperation:
        return None
    return found if found is not None and found.is_finite() else None


ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # without letters that look like others
LENGTH = 6


def insert(connection: Connection, columns: Mapping[str, Any], *, id: str | None = None) -> str:
    """Insert a thread and return its id."""
    now = time()
    values = {**columns, "created": now, "updated": now}
    names, marks = ", ".join(values), ", ".join("?" * len(values))
    while True:
        chosen = id or "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
        with suppress(IntegrityError):
            connection.execute(
                f"INSERT INTO threads (id, {names}) VALUES (?, {marks})", (chosen, *values.values())
            )
            return chosen


def append(
    connection: Connection,
    thread: Thread,
    kept: Sequence[StoredMessage],
    *,
    turn: int | None = None,
    copied: bool = False,
) -> None:
    """Append a turn to a thread; the cost of a copied turn is not counted again."""
    turn = thread.turns if turn is None else turn
    rows = [
        _encode_row(each, thread=thread.id, number=thread.messages + n, turn=turn, copied=copied)
        for n, each in enumerate(kept)
    ]
    marks = ", ".join("?" * len(KEPT.split(",")))
    connection.executemany(f"INSERT INTO kept ({KEPT}) VALUES ({marks})", rows)
    paid = () if copied else kept
    usages = [each.usage for each in paid if each.usage is not None]
    costs = [as_number(cost) for cost in (thread.cost, *(each.cost for each in paid))]
    known = [cost for cost in costs if cost is not None]
    titles = (_make_title(each.message) for each in kept if each.message.role == "user")
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


def copy_rows(connection: Connection, source: str, new: str, upto: int) -> None:
    """Copy the first messages of one thread to an empty one."""
    names = KEPT.removeprefix("thread, ").removesuffix(", copied")
    connection.execute(
        f"INSERT INTO kept (thread, {names}, copied) "
        f"SELECT ?, {names}, 1 FROM kept WHERE thread = ? AND number < ? ORDER BY number",
        (new, source, upto),
    )
    connection.execute(
        "UPDATE threads SET (messages, turns) = "
        "(SELECT count(*), coalesce(max(turn) + 1, 0) FROM kept WHERE thread = ?) WHERE id = ?",
        (new, new),
    )


_MOMENT = 0.001  # seconds; some clocks show the same time twice


def use_after(connection: Connection, id: str, copy: str) -> None:
    """Let a thread be used now, and a copy of it just before: its answer was not chosen."""
    connection.execute(
        "UPDATE threads SET updated = (SELECT updated FROM threads WHERE id = ?) WHERE id = ?",
        (copy, id),
    )
    connection.execute("UPDATE threads SET updated = updated - ? WHERE id = ?", (_MOMENT, copy))


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _QUESTION else f"{line[: _QUESTION - 1]}…"


def _sum(before: Usage, usages: Sequence[Usage], name: str) -> int | None:
    counts = [figure(getattr(usage, name)) for usage in (before, *usages)]
    known = [count for count in counts if count is not None]
    return figure(sum(known)) if known else None


# The cost of a reply that was cut off is a part of its price; its body ends with that mark.
_SUMS = """
SELECT model, level, count(DISTINCT thread || ' ' || turn), count(*), sum(input), sum(cached),
       sum(thought), sum(output), total_cost(cost),
       count(CASE WHEN substr(body, -16) <> ',"partial":true}' THEN cost END),
       sum(seconds), count(seconds), offline
FROM kept
WHERE role = 'assistant' AND model IS NOT NULL AND NOT copied AND at >= ?
GROUP BY model, level, offline
ORDER BY model, level, offline
"""


_COUNTED = """
SELECT body FROM kept WHERE thread = ? AND number < ? AND role = 'assistant' ORDER BY number
"""
# The question and the level of the last turn; a turn with more messages than _LONG has no label.
_END = """
SELECT role, words, level, CASE WHEN role = 'user' THEN body END FROM kept
WHERE thread = ? AND turn = ? AND number >= ? ORDER BY number
"""
_LONG = 40
_QUESTION = 60


class _CountedReply(Struct):
    """The part of a reply's body that is counted."""

    usage: Usage | None = None
    cost: str | None = None
    partial: bool = False
    offline: bool = False


def count_replies(database: Database, thread: str, upto: int) -> ThreadUsage:
    """Sum up the replies among the first messages of a thread, those of a fork's source too."""
    rows = database.rows(_COUNTED, (thread, upto))
    found = [load_json(body, _CountedReply) for (body,) in rows]
    replies = [each for each in found if each.usage]
    usages = [each.usage for each in replies if each.usage is not None]
    counts: dict[str, Any] = {name: _sum(Usage(), usages, name) for name in COUNTS}
    costs = [Decimal(0) if each.offline else as_number(each.cost) for each in replies]
    known = [cost for cost in costs if cost is not None]
    unknown = [each for each, cost in zip(replies, costs, strict=True) if cost is None]
    return ThreadUsage(
        Usage(**counts),
        sum(known, Decimal(0)) if all(each.partial for each in unknown) else None,
        at_least=any(each.partial and not each.offline for each in found),
    )


def find_thread_end(database: Database, thread: Thread) -> ThreadEnd:
    """Return the last question of a thread, shortened, and the level of the answer to it."""
    rows = database.rows(_END, (thread.id, thread.turns - 1, thread.messages - _LONG))
    asked = next(((words, body) for role, words, _, body in rows if role == "user"), ("", None))
    level = next((level for role, _, level, _ in reversed(rows) if role == "assistant"), None)
    return ThreadEnd(_shorten(_find_typed(*asked)), level)


def _find_typed(words: str, body: str | None) -> str:
    """Return the typed words of a question, without its files; all, if it is not readable."""
    with suppress(StoreError):
        texts = [] if body is None else decode_row(body).message.parts
        typed = [each.text for each in texts if isinstance(each, Text) and each.text.strip()]
        return typed[-1] if typed else words
    return words


class _Total:
    """Sums costs exactly."""

    def __init__(self) -> None:
        self._sum: Decimal | None = None

    def step(self, cost: str | None) -> None:
        if (amount := as_number(cost)) is not None:
            self._sum = amount + (self._sum or 0)

    def finalize(self) -> str | None:
        return None if self._sum is None else str(self._sum)


def sum_usage(database: Database, *, since: float | None) -> tuple[UsageTotal, ...]:
    """Return the usage by model and level since then, without the copies of forks."""
    database.aggregate("total_cost", _Total)
    rows = database.rows(_SUMS, (float("-inf") if since is None else since,))
    return tuple(UsageTotal(*row) for row in rows)
