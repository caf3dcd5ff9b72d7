"""Canon to wire: one request of v2 chat."""

from collections.abc import Mapping

import msgspec

from pondero.canon import HttpRequest, Json, Output, Request, Target, Tool, ToolChoice, overlaid
from pondero.thinking import Plan

from .messages import messages

UNSAID = frozenset({"output_beside_tools"})
RANGES = {"top_p": (0.01, 0.99), "top_k": (0, 500)}
_NAMES = {"max_tokens": "max_tokens", "temperature": "temperature", "top_p": "p", "top_k": "k"}
_CHOICES = {"none": "NONE", "required": "REQUIRED", "tool": "REQUIRED"}


def encode(request: Request, plan: Plan, target: Target) -> HttpRequest:
    """Return the request; the plan has the last word, ``extras`` the last but one."""
    body = _body(request, plan.dropped)
    if isinstance(request.extras, Mapping):
        body = overlaid(body, request.extras)
    body = overlaid(body, plan.fields)
    headers = {"content-type": "application/json", **target.headers, **plan.headers}
    url = f"{target.url.rstrip('/')}/v2/chat"
    return HttpRequest("POST", url, headers, msgspec.json.encode(body))


def _body(request: Request, dropped: tuple[str, ...]) -> dict[str, Json]:
    body: dict[str, Json] = {
        "model": request.model,
        "messages": messages(request),
        "stream": request.stream,
    }
    if request.tools:
        body |= _tools(request.tools, request.tool_choice)
    elif request.output is not None:  # refused beside tools
        body["response_format"] = _format(request.output)
    for ours, theirs in _NAMES.items():
        if ours not in dropped and (value := getattr(request, ours)) is not None:
            body[theirs] = value
    if request.stop:
        body["stop_sequences"] = request.stop
    return body


def _tools(tools: tuple[Tool, ...], choice: ToolChoice | None) -> dict[str, Json]:
    """Return the tools; where one is forced by name, it is the only one on offer."""
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


def _format(output: Output) -> Json:
    asked: dict[str, Json] = {"type": "json_object"}
    return asked if output.schema is None else asked | {"json_schema": output.schema}
