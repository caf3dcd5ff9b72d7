"""Writes our requests for /api/chat, one flat list; generated ids are never sent."""

import base64
from collections.abc import Iterable, Mapping

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
    ToolResult,
    merge_json,
)
from pondero.errors import BadParameter
from pondero.thinking import Plan

UNSAID = frozenset({"tool_choice", "parallel", "strict"})  # no call, and no schema, can be forced


def encode(request: Request, plan: Plan, target: Target) -> HttpRequest:
    """Return the HTTP request; extras override our fields, and the plan's fields override both."""
    body = _body(request, plan.dropped)
    if isinstance(request.extras, Mapping):
        body = merge_json(body, request.extras)
    body = merge_json(body, plan.fields)
    headers = {"content-type": "application/json", **target.headers, **plan.headers}
    url = f"{target.url.rstrip('/')}/api/chat"
    return HttpRequest("POST", url, headers, msgspec.json.encode(body))


def _body(request: Request, dropped: tuple[str, ...]) -> dict[str, Json]:
    body: dict[str, Json] = {
        "model": request.model,
        "messages": messages(request),
        "stream": request.stream,  # always sent: left out, it means true
    }
    choice = request.tool_choice
    if request.tools and (
        choice is None or choice.mode != "none"
    ):  # there is no field that forbids calls
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.output is not None:
        body["format"] = _format(request.output)
    if options := _options(request, dropped):
        body["options"] = options
    return body


def _options(request: Request, dropped: tuple[str, ...]) -> dict[str, Json]:
    given = (
        ("max_tokens", "num_predict", request.max_tokens),
        ("temperature", "temperature", request.temperature),
        ("top_p", "top_p", request.top_p),
        ("top_k", "top_k", request.top_k),
    )
    options: dict[str, Json] = {
        theirs: value for ours, theirs, value in given if ours not in dropped and value is not None
    }
    if request.stop:
        options["stop"] = request.stop
    return options


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
    return "json" if output.schema is None else output.schema


def messages(request: Request) -> list[Json]:
    """Return the messages of a request, the system prompt first."""
    said: list[Json] = []
    if request.system:  # templates take one system message, at the beginning
        lead = "\n\n".join(text.text for text in request.system)
        said.append({"role": "system", "content": lead})
    calls: dict[str, ToolCall] = {}
    for message in request.messages:
        if message.role == "assistant":
            _assistant(message, calls, said)
        elif message.role == "user":
            _user(message, calls, said)
        else:
            said.append({"role": "system", "content": message.text})
    return said


def _assistant(message: Message, calls: dict[str, ToolCall], said: list[Json]) -> None:
    content: list[str] = []
    thinking: list[str] = []
    called: list[Json] = []
    for part in message.parts:
        if isinstance(part, Text):
            content.append(part.text)
        elif isinstance(part, Thinking):
            if part.signature is None:  # signed: another wire's
                thinking.append(part.text)
        elif isinstance(part, ToolCall):
            calls[part.id] = part
            called.append(_call(part))
    wire: dict[str, Json] = {"role": "assistant", "content": "".join(content)}
    if any(thinking):
        wire["thinking"] = "".join(thinking)
    if called:
        wire["tool_calls"] = called
    if len(wire) > 2 or wire["content"]:
        said.append(wire)


def _call(call: ToolCall) -> Json:
    arguments = call.arguments
    if not isinstance(arguments, dict):
        arguments = {} if arguments is None else {"arguments": arguments}
    function = {"function": {"name": call.name, "arguments": arguments}}
    return function if call.minted else {"id": call.id, **function}


def _user(message: Message, calls: dict[str, ToolCall], said: list[Json]) -> None:
    rest: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolResult):
            said.append(_result(part, calls.get(part.call_id)))
        else:
            rest.append(part)
    if rest:
        said.append({"role": "user", **_write_content(rest)})


def _result(result: ToolResult, call: ToolCall | None) -> Json:
    wire: dict[str, Json] = {"role": "tool", **_write_content(result.content)}
    if name := result.name or (call.name if call is not None else None):
        wire["tool_name"] = name
    if call is None or not call.minted:
        wire["tool_call_id"] = result.call_id
    return wire


def _write_content(parts: Iterable[Part]) -> dict[str, Json]:
    content = ""
    images: list[str] = []
    apart = False
    for part in parts:
        if isinstance(part, Text):
            content += f"\n{part.text}" if apart and content else part.text
            apart = False
        elif isinstance(part, Image):
            images.append(_picture(part))
            apart = True
        elif isinstance(part, Blob):
            raise BadParameter(f"Ollama takes no {part.media_type!r}; send an image")
    return {"content": content, "images": images} if images else {"content": content}


def _picture(image: Image) -> str:
    if image.data is not None:
        return base64.b64encode(image.data).decode()
    head, _, data = (image.url or "").partition(",")
    if head.startswith("data:") and head.endswith(";base64"):
        return data
    raise BadParameter(f"Ollama takes no image address ({image.url!r}); send the image's data")


def replay_rules(_quirks: Mapping[str, Json]) -> ReplayRules:
    """Return which parts of a history this wire accepts."""
    return ReplayRules(
        system_turns="lead",
        minted=False,
        allows_unsigned=True,  # nothing is signed here
        media=("image/png", "image/jpeg", "image/webp"),  # others: "unknown format" (recorded)
        addresses=(),
        result_media=(),
    )
