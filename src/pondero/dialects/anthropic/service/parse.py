"""Reads a body into the service's types, then canon; ``parse`` is lenient, the rules are strict."""

import re
from collections.abc import Mapping
from operator import attrgetter

from msgspec import Raw, Struct, ValidationError
from msgspec.json import decode, encode
from msgspec.structs import replace

from pondero.canon import (
    CacheBreakpoint,
    HttpRequest,
    Json,
    Message,
    OutputFormat,
    Request,
    Text,
    Tool,
    ToolChoice,
    ToolKind,
    decode_json,
)
from pondero.dialects.bodies import UnknownFields
from pondero.dialects.client_tools import load_client_tools
from pondero.dialects.dialect import ParsedRequest, Rejected
from pondero.thinking import UNSET, Intent

from . import types
from .address import predicts, streams, usual
from .checks import field_types
from .checks.vendor_tools import vendor_tools
from .content import quote_tags, read_cache, read_content, read_text
from .decode import decode_lenient, decode_strict
from .errors import reject
from .types import NAME

_PLAIN_TOOL = frozenset({"name", "input_schema", "type", "description", "strict", "cache_control"})
_DATED = re.compile(r"_20\d{6}$")


class Context(Struct, frozen=True):
    """Data of a request that its answer repeats: the paths of thinking that was dropped."""

    dropped: tuple[str, ...] = ()


def parse(http: HttpRequest) -> ParsedRequest[Context]:
    """Read a request leniently: without rules; raises Rejected only if it is unreadable."""
    unknown = UnknownFields()
    path = http.url.split("?")[0]
    sent, raw = http.body, decode_strict(http.body, dict)
    if predicts(path):
        raw = usual(path, raw) | {"stream": streams(path)}
        sent = encode(raw)
    try:
        typed = decode_json(sent, types.LooseBody)
    except ValidationError:
        typed = decode_lenient(sent, types.LooseBody, unknown)
    # Other services have no turns that end, so a translation reports that this one stays.
    unknown.paths += [
        f"messages.{at}.clear_at" for at, m in enumerate(typed.messages) if m.clear_at
    ]
    if unknown.paths:
        raw = UnknownFields().strip_unknown(raw, types.LooseBody)
    return ParsedRequest(
        request=canon(typed, raw, unknown),
        intent=intent(typed),
        show=_show(typed),
        unknown=tuple(unknown.paths),
        context=Context(),
    )


def body(data: bytes, *, budgets: bool = True) -> types.Body:
    """Return the typed body; raises Rejected with the first field that does not fit.

    ``budgets`` is whether budgets of thinking are checked.
    """
    typed = decode_strict(data, types.Body if budgets else types.BodyAtWill)
    decode_strict(data, field_types.Fields)
    return typed


def without_unknown(data: bytes) -> bytes:
    """Return a body without the fields that the API does not have."""
    raw: dict[str, Json] = decode_strict(data, dict)
    known = types.Body.__struct_encode_fields__
    return encode({name: value for name, value in raw.items() if name in known})


def intent(body: types.Body) -> Intent:
    """Return the level that a request asks for; the model may support another."""
    effort = effort_of(body)
    match body.thinking:
        case None:
            return Intent("level", effort) if effort else UNSET
        case types.Disabled() | types.BetweenTools():
            return Intent("off")
        case types.Adaptive() | types.EnabledAtWill():
            return Intent("level" if effort else "on", effort)
        case types.Enabled():
            return Intent("budget", effort, body.thinking.budget_tokens)


def effort_of(body: types.Body) -> str | None:
    """Return the effort in effect: of the last turn that sets one, or the request's own.

    One that follows results of tools alone waits for new input of the user (wires/in-band).
    """
    effort = body.output_config.effort if body.output_config else None
    if not any(map(_get_config, body.messages)):
        return effort
    waiting, loops = effort, False
    for message in body.messages:
        if message.role == "user":
            loops = _has_results_alone(message.content)
            effort = effort if loops else waiting
        elif message.output_config is not None and message.output_config.effort is not None:
            waiting = message.output_config.effort
            effort = effort if loops else waiting
        elif message.role == "assistant":
            loops = False
    return effort


def _has_results_alone(content: str | list[Raw]) -> bool:
    if isinstance(content, str) or not content:
        return False
    blocks = map(decode, content)
    return all(isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks)


def _show(body: types.Body) -> bool | None:
    thinking = body.thinking
    if thinking is None:
        return None
    display = thinking.display if isinstance(thinking, types.Enabled | types.Adaptive) else None
    return {"summarized": True, "omitted": False}.get(display or "")


def canon(
    body: types.Body, raw: Mapping[str, Json], unknown: UnknownFields | None = None
) -> Request:
    """Return the body as a canon request; ``raw`` is the same body before it was typed."""
    return Request(
        model=body.model,
        messages=tuple(
            [
                Message(message.role, read_content(message.content, f"messages.{at}", unknown))
                for at, message in enumerate(body.messages)
            ]
        ),
        system=() if body.system is None else _system(body.system),
        tools=tuple(
            [_tool(each, f"tools.{at}", unknown) for at, each in enumerate(body.tools or ())]
        ),
        tool_choice=None if body.tool_choice is None else _choice(body.tool_choice),
        output=_output(body),
        max_tokens=None if body.max_tokens == types.NO_CAP else body.max_tokens,
        temperature=body.temperature,
        top_p=body.top_p,
        top_k=body.top_k,
        stop=tuple(body.stop_sequences or ()),
        stream=bool(body.stream),
        extras=_extras(body, raw),
    )


def _tool(raw: Raw, at: str, unknown: UnknownFields | None) -> Tool:
    """Return a tool, with its JSON if it is the service's or has settings that canon lacks."""
    given: Json = decode(raw)
    if not isinstance(given, dict):
        reject("tool_not_object", at=at)
    as_given = Tool(str(given.get("name", "")), raw=given)
    if unknown is not None:
        as_given = replace(as_given, dialect=NAME, kind=_kind(given))
    if given.get("type") not in (None, "custom"):
        if unknown is None:
            _check_kind(given["type"], at)
            decode_strict(raw, field_types.VendorTool, f"{at}.{given['type']}")
            return as_given
        client = load_client_tools(__package__).get(_DATED.sub("", str(given["type"])))
        if client is None:
            return as_given
        function = client.as_function(as_given.name, given, NAME)
        return replace(function, cache=_cache_of(given.get("cache_control")))
    special = given.keys() - _PLAIN_TOOL
    if unknown is None:
        custom = decode_strict(raw, types.CustomTool, f"{at}.custom")
        decode_strict(raw, field_types.Schemas, f"{at}.custom")
        return _function(custom, given if special or "type" in given else None)
    try:
        custom = decode_lenient(raw, types.LooseTool, unknown, at)
    except Rejected:
        unknown.paths.append(at)
        return as_given
    known = special & {*types.CustomTool.__struct_fields__}
    unknown.paths += [
        path for name in sorted(known) if (path := f"{at}.{name}") not in unknown.paths
    ]
    return _function(custom)


def _cache_of(control: Json) -> CacheBreakpoint | None:
    ttl = control.get("ttl") if isinstance(control, dict) else None
    return CacheBreakpoint(ttl if isinstance(ttl, str) else None) if control else None


def _kind(given: Mapping[str, Json]) -> ToolKind:
    return types.HOSTED.get(_DATED.sub("", str(given.get("type"))), "other")


def _check_kind(kind: Json, at: str) -> None:
    if not isinstance(kind, str) or kind not in vendor_tools():
        reject("tool_type", at=at, kind=kind, tags=quote_tags(("custom", *vendor_tools())))


def _function(custom: types.CustomTool, given: Json = None) -> Tool:
    return Tool(
        custom.name,
        custom.description or "",
        custom.input_schema,
        strict=custom.strict,
        cache=read_cache(custom.cache_control),
        raw=given,
    )


def _system(system: str | list[types.TextBlock] | None) -> tuple[Text, ...]:
    if isinstance(system, str):
        return (Text(system),)
    return tuple(read_text(each) for each in system or ())


def _choice(choice: types.ToolChoice) -> ToolChoice:
    match choice:
        case types.NoTool():
            return ToolChoice("none")
        case types.OneTool():
            return ToolChoice("tool", choice.name, _parallel(choice))
        case types.AnyTool():
            return ToolChoice("required", None, _parallel(choice))
        case types.Auto():
            return ToolChoice("auto", None, _parallel(choice))


def _parallel(choice: types.OneTool | types.AnyTool | types.Auto) -> bool | None:
    disabled = choice.disable_parallel_tool_use
    return None if disabled is None else not disabled


def _output(body: types.Body) -> OutputFormat | None:
    shape = (body.output_config and body.output_config.format) or body.output_format
    return None if shape is None else OutputFormat(shape.schema)


_get_extras = attrgetter(*types.EXTRAS)
_get_config = attrgetter("output_config")


def _extras(body: types.Body, raw: Mapping[str, Json]) -> Json:
    given = zip(types.EXTRAS, _get_extras(body), strict=True)
    extras = {name: raw[name] for name, value in given if value is not None}
    if body.output_config and body.output_config.task_budget:
        extras["output_config"] = {"task_budget": raw["output_config"]["task_budget"]}
    return extras or None
