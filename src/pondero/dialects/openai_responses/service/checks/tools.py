"""Checks the offered tools: their types, required fields, and which model takes them."""

from pondero.canon import Json

from ..address import HOME
from ..errors import join_words, reject, reject_invalid
from ..models import Deployment, Model
from ..types import TOOL_FIELDS, TOOLS, Create
from .schemas import iter_functions

_ANY_OF_MCP = ("server_url", "connector_id", "tunnel_id")
_NOT_AT_MINIMAL = {"web_search": "web_search", "image_generation": "image_gen"}
# Tools that only the models take whose row names them.
_SPECIAL = ("computer_use_preview", "shell", "apply_patch", "tool_search")


def check_types(create: Create, deployment: Deployment) -> None:
    """Reject tools of unknown types, or without their required fields."""
    known = (*TOOLS, *deployment.tools)
    for number, tool in enumerate(create.tools or ()):
        kind, at = tool.get("type"), f"tools[{number}]"
        if not isinstance(kind, str):
            continue  # ``parse`` rejects it
        if kind not in known and not deployment.ignores_unknown:
            reject_invalid(kind, known, param=f"{at}.type")
        for name in TOOL_FIELDS.get(kind, ()):
            if name not in tool:
                reject("missing", param=f"{at}.{name}")
        if kind == "mcp" and not any(name in tool for name in _ANY_OF_MCP):
            reject("mcp_server", param=at)
    names = [str(tool["name"]) for _, tool in iter_functions(create.tools, "tools")]
    if deployment.unique_tools and len(set(names)) < len(names):
        reject("tool_names", param="tools")


def check_count(create: Create, model: Model, deployment: Deployment) -> None:
    """Reject more tools than the model takes; those of a namespace count one by one."""
    most = model.most_tools or deployment.most_tools
    count = sum(_count(tool) for tool in create.tools or ())
    if most is not None and count > most:
        reject("xai_tools", param="tools", count=count, most=most)


def _count(tool: Json) -> int:
    inside = tool.get("tools")
    named = tool.get("type") == "namespace" and isinstance(inside, list)
    return len(inside) if named else 1


def check_model(create: Create, model: Model, *, effort: str | None) -> None:
    """Reject tools that this model does not take, or not with this effort."""
    tools = create.tools or []
    if model.hosted and any(tool.get("type") not in model.hosted for tool in tools):
        reject("research_tools", param="tools", tools=join_words(model.hosted))
    for kind in _kinds(tools):
        special = model.provider == HOME and kind in _SPECIAL and kind not in model.runs
        if special or any(kind.startswith(each) for each in model.lacks):
            reject("tool_model", param="tools", tool=kind, model=create.model)
    labels = [
        label
        for begin, label in _NOT_AT_MINIMAL.items()
        if any(kind.startswith(begin) for kind in _kinds(tools))
    ]
    if effort == "minimal" and labels:
        reject("tool_at_minimal", param="tools", tools=", ".join(labels))


def _kinds(tools: list[Json]) -> list[str]:
    return [str(tool.get("type")) for tool in tools]
