"""Turns that could not be saved yet; at the end, in a file of their own that can be imported."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkstemp
from time import time
from typing import NamedTuple

from ..store import ExportLine, StoredMessage, Thread, to_jsonl

_TITLE = 60


class WaitingTurn(NamedTuple):
    """A turn that is not in its thread yet; ``number``: its row among the unfinished ones."""

    stored: tuple[StoredMessage, ...]
    model: str
    level_text: str | None
    system: str
    number: int | None = None
    name: str = ""


def drop_numbers(waiting: tuple[WaitingTurn, ...]) -> tuple[WaitingTurn, ...]:
    """Return the turns without their rows: another writer has these."""
    return tuple(each._replace(number=None) for each in waiting)


def rescue_turns(waiting: Sequence[WaitingTurn], why: str) -> str:
    """Write turns to a new file that only its owner can read, and return a line about it."""
    count = len(waiting)
    said = f"the last {count} turns were" if count > 1 else "the last turn was"
    said = f"{said} not saved: {why}"
    try:
        file = _write(waiting)
    except OSError as error:
        return f"{said}; nor in another file: {error}"
    return f"{said}. For later: pondero threads import {shlex.quote(str(file))}"


def _write(waiting: Sequence[WaitingTurn]) -> Path:
    last, now = waiting[-1], time()
    title = " ".join(waiting[0].stored[0].message.text.split())[:_TITLE]
    thread = Thread("", title, last.model, last.level_text, last.system, created=now, updated=now)
    lines = [ExportLine(turn, kept) for turn, each in enumerate(waiting) for kept in each.stored]
    handle, name = mkstemp(prefix="pondero-", suffix=".jsonl")
    with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
        file.write(to_jsonl(thread, lines))
    return Path(name)
