"""A message or a thread as a row of the database, and back."""

import re
from decimal import Decimal, InvalidOperation
from time import time
from typing import Any

from ..canon import Json, Message, Usage, dumped, loaded
from ..errors import StoreError
from ..handoff import Refusal
from .kept import Kept, Thread

THREAD = (
    "id, title, model, thinking, system, created, updated, parent, turns, messages, "
    "input, cache_read, cache_write, output, thought, total, cost, refusals"
)
KEPT = (
    "thread, number, turn, at, role, model, level, input, cached, output, thought, cost, seconds, "
    "words, body, copied"
)
COUNTS = ("input", "cache_read", "cache_write", "output", "thinking", "total")

_TITLE = 60
_BIGGEST = 2**53  # a count beyond it is no count, and SQLite could not add it up


def thread_of(row: tuple[Any, ...]) -> Thread:
    """Return the thread that a row of THREAD is."""
    id, title, model, thinking, system, created, updated, parent, turns, messages, *rest = row
    *counts, cost, refusals = rest
    return Thread(
        id=id,
        title=title,
        model=model,
        thinking=_value(thinking),
        system=_value(system),
        created=created,
        updated=updated,
        parent=parent,
        turns=turns,
        messages=messages,
        usage=Usage(**dict(zip(COUNTS, counts, strict=True))),
        cost=cost,
        refusals=loaded(refusals, tuple[Refusal, ...]),
    )


def row_of(
    kept: Kept, *, thread: str, number: int, turn: int, copied: bool = False
) -> tuple[Any, ...]:
    """Return the row of KEPT that a message is; only its body is read back."""
    usage, origin = kept.usage or Usage(), kept.message.origin
    cached = [count for count in (usage.cache_read, usage.cache_write) if count is not None]
    return (
        thread,
        number,
        turn,
        time() if origin is None or origin.at is None else origin.at,
        kept.message.role,
        None if origin is None else written(f"{origin.provider}:{origin.model}"),
        None if origin is None or origin.level is None else written(origin.level),
        figure(usage.input),
        figure(sum(cached)) if cached else None,
        figure(usage.output),
        figure(usage.thinking),
        kept.cost if money(kept.cost) is not None else None,
        kept.seconds,
        written(kept.message.text),
        text_of(kept),
        copied,
    )


def kept_of(body: str) -> Kept:
    """Return the message a row's body is."""
    try:
        return loaded(body, Kept)
    except ValueError as error:
        message = f"a message of this thread is not readable: {error}"
        raise StoreError(message) from None


def text_of(value: Json) -> str:
    """Return a value as JSON text; raises StoreError for what cannot be written."""
    try:
        return dumped(value)
    except (ValueError, TypeError, RecursionError) as error:
        message = f"this cannot be kept: {error}"
        raise StoreError(message) from None


def written(text: str) -> str:
    """Return a text with a question mark for what no UTF-8 can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def title_of(message: Message) -> str:
    """Return the first words of a message, on one line."""
    text = re.sub(r"\s+", " ", written(message.text)).strip()
    if len(text) <= _TITLE:
        return text
    cut = text[:_TITLE].rsplit(" ", 1)[0] if " " in text[:_TITLE] else text[: _TITLE - 1]
    return f"{cut}…"


def figure(count: int | None) -> int | None:
    """Return a count as SQLite can add it up; None for what cannot be one."""
    return count if count is not None and 0 <= count < _BIGGEST else None


def money(cost: str | None) -> Decimal | None:
    """Return a cost as a number; None where it is unknown."""
    try:
        found = Decimal(cost) if cost else None
    except InvalidOperation:
        return None
    return found if found is not None and found.is_finite() else None


def _value(text: str) -> Json:
    return loaded(text, object)
