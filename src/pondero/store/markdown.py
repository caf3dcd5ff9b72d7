"""A thread as Markdown: words as they are, thinking folded, the rest in fences."""

import re
from collections.abc import Iterable, Iterator

from ..canon import Blob, Image, Json, Other, Part, Text, Thinking, ToolCall, ToolResult, dumped
from .kept import Kept, Thread
from .secrets import hidden
from .wording import footing, heading, medium, speaker, summary, thought


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
