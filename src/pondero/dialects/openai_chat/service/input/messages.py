"""Reads messages into canon and pairs calls with results; checks nothing, ``rules`` does."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from pondero.canon import (
    Blob,
    CacheBreakpoint,
    Image,
    Json,
    Message,
    Part,
    Signature,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownPart,
    convert_json,
)

from .. import types
from ..types import NAME

_DATA_URL = re.compile(r"data:([^;,]*);base64,(.*)", re.DOTALL)
_TAGGED = re.compile(r"(\s*<think>[\r\n]*)(.*?)([\r\n]*</think>[\r\n]*)(.*)", re.DOTALL)
_Shown = Text | Image | Blob | UnknownPart
_SOUNDS = {"wav": "audio/wav", "mp3": "audio/mpeg"}


class Reader:
    """Reads the messages of one request, in order.

    ``tags``: an assistant's text can begin with thinking between tags. ``others``: raw parts that
    the wire does not have there, by the numbers of message and part.
    """

    def __init__(self, *, tags: bool, others: Mapping[tuple[int, int], Json]) -> None:
        self._tags = tags
        self._others = others
        self._messages: list[Message] = []
        self._open: list[ToolCall] = []  # calls that wait for their results
        self._results: list[Part] = []
        self._at = 0

    def read(self, messages: Sequence[types.Message]) -> tuple[tuple[Text, ...], list[Message]]:
        """Return the system prompt and the conversation after it."""
        system: tuple[Text, ...] = ()
        if isinstance(messages[0], types.System | types.Developer):
            system = tuple(map(_text, _texts(messages[0].content)))
            messages = messages[1:]
            self._at = 1
        for message in messages:
            match message:
                case types.ToolAnswer() | types.FunctionAnswer():
                    self._answer(message)
                case types.Assistant():
                    self._settle()
                    self._add("assistant", self._assistant(message))
                case types.User():
                    self._settle(tuple(self._user(message)))
                case _:
                    self._settle()
                    self._add("system", tuple(map(_text, _texts(message.content))))
            self._at += 1
        self._settle()
        return system, self._messages

    # -- pairs -----------------------------------------------------------------------------------

    def _answer(self, message: types.ToolAnswer | types.FunctionAnswer) -> None:
        id_ = message.tool_call_id if isinstance(message, types.ToolAnswer) else None
        call = next((call for call in self._open if not id_ or _find_given_id(call) == id_), None)
        if call is not None:
            self._open.remove(call)
        texts = _texts(message.content) if message.content else []
        content = (self._other(number) or _text(text) for number, text in enumerate(texts))
        called = call.id if call is not None else id_ or ""
        self._results.append(ToolResult(called, tuple(content)))

    def _settle(self, parts: tuple[Part, ...] = ()) -> None:
        self._open = []
        parts = (*self._results, *parts)
        self._results = []
        if parts:
            self._add("user", parts)

    def _add(self, role: Literal["system", "user", "assistant"], parts: tuple[Part, ...]) -> None:
        self._messages.append(Message(role, parts))

    # -- an assistant's turn ---------------------------------------------------------------------

    def _assistant(self, message: types.Assistant) -> tuple[Part, ...]:
        parts: list[Part] = [*_thinking(message)]
        if isinstance(message.content, str):
            parts += self._read_text(message.content)
        else:
            for number, part in enumerate(message.content or ()):
                other = self._other(number)
                if number == 0 and other is None and isinstance(part, types.TextPart):
                    parts += self._read_text(part.text, part)
                else:
                    parts.append(other or _assistant_part(part))
        if message.refusal is not None:
            parts.append(Text(message.refusal, Signature(NAME, {"refusal": True})))
        if message.audio is not None:
            parts.append(UnknownPart(NAME, {"audio": {"id": message.audio.id}}))
        read = (self._call(call, number) for number, call in enumerate(message.tool_calls or ()))
        calls = [call for call in read if call is not None]
        if message.function_call is not None:
            calls.append(_older_call(message.function_call, self._at))
        self._open = calls
        return (*parts, *calls)

    def _read_text(self, content: str, part: types.TextPart | None = None) -> list[Part]:
        if self._tags and (found := _TAGGED.fullmatch(content)):
            opened, thought, closed, rest = found.groups()
            thinking = Thinking(thought, Signature(NAME, {"tags": [opened, closed]}))
            return [thinking, Text(rest)] if rest else [thinking]
        if part is not None:
            return [_text(part)]
        return [Text(content)] if content else []

    def _call(self, call: types.Call, number: int) -> ToolCall | None:
        """Read a call; None if it names no function."""
        body = call.custom if call.type == "custom" else call.function
        if body is None:
            return None
        value: dict[str, Json] = {}
        if call.extra_content is not None:
            value["extra_content"] = call.extra_content
        if isinstance(body, types.Custom):
            value["type"] = "custom"
            arguments: Json = body.input
        else:
            arguments = _arguments(body.arguments)
        id_ = call.id or make_call_id(f"messages[{self._at}].tool_calls[{number}]", body.name)
        if not call.id:
            value["id"] = call.id
        signature = Signature(NAME, value) if value else None
        return ToolCall(id_, body.name, arguments, signature, minted=not call.id)

    # -- a user's turn ---------------------------------------------------------------------------

    def _user(self, message: types.User) -> Iterable[Part]:
        content = message.content
        parts = [types.TextPart(content)] if isinstance(content, str) else content
        for number, part in enumerate(parts):
            yield self._other(number) or _user_part(part)

    def _other(self, number: int) -> _Shown | None:
        """Read a part that the wire does not have at this place; None if it has."""
        raw = self._others.get((self._at, number))
        if raw is None:
            return None
        try:
            return _user_part(convert_json(raw, types.UserPart))
        except msgspec.ValidationError:
            return UnknownPart(NAME, raw)


def _thinking(message: types.Assistant) -> Iterable[Thinking]:
    fields = {
        "reasoning_content": message.reasoning_content,
        "reasoning": message.reasoning,
        "reasoning_text": message.reasoning_text,
    }
    field, said = next(((key, said) for key, said in fields.items() if said), ("", ""))
    if message.reasoning_details:
        texts = (d.get("text") or d.get("summary") or "" for d in message.reasoning_details)
        text = "".join(each for each in texts if isinstance(each, str)) or said
        yield Thinking(text, Signature(NAME, {"reasoning_details": message.reasoning_details}))
    elif said:
        yield Thinking(said, Signature(NAME, {field: True}))


# -- parts ---------------------------------------------------------------------------------------


def _assistant_part(part: types.AssistantPart) -> Part:
    match part:
        case types.RefusalPart():
            return Text(part.refusal, Signature(NAME, {"refusal": True}))
        case types.ThinkingPart():
            texts = part.thinking
            text = texts if isinstance(texts, str) else "".join(each.text for each in texts)
            rest = {"closed": part.closed, "signature": part.signature}
            chunk = {key: value for key, value in rest.items() if value is not None}
            return Thinking(text, Signature(NAME, {"chunk": chunk}))
        case _:
            return _text(part)


def _user_part(part: types.UserPart) -> _Shown:
    if isinstance(part, types.TextPart):
        return _text(part)
    encoded = base64_in(part)
    data = None if encoded is None else decode_base64(encoded)
    if encoded is not None and data is None:
        return UnknownPart(NAME, msgspec.to_builtins(part))
    cache = _cache(part)
    match part:
        case types.AudioPart():
            return Blob(_SOUNDS[part.input_audio.format], data, cache=cache)
        case types.ImagePart():
            url = part.image_url.url
            shown = url if data is None else None
            return Image(_media_type(url), data, shown, part.image_url.detail, cache)
        case types.FilePart(file=file):
            if file.file_data is None:
                return UnknownPart(NAME, {"type": "file", "file": msgspec.to_builtins(file)})
            url = file.file_data
            kind = _media_type(url) or "application/octet-stream"
            return Blob(kind, data, url if data is None else None, file.filename, cache)
        case _:
            url = part.video_url.url
            kind = _media_type(url) or "video/mp4"
            return Blob(kind, data, url if data is None else None, cache=cache)


def base64_in(part: types.UserPart) -> str | None:
    """Return the base64 text in a part; None if there is none."""
    match part:
        case types.AudioPart():
            return part.input_audio.data
        case types.ImagePart():
            url = part.image_url.url
        case types.FilePart():
            url = part.file.file_data or ""
        case types.VideoPart():
            url = part.video_url.url
        case _:
            return None
    found = _DATA_URL.fullmatch(url)
    return found[2] if found else None


def decode_base64(data: str) -> bytes | None:
    """Decode base64 text; None if it is invalid."""
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None


def _media_type(url: str) -> str | None:
    found = _DATA_URL.fullmatch(url)
    return found[1] or None if found else None


def _text(part: types.TextPart) -> Text:
    return Text(part.text, cache=_cache(part))


def _texts(content: str | list[types.TextPart]) -> list[types.TextPart]:
    return [types.TextPart(content)] if isinstance(content, str) else content


def _cache(part: types.UserPart) -> CacheBreakpoint | None:
    own = None if isinstance(part, types.VideoPart) else part.prompt_cache_breakpoint
    point = own or part.cache_control
    return None if point is None else CacheBreakpoint(point.ttl)


# -- calls ---------------------------------------------------------------------------------------


def _arguments(text: str) -> Json:
    try:
        value = msgspec.json.decode(text) if text.strip() else {}
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text
    return text if isinstance(value, str) else value


def _find_given_id(call: ToolCall) -> str:
    return call.signature.value.get("id") or "" if call.minted and call.signature else call.id


def _older_call(function: types.Function, at: int) -> ToolCall:
    signature = Signature(NAME, {"function_call": True, "id": None})
    id_ = make_call_id(f"messages[{at}].function_call", function.name)
    return ToolCall(id_, function.name, _arguments(function.arguments), signature, minted=True)


def make_call_id(where: str, name: str) -> str:
    """Make an id for a call that has none."""
    digest = hashlib.sha256(f"{where} {name}".encode()).digest()
    return base64.urlsafe_b64encode(digest[:16]).decode().rstrip("=")
