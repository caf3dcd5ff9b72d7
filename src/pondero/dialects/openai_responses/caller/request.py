"""Writes requests of the Responses API; nothing is stored, so encrypted thinking goes back."""

import json
import re
from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec.structs import replace

from pondero.canon import (
    HttpRequest,
    Json,
    OutputFormat,
    ReplayRules,
    Request,
    Target,
    Tool,
    ToolChoice,
    merge_json,
)
from pondero.dialects.written_turns import encode_body, join_turns, write_turns
from pondero.thinking import Plan

from .input import InputItems, find_unpaired

UNSUPPORTED = frozenset({"stop", "top_k"})
"""Parameters that this wire does not have; the plan reports them as dropped."""

HOSTED: dict[str, dict[str, Json]] = {
    "web_search": {"type": "web_search"},
    "code_execution": {"type": "code_interpreter", "container": {"type": "auto"}},
}
"""Tools that the service runs itself, as a request offers them (openai 3.49.0 types)."""

_ENCRYPTED = "reasoning.encrypted_content"
_PARAMETERS = {"max_tokens": "max_output_tokens", "temperature": "temperature", "top_p": "top_p"}
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Quirks(msgspec.Struct, frozen=True, kw_only=True):
    """The quirks of a deployment.

    ``system = "message"``: it has no ``instructions``. ``encrypted``: it has encrypted thinking.
    ``pairing``: thinking and the next item go back together. ``cache_marks``: it has cache
    breakpoints. ``missing_tools``: beginnings of the types of tools that a model does not have;
    ``tools_from``: the least level at which such a tool works; ``missing_fields``: our names of
    parameters that a model does not have.
    """

    system: Literal["instructions", "message"] = "instructions"
    encrypted: bool = True
    pairing: bool = True
    cache_marks: bool = True
    missing_tools: tuple[str, ...] = ()
    tools_from: Mapping[str, str] = {}
    missing_fields: tuple[str, ...] = ()


def encode(request: Request, plan: Plan, target: Target) -> HttpRequest:
    """Return the request on this wire, with the plan's fields and headers."""
    try:
        data = encode_body(_write_body(request, plan, target))
    except (OverflowError, UnicodeEncodeError):
        body = _replace_surrogates(_write_body(request, plan, replace(target, earlier=None)))
        data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    return HttpRequest("POST", _url(target.url), _headers(target, plan), data)


def _write_body(request: Request, plan: Plan, target: Target) -> dict[str, Json]:
    """Return the body with the extra fields and those of the plan."""
    body = _body(request, plan, target)
    if request.extras:
        body = merge_json(body, _extras(request.extras, body))
    return merge_json(body, plan.fields)


# Content is text, images and files (openai 3.49.0, ResponseInputContent): no sound, no video.
# Its error lists the types (yuji-hatakeyama/opencode-gpt-imagegen#82, probed 2026-09-12)
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
# OpenAI documentation, file inputs, read 2026-11-18: PDF, text and code, documents, spreadsheets.
# Of others, such as application/octet-stream, the API extracts nothing.
_FILES = (
    *("application/pdf", "application/json", "application/xml", "text/"),
    *("application/javascript", "application/typescript", "application/sql", "application/yaml"),
    *("application/x-sh", "application/x-python", "application/x-yaml", "application/x-sql"),
    *("application/rtf", "application/msword", "application/vnd."),
)
_MEDIA = (*_IMAGES, *_FILES)


def replay_rules(quirks: Mapping[str, Json]) -> ReplayRules:
    """Return the replay rules of a deployment."""
    pairing = quirks.get("pairing") is not False
    return ReplayRules(
        signature_scope="route+model",
        id_pattern=r"\S{1,64}",
        needs_turn=True,
        addresses=("https?://",),
        unpaired=find_unpaired if pairing else None,
        media=_MEDIA,
        result_media=_MEDIA,
    )


def _body(request: Request, plan: Plan, target: Target) -> dict[str, Json]:
    quirks = target.quirks
    body: dict[str, Json] = {"model": request.model}
    thread = InputItems(quirks, cache="cache" not in plan.dropped, tools=request.tools)
    plain = [text for text in request.system if text.cache is None]
    if len(request.system) == len(plain) == 1 and quirks.get("system") != "message":
        body["instructions"] = plain[0].text
        lead = []
    else:
        lead = thread.write_system(request.system)
    written, items = write_turns(thread, request.messages, target.earlier, thread.by)
    body["input"] = [*lead, *items]
    if written:
        body["input"] = join_turns([*map(msgspec.json.encode, lead), *written], items)
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if request.tool_choice is not None:
        _choose(body, request.tool_choice, request.tools, plan)
    if request.output is not None:
        body["text"] = {"format": _format(request.output)}
    for name, key in _PARAMETERS.items():
        value = getattr(request, name)
        if value is not None and name not in plan.dropped:
            body[key] = value
    body["store"] = False
    if _thinks(plan) and quirks.get("encrypted") is not False:
        body["include"] = [_ENCRYPTED]
    if request.stream:
        body["stream"] = True
    return body


def _thinks(plan: Plan) -> bool:
    # OpenAI, include: only models that think accept it (public clients quote it, 2026-11-15)
    asked = plan.fields.get("reasoning")
    effort = asked.get("effort") if isinstance(asked, dict) else None
    return bool(plan.will_think) or (asked is not None and effort != "none")


def _tool(tool: Tool) -> Json:
    if tool.raw is not None:
        return tool.raw
    written: dict[str, Json] = {"type": "function", "name": tool.name}
    if tool.description:
        written["description"] = tool.description
    written["parameters"] = tool.parameters
    if tool.strict is not None:
        written["strict"] = tool.strict
    return written


def _choose(body: dict[str, Json], choice: ToolChoice, tools: tuple[Tool, ...], plan: Plan) -> None:
    if "tool_choice" not in plan.dropped:
        body["tool_choice"] = (
            _choose_tool(choice.name, tools) if choice.mode == "tool" else choice.mode
        )
    if choice.parallel is not None and "parallel_tool_calls" not in plan.dropped:
        body["parallel_tool_calls"] = choice.parallel


def _choose_tool(name: str | None, tools: tuple[Tool, ...]) -> Json:
    raw = next((tool.raw for tool in tools if tool.name == name), None)
    kind = raw.get("type", "function") if isinstance(raw, dict) else "function"
    return {"type": kind, "name": name} if kind in ("function", "custom") else {"type": kind}


def _format(output: OutputFormat) -> Json:
    if output.schema is None:
        return {"type": "json_object"}
    written = {"type": "json_schema", "name": output.name, "schema": output.schema}
    if output.strict is not None:
        written["strict"] = output.strict
    return written


def _extras(extras: Mapping[str, Json], body: Mapping[str, Json]) -> Mapping[str, Json]:
    include, ours = extras.get("include"), body.get("include")
    if extras.get("background") is True:  # OpenAI, background mode: stored answers only
        extras = {"store": True, **extras}
    if not isinstance(include, list) or ours is None:
        return extras
    return {**extras, "include": [*ours, *(each for each in include if each not in ours)]}


def _url(base: str) -> str:
    address, mark, query = base.partition("?")
    return f"{address.rstrip('/')}/responses{mark}{query}"


def _headers(target: Target, plan: Plan) -> dict[str, str]:
    headers = {"content-type": "application/json", **target.headers}
    for name, value in plan.headers.items():
        low = name.lower()
        headers[low] = f"{headers[low]},{value}" if low in headers else value
    return headers


def _replace_surrogates(value: Json) -> Json:
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_replace_surrogates(each) for each in value]
    if isinstance(value, dict):
        return {_replace_surrogates(key): _replace_surrogates(each) for key, each in value.items()}
    return value
