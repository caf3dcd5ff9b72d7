"""Test which features each API dialect supports: the table of docs/gateway.md, for ``generate``.

Each feature is sent to a model of the vendor that defined the dialect, as the gateway sends it, and
the resulting request is read by the service side of the same dialect.
"""

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from pondero.canon import (
    Blob,
    CacheBreakpoint,
    Image,
    Message,
    OutputFormat,
    Part,
    Request,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
)
from pondero.client import load_catalog
from pondero.dialects import get_dialect
from pondero.exchange import plan, prepare
from pondero.thinking import DEFAULT, RequestParameters, parse_intent

WIRES = {
    "Messages": "anthropic:claude-sonnet-4-6",
    "Responses": "openai:gpt-5.5",
    "Chat": "openai-chat:gpt-4.1",
    "Gemini": "google:gemini-3-flash-preview",
    "Ollama": "ollama:qwen3",
    "Cohere": "cohere:command-a-reasoning-08-2025",
    "Converse": "bedrock:us.anthropic.claude-sonnet-4-6",
    "Interactions": "google-interactions:gemini-3-flash-preview",
}
PNG = bytes.fromhex("89504e470d0a1a0a")
SCHEMA = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
LOOK = Tool("look", "Looks.", SCHEMA)
HELLO = Message("user", (Text("Hello."),))
ASKED = Request("any", (HELLO,), max_tokens=2_000)
CALLED = (
    HELLO,
    Message("assistant", (ToolCall("call_1", "look", {"at": "here"}),)),
)


@dataclass(frozen=True)
class Feature:
    """A request with the feature, and a check whether the feature arrived."""

    name: str
    request: Request
    arrived: Callable[[Request], bool]


def _in_results(kind: type) -> Callable[[Request], bool]:
    def arrived(request: Request) -> bool:
        parts: list[Part] = [part for message in request.messages for part in message.parts]
        inner = [each for part in parts if isinstance(part, ToolResult) for each in part.content]
        return any(isinstance(each, kind) for each in (*inner, *parts))

    return arrived


def _tool(kind: str) -> Callable[[Request], bool]:
    return lambda request: any(tool.kind == kind for tool in request.tools)


def _answered(content: Text | Image) -> Request:
    result = Message("user", (ToolResult("call_1", (content,), name="look"),))
    return replace(ASKED, messages=(*CALLED, result), tools=(LOOK,))


FEATURES = (
    Feature(
        "system prompt",
        replace(ASKED, system=(Text("Be brief."),)),
        lambda request: (
            "Be brief." in "".join(each.text for each in request.system)
            or any(each.role == "system" for each in request.messages)
        ),
    ),
    Feature(
        "system message in the middle of a conversation",
        replace(
            ASKED,
            messages=(
                HELLO,
                Message("assistant", (Text("Hello."),)),
                Message("system", (Text("Be brief now."),)),
                HELLO,
            ),
        ),
        lambda request: (
            any("Be brief now." in message.text for message in request.messages)
            or any("Be brief now." in each.text for each in request.system)
        ),
    ),
    Feature("functions", replace(ASKED, tools=(LOOK,)), _tool("function")),
    Feature(
        "required tool call",
        replace(ASKED, tools=(LOOK,), tool_choice=ToolChoice("required")),
        lambda request: request.tool_choice is not None and request.tool_choice.forced,
    ),
    Feature(
        "no parallel tool calls",
        replace(ASKED, tools=(LOOK,), tool_choice=ToolChoice("auto", parallel=False)),
        lambda request: request.tool_choice is not None and request.tool_choice.parallel is False,
    ),
    Feature(
        "tool with free-text input",
        replace(ASKED, tools=(Tool("patch", "Patches.", kind="text"),)),
        _tool("text"),
    ),
    Feature(
        "hosted web search",
        replace(ASKED, tools=(Tool("web_search", kind="web_search", raw={}, dialect="-"),)),
        _tool("web_search"),
    ),
    Feature(
        "hosted code execution",
        replace(ASKED, tools=(Tool("code", kind="code_execution", raw={}, dialect="-"),)),
        _tool("code_execution"),
    ),
    Feature(
        "images",
        replace(ASKED, messages=(Message("user", (Image("image/png", PNG),)),)),
        _in_results(Image),
    ),
    Feature("images in tool results", _answered(Image("image/png", PNG)), _in_results(Image)),
    Feature(
        "PDFs",
        replace(ASKED, messages=(Message("user", (Blob("application/pdf", b"%PDF", name="a"),)),)),
        _in_results(Blob),
    ),
    Feature(
        "structured output",
        replace(ASKED, output=OutputFormat(SCHEMA)),
        lambda request: request.output is not None and request.output.schema is not None,
    ),
    Feature("stop sequences", replace(ASKED, stop=("END",)), lambda request: bool(request.stop)),
    Feature(
        "cache breakpoints",
        replace(ASKED, system=(Text("Be brief.", cache=CacheBreakpoint()),)),
        lambda request: any(each.cache for each in request.system),
    ),
)


def cell(feature: Feature, model: str) -> str:
    """Return what happens to a feature at a model: kept, replaced or omitted."""
    entry = load_catalog().entry(model)
    asked = RequestParameters(max_tokens=ASKED.max_tokens, tools=bool(feature.request.tools))
    made = plan(entry, parse_intent("off"), asked=asked, policy=DEFAULT)
    prepared = prepare(
        entry, feature.request, made, asked=asked, policy=DEFAULT, url="http://here", key="any"
    )
    came = get_dialect(entry.provider.dialect).service().parse(prepared.request).request
    codes = {note.code for note in prepared.plan.adjustments} - {n.code for n in made.adjustments}
    if feature.arrived(came):
        return "own" if "tool_replaced" in codes else "kept"
    if "tool_replaced" in codes:
        return "as a function"
    return "-"


def rows() -> list[list[str]]:
    """Return the table's rows: a feature, and what each dialect does with it."""
    return [
        [feature.name, *(cell(feature, model) for model in WIRES.values())] for feature in FEATURES
    ]
