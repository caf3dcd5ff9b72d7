"""Blocks of tools that Anthropic runs, as other models are told of them (types of SDK 2.8.0)."""

from collections.abc import Mapping, Sequence

from pondero.canon import Json, Part, Text, ToolCall, UnknownPart
from pondero.dialects.hosted_parts import HostedPart, Told, tell_part

_NAMES: Mapping[str, str] = {
    "web_search_tool_result": "web search",
    "web_fetch_tool_result": "web fetch",
    "code_execution_tool_result": "code execution",
    "bash_code_execution_tool_result": "code execution (bash)",
    "text_editor_code_execution_tool_result": "code execution (files)",
    "advisor_tool_result": "the advisor",
}
_PARTS: Mapping[str, HostedPart] = {
    "server_tool_use": HostedPart(tool=("name",), asked=("input",)),
    "mcp_tool_use": HostedPart(tool=("name",), asked=("server_name", "input")),
    "mcp_tool_result": HostedPart(tool="an MCP tool", result=("is_error", "content")),
    **{kind: HostedPart(tool=name, result=("content",)) for kind, name in _NAMES.items()},
}
# Which tools were found or offered, and which model answered: of no use to another service.
_IDLE = frozenset({"tool_search_tool_result", "fallback", "tool_addition", "tool_removal"})

SETTINGS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "web_search": {
        name: (name,)
        for name in ("allowed_domains", "blocked_domains", "max_uses", "user_location")
    },
}
"""Settings of hosted tools that other services have too (WebSearchTool20250305Param)."""


_UNANSWERED = "a search of the service without its result is rejected"


def find_unpaired(parts: Sequence[Part]) -> Mapping[int, str]:
    """Return the searches of the service without a result, as an interrupted answer leaves them.

    Along with a client's call the result can follow later (recordings).
    """
    kinds = set(map(type, parts))
    if UnknownPart not in kinds or ToolCall in kinds:
        return {}
    blocks = {n: p.raw for n, p in enumerate(parts) if isinstance(p, UnknownPart)}
    own = {n: raw for n, raw in blocks.items() if isinstance(raw, Mapping)}
    done = {raw.get("tool_use_id") for raw in own.values()}
    return {
        number: _UNANSWERED
        for number, raw in own.items()
        if (raw.get("type"), raw.get("name")) == ("server_tool_use", "web_search")
        and raw.get("id") not in done
    }


def retell(raw: Mapping[str, Json]) -> Told | None:
    """Return a block in words and pictures; None if only Anthropic can read it."""
    kind = str(raw.get("type"))
    if kind == "compaction":
        text = raw.get("content")
        told = isinstance(text, str) and bool(text)
        return (Text(f"[A note: what was said before this, in short:]\n{text}"),) if told else ()
    if kind in _IDLE:
        return ()
    return tell_part(raw, _PARTS[kind]) if kind in _PARTS else None
