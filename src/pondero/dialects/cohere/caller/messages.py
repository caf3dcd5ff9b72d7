"""A conversation as this wire has it: one flat list, tool results as messages of their own.

Thinking goes back as a part of the content, unsigned; the words before a call go back as the plan
they came as.
"""

import base64
from collections.abc import Iterable

import msgspec

from pondero.canon import (
    Blob,
    Image,
    Json,
    Message,
    Other,
    Part,
    Request,
    Seal,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from pondero.errors import BadParameter

NAME = "cohere"


def messages(request: Request) -> list[Json]:
    """Return the messages of a request, the system prompt first."""
    said: list[Json] = []
    if request.system:
        said.append({"role": "system", "content": _content(request.system)})
    for message in request.messages:
        if message.role == "assistant":
            said += _assistant(message)
        elif message.role == "user":
            said += _user(message)
        else:
            said.append({"role": "system", "content": _content(message.parts)})
    return said


def is_plan(seal: Seal | None) -> bool:
    """Return whether a text came as the plan before a call."""
    return seal is not None and seal.dialect == NAME and seal.value == {"tool_plan": True}


def _assistant(message: Message) -> list[Json]:
    """Return the turn; one that says and calls nothing is refused, and left out."""
    wire: dict[str, Json] = {"role": "assistant"}
    content: list[Json] = []
    for part in message.parts:
        if isinstance(part, Text) and is_plan(part.seal):
            wire["tool_plan"] = wire.get("tool_plan", "") + part.text
        elif (one := _spoken(part)) is not None:
            content.append(one)
    if calls := [_call(call) for call in message.tool_calls]:
        wire["tool_calls"] = calls
    elif "tool_plan" in wire:  # a plan whose call is gone is only words
        content.insert(0, {"type": "text", "text": wire.pop("tool_plan")})
    if content:
        wire["content"] = content
    return [wire] if len(wire) > 1 else []


def _spoken(part: Part) -> Json:
    match part:
        case Text() if part.text:
            return {"type": "text", "text": part.text}
        case Thinking() if part.text and part.seal is None:  # nobody seals thinking here
            return {"type": "thinking", "thinking": part.text}
        case Other() if part.dialect == NAME:
            return part.raw
        case _:
            return None


def _call(call: ToolCall) -> Json:
    arguments = call.arguments
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    function = {"name": call.name, "arguments": text}
    return {"id": call.id, "type": "function", "function": function}


def _user(message: Message) -> list[Json]:
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    said: list[Json] = [
        {"role": "tool", "tool_call_id": each.call_id, "content": _content(each.content)}
        for each in results
    ]
    rest = [part for part in message.parts if not isinstance(part, ToolResult)]
    if rest:
        said.append({"role": "user", "content": _content(rest)})
    return said


def _content(parts: Iterable[Part]) -> Json:
    """Return a lone text as a string, anything else as a list."""
    content = [wire for part in parts if (wire := _shown(part)) is not None]
    if not content:
        return ""
    lone = len(content) == 1 and content[0].keys() == {"type", "text"}
    return content[0]["text"] if lone else content


def _shown(part: Part) -> Json:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Image():
            image: dict[str, Json] = {"url": _address(part)}
            if part.detail is not None:
                image["detail"] = part.detail
            return {"type": "image_url", "image_url": image}
        case Blob():
            raise BadParameter(f"this wire takes pictures and no {part.media_type!r}")
        case Other() if part.dialect == NAME:
            return part.raw
        case _:
            return None


def _address(image: Image) -> str:
    if image.data is None:
        return image.url or ""
    data = base64.b64encode(image.data).decode()
    return f"data:{image.media_type or 'image/png'};base64,{data}"
