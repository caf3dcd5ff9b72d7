"""Canon to wire: a request as this service, or this clone of it, takes it."""

from collections.abc import Mapping

import msgspec

from pondero.canon import HttpRequest, Json, Output, Request, Target, Tool, ToolChoice, overlaid
from pondero.thinking import Plan

from .messages import Messages
from .quirks import Quirks, quirks_of
from .replay import is_replayed

_CAPS = ("max_tokens", "max_completion_tokens")


def request(request: Request, plan: Plan, target: Target) -> HttpRequest:
    """Return the request as this wire says it, the plan's fields and headers merged in."""
    quirks = quirks_of(target.quirks)
    body: dict[str, Json] = {
        "model": request.model,
        "messages": Messages(quirks, request.model).of(request),
        **_parameters(request, plan, quirks),
        **_tools(request.tools, request.tool_choice),
    }
    if request.output is not None:
        body["response_format"] = _response_format(request.output)
    if request.stream:
        body["stream"] = True
        if quirks.usage_in_stream == "asked":
            body["stream_options"] = {"include_usage": True}
    if quirks.replay_with and any(is_replayed(message) for message in body["messages"]):
        body = overlaid(body, quirks.replay_with)
    body = overlaid(overlaid(body, request.extras or {}), plan.fields)
    return HttpRequest(
        method="POST",
        url=_address(target.url, quirks.path),
        headers=_headers(target.headers, quirks.headers, plan.headers),
        body=msgspec.json.encode(body),
    )


def _address(base: str, path: str) -> str:
    address, mark, query = base.partition("?")  # an older deployment wants its api-version there
    return f"{address.rstrip('/')}{path}{mark}{query}"


def _parameters(request: Request, plan: Plan, quirks: Quirks) -> dict[str, Json]:
    said: dict[str, Json] = {
        "temperature": request.temperature,
        "top_p": request.top_p,
        "top_k": request.top_k,
        "stop": list(request.stop) or None,
    }
    if not any(cap in plan.fields for cap in _CAPS):
        said["max_tokens"] = request.max_tokens
    return {
        quirks.max_tokens_field if name == "max_tokens" else name: value
        for name, value in said.items()
        if value is not None and name not in plan.dropped
    }


def _tools(tools: tuple[Tool, ...], choice: ToolChoice | None) -> dict[str, Json]:
    if not tools:
        return {}
    body: dict[str, Json] = {"tools": [_tool(tool) for tool in tools]}
    if choice is not None:
        if choice.mode == "tool":
            body["tool_choice"] = {"type": "function", "function": {"name": choice.name}}
        elif choice.mode != "auto" or choice.parallel is None:
            body["tool_choice"] = choice.mode
        if choice.parallel is not None:
            body["parallel_tool_calls"] = choice.parallel
    return body


def _tool(tool: Tool) -> Json:
    if tool.raw is not None:
        return tool.raw
    function: dict[str, Json] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    if tool.parameters is not None:
        function["parameters"] = tool.parameters
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}


def _response_format(output: Output) -> Json:
    if output.schema is None:
        return {"type": "json_object"}
    schema: dict[str, Json] = {"name": output.name, "schema": output.schema}
    if output.strict is not None:
        schema["strict"] = output.strict
    return {"type": "json_schema", "json_schema": schema}


def _headers(*layers: Mapping[str, str]) -> dict[str, str]:
    headers = {"content-type": "application/json"}
    for layer in layers:
        for name, value in ((name.lower(), value) for name, value in layer.items()):
            before = headers.get(name)
            both = before and name.endswith("-beta") and value not in before.split(",")
            headers[name] = f"{before},{value}" if both else value
    return headers
