"""The service's body as the request it stands for."""

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Mapping, Sequence
from typing import TypeVar

from msgspec import DecodeError, Raw, ValidationError
from msgspec.json import decode
from msgspec.structs import replace

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
from pondero.dialects.dialect import Rejected

from . import makers, types
from .errors import refuse, refuse_key, refuse_value
from .types import NAME

_OFFICE = "application/vnd.openxmlformats-officedocument."
_DOCUMENTS: Mapping[str | None, str] = {
    "pdf": "application/pdf",
    "csv": "text/csv",
    "doc": "application/msword",
    "docx": f"{_OFFICE}wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": f"{_OFFICE}spreadsheetml.sheet",
    "html": "text/html",
    "txt": "text/plain",
    "md": "text/markdown",
}
_FILMS: Mapping[str, str] = {
    "mkv": "video/x-matroska",
    "mov": "video/quicktime",
    "flv": "video/x-flv",
    "mpg": "video/mpeg",
    "wmv": "video/x-ms-wmv",
    "three_gp": "video/3gpp",
}
_SOUNDS: Mapping[str, str] = {"mp3": "audio/mpeg", "m4a": "audio/mp4"}


def read(
    body: types.Body, raw: Json, *, model: str, stream: bool, own: makers.Own | None
) -> Request:
    """Return what is asked; ``raw`` is the same body before it was typed."""
    limits = body.inference_config or types.Limits()
    tools = body.tool_config.tools if body.tool_config else []
    return Request(
        model=model,
        messages=tuple(
            Message(message.role, _content(message.content, f"messages.{at}.content"))
            for at, message in enumerate(body.messages)
        ),
        system=_system(body.system or []),
        tools=tools_of(tools),
        tool_choice=choice_of(body.tool_config, own),
        output=output_of(body.output_config),
        max_tokens=limits.max_tokens,
        temperature=limits.temperature,
        top_p=limits.top_p,
        top_k=own.top_k if isinstance(own, makers.Claude) else None,
        stop=tuple(limits.stop_sequences or ()),
        stream=stream,
        extras={name: raw[name] for name in types.BESIDE if raw.get(name) is not None} or None,
    )


def block(union: types.Union, at: str) -> tuple[str, types.Typed | None]:
    """Return the kind of a block, and its fields where the kind is one of those we know."""
    kind = one_key(union, at)
    if kind in types.UNTYPED:
        return kind, None
    if kind not in types.TYPED:
        raise refuse_key(kind, at)
    return kind, typed(union[kind], types.TYPED[kind], f"{at}.{kind}")


# -- content ---------------------------------------------------------------------------------


def _content(content: Sequence[types.Union], at: str) -> tuple[Part, ...]:
    parts: list[Part] = []
    for number, union in enumerate(content):
        kind, fields = block(union, f"{at}.{number}")
        if isinstance(fields, types.CachePoint) and parts and _can_mark(parts[-1]):
            parts[-1] = replace(parts[-1], cache=Cache(fields.ttl))
        else:
            parts.append(_part(fields, kind, union[kind], f"{at}.{number}"))
    return tuple(parts)


def _can_mark(part: Part) -> bool:
    return not isinstance(part, Thinking | Other) and part.cache is None


def _part(fields: types.Typed | None, kind: str, raw: Raw, at: str) -> Part:
    match fields:
        case str():
            return Text(fields)
        case types.Reasoning():
            return _thinking(fields, at)
        case types.ToolUseBlock() if fields.type is None:
            return _call(fields)
        case types.ToolResultBlock() if fields.type is None:
            return _result(fields, at)
        case types.CitationsBlock():
            text = "".join(words.text for words in fields.content or ())
            return Text(text, citations=tuple(fields.citations or ()))
        case types.ImageBlock() | types.DocumentBlock() | types.VideoBlock() | types.AudioBlock():
            return _medium(fields, kind, raw, at)
    return Other(NAME, {kind: decode(raw)})


def _thinking(fields: types.Reasoning, at: str) -> Thinking:
    text, redacted = fields.reasoning_text, fields.redacted_content
    if (text is None) == (redacted is None):
        raise refuse_value(f"{at}.reasoningContent", ONE)
    if text is None:
        return Thinking("", Seal(NAME, redacted), redacted=True)
    return Thinking(text.text, Seal(NAME, text.signature or ""))


def _call(fields: types.ToolUseBlock) -> ToolCall:
    given: Json = fields.input
    if given.keys() == {"INVALID_JSON"} and isinstance(given["INVALID_JSON"], str):
        given = given["INVALID_JSON"]
    return ToolCall(fields.tool_use_id, fields.name, given)


def _result(fields: types.ToolResultBlock, at: str) -> ToolResult:
    content = tuple(
        _inner(union, f"{at}.toolResult.content.{number}")
        for number, union in enumerate(fields.content)
    )
    return ToolResult(fields.tool_use_id, content, error=fields.status == "error")


def _inner(union: types.Union, at: str) -> Text | Image | Blob | Other:
    kind = one_key(union, at)
    if kind not in types.RESULTS:
        raise refuse_key(kind, at)
    if kind in ("json", "searchResult"):
        return Other(NAME, {kind: decode(union[kind])})
    part = _part(block(union, at)[1], kind, union[kind], at)
    if not isinstance(part, Text | Image | Blob | Other):
        raise refuse(f"{at}: a tool result holds text, JSON, images, documents and videos")
    return part


Medium = types.ImageBlock | types.DocumentBlock | types.VideoBlock | types.AudioBlock


def _medium(fields: Medium, kind: str, raw: Raw, at: str) -> Part:
    """Return a picture, a document, a film or a sound; one with settings is kept as it came."""
    source = fields.source
    told = (source.bytes, source.s3_location, source.text, source.content)
    if sum(each is not None for each in told) != 1:
        raise refuse_value(f"{at}.{kind}.source", ONE)
    data = None if source.bytes is None else _bytes(source.bytes, f"{at}.{kind}.source.bytes")
    url = source.s3_location.uri if source.s3_location else None
    match fields:
        case types.ImageBlock() if data or url:
            return Image(f"image/{fields.format}", data, url)
        case types.VideoBlock() if data or url:
            return Blob(_FILMS.get(fields.format, f"video/{fields.format}"), data, url)
        case types.AudioBlock() if data or url:
            return Blob(_SOUNDS.get(fields.format, f"audio/{fields.format}"), data, url)
        case types.DocumentBlock() if (data or url) and not (fields.context or fields.citations):
            media_type = _DOCUMENTS.get(fields.format, "application/octet-stream")
            return Blob(media_type, data, url, fields.name)
    return Other(NAME, {kind: decode(raw)})


def _bytes(data: str, at: str) -> bytes:
    try:
        return b64decode(data, validate=True)
    except (Error, ValueError):
        raise refuse_value(at, "it is not valid base64") from None


def _system(system: Sequence[types.Union]) -> tuple[Text, ...]:
    texts: list[Text] = []
    for at, union in enumerate(system):
        kind, fields = block(union, f"system.{at}")
        if isinstance(fields, types.CachePoint):
            if texts:
                texts[-1] = replace(texts[-1], cache=Cache(fields.ttl))
        elif kind == "text" and isinstance(fields, str):
            texts.append(Text(fields))
        elif kind == "guardContent":
            guarded = typed(union[kind], types.GuardContent, f"system.{at}.guardContent").text
            texts.append(Text(guarded.text if guarded else ""))
        else:
            raise refuse_key(kind, f"system.{at}")
    return tuple(texts)


T = TypeVar("T")

_PLACE = re.compile(r"^(.*?)(?: - at `(?:key in )?\$(.*)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`")
ONE = "exactly one member of the union must be set"
_INDEX = re.compile(r"\[(\d+|\.\.\.)\]")


def typed(raw: bytes | Raw, kind: type[T], at: str = "") -> T:
    """Return the JSON as this type, or raise the refusal that says where it does not fit."""
    try:
        return decode(raw, type=kind)
    except ValidationError as error:
        raise _misfit(str(error), at) from None
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise refuse(
            f"The request body is not valid JSON: {error}", code="SerializationException"
        ) from None


def one_key(union: Mapping[str, Raw], at: str) -> str:
    """Return the one key of a union, or refuse it."""
    if len(union) != 1:
        raise refuse_value(at, ONE)
    return next(iter(union))


def _misfit(error: str, at: str) -> Rejected:
    found = _PLACE.match(error)
    said, place = (found[1], found[2] or "") if found else (error, "")
    path = _INDEX.sub(r".\1", f"{at}{place}").lstrip(".")
    if unknown := _UNKNOWN.match(said):
        return refuse_key(unknown[1], path)
    if missing := _MISSING.match(said):
        return refuse_value(
            f"{path}.{missing[1]}" if path else missing[1], "Member must not be null"
        )
    return refuse_value(path, said)


# -- tools and the shape of the answer -----------------------------------------------------------


def tools_of(unions: Sequence[types.Union]) -> tuple[Tool, ...]:
    """Return what may be called, marks for the cache on what they follow."""
    tools: list[Tool] = []
    for at, union in enumerate(unions):
        where = f"toolConfig.tools.{at}"
        kind = one_key(union, where)
        if kind == "toolSpec":
            spec = typed(union[kind], types.ToolSpec, f"{where}.toolSpec")
            schema = spec.input_schema.json
            tools.append(Tool(spec.name, spec.description or "", schema, strict=spec.strict))
        elif kind == "systemTool":
            named = typed(union[kind], types.OneTool, f"{where}.systemTool")
            tools.append(Tool(named.name, raw={kind: decode(union[kind])}))
        elif kind == "cachePoint" and tools:
            point = typed(union[kind], types.CachePoint, f"{where}.cachePoint")
            tools[-1] = replace(tools[-1], cache=Cache(point.ttl))
        else:
            raise refuse_key(kind, where)
    return tuple(tools)


def choice_of(config: types.ToolConfig | None, own: makers.Own | None) -> ToolChoice | None:
    """Return who must be called: in the common words, or in Claude's own, never in both."""
    if isinstance(own, makers.Claude) and own.tool_choice is not None:
        if config is not None and config.tool_choice is not None:
            raise refuse(
                "The additional field tool_choice conflicts with an existing field. Remove it and "
                "try again."
            )
        modes = {"any": "required"}
        mode: Json = modes.get(own.tool_choice.type, own.tool_choice.type)
        return ToolChoice(mode, own.tool_choice.name)
    if config is None or config.tool_choice is None:
        return None
    kind = one_key(config.tool_choice, "toolConfig.toolChoice")
    at = f"toolConfig.toolChoice.{kind}"
    if kind == "tool":
        return ToolChoice("tool", typed(config.tool_choice[kind], types.OneTool, at).name)
    if kind not in ("auto", "any"):
        raise refuse_key(kind, "toolConfig.toolChoice")
    typed(config.tool_choice[kind], types.Empty, at)
    return ToolChoice("auto" if kind == "auto" else "required")


def output_of(config: types.OutputConfig | None) -> Output | None:
    """Return the shape the answer must have."""
    if config is None or config.text_format is None:
        return None
    shape = config.text_format.structure.json_schema
    try:
        schema = decode(shape.schema)
    except (DecodeError, UnicodeError, RecursionError):
        raise refuse(
            "The value at outputConfig.textFormat.structure.jsonSchema.schema is not valid JSON."
        ) from None
    return Output(schema) if shape.name is None else Output(schema, shape.name)
