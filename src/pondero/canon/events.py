"""The events of an answer; a whole response decodes to the same events as a stream."""

from typing import Literal

from msgspec import Struct, field

from .parts import Json, Part, Signature


class Usage(Struct, frozen=True):
    """Token counts: ``input + cache_read + cache_write + output + thinking = total``.

    An unknown count is None, never 0. ``output`` is the visible answer. If a service does not
    report thinking separately, ``thinking`` is None and ``output`` includes it.
    """

    input: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    output: int | None = None
    thinking: int | None = None
    total: int | None = None

    @property
    def known_total(self) -> int:
        """Return the sum of the known buckets."""
        buckets = (self.input, self.cache_read, self.cache_write, self.output, self.thinking)
        return sum(bucket for bucket in buckets if bucket is not None)

    def __add__(self, other: "Usage") -> "Usage":
        """Return the counts of both together; unknown ones count nothing."""
        names = self.__struct_fields__
        return Usage(*(_add(getattr(self, name), getattr(other, name)) for name in names))


def _add(first: int | None, second: int | None) -> int | None:
    known = [count for count in (first, second) if count is not None]
    return sum(known) if known else None


Finish = Literal[
    "stop",
    "length",
    "tool_calls",
    "content_filter",
    "refusal",
    "paused",
    "context_full",
    "exhausted",
    "error",
    "other",
]
PartKind = Literal["text", "thinking", "tool_call", "image", "blob", "other"]


class Started(Struct, frozen=True, tag="started"):
    """The answer began."""

    model: str | None = None
    id: str | None = None


class PartStart(Struct, frozen=True, tag="part_start"):
    """A part began, with a tool call's name; ``PartEnd`` has the final ``signature``."""

    index: int
    kind: PartKind
    id: str | None = None
    name: str | None = None
    signature: Signature | None = field(default=None, name="seal")


class ThinkingDelta(Struct, frozen=True, tag="thinking_delta"):
    """More of the thinking."""

    index: int
    text: str


class TextDelta(Struct, frozen=True, tag="text_delta"):
    """More of the answer."""

    index: int
    text: str


class ToolDelta(Struct, frozen=True, tag="tool_delta"):
    """More of a tool call's arguments, as JSON text."""

    index: int
    json: str


class PartEnd(Struct, frozen=True, tag="part_end"):
    """A complete part, with its signature."""

    index: int
    part: Part


class UsageUpdate(Struct, frozen=True, tag="usage_now"):
    """Token counts so far."""

    usage: Usage


class AdjustmentNote(Struct, frozen=True, tag="note"):
    """An adjustment made during the exchange, as JSON."""

    adjustment: Json


class Finished(Struct, frozen=True, tag="finished"):
    """The answer is complete."""

    finish: Finish
    usage: Usage = Usage()
    raw_finish: str | None = None
    model: str | None = None
    grounding: Json = None
    safety: Json = None
    extras: Json = None
    verdict: str | None = None


Event = (
    Started
    | PartStart
    | ThinkingDelta
    | TextDelta
    | ToolDelta
    | PartEnd
    | UsageUpdate
    | AdjustmentNote
    | Finished
)
