"""Tells tool calls in words: another model's open loop, or all, to a model without tools."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from ..canon import (
    Blob,
    Image,
    Message,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownPart,
    dump_json,
)

_BEFORE = "[A note: what another model did so far about the question above]"


def retell_open_loop(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages with the open loop as a note, up to an answer that begins by thinking."""
    start = find_loop_start(messages)
    end = next(
        (at for at in range(start, len(messages)) if _thinks_first(messages[at])), len(messages)
    )
    note = (Text(_BEFORE), *(part for each in messages[start:end] for part in _iter_told(each)))
    if start and messages[start - 1].role == "user":
        before = messages[start - 1]
        asked = Message("user", (*before.parts, *note), before.origin)
        return (*messages[: start - 1], asked, *messages[end:])
    return (*messages[:start], Message("user", note), *messages[end:])


def retell_calls(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages with every call and its result as words of the user, in their place."""
    calls = {call.id: call for message in messages for call in message.tool_calls}
    told = [
        Message(message.role, tuple(_iter_without_calls(message, calls)), message.origin)
        for message in messages
    ]
    return tuple(each for each in told if any(not isinstance(p, Thinking) for p in each.parts))


def _iter_without_calls(message: Message, calls: Mapping[str, ToolCall]) -> Iterator[Part]:
    for part in message.parts:
        if isinstance(part, ToolResult):
            call = calls[part.call_id]
            asked = dump_json(call.arguments)
            yield Text(f"[The answer above called {call.name} with {asked}]")
            yield from _iter_words(part)
        elif not isinstance(part, ToolCall):
            yield part


def find_loop_start(messages: Sequence[Message]) -> int:
    """Return where the open loop begins, the end if there is none.

    Adjacent user messages are one turn to the services.
    """
    start = end = len(messages)
    runs = [(role, len(list(run))) for role, run in groupby(messages, key=lambda each: each.role)]
    for role, length in reversed(runs):
        first = end - length
        parts = (part for message in messages[first:end] for part in message.parts)
        if role == "assistant":
            start = first
        elif role == "user" and not any(isinstance(part, ToolResult) for part in parts):
            break
        end = first
    return start


def _thinks_first(message: Message) -> bool:
    return message.role == "assistant" and isinstance(next(iter(message.parts), None), Thinking)


def _iter_told(message: Message) -> Iterator[Text | Image | Blob]:
    for part in message.parts:
        yield from _iter_words(part)


def _iter_words(part: Part) -> Iterator[Text | Image | Blob]:
    match part:
        case Text():
            yield Text(part.text)
        case ToolCall():
            yield Text(f"[It called {part.name} with {dump_json(part.arguments)}]")
        case ToolResult():
            yield Text("[The call failed:]" if part.error else "[The result:]")
            yield from (each for each in part.content if not isinstance(each, UnknownPart))
        case Image() | Blob():
            yield part
