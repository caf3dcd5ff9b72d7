"""The whole answer, with the plan behind it and how the two compare."""

from collections.abc import Iterable
from typing import Any, Literal

from msgspec import Struct

from .decoder import decoded
from .events import Finish, Usage
from .parts import Json, Message, Part, Text, Thinking, ToolCall

Verdict = Literal[
    "as_planned",
    "did_not_think",
    "thought_though_off",
    "overran_budget",
    "exhausted",
    "unknown",
]


class Reply(Struct, frozen=True):
    """One answer. ``verdict`` says how it compares with ``plan``.

    ``cap`` is the max_tokens to retry with, where all output was spent on thinking.
    """

    message: Message
    finish: Finish
    usage: Usage = Usage()
    plan: Json = None
    verdict: Verdict = "unknown"
    raw_finish: str | None = None
    request_id: str | None = None
    model: str | None = None
    grounding: Json = None
    safety: Json = None
    extras: Json = None
    cap: int | None = None

    @property
    def text(self) -> str:
        """Return the visible words."""
        return self.message.text

    @property
    def thinking(self) -> tuple[str, ...]:
        """Return the readable thinking, one string a part."""
        return self.message.thinking

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Return the tool calls in order."""
        return self.message.tool_calls

    def value(self, kind: Any = Any) -> Any:
        """Return the answer's JSON as this type; raises msgspec.DecodeError where it is not."""
        return decoded(self.text, kind)


def only_thought(parts: Iterable[Part], usage: Usage) -> bool:
    """Return whether an answer holds thinking, but no words and no tool call."""
    thought = bool(usage.thinking)
    for part in parts:
        match part:
            case Thinking():
                thought = True
            case Text() if not part.text.strip():
                pass
            case Text() | ToolCall():
                return False
    return thought
