"""What happens while an answer arrives; a full response decodes to the same events."""

from typing import Literal

from msgspec import Struct

from .parts import Json, Part
from .usage import Usage

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
    """A part began; a tool call says its name at once."""

    index: int
    kind: PartKind
    id: str | None = None
    name: str | None = None


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


class UsageNow(Struct, frozen=True, tag="usage_now"):
    """The counts so far."""

    usage: Usage


class Note(Struct, frozen=True, tag="note"):
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
    | UsageNow
    | Note
    | Finished
)
