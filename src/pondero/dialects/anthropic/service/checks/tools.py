"""Tools: the vendor's own, deferred ones, and the choice among them."""

from pondero.canon import Json

from .. import types
from ..errors import reject
from .facts import RequestFacts
from .vendor_tools import vendor_tools

_NEW_CLIENT = ("mcp-client-2025-11-", "mcp-client-2026-")


def check_tools(asked: RequestFacts) -> None:
    """Reject tools that the model or the platform does not have, and a choice of none of them."""
    tools: list[Json] = asked.raw.get("tools") or []
    for at, tool in enumerate(tools):
        if tool.get("type") in vendor_tools():
            _check_vendor_tool(asked, tool, at)
    names = [name for tool in tools if isinstance(name := tool.get("name"), str)]
    if len(set(names)) < len(names):
        reject("tool_names")
    _check_deferred(tools)
    _check_servers(asked, tools)
    ignored = "container" in asked.row.ignores
    if asked.body.container is not None and not ignored and not _runs_code(tools):
        reject("container")
    choice = asked.body.tool_choice
    if isinstance(choice, types.OneTool) and choice.name not in names:
        reject("chosen_tool", name=choice.name)
    if isinstance(choice, types.AnyTool) and not tools:
        reject("choice_without_tools")


def _check_vendor_tool(asked: RequestFacts, tool: Json, at: int) -> None:
    kind = tool["type"]
    row = vendor_tools()[kind]
    if row.beta is not None and not asked.has_beta(row.beta):
        reject("tool_beta", at=at, kind=kind)
    if row.name is not None and tool.get("name") != row.name:
        reject("tool_name", at=at, kind=kind, name=row.name)
    for name in row.must:
        if tool.get(name) is None:
            reject("missing_field", path=f"tools.{at}.{kind}.{name}")
    for name in tool:
        if name not in row.all_fields:
            reject("extra_field", path=f"tools.{at}.{kind}.{name}")
    if tool.get("allowed_domains") and tool.get("blocked_domains"):
        reject("tool_domains", at=at, kind=kind)
    if asked.platform in row.not_on or (row.needs and not getattr(asked.row, row.needs)):
        reject("tool_model", kind=kind)


def _check_deferred(tools: list[Json]) -> None:
    deferred = [tool for tool in tools if tool.get("defer_loading") is True]
    if deferred and len(deferred) == len(tools):
        reject("all_deferred")
    if any(tool.get("cache_control") is not None for tool in deferred):
        reject("deferred_cache")


def _check_servers(asked: RequestFacts, tools: list[Json]) -> None:
    """Reject servers without a toolset, and toolsets without a server."""
    servers = asked.body.mcp_servers if isinstance(asked.body.mcp_servers, list) else []
    known = [each.get("name") for each in servers if isinstance(each, dict)]
    used = [each.get("mcp_server_name") for each in tools if each.get("type") == "mcp_toolset"]
    for name in used:
        if name not in known:
            reject("unknown_server", name=name)
    # In the first beta a server needs no toolset: it carries the configuration itself.
    for name in known if asked.has_beta(*_NEW_CLIENT) else ():
        if name not in used:
            reject("unused_server", name=name)


def _runs_code(tools: list[Json]) -> bool:
    """Return whether code may run: by its own tool, or to filter what web tools found."""
    for tool in tools:
        name, _, date = str(tool.get("type")).rpartition("_")
        if name == "code_execution" or tool.get("allowed_callers"):
            return True
        if name in ("web_search", "web_fetch") and date >= "20260209":
            return True
    return False
