"""Types of the request body, strict and loose; other fields are rejected (anthropic 2.8.0)."""

from typing import Annotated, Literal

from msgspec import Meta, Raw, Struct

from pondero.canon import Json, ToolKind
from pondero.dialects.dialect import HostedTools

NAME = "anthropic"

Id = Annotated[str, Meta(pattern="^[a-zA-Z0-9_-]+$")]
Name = Annotated[str, Meta(pattern="^[a-zA-Z0-9_-]{1,128}$")]


class Strict(Struct, frozen=True, forbid_unknown_fields=True):
    """Extra inputs are not permitted."""


# -- content ---------------------------------------------------------------------------------


class CacheControl(Strict, frozen=True, tag="ephemeral"):
    """A breakpoint of the prompt cache."""

    ttl: Literal["5m", "1h"] | None = None


class TextBlock(Strict, frozen=True, tag="text"):
    """Words."""

    text: str
    cache_control: CacheControl | None = None
    citations: list[dict[str, Json]] | None = None


class Base64Source(Strict, frozen=True, tag="base64"):
    """The bytes themselves."""

    media_type: str
    data: str


class UrlSource(Strict, frozen=True, tag="url"):
    """Where the bytes are."""

    url: str


class TextSource(Strict, frozen=True, tag="text"):
    """A plain text document."""

    data: str
    media_type: Literal["text/plain"]


class FileSource(Strict, frozen=True, tag="file"):
    """A file uploaded before."""

    file_id: str


class ContentSource(Strict, frozen=True, tag="content"):
    """A document given as blocks."""

    content: Json


class ImageBlock(Strict, frozen=True, tag="image"):
    """A picture."""

    source: Base64Source | UrlSource | FileSource
    cache_control: CacheControl | None = None
    transformations: Json = None


class DocumentBlock(Strict, frozen=True, tag="document"):
    """A PDF or a plain text."""

    source: Base64Source | UrlSource | TextSource | FileSource | ContentSource
    cache_control: CacheControl | None = None
    citations: Json = None
    context: str | None = None
    title: str | None = None


class ThinkingBlock(Strict, frozen=True, tag="thinking"):
    """Thinking sent back; its text can be empty, but not missing."""

    thinking: str
    signature: str


class RedactedThinkingBlock(Strict, frozen=True, tag="redacted_thinking"):
    """Encrypted thinking, sent back."""

    data: str


class ToolUseBlock(Strict, frozen=True, tag="tool_use"):
    """A call sent back."""

    id: Id
    name: Name
    input: dict[str, Json]
    cache_control: CacheControl | None = None
    caller: dict[str, Json] | None = None
    toolset_name: str | None = None


class ToolResultBlock(Strict, frozen=True, tag="tool_result"):
    """What the tool answered."""

    tool_use_id: Id
    content: str | list[Raw] | None = None
    is_error: bool | None = None
    cache_control: CacheControl | None = None
    toolset_name: str | None = None


Typed = (
    TextBlock
    | ImageBlock
    | DocumentBlock
    | ThinkingBlock
    | RedactedThinkingBlock
    | ToolUseBlock
    | ToolResultBlock
)
TYPED: dict[str, type[Typed]] = {
    "text": TextBlock,
    "image": ImageBlock,
    "document": DocumentBlock,
    "thinking": ThinkingBlock,
    "redacted_thinking": RedactedThinkingBlock,
    "tool_use": ToolUseBlock,
    "tool_result": ToolResultBlock,
}
# Blocks of hosted tools and betas, which are sent back unchanged.
UNTYPED = frozenset(
    {
        *("server_tool_use", "web_search_tool_result", "web_fetch_tool_result"),
        *("code_execution_tool_result", "bash_code_execution_tool_result"),
        *("text_editor_code_execution_tool_result", "tool_search_tool_result"),
        *("mcp_tool_use", "mcp_tool_result", "advisor_tool_result", "container_upload"),
        *("search_result", "compaction", "fallback", "tool_addition", "tool_removal"),
    }
)
# Hosted tools that several services have, by type, and our word for them.
HOSTED: dict[str, ToolKind] = {"web_search": "web_search", "code_execution": "code_execution"}
HOSTED_TOOLS = HostedTools(
    client_run=frozenset(
        {
            *("custom", "bash", "text_editor", "memory", "computer"),
            *("computer_toolset", "browser_toolset"),
        }
    ),
    fields=("mcp_servers",),
    turns="messages",
    own_results=frozenset({"tool_search_tool_bm25", "tool_search_tool_regex"}),
    limited=frozenset({"web_search", "web_fetch", "advisor"}),
    advisors=frozenset({"advisor"}),
    # Anthropic, usage: the input sums all passes (recorded exchanges); a turn pauses after ten
    # (anthropic-sdk-python#1237, 2026-11-16)
    passes=10,
    compacts_at=("context_management", "edits"),
)
"""Types of SDK 2.8.0; the others run in Anthropic's service."""
# Further types of content in a tool result.
UNTYPED_RESULTS = frozenset({"search_result", "tool_reference", "browser_state"})


class TypeOnly(Struct, frozen=True):
    """The beginning of any block."""

    type: str


# -- the knobs -------------------------------------------------------------------------------


class Enabled(Strict, frozen=True, tag="enabled"):
    """Think, within a budget."""

    budget_tokens: Annotated[int, Meta(ge=1024)]
    display: Literal["summarized", "omitted", "updates"] | None = None


class BlockBinding(Strict, frozen=True):
    """What to do with thinking whose prefix was changed."""

    prefix_mismatch_behavior: Literal["error", "drop_block"]


class Adaptive(Strict, frozen=True, tag="adaptive"):
    """Think as much as seems right."""

    display: Literal["summarized", "omitted", "updates"] | None = None
    block_binding: BlockBinding | None = None


class Disabled(Strict, frozen=True, tag="disabled"):
    """Do not think."""


class BetweenTools(Strict, frozen=True, tag="between_tools"):
    """Do not think, but write short notes between tool calls."""


Thinking = Enabled | Adaptive | Disabled | BetweenTools


class Format(Strict, frozen=True, tag="json_schema"):
    """The answer's shape."""

    schema: dict[str, Json]


class TaskBudget(Strict, frozen=True, tag="tokens"):
    """Tokens for a whole task."""

    total: Annotated[int, Meta(ge=20_000)]
    remaining: int | None = None


class OutputConfig(Strict, frozen=True):
    """How much effort, and in which shape."""

    effort: str | None = None
    format: Format | None = None
    task_budget: TaskBudget | None = None


class TurnConfig(Strict, frozen=True):
    """The effort from one turn on, in a system message."""

    effort: str | None = None


class Auto(Strict, frozen=True, tag="auto"):
    """The model chooses."""

    disable_parallel_tool_use: bool | None = None


class AnyTool(Strict, frozen=True, tag="any"):
    """Some tool must be called."""

    disable_parallel_tool_use: bool | None = None


class OneTool(Strict, frozen=True, tag="tool"):
    """This tool must be called."""

    name: str
    disable_parallel_tool_use: bool | None = None


class NoTool(Strict, frozen=True, tag="none"):
    """No tool may be called."""


ToolChoice = Auto | AnyTool | OneTool | NoTool


class CustomTool(Strict, frozen=True):
    """A function of the caller's."""

    name: Name
    input_schema: dict[str, Json]
    type: Literal["custom"] | None = None
    description: str | None = None
    strict: bool | None = None
    cache_control: CacheControl | None = None
    allowed_callers: list[str] | None = None
    defer_loading: bool | None = None
    eager_input_streaming: bool | None = None
    input_examples: list[dict[str, Json]] | None = None


# -- the body --------------------------------------------------------------------------------


class MessageIn(Strict, frozen=True):
    """A turn."""

    role: Literal["user", "assistant", "system"]
    content: str | list[Raw]
    output_config: TurnConfig | None = None
    clear_at: Literal["never", "next_user_message"] | None = None


class Metadata(Strict, frozen=True):
    """Who asks."""

    user_id: str | None = None


class Body(Strict, frozen=True):
    """A request."""

    model: str
    max_tokens: Annotated[int, Meta(ge=0)]
    messages: list[MessageIn]
    system: str | list[TextBlock] | None = None
    tools: list[Raw] | None = None
    tool_choice: ToolChoice | None = None
    thinking: Thinking | None = None
    output_config: OutputConfig | None = None
    output_format: Format | None = None
    stop_sequences: list[str] | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: Annotated[int, Meta(ge=-1)] | None = None
    stream: bool | None = None
    metadata: Metadata | None = None
    service_tier: Literal["auto", "standard_only"] | None = None
    cache_control: CacheControl | None = None
    container: Json = None
    context_management: Json = None
    mcp_servers: Json = None
    inference_geo: str | None = None
    speed: Literal["standard", "fast"] | None = None
    diagnostics: Json = None
    user_profile_id: str | None = None
    workspace_id: str | None = None


# Fields that canon lacks; the request keeps them as extras.
EXTRAS = (
    *("metadata", "service_tier", "cache_control", "container", "context_management"),
    *("mcp_servers", "inference_geo", "speed", "diagnostics", "user_profile_id", "workspace_id"),
)
# Paths of fields that need a beta, and the prefix of the beta's name.
BETAS = {
    "diagnostics": "cache-diagnosis-",
    "output_format": "structured-outputs-",
    "context_management": "context-management-",
    "mcp_servers": "mcp-client-",
    "output_config.task_budget": "task-budgets-",
    "thinking.adaptive.block_binding": "thinking-binding-controls-",
}


# -- lenient reading -------------------------------------------------------------------------

NO_CAP = -1
"""The value of a max_tokens that was not sent."""


class LooseThinking(ThinkingBlock, frozen=True, kw_only=True, tag="thinking"):
    """Thinking sent back by a client that has no signature."""

    signature: str = ""


class LooseToolUse(ToolUseBlock, frozen=True, kw_only=True, tag="tool_use"):
    """A call sent back; the ids, names and arguments of other services are less regular."""

    id: str
    name: str
    input: Json = {}


class LooseToolResult(ToolResultBlock, frozen=True, kw_only=True, tag="tool_result"):
    """The result of such a call."""

    tool_use_id: str


class LooseTool(CustomTool, frozen=True, kw_only=True):
    """A function of the caller's, under any name."""

    name: str


class LooseEnabled(Enabled, frozen=True, kw_only=True, tag="enabled"):
    """Think, within a budget of any size."""

    budget_tokens: int


class EnabledAtWill(LooseEnabled, frozen=True, kw_only=True, tag="enabled"):
    """Think; the deployment ignores the budget."""

    budget_tokens: int = 0


class BodyAtWill(Body, frozen=True, kw_only=True):
    """A request to a deployment that ignores budgets."""

    thinking: EnabledAtWill | Adaptive | Disabled | BetweenTools | None = None


class LooseBody(Body, frozen=True, kw_only=True):
    """A request with unchecked numbers."""

    max_tokens: int = NO_CAP
    thinking: LooseEnabled | Adaptive | Disabled | BetweenTools | None = None
    top_k: int | None = None


LOOSE: dict[str, type[Typed]] = TYPED | {
    "thinking": LooseThinking,
    "tool_use": LooseToolUse,
    "tool_result": LooseToolResult,
}
