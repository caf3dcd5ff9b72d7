"""The request body (openai 3.49.0, 2026-11-10); ``Any...`` types are for the lenient reading."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from pondero.dialects.dialect import HostedTools

NAME = "openai_responses"

Status = Literal["in_progress", "completed", "incomplete"]
Phase = Literal["commentary", "final_answer"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Summary = Literal["auto", "concise", "detailed"]
Object = dict[str, Any]


class Strict(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An object with no other keys than these."""


# -- the body ----------------------------------------------------------------------------------


class Reasoning(Strict, frozen=True):
    """`reasoning`."""

    effort: Effort | None = None
    summary: Summary | None = None
    generate_summary: Summary | None = None
    context: Literal["auto", "current_turn", "all_turns"] | None = None
    mode: Literal["standard", "pro"] | None = None


class TextConfig(Strict, frozen=True):
    """`text`."""

    format: Object | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class CacheOptions(Strict, frozen=True):
    """`prompt_cache_options`."""

    mode: Literal["implicit", "explicit"] | None = None
    ttl: Literal["30m", "12h"] | None = None
    prewarm: bool | None = None
    comparison_response_id: str | None = None


class StreamOptions(Strict, frozen=True):
    """`stream_options`."""

    include_obfuscation: bool | None = None


class Create(Strict, frozen=True):
    """`POST /v1/responses`."""

    model: str
    input: str | list[Object] | None = None
    access_programs: Object | None = None
    background: bool | None = None
    client_metadata: dict[str, str] | None = None  # sent by every Codex since 0.160
    context_management: list[Object] | None = None
    conversation: str | Object | None = None
    image: Object | None = None
    include: list[str] | None = None
    instructions: str | None = None
    max_output_tokens: int | None = None  # each deployment has its own least
    max_tool_calls: Annotated[int, Meta(ge=1)] | None = None
    metadata: dict[str, str] | None = None
    moderation: Object | None = None
    parallel_tool_calls: bool | None = None
    previous_response_id: str | None = None
    prompt: Object | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: CacheOptions | None = None
    prompt_cache_retention: Literal["in_memory", "24h"] | None = None
    reasoning: Reasoning | None = None
    safety_identifier: str | None = None
    service_tier: (
        Literal["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"] | None
    ) = None
    store: bool | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    text: TextConfig | None = None
    tool_choice: str | Object | None = None
    tools: list[Object] | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    truncation: Literal["auto", "disabled"] | None = None
    user: str | None = None


class AnyReasoning(Reasoning, frozen=True):
    """`reasoning` with any effort: clients have words that are newer than ours."""

    effort: Any = None


class AnyCreate(Create, frozen=True):
    """The body without ranges."""

    max_tool_calls: int | None = None
    reasoning: AnyReasoning | None = None
    temperature: float | None = None
    top_logprobs: int | None = None
    top_p: float | None = None


INCLUDABLE = (
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
)


TOOLS = (
    *("function", "custom", "namespace", "file_search", "web_search", "web_search_2025_08_26"),
    *("web_search_preview", "web_search_preview_2025_03_11", "computer", "computer_use_preview"),
    *("mcp", "code_interpreter", "programmatic_tool_calling", "image_generation", "local_shell"),
    *("shell", "apply_patch", "tool_search"),
)
"""The types of tools that the service knows; a deployment may have more of its own."""
HOSTED_TOOLS = HostedTools(
    thinks=True,  # recorded exchanges: effort none and up to 49 thinking tokens (wires/openai)
    client_run=frozenset(
        {
            *("function", "custom", "namespace", "computer", "computer_use_preview"),
            *("local_shell", "apply_patch"),
        }
    ),
    client_marks=(("tool_search", "execution", "client"), ("shell", "environment", "local")),
    # xAI; OpenRouter; OpenAI (guide to multi-agent Responses)
    fields=("search_parameters", "plugins", "multi_agent"),
    models=("deep-research",),
    turns="input",
    own_results=frozenset({"tool_search"}),
)
"""Types of openai 3.49.0. The input is counted once, with all results (recorded exchanges)."""


TOOL_FIELDS: dict[str, tuple[str, ...]] = {
    "custom": ("name",),
    "namespace": ("name", "description", "tools"),
    "file_search": ("vector_store_ids",),
    "computer_use_preview": ("display_height", "display_width", "environment"),
    "mcp": ("server_label",),
    "code_interpreter": ("container",),
}
"""What tools of these types must have besides their type; functions have a type of their own."""


class Function(Struct, frozen=True, kw_only=True):
    """A function tool; recordings show that the service ignores other keys here."""

    type: Literal["function"]
    name: Annotated[str, Meta(min_length=1, max_length=128, pattern="^[a-zA-Z0-9_-]+$")]
    parameters: Object | None = None
    description: str | None = None
    strict: bool | None = None
    allowed_callers: list[str] | None = None
    defer_loading: bool | None = None
    output_schema: Object | None = None


class AnyFunction(Function, frozen=True):
    """A function tool with any name."""

    name: str


class JsonSchema(Strict, frozen=True):
    """`text.format` with a schema."""

    type: Literal["json_schema"]
    name: Annotated[str, Meta(min_length=1, max_length=64, pattern="^[a-zA-Z0-9_-]+$")]
    schema: Object
    description: str | None = None
    strict: bool | None = None


class AnyJsonSchema(JsonSchema, frozen=True):
    """`text.format` with a schema of any name."""

    name: str


# -- items of the input ----------------------------------------------------------------------------


class InputMessage(Strict, frozen=True):
    """A message; one of the model's may have its id and status, each a phase."""

    role: Literal["user", "assistant", "system", "developer"]
    content: str | list[Object]
    type: Literal["message"] = "message"
    id: str | None = None
    status: Status | None = None
    phase: Phase | None = None
    internal_chat_message_metadata_passthrough: Object | None = None  # Codex, on its own messages


class EffortUpdate(Strict, frozen=True):
    """`reasoning` of an update: only the effort can be changed."""

    effort: Effort | None = None


class FormatUpdate(Strict, frozen=True):
    """`text` of an update: only the format can be changed."""

    format: Object


class ConfigurationUpdate(Strict, frozen=True):
    """A change of configuration, from its place in the conversation on."""

    type: Literal["configuration_update"]
    id: str | None = None
    reasoning: EffortUpdate | None = None
    text: FormatUpdate | None = None


class SummaryText(Strict, frozen=True):
    """A paragraph of a summary."""

    type: Literal["summary_text"]
    text: str


class ReasoningText(Strict, frozen=True):
    """A paragraph of raw thinking."""

    type: Literal["reasoning_text"]
    text: str


class ReasoningItem(Strict, frozen=True):
    """Thinking that is sent back; `summary` is required, even if empty."""

    type: Literal["reasoning"]
    summary: list[SummaryText]
    id: str | None = None
    content: list[ReasoningText] | None = None
    encrypted_content: str | None = None
    status: Status | None = None


class FunctionCall(Strict, frozen=True):
    """A call that is sent back; the arguments are text."""

    type: Literal["function_call"]
    call_id: Annotated[str, Meta(min_length=1, max_length=64)]
    name: str
    arguments: str
    id: str | None = None
    namespace: str | None = None
    caller: Object | None = None
    status: Status | None = None


class CustomCall(Strict, frozen=True):
    """A call of a custom tool that is sent back; the input is free text."""

    type: Literal["custom_tool_call"]
    call_id: Annotated[str, Meta(min_length=1, max_length=64)]
    name: str
    input: str
    id: str | None = None
    namespace: str | None = None
    caller: Object | None = None
    status: Status | None = None


class AnyReasoningItem(ReasoningItem, frozen=True):
    """Thinking that may lack its summary, as some clients send it back."""

    summary: list[SummaryText] = []


class AnyFunctionCall(FunctionCall, frozen=True):
    """A call with an id of any length: other services have longer ones."""

    call_id: str


class AnyCustomCall(CustomCall, frozen=True):
    """A call of a custom tool with an id of any length."""

    call_id: str


class CallOutput(Strict, frozen=True):
    """The result of a tool."""

    type: Literal["function_call_output", "custom_tool_call_output"]
    call_id: str
    output: str | list[Object]
    id: str | None = None
    name: str | None = None
    namespace: str | None = None
    caller: Object | None = None
    status: Status | None = None


# -- contents --------------------------------------------------------------------------------------


class Breakpoint(Strict, frozen=True):
    """Marks the end of a prefix to cache."""

    mode: Literal["explicit"]
    ttl: Literal["30m", "12h"] | None = None


class InputText(Strict, frozen=True):
    """Text of the caller."""

    type: Literal["input_text"]
    text: str
    prompt_cache_breakpoint: Breakpoint | None = None


class InputImage(Strict, frozen=True):
    """An image of the caller."""

    type: Literal["input_image"]
    detail: Literal["low", "high", "auto", "original"] | None = None
    file_id: str | None = None
    image_url: str | None = None
    prompt_cache_breakpoint: Breakpoint | None = None


class InputFile(Strict, frozen=True):
    """A file of the caller."""

    type: Literal["input_file"]
    detail: Literal["low", "high", "auto"] | None = None
    file_data: str | None = None
    file_id: str | None = None
    file_url: str | None = None
    filename: str | None = None
    prompt_cache_breakpoint: Breakpoint | None = None


class Sound(Strict, frozen=True):
    """The data of a recording."""

    data: str
    format: Literal["mp3", "wav"]


class InputAudio(Strict, frozen=True):
    """Audio of the caller."""

    type: Literal["input_audio"]
    input_audio: Sound


class OutputText(Strict, frozen=True):
    """Text of the model that is sent back."""

    type: Literal["output_text"]
    text: str
    annotations: list[Object] | None = None
    logprobs: list[Object] | None = None


class Refusal(Strict, frozen=True):
    """A refusal of the model in the history."""

    type: Literal["refusal"]
    refusal: str


GIVEN: dict[str, type[Strict]] = {
    "input_text": InputText,
    "input_image": InputImage,
    "input_file": InputFile,
    "input_audio": InputAudio,
}
ANSWERED: dict[str, type[Strict]] = {"output_text": OutputText, "refusal": Refusal}
ITEMS: dict[str, type[Strict]] = {
    "message": InputMessage,
    "reasoning": ReasoningItem,
    "function_call": FunctionCall,
    "function_call_output": CallOutput,
    "custom_tool_call": CustomCall,
    "custom_tool_call_output": CallOutput,
}
ANY_ITEMS: dict[str, type[Strict]] = {
    **ITEMS,
    "reasoning": AnyReasoningItem,
    "function_call": AnyFunctionCall,
    "custom_tool_call": AnyCustomCall,
}
HOSTED: dict[str, tuple[str, ...]] = {
    "additional_tools": ("role", "tools"),
    "apply_patch_call": ("call_id", "operation", "status"),
    "apply_patch_call_output": ("call_id", "status"),
    "code_interpreter_call": ("id", "container_id", "status"),
    "compaction": ("encrypted_content",),
    "compaction_trigger": (),
    "computer_call": ("id", "call_id", "status"),
    "computer_call_output": ("call_id", "output"),
    "configuration_update": (),
    "file_search_call": ("id", "queries", "status"),
    "image_generation_call": ("id", "result", "status"),
    "item_reference": ("id",),
    "local_shell_call": ("id", "action", "call_id", "status"),
    "local_shell_call_output": ("id", "output"),
    "mcp_approval_request": ("id", "arguments", "name", "server_label"),
    "mcp_approval_response": ("approval_request_id", "approve"),
    "mcp_call": ("id", "arguments", "name", "server_label"),
    "mcp_list_tools": ("id", "server_label", "tools"),
    "program": ("id", "call_id", "code"),
    "program_output": ("call_id",),
    "shell_call": ("action", "call_id"),
    "shell_call_output": ("call_id", "output"),
    "tool_search_call": ("arguments",),
    "tool_search_output": ("tools",),
    "web_search_call": ("id", "action", "status"),
}
"""Items of hosted tools and other types that stay raw, with their required keys."""
