"""Reads the messages of a request into canon: parts, and calls paired with their results.

Nothing is checked here; what a service refuses of a conversation is in ``rules``.
"""

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

    ``tags`` is whether thinking stands between tags in the text of an assistant. ``others`` are
    raw parts that the wire does not have there, by the numbers of message and part.
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
        """Read a result; one without an id answers the first call that still waits."""
        id_ = message.tool_call_id if isinstance(message, types.ToolAnswer) else None
        call = next((call for call in self._open if not id_ or _given(call) == id_), None)
        if call is not None:
            self._open.remove(call)
        texts = _texts(message.content) if message.content else []
        content = (self._other(number) or _text(text) for number, text in enumerate(texts))
        called = call.id if call is not None else id_ or ""
        self._results.append(ToolResult(called, tuple(content)))

    def _settle(self, parts: tuple[Part, ...] = ()) -> None:
        """Close a run of results; what the user says after them stands in the same message."""
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
            parts += self._said(message.content)
        else:
            for number, part in enumerate(message.content or ()):
                other = self._other(number)
                if number == 0 and other is None and isinstance(part, types.TextPart):
                    parts += self._said(part.text, part)
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

    def _said(self, content: str, part: types.TextPart | None = None) -> list[Part]:
        """Return a text at the beginning of a turn; ``part`` is the part it stands in."""
        if self._tags and (found := _TAGGED.fullmatch(content)):
            opened, thought, closed, rest = found.groups()
            thinking = Thinking(thought, Signature(NAME, {"tags": [opened, closed]}))
            return [thinking, Text(rest)] if rest else [thinking]
        if part is not None:
            return [_text(part)]
        return [Text(content)] if content else []

    def _call(self, call: types.Call, number: int) -> ToolCall | None:
        """Return a call; None for one that names no function."""
        body = call.custom if call.type == "custom" else call.function
        if body is None:
            return None
        seal: dict[str, Json] = {}
        if call.extra_content is not None:
            seal["extra_content"] = call.extra_content
        if isinstance(body, types.Custom):
            seal["type"] = "custom"
            arguments: Json = body.input
        else:
            arguments = _arguments(body.arguments)
        id_ = call.id or make_call_id(f"messages[{self._at}].tool_calls[{number}]", body.name)
        if not call.id:
            seal["id"] = call.id
        sealed = Signature(NAME, seal) if seal else None
        return ToolCall(id_, body.name, arguments, sealed, minted=not call.id)

    # -- a user's turn ---------------------------------------------------------------------------

    def _user(self, message: types.User) -> Iterable[Part]:
        content = message.content
        parts = [types.TextPart(content)] if isinstance(content, str) else content
        for number, part in enumerate(parts):
            yield self._other(number) or _user_part(part)

    def _other(self, number: int) -> _Shown | None:
        """Return a part that stands where the wire has no such part; None where it has."""
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
    """Return the base64 text that a part holds; None where it holds none."""
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
    """Return the bytes of base64 text; None where it is not valid."""
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
    breakpoint_ = None if isinstance(part, types.VideoPart) else part.prompt_cache_breakpoint
    mark = breakpoint_ or part.cache_control
    return None if mark is None else CacheBreakpoint(mark.ttl)


# -- calls ---------------------------------------------------------------------------------------


def _arguments(text: str) -> Json:
    try:
        value = msgspec.json.decode(text) if text.strip() else {}
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text
    return text if isinstance(value, str) else value


def _given(call: ToolCall) -> str:
    """Return the id that the request gave a call; empty where the id is ours."""
    return call.signature.value.get("id") or "" if call.minted and call.signature else call.id


def _older_call(function: types.Function, at: int) -> ToolCall:
    seal = Signature(NAME, {"function_call": True, "id": None})
    id_ = make_call_id(f"messages[{at}].function_call", function.name)
    return ToolCall(id_, function.name, _arguments(function.arguments), seal, minted=True)


def make_call_id(where: str, name: str) -> str:
    """Return an id of our own for a call that has none."""
    digest = hashlib.sha256(f"{where} {name}".encode()).digest()
    return base64.urlsafe_b64encode(digest[:16]).decode().rstrip("=")
