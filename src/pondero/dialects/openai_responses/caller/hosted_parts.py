"""Items of tools that OpenAI runs, as other models are told of them (types of openai 3.49.0)."""

from collections.abc import Mapping

from pondero.canon import Json, Text
from pondero.dialects.hosted_parts import LOST, HostedPart, Told, tell_part

_PARTS: Mapping[str, HostedPart] = {
    "web_search_call": HostedPart(tool="web search", asked=("action",)),
    "file_search_call": HostedPart(tool="file search", asked=("queries",), result=("results",)),
    "code_interpreter_call": HostedPart(
        tool="code execution", asked=("code",), result=("outputs",)
    ),
    "image_generation_call": HostedPart(
        tool="image generation", asked=("revised_prompt",), picture="result"
    ),
    "mcp_call": HostedPart(
        tool=("name",), asked=("server_label", "arguments"), result=("output", "error")
    ),
    "shell_call": HostedPart(tool="a shell", asked=("action",)),
    "shell_call_output": HostedPart(tool="a shell", result=("output",)),
    "local_shell_call": HostedPart(tool="a shell", asked=("action",)),
    "local_shell_call_output": HostedPart(tool="a shell", result=("output",)),
    "apply_patch_call": HostedPart(tool="apply_patch", asked=("operation",)),
    "apply_patch_call_output": HostedPart(tool="apply_patch", result=("output",)),
    "computer_call": HostedPart(tool="a computer", asked=("action", "actions")),
    "computer_call_output": HostedPart(tool="a computer", result=("output",)),
    "program": HostedPart(tool="a program", asked=("code",)),
    "program_output": HostedPart(tool="a program", result=("result", "output", "outputs")),
}
# Which tools were listed, found or offered: of no use to a service that does not have them.
_IDLE = frozenset({
    "mcp_list_tools", "tool_search_call", "tool_search_output", "additional_tools",
    "configuration_update", "compaction_trigger",
})  # fmt: skip

SETTINGS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "web_search": {
        "allowed_domains": ("filters", "allowed_domains"),
        "user_location": ("user_location",),
        "external_web_access": ("external_web_access",),
    },
}
"""Settings of hosted tools that other services have too (WebSearchToolParam)."""


def retell(raw: Mapping[str, Json]) -> Told | None:
    """Return an item in words and pictures; None if only OpenAI can read it."""
    kind = str(raw.get("type"))
    if kind in ("compaction", "compaction_summary"):
        return LOST
    if kind == "mcp_approval_request":
        asked = f"{raw.get('name')} of {raw.get('server_label')} with {raw.get('arguments')}"
        return (Text(f"[A note: another model asked whether it may call {asked}]"),)
    if kind == "mcp_approval_response":
        said = "may be made" if raw.get("approve") else "may not be made"
        reason = f": {raw['reason']}" if raw.get("reason") else ""
        return (Text(f"[The call that was asked for {said}{reason}]"),)
    if kind in _IDLE:
        return ()
    return tell_part(raw, _PARTS[kind]) if kind in _PARTS else None
