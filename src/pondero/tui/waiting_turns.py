"""Turns that could not be saved yet; at the end, in a file of their own that can be imported."""

from collections.abc import Sequence
from pathlib import Path
from secrets import token_hex
from time import time
from typing import NamedTuple

from ..store import ExportLine, StoredMessage, Thread, redact_secrets, to_jsonl, write_in_folders

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


def describe_unsaved(waiting: Sequence[WaitingTurn], why: str) -> str:
    """Return a line about turns that could not be saved."""
    count = len(waiting)
    said = f"the last {count} turns were" if count > 1 else "the last turn was"
    return f"{said} not saved: {why}"


def describe_turns(waiting: Sequence[WaitingTurn]) -> str:
    """Return the turns as text, for a terminal when no disk takes them."""
    names = {"user": "You", "assistant": "Answer"}
    stored = (kept.message for each in waiting for kept in each.stored)
    spoken = (
        f"{names[each.role]}: {each.text}" for each in stored if each.text and each.role in names
    )
    return redact_secrets("\n\n".join(spoken))


def write_turns(waiting: Sequence[WaitingTurn], folders: Sequence[Path]) -> Path:
    """Write turns to a new file that can be imported; raises OSError."""
    last, now = waiting[-1], time()
    title = " ".join(waiting[0].stored[0].message.text.split())[:_TITLE]
    thread = Thread("", title, last.model, last.level_text, last.system, created=now, updated=now)
    lines = [ExportLine(turn, kept) for turn, each in enumerate(waiting) for kept in each.stored]
    return write_in_folders(folders, f"pondero-{token_hex(4)}.jsonl", to_jsonl(thread, lines))
