"""The events of an answer as it arrives; a whole response decodes to the same events.

Usage counts tokens in disjoint buckets: unknown is None, never 0.
"""

from typing import Literal

from msgspec import Struct, field

from .parts import Json, Part, Signature


class Usage(Struct, frozen=True):
    """``input + cache_read + cache_write + output + thinking = total`` as far as each is known.

    ``output`` is the visible answer. Where a service does not split thinking off, ``thinking``
    is None and ``output`` holds both.
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
    """A part began; a tool call says its name at once.

    ``signature`` is what is known of the part's seal this early; the one that counts comes at its
    end.
    """

    index: int
    kind: PartKind
    id: str | None = None
    name: str | None = None
    signature: Signature | None = field(default=None, name="seal")


class ThinkingDelta(Struct, frozen=True, tag="thinking_delta"):
    """More thinking."""

    index: int
    text: str


class TextDelta(Struct, frozen=True, tag="text_delta"):
    """More answer."""

    index: int
    text: str


class ToolDelta(Struct, frozen=True, tag="tool_delta"):
    """More of a tool call's arguments, as JSON text."""

    index: int
    json: str


class PartEnd(Struct, frozen=True, tag="part_end"):
    """A part is complete, with its seal."""

    index: int
    part: Part


class UsageUpdate(Struct, frozen=True, tag="usage_now"):
    """The counts so far."""

    usage: Usage


class AdjustmentNote(Struct, frozen=True, tag="note"):
    """Something was adjusted on the way; the adjustment as JSON."""

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
