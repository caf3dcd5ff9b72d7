"""Reads the content of a message into canon parts: blocks, results and media."""

from base64 import b64decode
from binascii import Error
from collections.abc import Iterable, Iterator

from msgspec import MsgspecError, Raw
from msgspec.json import decode, encode
from msgspec.structs import replace

from pondero.canon import (
    Blob,
    CacheBreakpoint,
    Image,
    Json,
    Part,
    Signature,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownPart,
    decode_json,
)
from pondero.dialects.bodies import UnknownFields
from pondero.dialects.dialect import Rejected

from . import types
from .checks import field_types
from .decode import decode_lenient, decode_strict
from .errors import reject
from .own_blocks import describe_block
from .types import NAME

_INVALID = "INVALID_JSON"  # holds the arguments of a call that are not an object


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
        reject(
            "block_type", at=at, kind=kind, tags=quote_tags(sorted({*types.TYPED, *types.UNTYPED}))
        )
    fields = decode_strict(raw, types.TYPED[kind], f"{at}.{kind}")
    if isinstance(fields, types.TextBlock) and fields.citations:
        decode_strict(raw, field_types.CitedText, f"{at}.{kind}")
    return kind, fields


def _decode_whole(raw: Raw) -> types.Typed | None:
    """Return a block's fields if all of it is as we know it; None if it needs a closer look."""
    try:
        return decode_json(raw, types.LOOSE[decode_json(raw, types.TypeOnly).type])
    except (MsgspecError, UnicodeDecodeError, RecursionError, KeyError):
        return None


def _known_block(raw: Raw, kind: str, at: str, unknown: UnknownFields) -> types.Typed | None:
    """Return a block's fields, read leniently; list its path and return None if they do not fit."""
    try:
        if kind in types.LOOSE:
            return decode_lenient(raw, types.LOOSE[kind], unknown, at)
    except Rejected:
        pass
    unknown.paths.append(at)
    return None


def quote_tags(tags: Iterable[str]) -> str:
    """Return the tags of a union as the service lists them."""
    return ", ".join(f"'{tag}'" for tag in tags)


def read_content(
    content: str | list[Raw], at: str, unknown: UnknownFields | None
) -> tuple[Part, ...]:
    """Return the parts of a message's content."""
    if isinstance(content, str):
        return (Text(content),)
    return tuple(
        [
            part
            for number, raw in enumerate(content)
            for part in _parts(raw, f"{at}.content.{number}", unknown)
        ]
    )


def _parts(raw: Raw, at: str, unknown: UnknownFields | None) -> tuple[Part, ...]:
    """Return the parts of a block: nearly always one."""
    fields = _decode_whole(raw) if unknown is not None else None
    if fields is None:
        _, fields = block(raw, at, unknown)
    if isinstance(fields, types.TextBlock):
        return (read_text(fields),)
    if (
        unknown is not None
        and isinstance(fields, types.DocumentBlock)
        and isinstance(fields.source, types.ContentSource)
    ):
        return _blocks_of_document(fields, fields.source.content, at, unknown)
    return (_part(fields, raw, at, unknown),)


def _blocks_of_document(
    fields: types.DocumentBlock, content: Json, at: str, unknown: UnknownFields
) -> tuple[Part, ...]:
    """Return a document given as blocks in words and pictures, which every service has."""
    if fields.citations is not None:
        unknown.paths.append(f"{at}.citations")
    parts: list[Part] = [Text(each) for each in (fields.title, fields.context) if each]
    if isinstance(content, str):
        parts.append(Text(content))
    for number, each in enumerate(content if isinstance(content, list) else ()):
        within = f"{at}.source.content.{number}"
        if isinstance(each, dict) and isinstance(each.get("type"), str):
            parts += _parts(Raw(encode(each)), within, unknown)
        else:
            unknown.paths.append(within)
    parts = _join_texts(parts)
    cache = read_cache(fields.cache_control)
    if cache is not None and parts and isinstance(last := parts[-1], Text | Image):
        parts[-1] = replace(last, cache=cache)
    return tuple(parts)


def _join_texts(parts: list[Part]) -> list[Part]:
    joined: list[Part] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, Text) and isinstance(last, Text):
            joined[-1] = Text(f"{last.text}\n{part.text}")
        else:
            joined.append(part)
    return joined


def _part(fields: types.Typed | None, raw: Raw, at: str, unknown: UnknownFields | None) -> Part:
    match fields:
        case types.TextBlock():
            return read_text(fields)
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
            return _own(raw, at, unknown)


def _own(raw: Raw, at: str, unknown: UnknownFields | None) -> Text | UnknownPart:
    block: Json = decode(raw)
    said = describe_block(block) if unknown is not None and isinstance(block, dict) else None
    if said is not None and unknown is not None and asks_to_cite(block.get("citations")):
        unknown.paths.append(f"{at}.citations")
    return UnknownPart(NAME, block) if said is None else Text(said)


def read_text(fields: types.TextBlock) -> Text:
    """Return a text with its citations and its cache breakpoint."""
    if fields.citations is None and fields.cache_control is None:  # nearly always
        return Text(fields.text)
    citations = tuple(fields.citations or ())
    return Text(fields.text, citations=citations, cache=read_cache(fields.cache_control))


def _call(fields: types.ToolUseBlock) -> ToolCall:
    given: Json = fields.input
    if isinstance(given, dict) and given.keys() == {_INVALID}:
        given = given[_INVALID]
    further = {"caller": fields.caller, "toolset_name": fields.toolset_name}
    kept = {key: value for key, value in further.items() if value is not None}
    signature = Signature(NAME, kept) if kept else None
    return ToolCall(
        fields.id, fields.name, given, signature, cache=read_cache(fields.cache_control)
    )


def _result(fields: types.ToolResultBlock, at: str, unknown: UnknownFields | None) -> ToolResult:
    content: tuple[Json, ...] = ()
    # The service's rejections have the block's type in their paths; the paths we list do not.
    within = f"{at}.content" if unknown is not None else f"{at}.tool_result.content"
    if isinstance(fields.content, str):
        content = (Text(fields.content),)
    elif fields.content is not None:
        content = tuple(
            part
            for number, raw in enumerate(fields.content)
            for part in _inner(raw, f"{within}.{number}", unknown)
        )
    return ToolResult(
        fields.tool_use_id,
        content,
        error=bool(fields.is_error),
        cache=read_cache(fields.cache_control),
    )


def _inner(
    raw: Raw, at: str, unknown: UnknownFields | None
) -> Iterator[Text | Image | Blob | UnknownPart]:
    if decode_strict(raw, types.TypeOnly, at).type in types.UNTYPED_RESULTS:
        yield _own(raw, at, unknown)
        return
    for part in _parts(raw, at, unknown):
        if isinstance(part, Text | Image | Blob | UnknownPart):
            yield part
            continue
        if unknown is None:
            reject("result_content", at=at)
        unknown.paths.append(at)
        yield UnknownPart(NAME, decode(raw))


def _medium(
    fields: types.ImageBlock | types.DocumentBlock, raw: Raw, at: str, unknown: UnknownFields | None
) -> Part:
    source = fields.source
    cache = read_cache(fields.cache_control)
    picture = isinstance(fields, types.ImageBlock)
    title: str | None = None
    settings: dict[str, Json] = {}
    if isinstance(fields, types.ImageBlock):
        special = fields.transformations is not None
        if special and unknown is not None:
            unknown.paths.append(f"{at}.transformations")
    else:
        special = fields.citations is not None or fields.context is not None
        title = fields.title
        settings = {"context": fields.context, "cited": asks_to_cite(fields.citations)}
    if special and unknown is None:
        return UnknownPart(NAME, decode(raw))
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
            return Blob(source.media_type, data, name=title, cache=cache, **settings)
        case types.UrlSource():
            if picture:
                return Image(url=source.url, cache=cache)
            return Blob("application/pdf", url=source.url, name=title, cache=cache, **settings)
        case types.TextSource():
            data = source.data.encode()
            return Blob("text/plain", data, name=title, cache=cache, **settings)
    return _own(raw, at, unknown)


def asks_to_cite(citations: Json) -> bool:
    """Return whether the answer is to cite a document."""
    return isinstance(citations, dict) and citations.get("enabled") is True


def _bytes(data: str) -> bytes | None:
    try:
        return b64decode(data, validate=True)
    except (Error, ValueError):
        return None


def read_cache(control: types.CacheControl | None) -> CacheBreakpoint | None:
    """Return a cache breakpoint, if there is one."""
    return None if control is None else CacheBreakpoint(control.ttl)
