"""Types of the body of generateContent (google-genai 3.1.0, public protocol buffers v1beta)."""

from typing import Any, Literal, NewType

from msgspec import Struct

from pondero.canon import Json, ToolKind

NAME = "gemini"

HOSTED: dict[str, ToolKind] = {
    "googleSearch": "web_search",
    "googleSearchRetrieval": "web_search",
    "enterpriseWebSearch": "web_search",
    "codeExecution": "code_execution",
}
"""What the service does itself and others do too, by the name of its field."""

Base64 = NewType("Base64", str)
Int64 = NewType("Int64", int)
Object = dict[str, Any]
ThinkingLevel = Literal["THINKING_LEVEL_UNSPECIFIED", "LOW", "MEDIUM", "HIGH", "MINIMAL"]
Mode = Literal["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"]
Type = Literal[
    "TYPE_UNSPECIFIED", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"
]
Modality = Literal["MODALITY_UNSPECIFIED", "TEXT", "IMAGE", "AUDIO", "VIDEO"]
HarmCategory = Literal[
    "HARM_CATEGORY_UNSPECIFIED",
    "HARM_CATEGORY_DEROGATORY",
    "HARM_CATEGORY_TOXICITY",
    "HARM_CATEGORY_VIOLENCE",
    "HARM_CATEGORY_SEXUAL",
    "HARM_CATEGORY_MEDICAL",
    "HARM_CATEGORY_DANGEROUS",
    "HARM_CATEGORY_HARASSMENT",
    "HARM_CATEGORY_HATE_SPEECH",
    "HARM_CATEGORY_SEXUALLY_EXPLICIT",
    "HARM_CATEGORY_DANGEROUS_CONTENT",
    "HARM_CATEGORY_CIVIC_INTEGRITY",
    "HARM_CATEGORY_JAILBREAK",
    "HARM_CATEGORY_IMAGE_HATE",
    "HARM_CATEGORY_IMAGE_DANGEROUS_CONTENT",
    "HARM_CATEGORY_IMAGE_HARASSMENT",
    "HARM_CATEGORY_IMAGE_SEXUALLY_EXPLICIT",
]
HarmBlockThreshold = Literal[
    "HARM_BLOCK_THRESHOLD_UNSPECIFIED",
    "BLOCK_LOW_AND_ABOVE",
    "BLOCK_MEDIUM_AND_ABOVE",
    "BLOCK_ONLY_HIGH",
    "BLOCK_NONE",
    "OFF",
]


class Wire(Struct, frozen=True, kw_only=True):
    """A message; ``raw`` is how the client wrote it."""

    raw: Object = {}


class Blob(Wire, frozen=True):
    """Media in the request itself."""

    mime_type: str = ""
    data: Base64 = Base64("")
    display_name: str = ""


class FileData(Wire, frozen=True):
    """Media given by their address."""

    mime_type: str | None = None
    file_uri: str = ""
    display_name: str = ""


class FunctionCall(Wire, frozen=True):
    """A function that the model called."""

    id: str = ""
    name: str = ""
    args: Object = {}
    partial_args: list[Object] = []
    will_continue: bool = False


class FunctionResponsePart(Wire, frozen=True):
    """Media in a function's result."""

    inline_data: Blob | None = None
    file_data: FileData | None = None


class FunctionResponse(Wire, frozen=True):
    """A function's result."""

    id: str = ""
    name: str = ""
    response: Object = {}
    parts: list[FunctionResponsePart] = []
    will_continue: bool = False
    scheduling: str = ""


class ExecutableCode(Wire, frozen=True):
    """Code the service runs."""

    language: str = ""
    code: str = ""
    id: str = ""


class CodeExecutionResult(Wire, frozen=True):
    """What came of it."""

    outcome: str = ""
    output: str = ""
    id: str = ""


class ToolCall(Wire, frozen=True):
    """A tool the service runs."""

    id: str = ""
    tool_type: str = ""
    args: Object = {}


class ToolResponse(Wire, frozen=True):
    """What came of it."""

    id: str = ""
    tool_type: str = ""
    response: Object = {}


class Part(Wire, frozen=True):
    """Exactly one kind of data, and what goes with it."""

    text: str | None = None
    inline_data: Blob | None = None
    file_data: FileData | None = None
    function_call: FunctionCall | None = None
    function_response: FunctionResponse | None = None
    executable_code: ExecutableCode | None = None
    code_execution_result: CodeExecutionResult | None = None
    tool_call: ToolCall | None = None
    tool_response: ToolResponse | None = None
    thought: bool = False
    thought_signature: Base64 | None = None
    video_metadata: Object | None = None
    part_metadata: Object | None = None
    media_resolution: Object | None = None
    media_processing: Object | None = None
    audio_transcription: Object | None = None


class Content(Wire, frozen=True):
    """One message of the conversation."""

    role: str = ""
    parts: list[Part] = []


class Schema(Wire, frozen=True):
    """The part of OpenAPI that is understood."""

    type: Type | None = None
    format: str = ""
    title: str = ""
    description: str = ""
    nullable: bool = False
    enum: list[str] = []
    items: "Schema | None" = None
    min_items: Int64 | None = None
    max_items: Int64 | None = None
    properties: dict[str, "Schema"] = {}
    required: list[str] = []
    property_ordering: list[str] = []
    min_properties: Int64 | None = None
    max_properties: Int64 | None = None
    minimum: float | None = None
    maximum: float | None = None
    min_length: Int64 | None = None
    max_length: Int64 | None = None
    pattern: str = ""
    example: Json = None
    default: Json = None
    any_of: list["Schema"] = []


class FunctionDeclaration(Wire, frozen=True):
    """A function the model may call."""

    name: str = ""
    description: str = ""
    behavior: str = ""
    parameters: Schema | None = None
    parameters_json_schema: Json = None
    response: Schema | None = None
    response_json_schema: Json = None


class Tool(Wire, frozen=True):
    """Functions, or something the service does itself."""

    function_declarations: list[FunctionDeclaration] = []
    google_search: Object | None = None
    google_search_retrieval: Object | None = None
    google_maps: Object | None = None
    code_execution: Object | None = None
    url_context: Object | None = None
    file_search: Object | None = None
    computer_use: Object | None = None
    retrieval: Object | None = None
    enterprise_web_search: Object | None = None
    mcp_servers: list[Object] = []

    @property
    def kinds(self) -> list[str]:
        """Return the names of the fields that are set."""
        fields = (name for name in self.__struct_fields__ if name != "raw")
        return [name for name in fields if getattr(self, name) not in (None, [])]


class FunctionCallingConfig(Wire, frozen=True):
    """Whether and what must be called."""

    mode: Mode | None = None
    allowed_function_names: list[str] = []
    stream_function_call_arguments: bool = False


class ToolConfig(Wire, frozen=True):
    """What holds for all tools."""

    function_calling_config: FunctionCallingConfig = FunctionCallingConfig()
    retrieval_config: Object | None = None
    include_server_side_tool_invocations: bool = False


class SafetySetting(Wire, frozen=True):
    """What is blocked."""

    category: HarmCategory | None = None
    threshold: HarmBlockThreshold | None = None
    method: str = ""


class ThinkingConfig(Wire, frozen=True):
    """How much to think, and whether to show it."""

    include_thoughts: bool | None = None
    thinking_budget: int | None = None
    thinking_level: ThinkingLevel | None = None


class GenerationConfig(Wire, frozen=True):
    """How the answer is made."""

    candidate_count: int | None = None
    stop_sequences: list[str] = []
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: float | None = None
    seed: int | None = None
    response_mime_type: str = ""
    response_schema: Schema | None = None
    response_json_schema: Json = None
    response_format: Object | None = None
    response_modalities: list[Modality] = []
    response_logprobs: bool = False
    logprobs: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    thinking_config: ThinkingConfig = ThinkingConfig()
    media_resolution: str = ""
    speech_config: Object | None = None
    image_config: Object | None = None
    routing_config: Object | None = None
    model_selection_config: Object | None = None
    audio_transcription_config: Object | None = None
    audio_timestamp: bool = False
    enable_affective_dialog: bool = False
    enable_enhanced_civic_answers: bool = False


class GenerateContentRequest(Wire, frozen=True):
    """The whole request."""

    contents: list[Content] = []
    system_instruction: Content | None = None
    tools: list[Tool] = []
    tool_config: ToolConfig = ToolConfig()
    safety_settings: list[SafetySetting] = []
    generation_config: GenerationConfig = GenerationConfig()
    continuation_token: Base64 | None = None
    cached_content: str = ""
    model: str = ""
    labels: dict[str, str] = {}
    service_tier: str = ""
    store: bool = False
    model_armor_config: Object | None = None
