"""What is asked of a model, before any wire has a say."""

from typing import Literal

from msgspec import Struct

from .messages import Message
from .parts import Cache, Json, Text


class Tool(Struct, frozen=True):
    """A function the model may call; ``raw`` holds a service's own tool as it is written there."""

    name: str
    description: str = ""
    parameters: Json = None
    strict: bool | None = None
    cache: Cache | None = None
    raw: Json = None


class ToolChoice(Struct, frozen=True):
    """Whether, and which, tool must be called; ``required`` and ``tool`` force one."""

    mode: Literal["auto", "none", "required", "tool"] = "auto"
    name: str | None = None
    parallel: bool | None = None

    @property
    def forced(self) -> bool:
        """Return whether the model has no choice but to call."""
        return self.mode in ("required", "tool")


class Output(Struct, frozen=True):
    """The shape the answer must have; without a schema, any JSON."""

    schema: Json = None
    name: str = "answer"
    strict: bool | None = None


class Request(Struct, frozen=True):
    """One exchange's question; thinking is said by the plan beside it."""

    model: str
    messages: tuple[Message, ...]
    system: tuple[Text, ...] = ()
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice | None = None
    output: Output | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop: tuple[str, ...] = ()
    stream: bool = True
    extras: Json = None
