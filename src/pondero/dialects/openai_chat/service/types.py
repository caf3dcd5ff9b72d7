"""The types of the request body (openai 3.49.0, 2026-11-10); any other field is rejected."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

NAME = "openai_chat"

Json = Any
Named = Annotated[str, Meta(min_length=1)]


class Strict(Struct, forbid_unknown_fields=True):
    """An object whose unknown fields are errors."""


# -- content -----------------------------------------------------------------------------------


class CacheControl(Strict):
    """A cache breakpoint as routers take it."""

    type: Literal["ephemeral"]
    ttl: str | None = None


class Breakpoint(Strict):
    """A cache breakpoint as OpenAI takes it."""

    mode: Literal["explicit"]
    ttl: str | None = None


class TextPart(Strict, tag="text"):
    """Words."""

    text: str
    prompt_cache_breakpoint: Breakpoint | None = None
    cache_control: CacheControl | None = None


class ImageUrl(Strict):
    """An address, or a data URL."""

    url: str
    detail: Literal["auto", "low", "high", "original"] | None = None


class ImagePart(Strict, tag="image_url"):
    """A picture."""

    image_url: ImageUrl
    prompt_cache_breakpoint: Breakpoint | None = None
    cache_control: CacheControl | None = None


class Sound(Strict):
    """Sound, in base64."""

    data: str
    format: Literal["wav", "mp3"]


class AudioPart(Strict, tag="input_audio"):
    """A sound."""

    input_audio: Sound
    prompt_cache_breakpoint: Breakpoint | None = None
    cache_control: CacheControl | None = None


class File(Strict, omit_defaults=True):
    """A file's data in a data URL, or the id of an uploaded file."""

    file_data: str | None = None
    file_id: str | None = None
    filename: str | None = None


class FilePart(Strict, tag="file"):
    """A file."""

    file: File
    prompt_cache_breakpoint: Breakpoint | None = None
    cache_control: CacheControl | None = None


class VideoUrl(Strict):
    """An address, or a data URL."""

    url: str


class VideoPart(Strict, tag="video_url"):
    """A video; OpenAI has no such part, many other providers do."""

    video_url: VideoUrl
    cache_control: CacheControl | None = None


class RefusalPart(Strict, tag="refusal"):
    """The model's own refusal."""

    refusal: str


class ThinkingPart(Strict, tag="thinking"):
    """Thinking as a part of the content, as on Mistral."""

    thinking: list[TextPart] | str
    closed: bool | None = None
    signature: str | None = None


UserPart = TextPart | ImagePart | AudioPart | FilePart | VideoPart
AssistantPart = TextPart | RefusalPart | ThinkingPart

# -- messages ----------------------------------------------------------------------------------


class Function(Strict):
    """A function to call; the arguments are JSON in a string."""

    name: Named
    arguments: str


class Custom(Strict):
    """A tool that takes plain text."""

    name: Named
    input: str


class Call(Strict):
    """One tool call. ``extra_content`` is the signature that some services give it."""

    type: Literal["function", "custom"] = "function"
    id: str | None = None
    function: Function | None = None
    custom: Custom | None = None
    extra_content: Json = None


class System(Strict, tag_field="role", tag="system"):
    """Instructions for the whole conversation."""

    content: str | list[TextPart]
    name: str | None = None


class Developer(Strict, tag_field="role", tag="developer"):
    """A system message by its newer name."""

    content: str | list[TextPart]
    name: str | None = None


class User(Strict, tag_field="role", tag="user"):
    """A message of the user."""

    content: str | list[UserPart]
    name: str | None = None


class Spoken(Strict):
    """An earlier answer in sound, by its id."""

    id: str


class Assistant(Strict, tag_field="role", tag="assistant"):
    """An earlier answer: text, calls and, where a provider takes it back, thinking."""

    content: str | list[AssistantPart] | None = None
    refusal: str | None = None
    name: str | None = None
    audio: Spoken | None = None
    annotations: list[Json] | None = None  # accepted and ignored
    tool_calls: Annotated[list[Call], Meta(min_length=1)] | None = None
    function_call: Function | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_text: str | None = None
    reasoning_details: list[dict[str, Json]] | None = None


class ToolAnswer(Strict, tag_field="role", tag="tool"):
    """The result of a tool call."""

    content: str | list[TextPart]
    tool_call_id: str | None = None
    name: str | None = None


class FunctionAnswer(Strict, tag_field="role", tag="function"):
    """The result of a call in the older form, which has no id."""

    content: str | None
    name: str


Message = System | Developer | User | Assistant | ToolAnswer | FunctionAnswer

# -- the request -------------------------------------------------------------------------------


class FunctionTool(Strict):
    """A function's name, description and parameters."""

    name: Annotated[str, Meta(pattern=r"^[a-zA-Z0-9_-]+$", max_length=64)]
    description: str | None = None
    parameters: dict[str, Json] | None = None
    strict: bool | None = None


class OfferedFunction(Strict, tag="function"):
    """A function on offer."""

    function: FunctionTool


class OfferedCustom(Strict, tag="custom"):
    """A tool on offer that takes plain text."""

    custom: dict[str, Json]


class Chosen(Strict):
    """The name of a tool."""

    name: str


class ChosenFunction(Strict, tag="function"):
    """The function that must be called."""

    function: Chosen


class ChosenCustom(Strict, tag="custom"):
    """The tool that must be called."""

    custom: Chosen


class AllowedTools(Strict, tag="allowed_tools"):
    """Some of the tools on offer."""

    allowed_tools: dict[str, Json]


class Schema(Strict):
    """The shape of a structured answer."""

    name: Annotated[str, Meta(pattern=r"^[a-zA-Z0-9_-]+$", max_length=64)]
    schema: dict[str, Json] | None = None
    description: str | None = None
    strict: bool | None = None


class TextFormat(Strict, tag="text"):
    """Words."""


class ObjectFormat(Strict, tag="json_object"):
    """Any JSON."""


class SchemaFormat(Strict, tag="json_schema"):
    """JSON of a shape."""

    json_schema: Schema


class StreamOptions(Strict):
    """What a stream sends besides the answer."""

    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class Body(Strict):
    """The fields that all providers share; what only some take is in their tables."""

    model: str
    messages: Annotated[list[Message], Meta(min_length=1)]
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop: str | list[str] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    tools: Annotated[list[OfferedFunction | OfferedCustom], Meta(min_length=1)] | None = None
    tool_choice: (
        Literal["none", "auto", "required"] | ChosenFunction | ChosenCustom | AllowedTools | None
    ) = None
    parallel_tool_calls: bool | None = None
    response_format: TextFormat | ObjectFormat | SchemaFormat | None = None
    reasoning_effort: str | int | bool | None = None  # some clones take a switch or a budget
