"""Types of the request body; ``LooseBody`` is without ranges (cohere SDK 7.3.1, v2 chat)."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

NAME = "cohere"

Json = Any
Share = Annotated[float, Meta(ge=0, le=1)]


class Strict(Struct, forbid_unknown_fields=True):
    """A value that may hold only what it names."""


class TextPart(Strict, tag="text"):
    """Text."""

    text: str


class ThinkingPart(Strict, tag="thinking"):
    """Thinking of an earlier answer."""

    thinking: str


class ImageUrl(Strict):
    """An address, or the data itself as a data URL."""

    url: str
    detail: Literal["auto", "low", "high"] | None = None


class ImagePart(Strict, tag="image_url"):
    """A picture."""

    image_url: ImageUrl


class Document(Strict):
    """A document that can be cited."""

    data: dict[str, Json] | str
    id: str | None = None


class DocumentPart(Strict, tag="document"):
    """A document in a tool's result."""

    document: Document


Content = TextPart | ThinkingPart | ImagePart | DocumentPart


class Function(Strict):
    """A function to call; the arguments are JSON in a string."""

    name: Annotated[str, Meta(min_length=1)]
    arguments: str


class Call(Strict):
    """One tool call."""

    id: str
    function: Function
    type: Literal["function"] = "function"


class System(Strict, tag_field="role", tag="system"):
    """Instructions for the whole conversation."""

    content: str | list[TextPart]


class User(Strict, tag_field="role", tag="user"):
    """The user's text and pictures."""

    content: str | list[TextPart | ImagePart]


class Assistant(Strict, tag_field="role", tag="assistant"):
    """The model's thinking, text, plan and calls."""

    content: str | list[TextPart | ThinkingPart] | None = None
    tool_plan: str | None = None
    tool_calls: list[Call] | None = None
    citations: list[Json] | None = None


class ToolAnswer(Strict, tag_field="role", tag="tool"):
    """A tool's result."""

    tool_call_id: str
    content: str | list[TextPart | DocumentPart]


Message = System | User | Assistant | ToolAnswer


class Offered(Strict):
    """A function's name and parameters."""

    name: Annotated[str, Meta(min_length=1)]
    parameters: dict[str, Json] | None = None
    description: str | None = None


class Tool(Strict):
    """A function on offer."""

    function: Offered
    type: Literal["function"] = "function"


class TextFormat(Strict, tag="text"):
    """Plain text."""


class ObjectFormat(Strict, tag="json_object"):
    """JSON, of a shape where one is given."""

    json_schema: dict[str, Json] | None = None


class Thinking(Strict):
    """Whether to think, and how much."""

    type: Literal["enabled", "disabled"]
    token_budget: Annotated[int, Meta(ge=1)] | None = None


class CitationOptions(Strict):
    """How answers are cited."""

    mode: str | None = None


class Body(Strict):
    """The whole request."""

    model: str
    messages: Annotated[list[Message], Meta(min_length=1)]
    stream: bool | None = None
    tools: list[Tool] | None = None
    strict_tools: bool | None = None
    tool_choice: str | None = None
    documents: list[str | Document] | None = None
    citation_options: CitationOptions | None = None
    response_format: TextFormat | ObjectFormat | None = None
    safety_mode: Literal["CONTEXTUAL", "STRICT", "OFF"] | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    stop_sequences: Annotated[list[str], Meta(max_length=5)] | None = None
    temperature: Annotated[float, Meta(ge=0)] | None = None
    seed: int | None = None
    frequency_penalty: Share | None = None
    presence_penalty: Share | None = None
    k: Annotated[int, Meta(ge=0, le=500)] | None = None
    p: Annotated[float, Meta(ge=0.01, le=0.99)] | None = None
    logprobs: bool | None = None
    thinking: Thinking | None = None
    priority: int | None = None


class LooseThinking(Thinking):
    """Whether to think, with any budget."""

    token_budget: int | None = None


class LooseBody(Body, kw_only=True):
    """A request whose numbers may be out of range."""

    messages: list[Message]
    documents: list[Json] | None = None
    citation_options: Json = None
    safety_mode: Json = None
    max_tokens: int | None = None
    stop_sequences: list[str] | None = None
    temperature: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    k: int | None = None
    p: float | None = None
    thinking: LooseThinking | None = None
