"""Reads a body into the service's types, then canon; lenient if given a collector of fields."""

from base64 import b64decode
from binascii import Error
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, TypeVar

from msgspec import DecodeError, Raw, Struct, ValidationError
from msgspec.json import decode
from msgspec.structs import fields as fields_of
from msgspec.structs import replace

from pondero.canon import (
    Blob,
    CacheBreakpoint,
    HttpRequest,
    Image,
    Json,
    LevelUpdate,
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
    ToolResult,
    UnknownPart,
    convert_json,
)
from pondero.dialects.bodies import UnknownFields
from pondero.dialects.dialect import ParsedRequest

from . import makers, types
from .address import Address, address_of
from .checks import field_types
from .checks.thinking import first_intent, show_of
from .errors import reject, reject_key
from .own_blocks import describe_block
from .types import NAME, decode_strict, one_key

T = TypeVar("T")

_INVALID = "INVALID_JSON"  # holds the arguments of a call that are not an object
_OWN = "additionalModelRequestFields"
_ROLES = ("user", "assistant", "system")
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
_VIDEOS: Mapping[str, str] = {
    "mkv": "video/x-matroska",
    "mov": "video/quicktime",
    "flv": "video/x-flv",
    "mpg": "video/mpeg",
    "wmv": "video/x-ms-wmv",
    "three_gp": "video/3gpp",
}
_SOUNDS: Mapping[str, str] = {"mp3": "audio/mpeg", "m4a": "audio/mp4"}


class Context(Struct, frozen=True):
    """Data of a request that its answer needs; the rules set ``display`` and ``signed``."""

    paths: tuple[str, ...] = ()
    display: Literal["shown", "omitted", "redacted", "nothing"] = "shown"
    signed: bool = True


def body(data: bytes, unknown: UnknownFields | None = None) -> types.Body:
    """Return the typed body; ``canon`` types its unions, ``own_fields`` the maker's fields."""
    typed = decode_strict(data, types.Body, unknown=unknown)
    if unknown is None:
        decode_strict(data, field_types.Fields)
    return typed


def canon(
    body: types.Body,
    raw: Json,
    address: Address,
    *,
    own: makers.Own | None,
    unknown: UnknownFields | None = None,
) -> Request:
    """Return the body as a canon request; ``raw`` is the same body before it was typed."""
    reader = _Reader(unknown)
    limits = body.inference_config or types.Limits()
    return Request(
        model=address.model,
        messages=tuple(reader.message(message, at) for at, message in enumerate(body.messages)),
        system=reader.system(body.system or []),
        tools=reader.tools(body.tool_config.tools if body.tool_config else []),
        tool_choice=reader.choice(body.tool_config, own),
        output=_output(body.output_config),
        max_tokens=limits.max_tokens,
        temperature=limits.temperature,
        top_p=limits.top_p,
        top_k=own.top_k if isinstance(own, makers.Claude) else None,
        stop=tuple(limits.stop_sequences or ()),
        stream=address.stream,
        extras={name: raw[name] for name in types.BESIDE if raw.get(name) is not None} or None,
    )


def parse(http: HttpRequest) -> ParsedRequest[Context]:
    """Read a request leniently: for any model and without rules."""
    address = address_of(http)
    if address is None:
        reject("no_path")
    unknown = UnknownFields()
    raw: Json = decode_strict(http.body, dict)
    read = body(http.body, unknown)
    owns = own_by_every_shape(read.additional_model_request_fields, unknown)
    claude = next((own for own in owns if isinstance(own, makers.Claude)), None)
    effort = read.output_config.effort if read.output_config else None
    return ParsedRequest(
        request=canon(read, raw, address, own=claude, unknown=unknown),
        intent=first_intent(owns, effort),
        show=show_of(claude),
        unknown=tuple(unknown.paths),
        context=context_of(read),
    )


def context_of(body: types.Body) -> Context:
    """Return the data of a body that its answer needs."""
    return Context(tuple(body.additional_model_response_field_paths or ()))


# -- the makers' own fields ------------------------------------------------------------------


def own_fields(raw: Raw, control: str) -> makers.Own | None:
    """Return a maker's own fields, read strictly; None if the maker's fields are unknown."""
    if control == "any":
        decode_strict(raw, dict, _OWN)
        return None
    return decode_strict(raw, makers.OWN[control], _OWN)


def own_by_every_shape(raw: Raw, unknown: UnknownFields) -> list[makers.Own]:
    """Return own fields by each maker's spelling that fits, for any model; each is tried alone."""
    given = decode_strict(raw, dict, _OWN)
    fitting: dict[type[makers.Own], dict[str, Json]] = {}
    for name, value in given.items():
        shape = next((each for each in makers.SHAPES if _fits(name, value, each)), None)
        if shape is None:
            unknown.paths.append(f"{_OWN}.{name}")
        else:
            fitting.setdefault(shape, {})[name] = value
    return [unknown.convert(each, shape, at=_OWN) for shape, each in fitting.items()]


def _fits(name: str, value: Json, shape: type[makers.Own]) -> bool:
    if all(field.encode_name != name for field in fields_of(shape)):
        return False
    try:
        convert_json(UnknownFields().strip_unknown({name: value}, shape), shape)
    except ValidationError:
        return False
    return True


# -- content ---------------------------------------------------------------------------------


def block(
    union: types.Union, at: str, unknown: UnknownFields | None = None
) -> tuple[str, types.Typed | None]:
    """Return the kind of a block, and its fields if we know the kind."""
    kind = _kind(union, at, types.TYPED, unknown)
    if unknown is None:
        field_types.check_block(kind, union[kind], at)
    if kind in types.UNTYPED or (unknown is not None and kind not in types.TYPED):
        return kind, None
    if kind not in types.TYPED:
        reject_key(kind, at)
    shapes = types.TYPED if unknown is None else types.LOOSE
    return kind, decode_strict(union[kind], shapes[kind], f"{at}.{kind}", unknown)


def _kind(
    union: types.Union, at: str, kinds: Collection[str], unknown: UnknownFields | None
) -> str:
    if unknown is None or len(union) < 2:
        return one_key(union, at)
    kind = next((key for key in union if key in kinds), next(iter(union)))
    unknown.paths += [f"{at}.{key}" for key in union if key != kind]
    return kind


class _Reader:
    """Reads the unions of one body; with ``unknown``, leniently."""

    def __init__(self, unknown: UnknownFields | None) -> None:
        self._unknown = unknown

    def message(self, message: types.MessageIn, at: int) -> Message:
        if message.role not in _ROLES:  # only the lenient types allow another role
            why = f"Invalid enum value {message.role!r}"
            reject("constraint", at=f"messages.{at}.role", why=why)
        return Message(message.role, self._content(message.content, f"messages.{at}.content"))

    def _content(self, content: Sequence[types.Union], at: str) -> tuple[Part, ...]:
        parts: list[Part] = []
        for number, union in enumerate(content):
            kind, fields = block(union, f"{at}.{number}", self._unknown)
            if isinstance(fields, types.CachePoint) and parts and _can_mark(parts[-1]):
                parts[-1] = replace(parts[-1], cache=CacheBreakpoint(fields.ttl))
            else:
                parts.append(self._part(fields, kind, union[kind], f"{at}.{number}"))
        return tuple(parts)

    def _part(self, fields: types.Typed | None, kind: str, raw: Raw, at: str) -> Part:
        match fields:
            case str():
                return Text(fields)
            case types.Reasoning():
                return self._thinking(fields, raw, at)
            case types.ToolUseBlock() if fields.type is None:
                return _call(fields)
            case types.ToolResultBlock() if fields.type is None:
                return self._result(fields, at)
            case types.CitationsBlock():
                text = "".join(piece.text for piece in fields.content or ())
                return Text(text, citations=tuple(fields.citations or ()))
            case types.ImageBlock() | types.DocumentBlock() | types.VideoBlock():
                return self._medium(fields, kind, raw, at)
            case types.AudioBlock():
                return self._medium(fields, kind, raw, at)
        return self._own(kind, raw, at)

    def _own(self, kind: str, raw: Raw, at: str) -> Text | UnknownPart:
        fields: Json = decode(raw)
        said = describe_block(kind, fields) if self._unknown is not None else None
        if said is not None and self._unknown is not None and _asks_to_cite(fields):
            self._unknown.paths.append(f"{at}.{kind}.citations")
        return UnknownPart(NAME, {kind: fields}) if said is None else Text(said)

    def _thinking(self, fields: types.Reasoning, raw: Raw, at: str) -> Part:
        text, redacted = fields.reasoning_text, fields.redacted_content
        if (text is None) == (redacted is None) and self._unknown is None:
            reject("union", at=f"{at}.reasoningContent")
        if text is not None:
            signed = text.signature or self._unknown is None
            return Thinking(text.text, Signature(NAME, text.signature or "") if signed else None)
        if redacted is not None:
            return Thinking("", Signature(NAME, redacted), redacted=True)
        return UnknownPart(NAME, {"reasoningContent": decode(raw)})

    def _result(self, fields: types.ToolResultBlock, at: str) -> ToolResult:
        content = tuple(
            self._inner(union, f"{at}.toolResult.content.{number}")
            for number, union in enumerate(fields.content)
        )
        return ToolResult(fields.tool_use_id, content, error=fields.status == "error")

    def _inner(self, union: types.Union, at: str) -> Text | Image | Blob | UnknownPart:
        kind = _kind(union, at, types.RESULTS, self._unknown)
        if kind not in types.RESULTS and self._unknown is None:
            reject_key(kind, at)
        if self._unknown is None:
            field_types.check_block(kind, union[kind], at)
        if kind in ("json", "searchResult") or kind not in types.RESULTS:
            return self._own(kind, union[kind], at)
        fields = decode_strict(union[kind], types.TYPED[kind], f"{at}.{kind}", self._unknown)
        part = self._part(fields, kind, union[kind], at)
        if not isinstance(part, Text | Image | Blob | UnknownPart):
            reject_key(kind, at)
        return part

    def _medium(self, fields: "_Medium", kind: str, raw: Raw, at: str) -> Part:
        source = fields.source
        told = (source.bytes, source.s3_location, source.text, source.content)
        if sum(each is not None for each in told) != 1 and self._unknown is None:
            reject("union", at=f"{at}.{kind}.source")
        data = None if source.bytes is None else _bytes(source.bytes, f"{at}.{kind}.source.bytes")
        url = source.s3_location.uri if source.s3_location else None
        match fields:
            case types.ImageBlock() if data or url:
                return Image(f"image/{fields.format}", data, url)
            case types.VideoBlock() if data or url:
                named = fields.format.removeprefix("video/")
                return Blob(_VIDEOS.get(named, f"video/{named}"), data, url)
            case types.AudioBlock() if data or url:
                return Blob(_SOUNDS.get(fields.format, f"audio/{fields.format}"), data, url)
            case types.DocumentBlock() if self._unknown is not None:
                return _document(fields, data, url) or self._own(kind, raw, at)
            case types.DocumentBlock() if (data or url) and not (
                fields.context or fields.citations
            ):
                return _document(fields, data, url) or self._own(kind, raw, at)
        return self._own(kind, raw, at)

    def system(self, system: Sequence[types.Union]) -> tuple[Text, ...]:
        texts: list[Text] = []
        for at, union in enumerate(system):
            kind, fields = block(union, f"system.{at}", self._unknown)
            if isinstance(fields, types.CachePoint):
                if texts:
                    texts[-1] = replace(texts[-1], cache=CacheBreakpoint(fields.ttl))
            elif kind == "text" and isinstance(fields, str):
                if not fields and self._unknown is None:
                    reject("empty_system", at=at)
                texts.append(Text(fields))
            elif kind == "guardContent":
                guarded = self._decode(union, kind, types.GuardContent, f"system.{at}").text
                texts.append(Text(guarded.text if guarded else ""))
            else:
                self._pass_over(kind, f"system.{at}")
        return tuple(texts)

    def _decode(self, union: types.Union, kind: str, shape: type[T], at: str) -> T:
        return decode_strict(union[kind], shape, f"{at}.{kind}", self._unknown)

    def _pass_over(self, key: str, at: str) -> None:
        """List an unknown key; raises Rejected if read strictly."""
        if self._unknown is None:
            reject_key(key, at)
        self._unknown.paths.append(f"{at}.{key}")

    # -- tools -----------------------------------------------------------------------------------

    def tools(self, unions: Sequence[types.Union]) -> tuple[Tool, ...]:
        tools: list[Tool] = []
        for at, union in enumerate(unions):
            where = f"toolConfig.tools.{at}"
            kind = _kind(union, where, ("toolSpec", "systemTool", "cachePoint"), self._unknown)
            if kind == "toolSpec":
                spec = self._decode(union, kind, types.ToolSpec, where)
                schema = spec.input_schema.json
                tools.append(Tool(spec.name, spec.description or "", schema, strict=spec.strict))
            elif kind == "systemTool":
                named = self._decode(union, kind, types.OneTool, where)
                tools.append(self._own_tool(kind, decode(union[kind]), named.name))
            elif kind == "cachePoint" and tools:
                point = self._decode(union, kind, types.CachePoint, where)
                tools[-1] = replace(tools[-1], cache=CacheBreakpoint(point.ttl))
            elif kind == "cachePoint" or self._unknown is None:
                self._pass_over(kind, where)
            else:
                tools.append(self._own_tool(kind, decode(union[kind]), kind))
        return tuple(tools)

    def _own_tool(self, kind: str, fields: Json, name: str) -> Tool:
        named = fields.get("name") if isinstance(fields, dict) else None
        tool = Tool(named if isinstance(named, str) else name, raw={kind: fields})
        if self._unknown is None:
            return tool
        return replace(tool, dialect=NAME, kind=types.HOSTED.get(tool.name, "other"))

    def choice(self, config: types.ToolConfig | None, own: makers.Own | None) -> ToolChoice | None:
        common = config.tool_choice if config is not None else None
        if isinstance(own, makers.Claude) and own.tool_choice is not None:
            if common is not None and self._unknown is None:
                reject("two_choices")
            modes = {"any": "required"}
            mode: Json = modes.get(own.tool_choice.type, own.tool_choice.type)
            return ToolChoice(mode, own.tool_choice.name)
        if common is None:
            return None
        kind = _kind(common, "toolConfig.toolChoice", ("auto", "any", "tool"), self._unknown)
        at = "toolConfig.toolChoice"
        if kind == "tool":
            return ToolChoice("tool", self._decode(common, kind, types.OneTool, at).name)
        if kind not in ("auto", "any"):
            self._pass_over(kind, at)
            return None
        self._decode(common, kind, types.Empty, at)
        return ToolChoice("auto" if kind == "auto" else "required")


_Medium = types.ImageBlock | types.DocumentBlock | types.VideoBlock | types.AudioBlock


def _asks_to_cite(fields: Json) -> bool:
    given = fields.get("citations") if isinstance(fields, dict) else None
    return isinstance(given, dict) and given.get("enabled") is True


def _document(fields: types.DocumentBlock, data: bytes | None, url: str | None) -> Blob | None:
    """Return a document with its settings; its words if it is given as text."""
    media_type = _DOCUMENTS.get(fields.format or "txt", "application/octet-stream")
    if data is None and url is None:
        blocks = fields.source.content or ()
        inside = [each.get("text") for each in blocks if isinstance(each, dict)]
        words = [fields.source.text, *inside]
        text = "\n".join(each for each in words if isinstance(each, str) and each)
        if not text:
            return None
        media_type, data = "text/plain", text.encode("utf-8", "surrogatepass")
    cited = _asks_to_cite({"citations": fields.citations})
    return Blob(media_type, data, url, fields.name, context=fields.context, cited=cited)


def _can_mark(part: Part) -> bool:
    return not isinstance(part, Thinking | UnknownPart | LevelUpdate) and part.cache is None


def _call(fields: types.ToolUseBlock) -> ToolCall:
    given: Json = fields.input
    if isinstance(given, dict) and given.keys() == {_INVALID}:
        given = given[_INVALID]
    return ToolCall(fields.tool_use_id, fields.name, given)


def _bytes(data: str, at: str) -> bytes:
    try:
        return b64decode(data, validate=True)
    except (Error, ValueError):
        reject("base64", at=at)


def _output(config: types.OutputConfig | None) -> OutputFormat | None:
    if config is None or config.text_format is None:
        return None
    shape = config.text_format.structure.json_schema
    try:
        schema = decode(shape.schema)
    except (DecodeError, UnicodeError, RecursionError):
        reject("format_json")
    return OutputFormat(schema) if shape.name is None else OutputFormat(schema, shape.name)
