"""Writes our requests; schemas beyond OpenAPI go as JSON Schema (issue prism-php/prism#974)."""

from collections.abc import Callable, Mapping
from typing import Literal

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
from pondero.dialects.paths import resource, segment
from pondero.thinking import Plan

from .contents import contents, text_parts

UNSAID = frozenset({"hosted_choice", "choice_without_functions", "parallel", "strict"})
"""What this wire cannot say: only functions can be forced, and their schemas are not enforced."""

HOSTED: dict[str, Json] = {
    "web_search": {"googleSearch": {}},
    "code_execution": {"codeExecution": {}},
}
"""Tools that the service runs itself, as they are offered (google-genai 3.1.0 types)."""

_RESOURCES = ("models/", "projects/", "publishers/", "tunedModels/")
_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY", "tool": "ANY"}
_TYPES = frozenset({"array", "boolean", "integer", "number", "object", "string"})
_FORMATS = frozenset({"float", "double", "int32", "int64", "enum", "date-time"})
_PLAIN = frozenset({"title", "description", "nullable", "propertyOrdering", "default", "example"})
_SIZES = frozenset(
    {"minItems", "maxItems", "minProperties", "maxProperties", "minLength", "maxLength"}
)
_BOUNDS = frozenset({"minimum", "maximum", "pattern"})
_EASY = _PLAIN | _SIZES | _BOUNDS


class Quirks(msgspec.Struct, frozen=True, kw_only=True):
    """Quirks; ``wrapped``: the request is inside another, which names model and ``project``.

    ``announces_tools``: functions beside hosted tools need a field that says so. ``addresses``:
    patterns of the addresses that are fetched. ``unsupported``: what the model does not take;
    ``missing_tools``: beginnings of the names of hosted tools that it does not have;
    ``missing_parts``: kinds of parts that the deployment does not have.
    """

    wrapped: bool = False
    project: str | None = None
    announces_tools: bool = False
    addresses: tuple[str, ...] = ("https?://",)
    unsupported: tuple[Literal["system", "hosted_beside_functions"], ...] = ()
    missing_tools: tuple[str, ...] = ()
    missing_parts: tuple[str, ...] = ()


def encode(request: Request, plan: Plan, target: Target) -> HttpRequest:
    """Return the request; the plan's fields overrule ``extras``, which overrule the rest."""
    body = _body(request, plan, target)
    if isinstance(request.extras, Mapping):
        body = merge_json(body, request.extras)
    body = merge_json(body, plan.fields)
    url = _address(request.model, target.url)
    if target.quirks.get("wrapped"):  # Cloud Code Assist names the model inside, not in the address
        body = {"model": request.model, "project": target.quirks.get("project"), "request": body}
        url = target.url
    headers = {"content-type": "application/json", **target.headers}
    for name, value in plan.headers.items():
        headers[name] = f"{headers[name]},{value}" if name in headers else value
    method = "streamGenerateContent?alt=sse" if request.stream else "generateContent"
    return HttpRequest("POST", f"{url}:{method}", headers, msgspec.json.encode(body))


_MEDIA = (
    # Google, image understanding (vendor page, 2026-11-15); SVG, TIFF and icons are unknown to it.
    *(
        "image/png",
        "image/jpeg",
        "image/jpg",
        "image/webp",
        "image/heic",
        "image/heif",
        "image/gif",
    ),
    *("image/gif", "image/bmp", "image/avif", "audio/", "video/", "text/"),
    *("application/pdf", "application/json", "application/xml", "application/rtf"),
    *("application/x-javascript", "application/x-python", "application/x-typescript"),
    "application/x-ipynb+json",
)


def replay_rules(quirks: Mapping[str, Json]) -> ReplayRules:
    """Return which signatures, ids and media of a history this wire accepts."""
    own = convert_json(quirks, Quirks)
    return ReplayRules(
        system_turns="lead",
        begins_with_user=True,  # a call may not come first
        needs_turn=True,
        result_errors=True,
        media=_MEDIA,
        result_media=_MEDIA,
        addresses=own.addresses,
        missing_parts=own.missing_parts,
        signature_scope="route+model",
        id_pattern=r"\S{1,64}",
        minted=False,
        allows_unsigned=True,  # thoughts are never signed here; their signature is on what follows
        spoken_media=_MEDIA,
    )


def _body(request: Request, plan: Plan, target: Target) -> dict[str, Json]:
    body: dict[str, Json] = {
        "contents": contents(
            request.messages, route=target.route, models=(request.model, plan.family)
        )
    }
    if system := text_parts(request.system):
        body["systemInstruction"] = {"parts": system}
    if request.tools:
        body["tools"] = _tools(request.tools)
    if request.tool_choice is not None:
        body["toolConfig"] = {"functionCallingConfig": _choice(request.tool_choice)}
    if target.quirks.get("announces_tools") and _is_mixed(request.tools):
        config = body.setdefault("toolConfig", {})
        config["includeServerSideToolInvocations"] = True
    if config := _config(request, plan.dropped):
        body["generationConfig"] = config
    return body


def _address(model: str, url: str) -> str:
    if model.startswith(_RESOURCES):
        return resource(url, model)
    return f"{url.rstrip('/')}/models/{segment(model)}"


def _config(request: Request, dropped: tuple[str, ...]) -> dict[str, Json]:
    given = {
        "maxOutputTokens": request.max_tokens if "max_tokens" not in dropped else None,
        "temperature": request.temperature if "temperature" not in dropped else None,
        "topP": request.top_p if "top_p" not in dropped else None,
        "topK": request.top_k if "top_k" not in dropped else None,
        "stopSequences": request.stop or None,
    }
    config = {name: value for name, value in given.items() if value is not None}
    return config | _output(request.output) if request.output is not None else config


def _output(output: OutputFormat) -> dict[str, Json]:
    asked: dict[str, Json] = {"responseMimeType": "application/json"}
    if output.schema is not None:
        asked["responseJsonSchema"] = output.schema
    return asked


def _tools(tools: tuple[Tool, ...]) -> list[Json]:
    declared = [_declaration(tool) for tool in tools if tool.raw is None]
    own = [tool.raw for tool in tools if tool.raw is not None]
    return [{"functionDeclarations": declared}, *own] if declared else own


def _is_mixed(tools: tuple[Tool, ...]) -> bool:
    """Return whether functions and tools that the service runs are offered together."""
    return len({tool.raw is None for tool in tools}) > 1


def _declaration(tool: Tool) -> dict[str, Json]:
    declaration: dict[str, Json] = {"name": tool.name}
    if tool.description:
        declaration["description"] = tool.description
    if tool.parameters is not None:
        plain = _is_plain(tool.parameters)
        declaration["parameters" if plain else "parametersJsonSchema"] = tool.parameters
    return declaration


def _choice(choice: ToolChoice) -> dict[str, Json]:
    config: dict[str, Json] = {"mode": _MODES[choice.mode]}
    if choice.mode == "tool":
        config["allowedFunctionNames"] = [choice.name]
    return config


def _is_plain(schema: Json) -> bool:
    return (
        isinstance(schema, dict)
        and all(key in _EASY or (key in _CHECKS and _CHECKS[key](schema[key])) for key in schema)
        and set(schema.get("required") or ()) <= set(schema.get("properties") or ())
    )


def _strings(values: Json) -> bool:
    """Return whether these are texts, none of them empty: in ``parameters`` none may be."""
    return isinstance(values, list) and all(isinstance(each, str) and each for each in values)


_CHECKS: dict[str, Callable[[Json], bool]] = {
    "type": lambda value: isinstance(value, str) and value.lower() in _TYPES,
    "format": lambda value: value in _FORMATS,
    "enum": _strings,
    "required": _strings,
    "items": _is_plain,
    "anyOf": lambda value: isinstance(value, list) and all(map(_is_plain, value)),
    "properties": lambda value: isinstance(value, dict) and all(map(_is_plain, value.values())),
}
