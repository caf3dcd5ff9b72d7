"""Canon to wire: one request of /api/chat."""

from collections.abc import Mapping

import msgspec

from pondero.canon import HttpRequest, Json, Output, Request, Target, Tool, overlaid
from pondero.thinking import Plan

from .messages import messages

UNSAID = frozenset({"tool_choice"})  # no call can be forced here
_OPTIONS = {
    "max_tokens": "num_predict",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
}


def encode(request: Request, plan: Plan, target: Target) -> HttpRequest:
    """Return the request; the plan has the last word, ``extras`` the last but one."""
    body = _body(request, plan.dropped)
    if isinstance(request.extras, Mapping):
        body = overlaid(body, request.extras)
    body = overlaid(body, plan.fields)
    headers = {"content-type": "application/json", **target.headers, **plan.headers}
    url = f"{target.url.rstrip('/')}/api/chat"
    return HttpRequest("POST", url, headers, msgspec.json.encode(body))


def _body(request: Request, dropped: tuple[str, ...]) -> dict[str, Json]:
    body: dict[str, Json] = {
        "model": request.model,
        "messages": messages(request),
        "stream": request.stream,  # always said: left out, it means true
    }
    choice = request.tool_choice
    if request.tools and (choice is None or choice.mode != "none"):  # no other way to say none
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.output is not None:
        body["format"] = _format(request.output)
    options: dict[str, Json] = {
        theirs: value
        for ours, theirs in _OPTIONS.items()
        if ours not in dropped and (value := getattr(request, ours)) is not None
    }
    if request.stop:
        options["stop"] = request.stop
    if options:
        body["options"] = options
    return body


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
    return "json" if output.schema is None else output.schema
