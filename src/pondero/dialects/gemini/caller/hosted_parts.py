"""Parts of tools that Google runs, as other models are told of them (google-genai's ``Part``)."""

from collections.abc import Mapping

from pondero.canon import Json
from pondero.dialects.hosted_parts import HostedPart, Told, tell_part

_CODE = "code execution"
_PARTS: Mapping[str, HostedPart] = {
    "executableCode": HostedPart(tool=_CODE, asked=("executableCode",)),
    "executable_code": HostedPart(tool=_CODE, asked=("executable_code",)),
    "codeExecutionResult": HostedPart(tool=_CODE, result=("codeExecutionResult",)),
    "code_execution_result": HostedPart(tool=_CODE, result=("code_execution_result",)),
    "toolCall": HostedPart(tool=("toolCall", "toolType"), asked=("toolCall",)),
    "tool_call": HostedPart(tool=("tool_call", "tool_type"), asked=("tool_call",)),
    "toolResponse": HostedPart(tool=("toolResponse", "toolType"), result=("toolResponse",)),
    "tool_response": HostedPart(tool=("tool_response", "tool_type"), result=("tool_response",)),
}

SETTINGS: Mapping[str, Mapping[str, tuple[str, ...]]] = {}
"""None: the Gemini API's search has no domains, uses or place (google-genai's ``GoogleSearch``)."""


def retell(raw: Mapping[str, Json]) -> Told | None:
    """Return a part in words and pictures; None if only Google can read it."""
    if not raw:  # a signature alone
        return ()
    kind = next((key for key in _PARTS if key in raw), None)
    return None if kind is None else tell_part(raw, _PARTS[kind])
