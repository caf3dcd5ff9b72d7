"""A whole answer as the events of its making: a few words at a time."""

import re
from collections.abc import Iterator

from msgspec.json import encode

from ..canon import (
    Blob,
    Event,
    Finished,
    Image,
    Json,
    Other,
    PartEnd,
    PartKind,
    PartStart,
    Reply,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
    Usage,
    UsageNow,
)

_WORDS = re.compile(r"\s*(?:\S{1,24}\s*){1,3}|\s+", re.DOTALL)
_KINDS: dict[type, PartKind] = {
    Text: "text",
    Thinking: "thinking",
    ToolCall: "tool_call",
    Image: "image",
    Blob: "blob",
    Other: "other",
}


def events(reply: Reply) -> Iterator[Event]:
    """Yield an answer the way it would have come."""
    # What was read is known before a word is said, and some wires begin with it.
    yield UsageNow(Usage(reply.usage.input, reply.usage.cache_read, reply.usage.cache_write))
    yield Started(reply.model, reply.request_id)
    for index, part in enumerate(reply.message.parts):
        named = (part.id, part.name) if isinstance(part, ToolCall) else ()
        yield PartStart(index, _KINDS[type(part)], *named)
        match part:
            case Text():
                yield from (TextDelta(index, piece) for piece in pieces(part.text))
            case Thinking():
                yield from (ThinkingDelta(index, piece) for piece in pieces(part.text))
            case ToolCall():
                yield from (ToolDelta(index, piece) for piece in pieces(_json(part.arguments)))
            case _:
                pass
        yield PartEnd(index, part)
    yield Finished(
        reply.finish,
        reply.usage,
        reply.raw_finish,
        reply.model,
        reply.grounding,
        reply.safety,
        reply.extras,
    )


def pieces(text: str) -> list[str]:
    """Return a text in pieces of a few words; together they are the text again."""
    return _WORDS.findall(text)


def _json(arguments: Json) -> str:
    return arguments if isinstance(arguments, str) else encode(arguments).decode()
