"""The service's side of the wire, typed: what a request holds.

Source: api/types.go of ollama/ollama, 2026-08-21. The server passes over fields it does not know,
and refuses those it knows where they have another type.
"""

from typing import Any, Literal

from msgspec import Struct

Json = Any


class Function(Struct):
    """What was called, and with what."""

    name: str
    arguments: dict[str, Json] = {}
    index: int | None = None


class Call(Struct):
    """A tool call that was made."""

    function: Function
    id: str | None = None


class Message(Struct):
    """A turn; results are turns of their own, of the role tool."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str | None = None
    thinking: str | None = None
    images: list[str] | None = None
    tool_calls: list[Call] | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None


class Offered(Struct):
    """A function the model may call."""

    name: str
    description: str | None = None
    parameters: dict[str, Json] | None = None


class Tool(Struct):
    """A tool on offer."""

    function: Offered
    type: str = "function"


class Body(Struct):
    """The whole request."""

    model: str = ""
    messages: list[Message] | None = None
    tools: list[Tool] | None = None
    format: Json = None
    options: dict[str, Json] | None = None
    stream: bool | None = None
    think: Json = None
    keep_alive: str | int | float | None = None
    truncate: bool | None = None
    shift: bool | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
