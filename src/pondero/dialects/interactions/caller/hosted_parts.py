"""Steps of tools that Google runs, as other models are told of them (google-genai's ``Step``)."""

from collections.abc import Mapping

from pondero.canon import Json
from pondero.dialects.hosted_parts import HostedPart, Told, tell_part

_ASKED, _RESULT = ("arguments",), ("result",)
_TOOLS: dict[str, str | tuple[str, ...]] = {
    "code_execution": "code execution",
    "google_search": "web search",
    "url_context": "a reader of web pages",
    "google_maps": "a map",
    "file_search": "file search",
    "retrieval": "retrieval",
    "processing": "processing of media",
    "mcp_server_tool": ("name",),
}
_PARTS: Mapping[str, HostedPart] = {
    **{f"{kind}_call": HostedPart(tool=tool, asked=_ASKED) for kind, tool in _TOOLS.items()},
    **{f"{kind}_result": HostedPart(tool=tool, result=_RESULT) for kind, tool in _TOOLS.items()},
    "tool_call": HostedPart(tool="a tool", asked=_ASKED),
}

SETTINGS: Mapping[str, Mapping[str, tuple[str, ...]]] = {}
"""None: the search has no domains, uses or place (google-genai's ``GoogleSearch``)."""


def retell(raw: Mapping[str, Json]) -> Told | None:
    """Return a step in words and pictures; None if only Google can read it."""
    part = _PARTS.get(str(raw.get("type")))
    return None if part is None else tell_part(raw, part)
