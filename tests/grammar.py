"""The grammar every decoded answer keeps, whichever wire it came over."""

import json
from collections.abc import Sequence

from pondero.canon import (
    Blob,
    Event,
    Finished,
    Image,
    PartEnd,
    PartStart,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
    UnknownPart,
)

KINDS = {
    Text: "text",
    Thinking: "thinking",
    ToolCall: "tool_call",
    Image: "image",
    Blob: "blob",
    UnknownPart: "other",
}


def grammar(events: Sequence[Event]) -> str | None:
    """Return what breaks the grammar of a whole answer, or None."""
    if not events or not isinstance(events[0], Started):
        return "the first event is not Started"
    if sum(isinstance(event, Finished) for event in events) != 1:
        return "Finished does not come exactly once"
    if not isinstance(events[-1], Finished):
        return "Finished is not the last event"
    started: dict[int, PartStart] = {}
    deltas: dict[int, list[str]] = {}
    ended: set[int] = set()
    for event in events:
        match event:
            case PartStart():
                if event.index != len(started):
                    return f"part {event.index} began as number {len(started)}"
                started[event.index] = event
                deltas[event.index] = []
            case TextDelta() | ThinkingDelta() | ToolDelta():
                if event.index not in started or event.index in ended:
                    return f"a delta of part {event.index}, which is not open"
                deltas[event.index].append(
                    event.json if isinstance(event, ToolDelta) else event.text
                )
            case PartEnd():
                if event.index not in started or event.index in ended:
                    return f"the end of part {event.index}, which is not open"
                ended.add(event.index)
                if wrong := _part(started[event.index], "".join(deltas[event.index]), event):
                    return wrong
    return None if len(ended) == len(started) else "a part has no end"


def _part(start: PartStart, told: str, end: PartEnd) -> str | None:
    part = end.part
    if KINDS.get(type(part)) != start.kind:
        return f"part {end.index} began as {start.kind} and ended as {type(part).__name__}"
    if isinstance(part, Text | Thinking) and told and told != part.text:
        return f"the deltas of part {end.index} say {told!r}, its end {part.text!r}"
    if isinstance(part, ToolCall):
        if (start.id, start.name) != (part.id, part.name):
            return (
                f"call {end.index} began as {start.id} {start.name}, ended as {part.id} {part.name}"
            )
        if told and not isinstance(part.arguments, str) and json.loads(told) != part.arguments:
            return f"the deltas of call {end.index} say {told!r}, its end {part.arguments!r}"
    return None
