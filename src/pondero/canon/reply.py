"""The whole answer, with what was planned and what was seen."""

from typing import Any, Literal

from msgspec import Struct
from msgspec.json import decode

from .events import Finish
from .messages import Message
from .parts import Json, ToolCall
from .usage import Usage

Verdict = Literal[
    "as_planned",
    "did_not_think",
    "thought_though_off",
    "overran_budget",
    "exhausted",
    "unknown",
]


class Reply(Struct, frozen=True):
    """One answer. ``plan`` is what was to happen, ``verdict`` how that compares with what did.

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
        return decode(self.text, type=kind)
