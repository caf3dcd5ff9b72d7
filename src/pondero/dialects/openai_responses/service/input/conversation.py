"""Reads input items into messages, for ``parse`` and ``rules``."""

import json
import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterable

import msgspec

from pondero.canon import (
    Blob,
    CacheBreakpoint,
    Image,
    Json,
    Message,
    Part,
    Role,
    Signature,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownPart,
)
from pondero.dialects.bodies import UnknownFields
from pondero.dialects.dialect import Rejected

from ..errors import reject, reject_invalid
from ..types import (
    ANSWERED,
    ANY_ITEMS,
    GIVEN,
    HOSTED,
    ITEMS,
    NAME,
    Breakpoint,
    CallOutput,
    CustomCall,
    FunctionCall,
    InputAudio,
    InputFile,
    InputImage,
    InputMessage,
    InputText,
    OutputText,
    ReasoningItem,
    Strict,
)
from .validation import read, read_kind

_INLINE = re.compile(r"data:([^;,]*);base64,(.*)", re.DOTALL)
_OF_CALLERS = frozenset({
    "additional_tools", "apply_patch_call_output", "compaction_trigger", "computer_call_output",
    "configuration_update", "local_shell_call_output", "mcp_approval_response",
})  # fmt: skip

_SOURCES: dict[type, tuple[str, ...]] = {
    InputImage: ("file_id", "image_url"),
    InputFile: ("file_data", "file_id", "file_url"),
}


class Conversation:
    """Collects messages; with ``unknown``, invalid items become ``UnknownPart`` and are listed."""

    def __init__(
        self, *, model: str, route: str | None, unknown: UnknownFields | None = None
    ) -> None:
        self._model = model
        self._route = route
        self._unknown = unknown
        self._done: list[Message] = []
        self._role: Role | None = None
        self._parts: list[Part] = []
        self._spoken = False  # the message being filled has content, not only tool results
        self._after: str | None = None  # the id of the latest thinking in the answer being filled

    @property
    def messages(self) -> tuple[Message, ...]:
        """Return the messages so far."""
        self._turn(None)
        return tuple(self._done)

    def add(self, raw: Json, number: int) -> None:
        """Take the next item, or reject it."""
        at = f"input[{number}]"
        kind = read_kind(raw, at=at, otherwise="message")
        if self._unknown is None or kind == "message":
            self._add(raw, kind, at)
            return
        try:
            self._add(raw, kind, at)
        except Rejected:
            self._unknown.paths.append(at)
            self._keep(raw, callers=kind in _OF_CALLERS or kind.endswith("_output"))

    def _add(self, raw: Json, kind: str, at: str) -> None:
        if kind in HOSTED:
            self._add_hosted(raw, kind, at)
            return
        if kind not in ITEMS:
            reject_invalid(kind, sorted((*ITEMS, *HOSTED)), param=f"{at}.type")
        kinds = ITEMS if self._unknown is None else ANY_ITEMS
        item = read(raw, kinds[kind], at=at, unknown=self._unknown)
        match item:
            case InputMessage():
                self._message(item, raw, at)
            case ReasoningItem():
                self._thinking(item, raw)
            case FunctionCall() | CustomCall():
                self._call(item, raw)
            case CallOutput():
                self._result(item, at)

    def _turn(self, role: Role | None, *, spoken: bool = False) -> None:
        """Begin another message unless this role, and this item, can join the one being filled."""
        again = role is not None and role != "assistant" and spoken and self._spoken
        if role == self._role and not again and role != "system":
            self._spoken = self._spoken or spoken
            return
        if self._role is not None and self._parts:
            self._done.append(Message(self._role, tuple(self._parts)))
        self._role, self._parts, self._spoken, self._after = role, [], spoken, None

    # -- the caller's ----------------------------------------------------------------------------

    def _message(self, item: InputMessage, raw: Json, at: str) -> None:
        if item.role == "assistant":
            self._answer(item, raw, at)
            return
        self._turn("user" if item.role == "user" else "system", spoken=True)
        self._parts += parse_content(item.content, at=f"{at}.content", unknown=self._unknown)

    def _result(self, item: CallOutput, at: str) -> None:
        self._turn("user")
        where, unknown = f"{at}.output", self._unknown
        parts = parse_content(item.output, at=where, unknown=unknown) if item.output else ()
        content = tuple(
            part for part in parts if isinstance(part, Text | Image | Blob | UnknownPart)
        )
        self._parts.append(ToolResult(item.call_id, content))

    def _add_hosted(self, raw: Json, kind: str, at: str) -> None:
        for name in HOSTED[kind]:
            if name not in raw:
                reject("missing", param=f"{at}.{name}")
        callers = kind in _OF_CALLERS or (kind == "shell_call_output" and "id" not in raw)
        self._keep(raw, callers=callers)

    def _keep(self, raw: Json, *, callers: bool) -> None:
        self._turn("user" if callers else "assistant")
        after = {} if self._after is None else {"after": self._after}
        self._parts.append(UnknownPart(NAME, raw, self._sign(after)))

    # -- the model's -----------------------------------------------------------------------------

    def _answer(self, item: InputMessage, raw: Json, at: str) -> None:
        self._turn("assistant")
        value = self._follower(
            {key: raw[key] for key in ("id", "status", "phase") if raw.get(key) is not None}
        )
        if isinstance(item.content, str):
            self._parts.append(Text(item.content, self._sign(value)))
            return
        for number, content in enumerate(item.content):
            where = f"{at}.content[{number}]"
            part = _content(content, ANSWERED, at=where, unknown=self._unknown)
            if part is None:
                self._parts.append(UnknownPart(NAME, content))
            elif isinstance(part, OutputText):
                cited = tuple(part.annotations or ())
                self._parts.append(Text(part.text, self._sign(value), cited))
            else:
                signature = self._sign({**value, "part": "refusal"})
                self._parts.append(Text(content["refusal"], signature))

    def _thinking(self, item: ReasoningItem, raw: Json) -> None:
        self._turn("assistant")
        texts = [each.text for each in (*item.summary, *(item.content or ())) if each.text]
        value = {key: each for key, each in raw.items() if key != "type" and each is not None}
        self._parts.append(Thinking("\n\n".join(texts), self._sign(value)))
        self._after = item.id

    def _call(self, item: FunctionCall | CustomCall, raw: Json) -> None:
        self._turn("assistant")
        own = ("type", "call_id", "name", "arguments", "input")
        value = self._follower(
            {key: each for key, each in raw.items() if key not in own and each is not None}
        )
        if isinstance(item, CustomCall):
            arguments: Json = item.input
            value["type"] = item.type
        else:
            arguments = _arguments(item.arguments, value)
        self._parts.append(ToolCall(item.call_id, item.name, arguments, self._sign(value)))

    def _follower(self, item: dict[str, Json]) -> dict[str, Json]:
        value: dict[str, Json] = {"item": item} if item or self._after is not None else {}
        if self._after is not None:
            value["after"] = self._after
        return value

    def _sign(self, value: dict[str, Json]) -> Signature | None:
        return Signature(NAME, value, self._model, self._route) if value else None


def arguments_text(arguments: Json) -> str:
    """Format the arguments of a call; text that was not JSON stays unchanged."""
    if isinstance(arguments, str):
        return arguments
    try:
        return msgspec.json.encode(arguments).decode()
    except (OverflowError, UnicodeEncodeError):
        return json.dumps(arguments, separators=(",", ":"))


def _arguments(text: str, value: dict[str, Json]) -> Json:
    """Parse the arguments; ``value`` gets their text if encoding would change it."""
    try:
        arguments = msgspec.json.decode(text) if text else {}
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text
    if isinstance(arguments, str):
        return text
    if arguments_text(arguments) != text:
        value["arguments"] = text
    return arguments


def parse_content(
    content: str | list[Json], *, at: str, unknown: UnknownFields | None
) -> Iterable[Part]:
    """Return the parts of a caller's content."""
    if isinstance(content, str):
        return (Text(content),)
    return [
        _parse_part(raw, at=f"{at}[{number}]", unknown=unknown)
        for number, raw in enumerate(content)
    ]


def _content(
    raw: Json, kinds: dict[str, type[Strict]], *, at: str, unknown: UnknownFields | None
) -> Strict | None:
    try:
        kind = read_kind(raw, at=at)
        if kind not in kinds:
            reject_invalid(kind, kinds, param=f"{at}.type")
        return read(raw, kinds[kind], at=at, unknown=unknown)
    except Rejected:
        if unknown is None:
            raise
        unknown.paths.append(at)
        return None


def _parse_part(raw: Json, *, at: str, unknown: UnknownFields | None) -> Part:
    part = _content(raw, GIVEN, at=at, unknown=unknown)
    if unknown is None and isinstance(part, InputImage | InputFile):
        names = _SOURCES[type(part)]
        if all(getattr(part, name) is None for name in names):
            reject("no_source", param=at, names=", ".join(f"'{name}'" for name in names))
    try:
        return _canon(part, raw, at=at)
    except Rejected:
        if unknown is None:
            raise
        unknown.paths.append(at)
        return UnknownPart(NAME, raw)


def _canon(part: Strict | None, raw: Json, *, at: str) -> Part:
    match part:
        case InputText():
            return Text(part.text, cache=_cache(part.prompt_cache_breakpoint))
        case InputImage() if part.image_url is not None:
            return _image(part, part.image_url, at)
        case InputFile() if part.file_data is not None or part.file_url is not None:
            return _file(part, at)
        case InputAudio():
            sound = part.input_audio
            media = "audio/wav" if sound.format == "wav" else "audio/mpeg"
            return Blob(media, data=_bytes(sound.data, f"{at}.input_audio.data"))
        case _:
            return UnknownPart(NAME, raw)


def _image(part: InputImage, url: str, at: str) -> Image:
    cache = _cache(part.prompt_cache_breakpoint)
    if inline := _INLINE.fullmatch(url):
        data = _bytes(inline[2], f"{at}.image_url")
        return Image(inline[1], data=data, detail=part.detail, cache=cache)
    if not url.startswith(("http://", "https://")):
        reject("image_url", param=f"{at}.image_url")
    return Image(url=url, detail=part.detail, cache=cache)


def _file(part: InputFile, at: str) -> Part:
    cache = _cache(part.prompt_cache_breakpoint)
    if part.file_url is not None:
        media = "application/pdf" if part.file_url.endswith(".pdf") else "application/octet-stream"
        return Blob(media, url=part.file_url, name=part.filename, cache=cache)
    inline = _INLINE.fullmatch(part.file_data or "")
    if inline is None:
        reject("file_data", param=f"{at}.file_data")
    data = _bytes(inline[2], f"{at}.file_data")
    # The caller's side sends a nameless file with this name, because the wire requires one.
    nameless = part.filename == f"file.{inline[1].rpartition('/')[2]}"
    return Blob(inline[1], data=data, name=None if nameless else part.filename, cache=cache)


def _bytes(text: str, param: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (NotBase64, ValueError):
        reject("base64", param=param)


def _cache(point: Breakpoint | None) -> CacheBreakpoint | None:
    return None if point is None else CacheBreakpoint(point.ttl)
