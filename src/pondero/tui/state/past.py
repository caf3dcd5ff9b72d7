"""Messages of a thread as cells of a page."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import count

import msgspec
from msgspec import Struct

from ...canon import (
    Blob,
    Image,
    Json,
    Message,
    Other,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
)
from .cells import Called, Cell, Nature, Said, Spoken, Thought
from .dial import Dial

_LONGEST = 400


class Past(Struct, frozen=True):
    """A message that was kept, and what was noted beside it."""

    number: int
    message: Message
    usage: Usage = Usage()
    seconds: float | None = None
    partial: bool = False
    cost: Decimal | None = None


def cells_of(
    past: Iterable[Past], dial: Dial, *, keys: Iterator[int], opened: bool = False
) -> tuple[Cell, ...]:
    """Return the cells of these messages."""
    cells: list[Cell] = []
    draw(cells, past, dial, keys=keys, opened=opened)
    return tuple(cells)


def draw(
    cells: list[Cell], past: Iterable[Past], dial: Dial, *, keys: Iterator[int], opened: bool
) -> None:
    """Add the cells of these messages to others; results go to the calls they answer."""
    for each in past:
        shown = [part for part in each.message.parts if _is_shown(part)]
        tokens = each.usage.thinking if len(shown) < 2 else None
        summary = dial.summarises(each.message.origin)
        if tokens and not shown:
            cells.append(_thought(each, next(keys), tokens=tokens, nature="hidden"))
        for part in each.message.parts:
            if isinstance(part, ToolResult):
                _answer(cells, part, keys, each.number)
            elif isinstance(part, Thinking):
                if part in shown:
                    nature = _nature(part, summary=summary)
                    thought = _thought(each, next(keys), tokens=tokens, nature=nature)
                    cells.append(msgspec.structs.replace(thought, text=part.text, open=opened))
            elif (cell := _cell(part, each, next(keys))) is not None:
                cells.append(cell)


def arguments_of(arguments: Json) -> str:
    """Return a call's arguments as people read them, in one line."""
    if isinstance(arguments, dict):
        pairs = (
            f"{name}={msgspec.json.encode(value).decode()}" for name, value in arguments.items()
        )
        return shortened(", ".join(pairs))
    return shortened(arguments if isinstance(arguments, str) else str(arguments or ""))


def result_of(result: ToolResult) -> str:
    """Return what a tool gave back, in one line."""
    return shortened(" ".join(_words(part) for part in result.content))


def shortened(text: str) -> str:
    """Return the text in one line that is not too long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def with_results(cells: Sequence[Cell], messages: Iterable[Message]) -> tuple[Cell, ...]:
    """Return the cells with the results that these messages hold put to their calls."""
    changed = list(cells)
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolResult):
                _answer(changed, part, None, None)
    return tuple(changed)


def _nature(part: Thinking, *, summary: bool) -> Nature:
    if part.redacted:
        return "redacted"
    return "summary" if summary else "full"


def _is_shown(part: Part) -> bool:
    """Return whether a part is thinking that the page speaks of: a bare seal is not."""
    return isinstance(part, Thinking) and (bool(part.text.strip()) or part.redacted)


def _thought(each: Past, key: int, *, tokens: int | None, nature: Nature) -> Thought:
    origin = each.message.origin
    return Thought(
        key=key,
        level=origin.level if origin else None,
        seconds=each.seconds,
        tokens=tokens,
        nature=nature,
        number=each.number,
    )


def _cell(part: Part, each: Past, key: int) -> Cell | None:
    number = each.number
    if isinstance(part, ToolCall):
        words = arguments_of(part.arguments)
        return Called(key=key, id=part.id, name=part.name, arguments=words, number=number)
    if isinstance(part, Thinking | ToolResult):
        return None
    text = _words(part)
    if each.message.role == "assistant":
        cut = "stopped here" if each.partial else None
        return Spoken(key=key, text=text, cut=cut, number=number) if text.strip() else None
    return Said(key=key, text=text, number=number) if text.strip() else None


def _answer(
    cells: list[Cell], result: ToolResult, keys: Iterator[int] | None, number: int | None
) -> None:
    """Put a result to its call; to a cell of its own where the call is on another page."""
    words = result_of(result)
    for at, cell in enumerate(cells):
        if isinstance(cell, Called) and cell.id == result.call_id:
            cells[at] = msgspec.structs.replace(cell, result=words, failed=result.error, live=False)
            return
    if keys is not None:
        name = result.name or "tool"
        cells.append(
            Called(
                key=next(keys),
                id=result.call_id,
                name=name,
                result=words,
                failed=result.error,
                number=number,
            )
        )


def _words(part: Text | Image | Blob | Other) -> str:
    match part:
        case Text():
            return part.text
        case Image():
            return f"[{part.media_type or 'a picture'}]"
        case Blob():
            return f"[{part.name or part.media_type}]"
        case _:
            return "[a part that only its maker reads]"


def numbering(start: int) -> Iterator[int]:
    """Return keys for new cells, from this one on."""
    return count(start)
