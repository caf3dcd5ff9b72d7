"""What the service takes, as strict types: written from its documentation, not from our caller."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from pondero.canon import Json

NAME = "skeleton"


class Strict(Struct, frozen=True, forbid_unknown_fields=True):
    """What it does not know, it refuses."""


class TextPart(Strict, frozen=True, tag_field="type", tag="text"):
    """Words."""

    text: str


class ThinkingPart(Strict, frozen=True, tag_field="type", tag="thinking"):
    """Thinking of an earlier answer; ``proof`` shows that the service made it."""

    text: str
    proof: str | None = None


class CallPart(Strict, frozen=True, tag_field="type", tag="call"):
    """A call of a tool."""

    id: str
    name: str
    arguments: Json


class ResultPart(Strict, frozen=True, tag_field="type", tag="result"):
    """What a tool gave."""

    id: str
    texts: list[str]


Part = TextPart | ThinkingPart | CallPart | ResultPart


class Message(Strict, frozen=True):
    """One turn."""

    role: Literal["user", "assistant", "system"]
    parts: Annotated[list[Part], Meta(min_length=1)]


class Tool(Strict, frozen=True):
    """A function on offer."""

    name: str
    description: str = ""
    schema: Json = None


class Body(Strict, frozen=True, kw_only=True):
    """The body of a request."""

    model: str
    messages: Annotated[list[Message], Meta(min_length=1)]
    system: str | None = None
    tools: list[Tool] | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    think: Literal["on", "off"] | None = None
    seed: int | None = None
    stream: bool = False
