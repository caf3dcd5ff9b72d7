"""Types of the body of generateContent (google-genai 3.1.0, public protocol buffers v1beta)."""

from typing import Any

from msgspec import Struct

from pondero.canon import Json

from .words import (
    Base64,
    HarmBlockThreshold,
    HarmCategory,
    Int64,
    Modality,
    Mode,
    PartResolution,
    Resolution,
    ThinkingLevel,
    Type,
)

Object = dict[str, Any]


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


class VideoMetadata(Wire, frozen=True):
    """Which piece of a video, and how many pictures of it."""

    start_offset: str = ""
    end_offset: str = ""
    fps: float | None = None


class MediaResolution(Wire, frozen=True):
    """How finely a medium is seen."""

    level: PartResolution | None = None
    num_tokens: int | None = None


class WordInfo(Wire, frozen=True):
    """When a word was said."""

    word: str = ""
    start_offset: str = ""
    end_offset: str = ""


class Transcription(Wire, frozen=True):
    """What was said in a recording."""

    text: str = ""
    finished: bool = False
    language_code: str = ""
    speaker_label: str = ""
    words: list[WordInfo] = []
    start_offset: str = ""
    end_offset: str = ""


class SpeechMetadata(Wire, frozen=True):
    """Who speaks, and how."""

    speaker: str = ""
    style: str = ""


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
    video_metadata: VideoMetadata | None = None
    part_metadata: Object | None = None
    media_resolution: MediaResolution | None = None
    media_processing: str = ""
    audio_transcription: Transcription | None = None
    speech_metadata: SpeechMetadata | None = None


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


class GoogleSearch(Wire, frozen=True):
    """Search of the web."""

    search_types: Object | None = None
    blocking_confidence: str = ""
    exclude_domains: list[str] = []
    time_range_filter: Object | None = None


class GoogleMaps(Wire, frozen=True):
    """Places on a map."""

    auth_config: Object | None = None
    enable_widget: bool = False
    grounding_types: Object | None = None


class FileSearch(Wire, frozen=True):
    """Search of stored files."""

    file_search_store_names: list[str] = []
    top_k: int | None = None
    metadata_filter: str = ""


class ComputerUse(Wire, frozen=True):
    """Use of a screen, a keyboard and a mouse."""

    environment: str = ""
    excluded_predefined_functions: list[str] = []
    enable_prompt_injection_detection: bool = False
    disabled_safety_policies: list[str] = []


class McpServer(Wire, frozen=True):
    """A server of tools."""

    name: str = ""
    streamable_http_transport: Object | None = None


class DynamicRetrievalConfig(Wire, frozen=True):
    """When the web is searched."""

    mode: str = ""
    dynamic_threshold: float | None = None


class GoogleSearchRetrieval(Wire, frozen=True):
    """A search of the web, as older models do it."""

    dynamic_retrieval_config: DynamicRetrievalConfig | None = None


class Tool(Wire, frozen=True):
    """Functions, or something the service does itself."""

    function_declarations: list[FunctionDeclaration] = []
    google_search: GoogleSearch | None = None
    google_search_retrieval: GoogleSearchRetrieval | None = None
    google_maps: GoogleMaps | None = None
    code_execution: Object | None = None
    url_context: Object | None = None
    file_search: FileSearch | None = None
    computer_use: ComputerUse | None = None
    retrieval: Object | None = None
    enterprise_web_search: Object | None = None
    parallel_ai_search: Object | None = None
    exa_ai_search: Object | None = None
    mcp_servers: list[McpServer] = []

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


class RetrievalConfig(Wire, frozen=True):
    """Where the user is, and in which language."""

    lat_lng: Object | None = None
    language_code: str = ""


class ToolConfig(Wire, frozen=True):
    """What holds for all tools."""

    function_calling_config: FunctionCallingConfig = FunctionCallingConfig()
    retrieval_config: RetrievalConfig | None = None
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


class SpeechConfig(Wire, frozen=True):
    """How the answer sounds."""

    voice_config: Object | None = None
    language_code: str = ""
    multi_speaker_voice_config: Object | None = None


class AudioTranscriptionConfig(Wire, frozen=True):
    """How a recording is written down."""

    language_codes: list[str] = []
    language_auto: Object | None = None
    language_hints: Object | None = None
    custom_vocabulary: list[str] = []
    adaptation_phrases: list[str] = []
    word_timestamp: bool = False
    diarization: bool = False
    mode: str = ""
    source_text: str = ""


class TranslationConfig(Wire, frozen=True):
    """Into which language the answer is translated."""

    echo_target_language: bool = False
    target_language_code: str = ""


class ResponseFormat(Wire, frozen=True):
    """The form of the answer in one modality."""

    audio: Object | None = None
    image: Object | None = None
    text: Object | None = None
    video: Object | None = None


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
    response_format: list[ResponseFormat] = []
    response_modalities: list[Modality] = []
    response_logprobs: bool = False
    logprobs: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    thinking_config: ThinkingConfig = ThinkingConfig()
    media_resolution: Resolution | None = None
    speech_config: SpeechConfig | None = None
    image_config: Object | None = None
    routing_config: Object | None = None
    model_selection_config: Object | None = None
    audio_transcription_config: AudioTranscriptionConfig | None = None
    translation_config: TranslationConfig | None = None
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
