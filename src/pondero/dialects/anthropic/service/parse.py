"""Reads a body into the service's types, then canon; ``parse`` is lenient, the rules are strict."""

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Iterable, Mapping
from typing import NoReturn, TypeVar

from msgspec import DecodeError, Raw, Struct, ValidationError
from msgspec.json import decode, encode
from msgspec.structs import replace

from pondero.canon import (
    Blob,
    CacheBreakpoint,
    HttpRequest,
    Image,
    Json,
    Message,
    OutputFormat,
    Part,
    Request,
    Signature,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
    ToolKind,
    ToolResult,
    UnknownPart,
    decode_json,
)
from pondero.dialects.bodies import UnknownFields, describe_invalid_json
from pondero.dialects.client_tools import load_client_tools
from pondero.dialects.dialect import ParsedRequest, Rejected
from pondero.thinking import UNSET, Intent

from . import types
from .address import predicts, streams, usual
from .checks import field_types
from .checks.vendor_tools import vendor_tools
from .errors import reject
from .own_blocks import describe_block
from .types import NAME

T = TypeVar("T")

_PLAIN_TOOL = frozenset({"name", "input_schema", "type", "description", "strict", "cache_control"})
_INVALID = "INVALID_JSON"  # holds the arguments of a call that are not an object
_DATED = re.compile(r"_20\d{6}$")
_PLACE = re.compile(r"^(.*?)(?: - at `(?:key in )?\$(.*)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`")
_EXPECTED = re.compile(r"Expected `(.*)`, got `.*`")
_LEAST = re.compile(r"Expected `int` >= (-?\d+)")
_PATTERN = re.compile(r"Expected `str` matching regex '(.*)'")
_TAG = re.compile(r"Invalid (?:enum )?value '(.*)'", re.DOTALL)
_NAMES: Mapping[str, str] = {
    "int": "a valid integer",
    "float": "a valid number",
    "bool": "a valid boolean",
    "str": "a valid string",
    "array": "a valid list",
    "object": "a valid dictionary or object to extract fields from",
}
# Unions whose tag the service puts into the path of a field inside.
_UNIONS = {"thinking"}


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
    typed = body(sent, unknown)
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


def body(data: bytes, unknown: UnknownFields | None = None) -> types.Body:
    """Return the typed body; raises Rejected with the first field that does not fit."""
    if unknown is None:
        typed = decode_strict(data, types.Body)
        decode_strict(data, field_types.Fields)
        return typed
    return _decode_lenient(data, types.LooseBody, unknown)


def intent(body: types.Body) -> Intent:
    """Return the level that a request asks for; the model may support another."""
    effort = effort_of(body)
    match body.thinking:
        case None:
            return Intent("level", effort) if effort else UNSET
        case types.Disabled() | types.BetweenTools():
            return Intent("off")
        case types.Adaptive():
            return Intent("level" if effort else "on", effort)
        case types.Enabled():
            return Intent("budget", effort, body.thinking.budget_tokens)


def effort_of(body: types.Body) -> str | None:
    """Return the effort of the last turn that sets one, or the request's own."""
    turns = (each.output_config.effort for each in reversed(body.messages) if each.output_config)
    own = body.output_config.effort if body.output_config else None
    return next((effort for effort in turns if effort is not None), own)


def _show(body: types.Body) -> bool | None:
    thinking = body.thinking
    display = thinking.display if isinstance(thinking, types.Enabled | types.Adaptive) else None
    return {"summarized": True, "omitted": False}.get(display or "")


def canon(
    body: types.Body, raw: Mapping[str, Json], unknown: UnknownFields | None = None
) -> Request:
    """Return the body as a canon request; ``raw`` is the same body before it was typed."""
    return Request(
        model=body.model,
        messages=tuple(
            Message(message.role, _content(message.content, f"messages.{at}", unknown))
            for at, message in enumerate(body.messages)
        ),
        system=_system(body.system),
        tools=tuple(
            _tool(each, f"tools.{at}", unknown) for at, each in enumerate(body.tools or ())
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


def block(
    raw: Raw, at: str, unknown: UnknownFields | None = None
) -> tuple[str, types.Typed | None]:
    """Return the type of a block, and its fields if we know the type."""
    kind = decode_strict(raw, types.TypeOnly, at).type
    if kind in types.UNTYPED:
        return kind, None
    if unknown is not None:
        return kind, _known_block(raw, kind, at, unknown)
    if kind not in types.TYPED:
        reject("block_type", at=at, kind=kind, tags=_quote(sorted({*types.TYPED, *types.UNTYPED})))
    fields = decode_strict(raw, types.TYPED[kind], f"{at}.{kind}")
    if isinstance(fields, types.TextBlock) and fields.citations:
        decode_strict(raw, field_types.CitedText, f"{at}.{kind}")
    return kind, fields


def _known_block(raw: Raw, kind: str, at: str, unknown: UnknownFields) -> types.Typed | None:
    """Return a block's fields, read leniently; list its path and return None if they do not fit."""
    try:
        if kind in types.LOOSE:
            return _decode_lenient(raw, types.LOOSE[kind], unknown, at)
    except Rejected:
        pass
    unknown.paths.append(at)
    return None


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
        custom = _decode_lenient(raw, types.LooseTool, unknown, at)
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
        reject("tool_type", at=at, kind=kind, tags=_quote(("custom", *vendor_tools())))


def _quote(tags: Iterable[str]) -> str:
    return ", ".join(f"'{tag}'" for tag in tags)


def _function(custom: types.CustomTool, given: Json = None) -> Tool:
    return Tool(
        custom.name,
        custom.description or "",
        custom.input_schema,
        strict=custom.strict,
        cache=_cache(custom.cache_control),
        raw=given,
    )


def _system(system: str | list[types.TextBlock] | None) -> tuple[Text, ...]:
    if isinstance(system, str):
        return (Text(system),)
    return tuple(_text(each) for each in system or ())


def _content(content: str | list[Raw], at: str, unknown: UnknownFields | None) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (Text(content),)
    return tuple(
        _part(raw, f"{at}.content.{number}", unknown) for number, raw in enumerate(content)
    )


def _part(raw: Raw, at: str, unknown: UnknownFields | None) -> Part:
    _, fields = block(raw, at, unknown)
    match fields:
        case types.TextBlock():
            return _text(fields)
        case types.ThinkingBlock():
            signed = fields.signature or unknown is None
            return Thinking(fields.thinking, Signature(NAME, fields.signature) if signed else None)
        case types.RedactedThinkingBlock():
            return Thinking("", Signature(NAME, fields.data), redacted=True)
        case types.ToolUseBlock():
            return _call(fields)
        case types.ToolResultBlock():
            return _result(fields, at, unknown)
        case types.ImageBlock() | types.DocumentBlock():
            return _medium(fields, raw, at, unknown)
        case None:
            return _own(raw, unknown)


def _own(raw: Raw, unknown: UnknownFields | None) -> Text | UnknownPart:
    block: Json = decode(raw)
    said = describe_block(block) if unknown is not None and isinstance(block, dict) else None
    return UnknownPart(NAME, block) if said is None else Text(said)


def _text(fields: types.TextBlock) -> Text:
    citations = tuple(fields.citations or ())
    return Text(fields.text, citations=citations, cache=_cache(fields.cache_control))


def _call(fields: types.ToolUseBlock) -> ToolCall:
    given: Json = fields.input
    if isinstance(given, dict) and given.keys() == {_INVALID}:
        given = given[_INVALID]
    further = {"caller": fields.caller, "toolset_name": fields.toolset_name}
    kept = {key: value for key, value in further.items() if value is not None}
    signature = Signature(NAME, kept) if kept else None
    return ToolCall(fields.id, fields.name, given, signature, cache=_cache(fields.cache_control))


def _result(fields: types.ToolResultBlock, at: str, unknown: UnknownFields | None) -> ToolResult:
    content: tuple[Json, ...] = ()
    # The service's rejections have the block's type in their paths; the paths we list do not.
    within = f"{at}.content" if unknown is not None else f"{at}.tool_result.content"
    if isinstance(fields.content, str):
        content = (Text(fields.content),)
    elif fields.content is not None:
        content = tuple(
            _inner(raw, f"{within}.{number}", unknown) for number, raw in enumerate(fields.content)
        )
    return ToolResult(
        fields.tool_use_id,
        content,
        error=bool(fields.is_error),
        cache=_cache(fields.cache_control),
    )


def _inner(raw: Raw, at: str, unknown: UnknownFields | None) -> Text | Image | Blob | UnknownPart:
    if decode_strict(raw, types.TypeOnly, at).type in types.UNTYPED_RESULTS:
        return _own(raw, unknown)
    part = _part(raw, at, unknown)
    if isinstance(part, Text | Image | Blob | UnknownPart):
        return part
    if unknown is None:
        reject("result_content", at=at)
    unknown.paths.append(at)
    return UnknownPart(NAME, decode(raw))


def _medium(
    fields: types.ImageBlock | types.DocumentBlock, raw: Raw, at: str, unknown: UnknownFields | None
) -> Part:
    source = fields.source
    cache = _cache(fields.cache_control)
    picture = isinstance(fields, types.ImageBlock)
    if isinstance(fields, types.ImageBlock):
        settings, title = {"transformations": fields.transformations}, None
    else:
        settings = {"citations": fields.citations, "context": fields.context}
        title = fields.title
    special = [name for name, value in settings.items() if value is not None]
    if special and unknown is None:
        return UnknownPart(NAME, decode(raw))
    if unknown is not None:
        unknown.paths += [f"{at}.{name}" for name in special]
    match source:
        case types.Base64Source():
            data = _bytes(source.data)
            if data is None:
                if unknown is None:
                    reject("base64", at=at)
                unknown.paths.append(at)
                return UnknownPart(NAME, decode(raw))
            if picture:
                return Image(source.media_type, data, cache=cache)
            return Blob(source.media_type, data, name=title, cache=cache)
        case types.UrlSource():
            if picture:
                return Image(url=source.url, cache=cache)
            return Blob("application/pdf", url=source.url, name=title, cache=cache)
        case types.TextSource():
            return Blob("text/plain", source.data.encode(), name=title, cache=cache)
    return _own(raw, unknown)


def _bytes(data: str) -> bytes | None:
    try:
        return b64decode(data, validate=True)
    except (Error, ValueError):
        return None


def _cache(control: types.CacheControl | None) -> CacheBreakpoint | None:
    return None if control is None else CacheBreakpoint(control.ttl)


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


def _extras(body: types.Body, raw: Mapping[str, Json]) -> Json:
    extras = {name: raw[name] for name in types.EXTRAS if getattr(body, name) is not None}
    if body.output_config and body.output_config.task_budget:
        extras["output_config"] = {"task_budget": raw["output_config"]["task_budget"]}
    return extras or None


# -- JSON to types, and the rejections of values that do not fit ---------------------------------


def decode_strict(raw: bytes | Raw, kind: type[T], at: str = "") -> T:
    """Return the JSON as this type; raises Rejected with the path that does not fit."""
    try:
        return decode_json(raw, kind)
    except ValidationError as error:
        _reject_misfit(str(error), at, raw)
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        reject("not_json", why=describe_invalid_json(error))


def _decode_lenient(data: bytes | Raw, kind: type[T], unknown: UnknownFields, at: str = "") -> T:
    """Return the JSON without fields that do not fit; raises Rejected if the body does not."""
    try:
        return unknown.decode(data, kind, at=at)
    except ValidationError:
        known = UnknownFields().strip_unknown(decode(data), kind)
    while True:
        try:
            return decode_json(encode(known), kind)
        except ValidationError as error:
            if (left := _remove_field(known, str(error))) is None:
                _reject_misfit(str(error), at, encode(known))
            unknown.paths.append(_join(at, left))


def _remove_field(value: Json, error: str) -> str | None:
    """Delete the field that an error names; return its path, or None if it names no field."""
    found = _PLACE.match(error)
    names = _names(found[2] or "") if found else []
    for name in names[:-1]:
        value = value[int(name)] if isinstance(value, list) else value.get(name, {})
    if not names or not isinstance(value, dict) or names[-1] not in value:
        return None
    del value[names[-1]]
    return ".".join(names)


def _reject_misfit(error: str, at: str, raw: bytes | Raw) -> NoReturn:
    found = _PLACE.match(error)
    problem, place = (found[1], found[2] or "") if found else (error, "")
    path = _path(at, place, raw)
    if unknown := _UNKNOWN.match(problem):
        reject("extra_field", path=_join(path, unknown[1]))
    if missing := _MISSING.match(problem):
        reject("missing_field", path=_join(path, missing[1]))
    if least := _LEAST.match(problem):
        reject("too_small", path=path, least=least[1])
    if pattern := _PATTERN.match(problem):
        reject("wrong_pattern", path=path, pattern=pattern[1])
    if expected := _EXPECTED.match(problem):
        kinds = [_NAMES.get(kind.strip(), kind) for kind in expected[1].split("|")]
        meant = " or ".join(kind for kind in kinds if kind != "null")
        reject("wrong_type", path=path or "body", kinds=meant)
    if (tag := _TAG.match(problem)) and path.endswith(".role"):
        reject("role", path=path, role=tag[1])
    if tag:
        reject("wrong_tag", path=path, tag=tag[1])
    reject("wrong_type", path=path or "body", kinds=problem)


def _path(at: str, place: str, raw: bytes | Raw) -> str:
    names = _names(place)
    if names and names[0] in _UNIONS:
        whole: Json = decode(raw)
        union = whole.get(names[0]) if isinstance(whole, dict) else None
        tag = union.get("type") if isinstance(union, dict) else None
        if isinstance(tag, str) and names[1:2] != ["type"]:
            names.insert(1, tag)
    return ".".join([*([at] if at else []), *names])


def _names(place: str) -> list[str]:
    return [name for name in re.split(r"[.\[\]]+", place) if name]


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
