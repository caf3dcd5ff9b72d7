"""A turn of the conversation, and where it came from."""

from typing import Literal

from msgspec import Struct

from .parts import Part, Text, Thinking, ToolCall

Role = Literal["system", "user", "assistant"]


class Origin(Struct, frozen=True):
    """Which model said it, at which level, when (seconds since 1970)."""

    provider: str
    model: str
    level: str | None = None
    at: float | None = None


class Message(Struct, frozen=True):
    """Parts in the order they came; tool results stand in the user's messages."""

    role: Role
    parts: tuple[Part, ...]
    origin: Origin | None = None

    @property
    def text(self) -> str:
        """Return the visible words of this message."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def thinking(self) -> tuple[str, ...]:
        """Return the readable thinking, one string a part."""
        return tuple(p.text for p in self.parts if isinstance(p, Thinking) and p.text)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Return the tool calls in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))
