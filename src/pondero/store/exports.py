"""A thread as text: JSON Lines, which can be imported again, and Markdown, which people read."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from msgspec import Struct

from ..canon import (
    Blob,
    Image,
    Json,
    Other,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    dumped,
    loaded,
)
from ..errors import BadParameter
from .captions import footing, heading, medium, speaker, summary, thought
from .records import Kept, Line, Thread
from .secrets import hidden

VERSION = 1

_FUTURE = 2**37  # the year 6325: what is later is no date

Kind = TypeVar("Kind")


class _Head(Struct, frozen=True):
    pondero_thread: int
    thread: Thread


def to_jsonl(thread: Thread, lines: Iterable[Line]) -> str:
    """Return a thread as text that ``from_jsonl`` reads back equal."""
    values = (_Head(VERSION, thread), *lines)
    return hidden("".join(f"{dumped(value)}\n" for value in values))


def from_jsonl(text: str | bytes) -> tuple[Thread, tuple[Line, ...]]:
    """Return the thread and its messages; raises BadParameter for what is none of ours."""
    first, *rest = [line for line in _split(text) if line.strip()] or [b""]
    head = _read(first, _Head, 1)
    if head.pondero_thread != VERSION:
        message = (
            f"this thread was exported in form {head.pondero_thread}; "
            f"this version reads form {VERSION}"
        )
        raise BadParameter(message)
    lines = tuple(_read(line, Line, number) for number, line in enumerate(rest, 2))
    _check(head.thread, lines)
    return head.thread, lines


def _split(text: str | bytes) -> list[bytes]:
    return (text.encode("utf-8", "replace") if isinstance(text, str) else text).split(b"\n")


def _read(line: bytes, kind: type[Kind], number: int) -> Kind:
    try:
        return loaded(line, kind)
    except (ValueError, RecursionError) as error:
        message = f"line {number} is not of an exported thread: {error}"
        raise BadParameter(message) from None


def _check(thread: Thread, lines: Sequence[Line]) -> None:
    turns = [line.turn for line in lines]
    if turns != sorted(turns) or any(turn < 0 for turn in turns):
        raise BadParameter("the turns of this thread are not in order; was the file changed?")
    if not 0 <= thread.created <= thread.updated < _FUTURE:
        raise BadParameter("the times of this thread cannot be; was the file changed?")


def to_markdown(thread: Thread, kept: Iterable[Kept]) -> str:
    """Return a thread for people and for other programs' Markdown."""
    blocks = [f"# {_line(heading(thread))}", summary(thread)]
    if thread.system:
        blocks += ["## System", thread.system]
    for each in kept:
        blocks += [f"## {_line(speaker(each))}", *_parts(each)]
        if each.message.role == "assistant" and (foot := footing(each)):
            blocks.append(f"*{foot}*")
    text = hidden("\n\n".join(blocks) + "\n")
    return text.encode("utf-8", "replace").decode("utf-8")


def _parts(kept: Kept) -> Iterator[str]:
    for part in kept.message.parts:
        yield from _part(part, kept)


def _part(part: Part, kept: Kept) -> Iterator[str]:
    match part:
        case Text():
            yield part.text
        case Thinking():
            inside = f"\n\n{part.text}\n\n" if part.text else ""
            yield f"<details><summary>{thought(part, kept)}</summary>{inside}</details>"
        case ToolCall():
            yield f"Calls `{_line(part.name)}`"
            yield _fenced(_arguments(part.arguments), "json")
        case ToolResult():
            yield f"`{_line(part.name or part.call_id)}` {'failed' if part.error else 'answered'}"
            for each in part.content:
                yield _fenced(each.text) if isinstance(each, Text) else f"[{medium(each)}]"
        case Image() | Blob() | Other():
            yield f"[{medium(part)}]"


def _fenced(text: str, kind: str = "") -> str:
    """Return a text in a fence that is longer than any run of backticks within."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{kind}\n{text}\n{fence}"


def _arguments(arguments: Json) -> str:
    return arguments if isinstance(arguments, str) else dumped(arguments)


def _line(text: str) -> str:
    return " ".join(text.split())
