"""The service's body as the request it stands for."""

from base64 import b64decode
from binascii import Error

from msgspec import Raw, to_builtins
from msgspec.json import decode

from pondero.canon import (
    Blob,
    Cache,
    Image,
    Json,
    Message,
    Other,
    Output,
    Part,
    Request,
    Seal,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
)

from . import types as wire
from .errors import refuse
from .types import NAME
from .typing import typed

_PLAIN_TOOL = frozenset({"name", "input_schema", "type", "description", "strict", "cache_control"})


def read(body: wire.Body, raw: Json) -> Request:
    """Return what is asked; ``raw`` is the same body before it was typed."""
    return Request(
        model=body.model,
        messages=tuple(
            Message(message.role, _content(message.content, f"messages.{at}"))
            for at, message in enumerate(body.messages)
        ),
        system=_system(body.system),
        tools=tuple(tool(each, at) for at, each in enumerate(body.tools or ())),
        tool_choice=None if body.tool_choice is None else _choice(body.tool_choice),
        output=_output(body),
        max_tokens=body.max_tokens,
        temperature=body.temperature,
        top_p=body.top_p,
        top_k=body.top_k,
        stop=tuple(body.stop_sequences or ()),
        stream=bool(body.stream),
        extras=_beside(raw),
    )


def block(raw: Raw, at: str) -> tuple[str, wire.Typed | None]:
    """Return the type of a block, and its fields where the type is one of those we know."""
    kind = typed(raw, wire.TypeOnly, at).type
    if kind in wire.UNTYPED:
        return kind, None
    if kind not in wire.TYPED:
        tags = ", ".join(f"'{tag}'" for tag in sorted({*wire.TYPED, *wire.UNTYPED}))
        raise refuse(
            f"{at}: Input tag '{kind}' found using 'type' does not match any of the expected "
            f"tags: {tags}"
        )
    return kind, typed(raw, wire.TYPED[kind], f"{at}.{kind}")


def tool(raw: Raw, at: int) -> Tool:
    """Return a tool: a function of the caller's, or one the service brings."""
    given: Json = decode(raw)
    if not isinstance(given, dict):
        raise refuse(
            f"tools.{at}: Input should be a valid dictionary or object to extract fields from"
        )
    if given.get("type") not in (None, "custom"):
        return Tool(str(given.get("name", "")), raw=given)
    custom = typed(raw, wire.CustomTool, f"tools.{at}.custom")
    if given.keys() - _PLAIN_TOOL or "type" in given:
        return Tool(custom.name, raw=given)
    return Tool(
        custom.name,
        custom.description or "",
        custom.input_schema,
        strict=custom.strict,
        cache=_cache(custom.cache_control),
    )


def _system(system: str | list[wire.TextBlock] | None) -> tuple[Text, ...]:
    if isinstance(system, str):
        return (Text(system),)
    return tuple(_text(each) for each in system or ())


def _content(content: str | list[Raw], at: str) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (Text(content),)
    return tuple(_part(raw, f"{at}.content.{number}") for number, raw in enumerate(content))


def _part(raw: Raw, at: str) -> Part:
    _, fields = block(raw, at)
    match fields:
        case wire.TextBlock():
            return _text(fields)
        case wire.ThinkingBlock():
            return Thinking(fields.thinking, Seal(NAME, fields.signature))
        case wire.RedactedThinkingBlock():
            return Thinking("", Seal(NAME, fields.data), redacted=True)
        case wire.ToolUseBlock():
            return _call(fields)
        case wire.ToolResultBlock():
            return _result(fields, at)
        case wire.ImageBlock() | wire.DocumentBlock():
            return _medium(fields, raw, at)
        case None:
            return Other(NAME, decode(raw))


def _text(fields: wire.TextBlock) -> Text:
    citations = tuple(fields.citations or ())
    return Text(fields.text, citations=citations, cache=_cache(fields.cache_control))


def _call(fields: wire.ToolUseBlock) -> ToolCall:
    given: Json = fields.input
    if given.keys() == {"INVALID_JSON"} and isinstance(given["INVALID_JSON"], str):
        given = given["INVALID_JSON"]
    beside = {"caller": fields.caller, "toolset_name": fields.toolset_name}
    kept = {key: value for key, value in beside.items() if value is not None}
    seal = Seal(NAME, kept) if kept else None
    return ToolCall(fields.id, fields.name, given, seal, cache=_cache(fields.cache_control))


def _result(fields: wire.ToolResultBlock, at: str) -> ToolResult:
    content: tuple[Json, ...] = ()
    if isinstance(fields.content, str):
        content = (Text(fields.content),)
    elif fields.content is not None:
        content = tuple(
            _inner(raw, f"{at}.tool_result.content.{number}")
            for number, raw in enumerate(fields.content)
        )
    return ToolResult(
        fields.tool_use_id,
        content,
        error=bool(fields.is_error),
        cache=_cache(fields.cache_control),
    )


def _inner(raw: Raw, at: str) -> Text | Image | Blob | Other:
    if typed(raw, wire.TypeOnly, at).type in wire.UNTYPED_RESULTS:
        return Other(NAME, decode(raw))
    part = _part(raw, at)
    if not isinstance(part, Text | Image | Blob | Other):
        raise refuse(f"{at}: a tool result holds text, images and documents")
    return part


def _medium(fields: wire.ImageBlock | wire.DocumentBlock, raw: Raw, at: str) -> Part:
    """Return a picture or a document; one with settings of its own is kept as it came."""
    source = fields.source
    cache = _cache(fields.cache_control)
    picture = isinstance(fields, wire.ImageBlock)
    if isinstance(fields, wire.ImageBlock):
        special, title = fields.transformations, None
    else:
        special, title = fields.citations or fields.context, fields.title
    if special is not None:
        return Other(NAME, decode(raw))
    match source:
        case wire.Base64Source():
            data = _bytes(source.data, at)
            if picture:
                return Image(source.media_type, data, cache=cache)
            return Blob(source.media_type, data, name=title, cache=cache)
        case wire.UrlSource():
            if picture:
                return Image(url=source.url, cache=cache)
            return Blob("application/pdf", url=source.url, name=title, cache=cache)
        case wire.TextSource():
            return Blob("text/plain", source.data.encode(), name=title, cache=cache)
    return Other(NAME, decode(raw))


def _bytes(data: str, at: str) -> bytes:
    try:
        return b64decode(data, validate=True)
    except (Error, ValueError):
        raise refuse(f"{at}.source.base64.data: Invalid base64 data") from None


def _cache(mark: wire.CacheControl | None) -> Cache | None:
    return None if mark is None else Cache(mark.ttl)


def _choice(choice: wire.ToolChoice) -> ToolChoice:
    match choice:
        case wire.NoTool():
            return ToolChoice("none")
        case wire.OneTool():
            return ToolChoice("tool", choice.name, _parallel(choice.disable_parallel_tool_use))
        case wire.AnyTool():
            return ToolChoice("required", None, _parallel(choice.disable_parallel_tool_use))
        case wire.Auto():
            return ToolChoice("auto", None, _parallel(choice.disable_parallel_tool_use))


def _parallel(disabled: bool | None) -> bool | None:  # noqa: FBT001 - the wire's own word
    return None if disabled is None else not disabled


def _output(body: wire.Body) -> Output | None:
    shape = (body.output_config and body.output_config.format) or body.output_format
    return None if shape is None else Output(shape.schema)


def _beside(raw: Json) -> Json:
    extras = {name: raw[name] for name in wire.BESIDE if raw.get(name) is not None}
    budget = (raw.get("output_config") or {}).get("task_budget")
    if budget is not None:
        extras["output_config"] = {"task_budget": to_builtins(budget)}
    return extras or None
