"""Types of the request body (api/types.go, 2026-08-21); the server ignores unknown fields."""

from msgspec import Struct

from pondero.canon import Json

NAME = "ollama"


class Known(Struct, forbid_unknown_fields=True):
    """A field that is not named is one that the server does not know."""


class Function(Known):
    """The function of a call, and its arguments."""

    name: str
    arguments: dict[str, Json] = {}
    index: int | None = None


class Call(Known):
    """A tool call of an earlier answer."""

    function: Function
    id: str | None = None


class Message(Known):
    """A message; a tool result is a message of its own, of the role tool.

    The server makes the role small and takes any (api/types.go, Message.UnmarshalJSON): what a
    model makes of an unknown one is its template's affair. Here it is read as system.
    """

    role: str = ""
    content: str | None = None
    thinking: str | None = None
    images: list[str] | None = None
    tool_calls: list[Call] | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None

    def __post_init__(self) -> None:
        """Make the role small."""
        self.role = self.role.lower()


class Offered(Known):
    """A function the model may call."""

    name: str
    description: str | None = None
    parameters: dict[str, Json] | None = None


class Tool(Known):
    """A tool on offer."""

    function: Offered
    type: str = "function"


class Body(Known):
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
