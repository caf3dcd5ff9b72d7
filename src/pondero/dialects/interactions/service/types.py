"""Types of the body of ``POST /interactions`` (google-genai 3.1.0 and @google/genai 2.32.0).

What the SDKs still declare and the service refuses is not here: ``cached_content``,
``response_mime_type``.
"""

from typing import Any, Literal

from msgspec import Struct

from pondero.canon import Json, ToolKind

NAME = "interactions"
Object = dict[str, Any]

LEVELS = ("minimal", "low", "medium", "high")
CONTENT = frozenset({"text", "image", "audio", "video", "document"})
"""Types of content; every other type in an input is a step."""
FORMATS = frozenset({"text", "image", "audio", "video"})
"""Types of response formats; an object of another type is a JSON schema."""
KINDS: dict[str, ToolKind] = {"google_search": "web_search", "code_execution": "code_execution"}
"""What the service does itself and others do too, by the type of the tool."""


class Strict(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="type"):
    """An object with a type; a field that it does not have is rejected."""


# -- content -----------------------------------------------------------------------------------

Resolution = Literal["low", "medium", "high", "ultra_high"]
Delivery = Literal["inline", "uri"]


class TextContent(Strict, frozen=True, tag="text"):
    """Words."""

    text: str
    annotations: list[Object] | None = None


class ImageContent(Strict, frozen=True, tag="image"):
    """A picture."""

    data: str | None = None
    mime_type: str | None = None
    uri: str | None = None
    resolution: Resolution | None = None


class AudioContent(Strict, frozen=True, tag="audio"):
    """Sound."""

    data: str | None = None
    mime_type: str | None = None
    uri: str | None = None
    channels: int | None = None
    sample_rate: int | None = None


class VideoContent(Strict, frozen=True, tag="video"):
    """A film."""

    data: str | None = None
    mime_type: str | None = None
    uri: str | None = None
    name: str | None = None
    processing: Json = None
    resolution: Resolution | None = None


class DocumentContent(Strict, frozen=True, tag="document"):
    """A file with words."""

    data: str | None = None
    mime_type: str | None = None
    uri: str | None = None


Medium = ImageContent | AudioContent | VideoContent | DocumentContent
Content = TextContent | Medium

# -- steps -------------------------------------------------------------------------------------


class FunctionResult(Strict, frozen=True, tag="function_result"):
    """A function's result: a step of its own, or a block in the user's input."""

    call_id: str
    result: str | Object | list[Content]
    name: str | None = None
    is_error: bool | None = None
    signature: str | None = None


class UserInput(Strict, frozen=True, tag="user_input"):
    """What the user said."""

    content: list[Content | FunctionResult] | None = None


class ModelOutput(Strict, frozen=True, tag="model_output"):
    """What the model said."""

    content: list[Content] | None = None
    error: Object | None = None


class ThoughtStep(Strict, frozen=True, tag="thought"):
    """What the model thought."""

    signature: str | None = None
    summary: list[TextContent | ImageContent] | None = None


class FunctionCall(Strict, frozen=True, tag="function_call"):
    """A function that the model called."""

    id: str
    name: str
    arguments: Object
    signature: str | None = None


class _HostedCall(Strict, frozen=True):
    id: str
    arguments: Object | None = None
    signature: str | None = None


class _HostedResult(Strict, frozen=True):
    call_id: str
    result: Json = None
    is_error: bool | None = None
    signature: str | None = None


class CodeExecutionCall(_HostedCall, frozen=True, tag="code_execution_call"):
    """Code that the service ran."""


class CodeExecutionResult(_HostedResult, frozen=True, tag="code_execution_result"):
    """What came of it."""


class GoogleSearchCall(_HostedCall, frozen=True, tag="google_search_call"):
    """A search of the web."""

    search_type: str | None = None


class GoogleSearchResult(_HostedResult, frozen=True, tag="google_search_result"):
    """What it found."""


class UrlContextCall(_HostedCall, frozen=True, tag="url_context_call"):
    """Pages that the service read."""


class UrlContextResult(_HostedResult, frozen=True, tag="url_context_result"):
    """What they said."""


class GoogleMapsCall(_HostedCall, frozen=True, tag="google_maps_call"):
    """A search on the map."""


class GoogleMapsResult(_HostedResult, frozen=True, tag="google_maps_result"):
    """The places found."""


class FileSearchCall(_HostedCall, frozen=True, tag="file_search_call"):
    """A search of stored files."""


class FileSearchResult(_HostedResult, frozen=True, tag="file_search_result"):
    """What it found."""


class RetrievalCall(_HostedCall, frozen=True, tag="retrieval_call"):
    """A search of stored data, on Vertex only."""

    retrieval_type: str | None = None


class RetrievalResult(_HostedResult, frozen=True, tag="retrieval_result"):
    """What it found."""


class ProcessingCall(_HostedCall, frozen=True, tag="processing_call"):
    """Work on a film."""


class ProcessingResult(_HostedResult, frozen=True, tag="processing_result"):
    """What came of it."""


class McpServerToolCall(_HostedCall, frozen=True, tag="mcp_server_tool_call"):
    """A call of a tool on a server of tools."""

    name: str | None = None
    server_name: str | None = None


class McpServerToolResult(_HostedResult, frozen=True, tag="mcp_server_tool_result"):
    """What it gave."""

    name: str | None = None
    server_name: str | None = None


class OtherToolCall(_HostedCall, frozen=True, tag="tool_call"):
    """A run of a tool server as the service really writes it (genai-rs, live probe 2026-08)."""


Hosted = (
    CodeExecutionCall
    | CodeExecutionResult
    | GoogleSearchCall
    | GoogleSearchResult
    | UrlContextCall
    | UrlContextResult
    | GoogleMapsCall
    | GoogleMapsResult
    | FileSearchCall
    | FileSearchResult
    | RetrievalCall
    | RetrievalResult
    | ProcessingCall
    | ProcessingResult
    | McpServerToolCall
    | McpServerToolResult
    | OtherToolCall
)


class OtherStep(Struct, frozen=True):
    """A step of a type that is newer than these; only a lenient reading has it."""

    signature: str | None = None


Step = UserInput | ModelOutput | ThoughtStep | FunctionCall | FunctionResult | Hosted

# -- tools -------------------------------------------------------------------------------------


class AllowedTools(Struct, frozen=True, forbid_unknown_fields=True):
    """Which tools may be called, and whether one must be."""

    mode: Literal["auto", "any", "none", "validated"] | None = None
    tools: list[str] | None = None


class ToolChoiceConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """A choice among the tools."""

    allowed_tools: AllowedTools | None = None


class Function(Strict, frozen=True, tag="function"):
    """A function that the model may call."""

    name: str = ""
    description: str | None = None
    parameters: Json = None


class GoogleSearch(Strict, frozen=True, tag="google_search"):
    """Search of the web."""

    search_types: list[Literal["web_search", "image_search", "enterprise_web_search"]] | None = None


class CodeExecution(Strict, frozen=True, tag="code_execution"):
    """Code that the service runs."""


class UrlContext(Strict, frozen=True, tag="url_context"):
    """Pages that the service reads."""


class FileSearch(Strict, frozen=True, tag="file_search"):
    """Search of stored files."""

    file_search_store_names: list[str] | None = None
    metadata_filter: str | None = None
    top_k: int | None = None


class GoogleMaps(Strict, frozen=True, tag="google_maps"):
    """Places on a map."""

    enable_widget: bool | None = None
    latitude: float | None = None
    longitude: float | None = None


class ComputerUse(Strict, frozen=True, tag="computer_use"):
    """Use of a screen, a keyboard and a mouse."""

    environment: Literal["browser", "mobile", "desktop"] | None = None
    excluded_predefined_functions: list[str] | None = None
    enable_prompt_injection_detection: bool | None = None
    disabled_safety_policies: list[str] | None = None


class McpServer(Strict, frozen=True, tag="mcp_server"):
    """A server of tools."""

    name: str | None = None
    url: str | None = None
    headers: dict[str, str] | None = None
    allowed_tools: list[AllowedTools] | None = None


class Retrieval(Strict, frozen=True, tag="retrieval"):
    """Search of stored data, on Vertex only."""

    retrieval_types: list[str] | None = None
    vertex_ai_search_config: Object | None = None
    exa_ai_search_config: Object | None = None
    parallel_ai_search_config: Object | None = None
    rag_store_config: Object | None = None


HostedTool = (
    GoogleSearch
    | CodeExecution
    | UrlContext
    | FileSearch
    | GoogleMaps
    | ComputerUse
    | McpServer
    | Retrieval
)
Tool = Function | HostedTool

# -- the request -------------------------------------------------------------------------------


class TextFormat(Strict, frozen=True, tag="text"):
    """The form of an answer in words."""

    mime_type: Literal["application/json", "text/plain"] | None = None
    schema: Object | None = None


class ImageFormat(Strict, frozen=True, tag="image"):
    """The form of an answer in pictures."""

    aspect_ratio: str | None = None
    delivery: Delivery | None = None
    image_size: str | None = None
    mime_type: str | None = None


class AudioFormat(Strict, frozen=True, tag="audio"):
    """The form of an answer in sound."""

    bit_rate: int | None = None
    delivery: Delivery | None = None
    mime_type: str | None = None
    sample_rate: int | None = None


class VideoFormat(Strict, frozen=True, tag="video"):
    """The form of an answer in film."""

    aspect_ratio: str | None = None
    delivery: Delivery | None = None
    duration: str | None = None
    gcs_uri: str | None = None
    resolution: str | None = None


Format = TextFormat | ImageFormat | AudioFormat | VideoFormat


class ImageConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How pictures are made."""

    aspect_ratio: str | None = None
    image_size: str | None = None


class SpeechConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How one speaker sounds."""

    language: str | None = None
    speaker: str | None = None
    voice: str | None = None


class SpeakerConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How several speakers sound."""

    speakers: list[SpeechConfig] | None = None


class VideoConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How a film is made."""

    task: str | None = None


class TranscriptionConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How sound is written down."""

    adaptation_phrases: list[str] | None = None
    custom_vocabulary: list[str] | None = None
    diarization_mode: str | None = None
    language_codes: list[str] | None = None
    language_hints: list[str] | None = None
    mode: str | Object | None = None
    timestamp_granularities: list[str] | None = None


class WebhookConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Whom the service tells that an answer in the background is there."""

    uris: list[str] | None = None
    user_metadata: Object | None = None


class GenerationConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the answer is made."""

    thinking_level: Literal["minimal", "low", "medium", "high"] | None = None
    thinking_summaries: Literal["auto", "none"] | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop_sequences: list[str] | None = None
    tool_choice: Literal["auto", "any", "none", "validated"] | ToolChoiceConfig | None = None
    image_config: ImageConfig | None = None
    speech_config: SpeakerConfig | list[SpeechConfig] | None = None
    video_config: VideoConfig | None = None
    transcription_config: TranscriptionConfig | None = None


class Body(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The whole request."""

    model: str | None = None
    agent: str | None = None
    agent_config: Object | None = None
    environment: Json = None
    input: Json = None
    system_instruction: str | None = None
    generation_config: GenerationConfig | None = None
    tools: list[Tool] | None = None
    response_format: Json = None
    response_modalities: list[Literal["text", "image", "audio", "video", "document"]] | None = None
    store: bool | None = None
    stream: bool | None = None
    background: bool | None = None
    previous_interaction_id: str | None = None
    continuation_token: str | None = None
    service_tier: Literal["flex", "standard", "priority", "deferred"] | None = None
    safety_settings: list[Object] | None = None
    labels: dict[str, str] | None = None
    webhook_config: WebhookConfig | None = None

    @property
    def config(self) -> GenerationConfig:
        """Return the settings of the answer."""
        return self.generation_config or GenerationConfig()
