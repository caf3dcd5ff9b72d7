"""Writes our requests: all steps each time, and nothing stored by the service."""

from collections.abc import Mapping

import msgspec

from pondero.canon import (
    HttpRequest,
    Json,
    OutputFormat,
    ReplayRules,
    Request,
    Target,
    Tool,
    ToolChoice,
    convert_json,
    merge_json,
)
from pondero.thinking import Plan

from .input import make_steps

UNSAID = frozenset({"top_k", "hosted_choice", "choice_without_functions", "parallel", "strict"})
"""What this wire cannot say: only functions can be forced, and their schemas are not enforced."""

HOSTED: dict[str, Json] = {
    "web_search": {"type": "google_search"},
    "code_execution": {"type": "code_execution"},
}
"""Tools that the service runs itself, as they are offered (google-genai 3.1.0 types)."""

_MODES = {"auto": "auto", "none": "none", "required": "any", "tool": "any"}


class Quirks(msgspec.Struct, frozen=True, kw_only=True):
    """Quirks; ``missing_tools``: beginnings of the types of hosted tools that a model lacks.

    ``addresses``: patterns of the addresses that are fetched.
    """

    missing_tools: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ("https?://",)


def encode(request: Request, plan: Plan, target: Target) -> HttpRequest:
    """Return the request; the plan's fields overrule ``extras``, which overrule the rest."""
    body = _body(request, plan, target)
    if isinstance(request.extras, Mapping):
        if request.extras.get("background") is True:  # gemini-skills: stored answers only
            body["store"] = True
        body = merge_json(body, request.extras)
    body = merge_json(body, plan.fields)
    headers = {"content-type": "application/json", **target.headers, **plan.headers}
    url = f"{target.url.rstrip('/')}/interactions"
    return HttpRequest("POST", url, headers, msgspec.json.encode(body))


_MEDIA = (
    # google-genai 3.1.0: ImageContent, AudioContent, VideoContent and DocumentContent
    *("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "image/gif"),
    *("image/bmp", "image/tiff", "audio/", "video/", "application/pdf", "text/csv"),
    *("application/msword", "application/vnd.ms-", "application/vnd.oasis.opendocument."),
    "application/vnd.openxmlformats-officedocument.",
)


def replay_rules(quirks: Mapping[str, Json]) -> ReplayRules:
    """Return which signatures, ids and media of a history this wire accepts."""
    own = convert_json(quirks, Quirks)
    return ReplayRules(
        system_turns="lead",
        begins_with_user=True,
        needs_turn=True,
        result_errors=True,
        media=_MEDIA,
        result_media=("image/",),  # FunctionResultSubcontent: text and images
        spoken_media=_MEDIA,
        addresses=own.addresses,
        signature_scope="route+model",
        id_pattern=r"\S{1,64}",
    )


def _body(request: Request, plan: Plan, target: Target) -> dict[str, Json]:
    models = (request.model, plan.family)
    body: dict[str, Json] = {
        "model": request.model,
        "input": make_steps(request.messages, route=target.route, models=models),
        "store": False,
        "stream": request.stream,
    }
    if system := "\n\n".join(part.text for part in request.system if part.text):
        body["system_instruction"] = system
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if config := _config(request, plan.dropped):
        body["generation_config"] = config
    if request.output is not None:
        body["response_format"] = _output(request.output)
    return body


def _config(request: Request, dropped: tuple[str, ...]) -> dict[str, Json]:
    given = {
        "max_output_tokens": request.max_tokens if "max_tokens" not in dropped else None,
        "temperature": request.temperature if "temperature" not in dropped else None,
        "top_p": request.top_p if "top_p" not in dropped else None,
        "stop_sequences": list(request.stop) or None,
        "tool_choice": None if request.tool_choice is None else _choice(request.tool_choice),
    }
    return {name: value for name, value in given.items() if value is not None}


def _output(output: OutputFormat) -> dict[str, Json]:
    asked: dict[str, Json] = {"type": "text", "mime_type": "application/json"}
    return asked if output.schema is None else {**asked, "schema": output.schema}


def _tool(tool: Tool) -> Json:
    if tool.raw is not None:
        return tool.raw
    declared: dict[str, Json] = {"type": "function", "name": tool.name}
    if tool.description:
        declared["description"] = tool.description
    if tool.parameters is not None:
        declared["parameters"] = tool.parameters
    return declared


def _choice(choice: ToolChoice) -> Json:
    mode = _MODES[choice.mode]
    names = [choice.name] if choice.mode == "tool" else list(choice.allowed)
    return {"allowed_tools": {"mode": mode, "tools": names}} if names else mode
