"""Threads on the command line: open them, with a warning if the file was damaged, and print."""

import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import msgspec

from ...canon import LevelUpdate, Text, Thinking, ToolCall, ToolResult, dump_json, escape_controls
from ...errors import StoreError, UsageError
from ...store import (
    StoredMessage,
    Thread,
    ThreadEnd,
    Threads,
    format_dollars,
    format_time,
    load_catalog,
    media_caption,
    reply_caption,
    speaker_name,
    thinking_caption,
    thread_caption,
)
from ..command import warn
from .echo import echo, narrow, style_text


@contextmanager
def open_threads() -> Iterator[Threads]:
    """Open the user's threads; say on stderr what was moved aside, and what was recovered."""
    with Threads.open() as threads:
        if threads.notice:
            _warn_once(threads.notice)
        for thread in _recover(threads):
            title = escape_controls(thread.title)
            warn(f"a turn that was cut off is saved in thread {thread.id} ({title})")
        yield threads


@cache
def _warn_once(notice: str) -> None:
    """Say this once: a command opens the threads several times."""
    warn(notice)


def _recover(threads: Threads) -> tuple[Thread, ...]:
    try:
        return threads.recover_turns()
    except StoreError:  # what can only be read is read
        return ()


def thread_json(thread: Thread) -> dict[str, Any]:
    """Return a thread as plain JSON values; the keys are a stable contract."""
    made: dict[str, Any] = msgspec.to_builtins(thread)
    del made["refusals"]  # digests of signatures: of use only to pondero
    return made


def message_json(kept: StoredMessage) -> dict[str, Any]:
    """Return a message as plain JSON values, without its signatures."""
    made: dict[str, Any] = msgspec.to_builtins(kept, builtin_types=())
    for part in made["message"]["parts"]:
        for each in (part, *_contents(part)):
            each.pop("seal", None)
    return made


def print_threads(threads: Sequence[Thread], ends: Mapping[str, ThreadEnd]) -> None:
    """Print a line for each thread; on a terminal, a title that is too long is cut.

    ``ends``: as ``Threads.find_ends`` returns them.
    """
    titles = [
        " ".join(escape_controls(thread_caption(thread, ends.get(thread.id))).split())
        for thread in threads
    ]
    rows = [
        (
            thread.id,
            format_time(thread.updated),
            f"{thread.messages:,}",
            escape_controls(_full_name(thread.model)),
            "" if thread.cost is None else format_dollars(thread.cost),
        )
        for thread in threads
    ]
    if narrow() is not None:
        _print_records(rows, titles)
        return
    widths = [max(len(row[n]) for row in rows) for n in range(5)]
    room = shutil.get_terminal_size().columns - sum(widths) - 10 if sys.stdout.isatty() else 10_000
    for (id, used, count, model, cost), whole in zip(rows, titles, strict=True):
        title = _cut(whole, max(8, room))
        rest = f"{count:>{widths[2]}}  {model:<{widths[3]}}  {cost:>{widths[4]}}  {title}"
        when = style_text(f"{used:<{widths[1]}}", dim=True)
        echo(style_text(f"{id:<{widths[0]}}", fg="cyan"), "  ", when, "  ", rest.rstrip())


def _full_name(model: str) -> str:
    """Return a model with its provider; as it was saved if the catalog has no place for it."""
    try:
        return load_catalog().entry(model).id
    except UsageError:
        return model


def _print_records(rows: Sequence[tuple[str, ...]], titles: Sequence[str]) -> None:
    """Print each thread in three lines, for a narrow terminal."""
    room = shutil.get_terminal_size().columns - 2
    for (id, used, count, model, cost), whole in zip(rows, titles, strict=True):
        title = _cut(whole, room)
        when = style_text("  ".join(filter(None, (used, count, cost))), dim=True)
        echo(style_text(id, fg="cyan"), "  ", when)
        echo(f"  {model}")
        echo(f"  {title}")


def print_messages(kept: Iterable[StoredMessage], *, thinking: bool) -> None:
    """Print a conversation: who spoke, what was said, and with ``thinking`` that too."""
    for each in kept:
        echo(style_text(speaker_name(each), fg="cyan", bold=True))
        for line, dim in _lines(each, thinking=thinking):
            echo(style_text(line, dim=dim or None))
        if each.message.role == "assistant" and (foot := reply_caption(each)):
            echo(style_text(foot, dim=True))
        echo()


def _lines(kept: StoredMessage, *, thinking: bool) -> Iterator[tuple[str, bool]]:
    for part in kept.message.parts:
        match part:
            case Text():
                yield part.text, False
            case Thinking():
                yield f"▸ {thinking_caption(part, kept)}", True
                if thinking and part.text:
                    yield part.text, True
            case ToolCall():
                yield f"calls {part.name}({dump_json(part.arguments)})", False
            case ToolResult():
                said = " ".join(each.text for each in part.content if isinstance(each, Text))
                yield f"{part.name or part.call_id}: {said}", False
            case LevelUpdate():
                yield f"▸ level {part.level}", True
            case _:
                yield f"[{media_caption(part)}]", False


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 1]}…"


def _contents(part: dict[str, Any]) -> list[dict[str, Any]]:
    content = part.get("content")
    return [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []
