"""The events of a whole answer, as a stream of it would have them."""

from collections.abc import Callable, Iterable, Iterator

from msgspec.json import encode

from .events import (
    Event,
    Finished,
    PartEnd,
    PartKind,
    PartStart,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolDelta,
    Usage,
    UsageUpdate,
)
from .parts import Blob, Image, Text, Thinking, ToolCall, UnknownPart
from .reply import Reply

_KINDS: dict[type, PartKind] = {
    Text: "text",
    Thinking: "thinking",
    ToolCall: "tool_call",
    Image: "image",
    Blob: "blob",
    UnknownPart: "other",
}


def _whole(text: str) -> tuple[str, ...]:
    return (text,) if text else ()


def _whole_text(index: int, part: Text) -> Iterator[TextDelta]:
    if part.text:
        yield TextDelta(index, part.text, part.logprobs)


def iter_events(
    reply: Reply,
    *,
    cut: Callable[[str], Iterable[str]] = _whole,
    cut_text: Callable[[int, Text], Iterable[TextDelta]] = _whole_text,
) -> Iterator[Event]:
    """Yield the events of an answer; ``cut`` and ``cut_text`` split its texts into deltas."""
    # The input is counted before the first word, and some dialects send it first.
    yield UsageUpdate(Usage(reply.usage.input, reply.usage.cache_read, reply.usage.cache_write))
    yield Started(reply.model, reply.request_id)
    spoken = False
    for index, part in enumerate(reply.message.parts):
        call_fields = (part.id, part.name, part.signature) if isinstance(part, ToolCall) else ()
        if not spoken and not isinstance(part, Thinking):
            spoken = True  # one dialect reports the thinking tokens from the first word on
            yield UsageUpdate(reply.usage)
        yield PartStart(index, _KINDS[type(part)], *call_fields)
        match part:
            case Text():
                yield from cut_text(index, part)
            case Thinking():
                yield from (ThinkingDelta(index, piece) for piece in cut(part.text))
            case ToolCall():
                json = part.arguments
                text = json if isinstance(json, str) else encode(json).decode()
                yield from (ToolDelta(index, piece) for piece in cut(text))
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
