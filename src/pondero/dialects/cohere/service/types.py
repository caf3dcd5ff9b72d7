"""The service's side of the wire, in strict types: what a request may hold, and nothing else.

Source: cohere SDK 7.3.1, types of v2 chat.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

Json = Any
Share = Annotated[float, Meta(ge=0, le=1)]


class Strict(Struct, forbid_unknown_fields=True):
    """A value that may hold only what it names."""


# -- content -----------------------------------------------------------------------------------


class TextPart(Strict, tag="text"):
    """Words."""

    text: str


class ThinkingPart(Strict, tag="thinking"):
    """Thinking that goes back."""

    thinking: str


class ImageUrl(Strict):
    """An address, or the data in one."""

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
    """A document in what a tool answered."""

    document: Document


# -- messages ----------------------------------------------------------------------------------


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
    """What holds for the whole conversation."""

    content: str | list[TextPart]


class User(Strict, tag_field="role", tag="user"):
    """What the user says and shows."""

    content: str | list[TextPart | ImagePart]


class Assistant(Strict, tag_field="role", tag="assistant"):
    """What the model thought, said, planned and called."""

    content: str | list[TextPart | ThinkingPart] | None = None
    tool_plan: str | None = None
    tool_calls: list[Call] | None = None
    citations: list[Json] | None = None


class ToolAnswer(Strict, tag_field="role", tag="tool"):
    """What a tool said."""

    tool_call_id: str
    content: str | list[TextPart | DocumentPart]


Message = System | User | Assistant | ToolAnswer

# -- the request -------------------------------------------------------------------------------


class Offered(Strict):
    """What a function is called and takes."""

    name: Annotated[str, Meta(min_length=1)]
    parameters: dict[str, Json] | None = None
    description: str | None = None


class Tool(Strict):
    """A function on offer."""

    function: Offered
    type: Literal["function"] = "function"


class TextFormat(Strict, tag="text"):
    """Words."""


class ObjectFormat(Strict, tag="json_object"):
    """JSON, of a shape where one is given."""

    json_schema: dict[str, Json] | None = None


class Thinking(Strict):
    """The dial."""

    type: Literal["enabled", "disabled"]
    token_budget: Annotated[int, Meta(ge=1)] | None = None


class Body(Strict):
    """The whole request."""

    model: str
    messages: Annotated[list[Message], Meta(min_length=1)]
    stream: bool | None = None
    tools: list[Tool] | None = None
    strict_tools: bool | None = None
    tool_choice: str | None = None
    documents: list[Json] | None = None
    citation_options: dict[str, Json] | None = None
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
