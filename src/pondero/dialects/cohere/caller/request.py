"""Writes our requests for v2 chat, one flat list; the plan before a call goes back as a plan."""

import base64
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from pondero.canon import (
    Blob,
    HttpRequest,
    Image,
    Json,
    Message,
    OutputFormat,
    Part,
    ReplayRules,
    Request,
    Target,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    UnknownPart,
    merge_json,
)
from pondero.errors import BadParameter
from pondero.thinking import Plan

from .parts import NAME, is_plan

UNSAID = frozenset({"parallel"})
_NAMES = {"max_tokens": "max_tokens", "temperature": "temperature", "top_p": "p", "top_k": "k"}
_CHOICES = {"none": "NONE", "required": "REQUIRED", "tool": "REQUIRED"}


def encode(request: Request, plan: Plan, target: Target) -> HttpRequest:
    """Return the request; the plan's fields overrule ``extras``, which overrule the rest."""
    body = _body(request, plan.dropped)
    if isinstance(request.extras, Mapping):
        body = merge_json(body, request.extras)
    body = merge_json(body, plan.fields)
    headers = {"content-type": "application/json", **target.headers, **plan.headers}
    url = f"{target.url.rstrip('/')}/v2/chat"
    return HttpRequest("POST", url, headers, msgspec.json.encode(body))


class Quirks(msgspec.Struct, frozen=True, kw_only=True):
    """Quirks; ``unsupported``: what a model does not take."""

    unsupported: tuple[Literal["choice"], ...] = ()


def replay_rules(_quirks: Mapping[str, Json]) -> ReplayRules:
    """Return which ids and media of a history this wire accepts."""
    return ReplayRules(
        id_pattern=r"\S+",
        allows_unsigned=True,  # thinking is never signed here
        media=("image/",),
        result_media=(),
    )


def _body(request: Request, dropped: tuple[str, ...]) -> dict[str, Json]:
    body: dict[str, Json] = {
        "model": request.model,
        "messages": _messages(request),
        "stream": request.stream,
    }
    if request.tools:
        body |= _tools(request.tools, request.tool_choice)
    if request.output is not None:
        body["response_format"] = _format(request.output)
    for ours, theirs in _NAMES.items():
        if ours not in dropped and (value := getattr(request, ours)) is not None:
            body[theirs] = value
    if request.stop:
        body["stop_sequences"] = request.stop
    return body


def _tools(tools: tuple[Tool, ...], choice: ToolChoice | None) -> dict[str, Json]:
    if choice is not None and choice.mode == "tool":
        tools = tuple(tool for tool in tools if tool.name == choice.name) or tools
    said: dict[str, Json] = {"tools": [_tool(tool) for tool in tools]}
    if choice is not None and choice.mode in _CHOICES:
        said["tool_choice"] = _CHOICES[choice.mode]
    if all(tool.strict for tool in tools):
        said["strict_tools"] = True
    return said


def _tool(tool: Tool) -> Json:
    if tool.raw is not None:
        return tool.raw
    function: dict[str, Json] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    if tool.parameters is not None:
        function["parameters"] = tool.parameters
    return {"type": "function", "function": function}


def _format(output: OutputFormat) -> Json:
    asked: dict[str, Json] = {"type": "json_object"}
    return asked if output.schema is None else asked | {"json_schema": output.schema}


def _messages(request: Request) -> list[Json]:
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


def _assistant(message: Message) -> list[Json]:
    wire: dict[str, Json] = {"role": "assistant"}
    content: list[Json] = []
    for part in message.parts:
        if isinstance(part, Text) and is_plan(part.signature):
            wire["tool_plan"] = wire.get("tool_plan", "") + part.text
        elif (one := _write_part(part)) is not None:
            content.append(one)
    if calls := [_call(call) for call in message.tool_calls]:
        wire["tool_calls"] = calls
    elif "tool_plan" in wire:  # a plan whose call is gone is only text
        content.insert(0, {"type": "text", "text": wire.pop("tool_plan")})
    if content:
        wire["content"] = content
    return [wire] if len(wire) > 1 else []


def _write_part(part: Part) -> Json:
    match part:
        case Text() if part.text:
            return {"type": "text", "text": part.text}
        case Thinking() if part.text and part.signature is None:  # signed: another dialect's
            return {"type": "thinking", "thinking": part.text}
        case UnknownPart() if part.dialect == NAME:
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
    content = [wire for part in parts if (wire := _write_content(part)) is not None]
    if not content:
        return ""
    lone = len(content) == 1 and content[0].keys() == {"type", "text"}
    return content[0]["text"] if lone else content


def _write_content(part: Part) -> Json:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Image():
            image: dict[str, Json] = {"url": _address(part)}
            if part.detail is not None:
                image["detail"] = part.detail
            return {"type": "image_url", "image_url": image}
        case Blob():
            raise BadParameter(f"Cohere takes no {part.media_type!r}; send an image")
        case UnknownPart() if part.dialect == NAME:
            return part.raw
        case _:
            return None


def _address(image: Image) -> str:
    if image.data is None:
        return image.url or ""
    data = base64.b64encode(image.data).decode()
    return f"data:{image.media_type or 'image/png'};base64,{data}"
