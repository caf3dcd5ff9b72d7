"""A thread as JSON Lines, and back: the thread on the first line, then a message a line."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from msgspec import Struct

from ..canon import dumped, loaded
from ..errors import BadParameter
from .kept import Line, Thread
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
