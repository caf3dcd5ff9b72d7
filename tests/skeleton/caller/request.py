"""Canon to wire: a request as the service wants it."""

from collections.abc import Mapping

import msgspec

from pondero.canon import (
    HttpRequest,
    Json,
    Message,
    Part,
    ReplayRules,
    Request,
    Signature,
    Target,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
    merge_json,
)
from pondero.thinking import Plan

from .parts import NAME


def encode(request: Request, plan: Plan, target: Target) -> HttpRequest:
    """Return the request, with the plan's fields and headers merged in."""
    body: dict[str, Json] = {
        "model": request.model,
        "messages": [_message(message) for message in request.messages],
        "system": "\n\n".join(part.text for part in request.system) or None,
        "tools": [_tool(tool) for tool in request.tools] or None,
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "stream": request.stream,
    }
    said = {name: value for name, value in body.items() if value is not None}
    whole = merge_json(merge_json(said, request.extras or {}), plan.fields)
    headers = {"content-type": "application/json", **target.headers, **plan.headers}
    return HttpRequest("POST", f"{target.url}/talk", headers, msgspec.json.encode(whole))


def replay_rules(_quirks: Mapping[str, Json]) -> ReplayRules:
    """Return what of a past this wire takes back."""
    return ReplayRules(media=(), result_media=())


def _message(message: Message) -> Json:
    return {"role": message.role, "parts": [_part(part) for part in message.parts]}


def _part(part: Part) -> Json:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Thinking():
            return {"type": "thinking", "text": part.text, **_proof(part.signature)}
        case ToolCall():
            return {"type": "call", "id": part.id, "name": part.name, "arguments": part.arguments}
        case ToolResult():
            texts = [each.text for each in part.content if isinstance(each, Text)]
            return {"type": "result", "id": part.call_id, "texts": texts}
        case _:
            return {"type": "text", "text": f"[{type(part).__name__.lower()}]"}


def _proof(seal: Signature | None) -> dict[str, Json]:
    """Return the opaque slot; a seal of another dialect never leaves."""
    return {"proof": seal.value} if seal is not None and seal.dialect == NAME else {}


def _tool(tool: Tool) -> Json:
    return {"name": tool.name, "description": tool.description, "schema": tool.parameters}
