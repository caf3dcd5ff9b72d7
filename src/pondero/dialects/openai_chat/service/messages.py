"""A conversation off the wire, as the service understands it: pairs checked, seals looked at."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import NoReturn

import msgspec

from pondero.canon import (
    Blob,
    Cache,
    Image,
    Json,
    Message,
    Other,
    Part,
    Seal,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

from . import types
from .errors import Denier
from .models import Service
from .seals import stamp
from .types import NAME

_DATA_URL = re.compile(r"data:([^;,]*);base64,(.*)", re.DOTALL)
_TAGGED = re.compile(r"(\s*<think>[\r\n]*)(.*?)([\r\n]*</think>[\r\n]*)(.*)", re.DOTALL)
_SOUNDS = {"wav": "audio/wav", "mp3": "audio/mpeg"}
_PRECEDING = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
    "'tool_calls'."
)
_FOLLOWING = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
    "'tool_call_id'. The following tool_call_ids did not have response messages: "
)


class Reader:
    """Reads the messages of one request, in order."""

    def __init__(self, service: Service, denier: Denier, *, model: str) -> None:
        row = service.find(model)
        self._form = (row and row.form) or service.form
        self._service = service
        self._denier = denier
        self._model = model
        self._messages: list[Message] = []
        self._open: list[ToolCall] = []  # calls that wait for their results
        self._results: list[Part] = []
        self._at = 0

    def read(self, messages: Sequence[types.Message]) -> tuple[tuple[Text, ...], list[Message]]:
        """Return the system prompt and the conversation after it."""
        system: tuple[Text, ...] = ()
        if isinstance(messages[0], types.System | types.Developer):
            system = tuple(map(self._text, _texts(messages[0].content)))
            messages = messages[1:]
            self._at = 1
        for message in messages:
            self._check_words(message)
            match message:
                case types.ToolAnswer() | types.FunctionAnswer():
                    self._answer(message)
                case types.Assistant():
                    self._settle()
                    self._say("assistant", self._assistant(message))
                case types.User():
                    parts = tuple(self._part(part) for part in _parts(message.content))
                    self._settle(parts)
                case _:
                    self._settle()
                    self._say("system", tuple(map(self._text, _texts(message.content))))
            self._at += 1
        self._settle()
        return system, self._messages

    # -- pairs ----------------------------------------------------------------------------------

    def _answer(self, message: types.ToolAnswer | types.FunctionAnswer) -> None:
        id_ = message.tool_call_id if isinstance(message, types.ToolAnswer) else None
        if self._service.strict and isinstance(message, types.ToolAnswer) and not id_:
            self._missing(f"messages[{self._at}].tool_call_id")
        call = next((call for call in self._open if not id_ or _given(call) == id_), None)
        if call is None:
            self._denier.deny(_PRECEDING, param=f"messages.[{self._at}].role")
        self._open.remove(call)
        content: list[types.TextPart] = []
        if message.content:
            content = _texts(message.content)
        self._results.append(ToolResult(call.id, tuple(map(self._text, content))))

    def _settle(self, parts: tuple[Part, ...] = ()) -> None:
        """Close a run of results; what the user says after them stands in the same message."""
        if self._open:
            missing = ", ".join(call.id for call in self._open)
            self._denier.deny(_FOLLOWING + missing, param="messages")
        parts = (*self._results, *parts)
        self._results = []
        if parts:
            self._say("user", parts)

    def _say(self, role: str, parts: tuple[Part, ...]) -> None:
        self._messages.append(Message(role, parts))  # type: ignore[arg-type]  # one of the three

    # -- an assistant's turn --------------------------------------------------------------------

    def _assistant(self, message: types.Assistant) -> tuple[Part, ...]:
        parts: list[Part] = [*self._thoughts(message)]
        if isinstance(message.content, str):
            parts += self._spoken(message.content)
        else:
            parts += (self._assistant_part(part) for part in message.content or ())
        if message.refusal is not None:
            parts.append(Text(message.refusal, Seal(NAME, {"refusal": True})))
        if message.audio is not None:
            parts.append(Other(NAME, {"audio": {"id": message.audio.id}}))
        calls = [self._call(call, number) for number, call in enumerate(message.tool_calls or ())]
        if message.function_call is not None:
            calls.append(_older_call(message.function_call, self._at))
        if not parts and not calls and message.content is None:
            where = f"messages.[{self._at}].content"
            text = f"Invalid value for 'content': expected a string, got null. ({where})"
            self._denier.deny(text, param=where)
        self._open = calls
        return (*parts, *calls)

    def _thoughts(self, message: types.Assistant) -> Iterable[Thinking]:
        if message.reasoning_details:
            self._check_seals(message.reasoning_details)
            texts = (d.get("text") or d.get("summary") or "" for d in message.reasoning_details)
            text = "".join(each for each in texts if isinstance(each, str))
            yield Thinking(text, Seal(NAME, {"reasoning_details": message.reasoning_details}))
            return
        for field in ("reasoning_content", "reasoning", "reasoning_text"):
            if text := getattr(message, field):
                yield Thinking(text, Seal(NAME, {field: True}))
                return

    def _check_seals(self, details: list[dict[str, Json]]) -> None:
        if self._service.thinking != "reasoning_details":
            return
        words = ""
        for number, detail in enumerate(details):
            words = str(detail.get("text") or detail.get("summary") or words)
            seal = detail.get("data", detail.get("signature"))
            is_sealed = "data" in detail or self._form == "signed"
            if is_sealed and seal != stamp(words, model=self._model):
                where = f"messages[{self._at}].reasoning_details[{number}]"
                upstream = self._service.bad_seal_upstream
                self._denier.deny(self._service.bad_seal, param=where, upstream=upstream)

    def _spoken(self, content: str) -> list[Part]:
        if self._service.thinking == "think_tags" and (found := _TAGGED.fullmatch(content)):
            opened, thought, closed, rest = found.groups()
            thinking = Thinking(thought, Seal(NAME, {"tags": [opened, closed]}))
            return [thinking, Text(rest)] if rest else [thinking]
        return [Text(content)] if content else []

    def _assistant_part(self, part: types.AssistantPart) -> Part:
        match part:
            case types.RefusalPart():
                return Text(part.refusal, Seal(NAME, {"refusal": True}))
            case types.ThinkingPart():
                texts = part.thinking
                text = texts if isinstance(texts, str) else "".join(each.text for each in texts)
                rest = {"closed": part.closed, "signature": part.signature}
                chunk = {key: value for key, value in rest.items() if value is not None}
                return Thinking(text, Seal(NAME, {"chunk": chunk}))
            case _:
                return self._text(part)

    def _call(self, call: types.Call, number: int) -> ToolCall:
        where = f"messages[{self._at}].tool_calls[{number}]"
        body = call.custom if call.type == "custom" else call.function
        if body is None or (self._service.strict and not call.id):
            self._missing(f"{where}.{'id' if body is not None else call.type}")
        seal: dict[str, Json] = {}
        if call.extra_content is not None:
            seal["extra_content"] = call.extra_content
        if isinstance(body, types.Custom):
            seal["type"] = "custom"
            arguments: Json = body.input
        else:
            arguments = _arguments(body.arguments)
        if self._service.call_ids and not re.fullmatch(self._service.call_ids, call.id or ""):
            self._denier.say("call_id", param=f"{where}.id", id=call.id)
        id_ = call.id or _mint(where, body.name)
        if not call.id:
            seal["id"] = call.id
        sealed = Seal(NAME, seal) if seal else None
        return ToolCall(id_, body.name, arguments, sealed, minted=not call.id)

    def _missing(self, param: str) -> NoReturn:
        message = f"Missing required parameter: '{param}'."
        self._denier.deny(message, param=param, code="missing_required_parameter")

    # -- content --------------------------------------------------------------------------------

    def _text(self, part: types.TextPart) -> Text:
        return Text(part.text, cache=_cache(part))

    def _part(self, part: types.UserPart) -> Part:
        match part:
            case types.TextPart():
                return self._text(part)
            case types.ImagePart():
                media_type, data = self._data(part.image_url.url)
                url = part.image_url.url if data is None else None
                return Image(media_type, data, url, part.image_url.detail, _cache(part))
            case types.AudioPart():
                kind = _SOUNDS[part.input_audio.format]
                data = self._decoded(part.input_audio.data)
                return Blob(kind, data, cache=_cache(part))
            case types.FilePart():
                return self._file(part)
            case _:
                media_type, data = self._data(part.video_url.url)
                url = part.video_url.url if data is None else None
                return Blob(media_type or "video/mp4", data, url, cache=_cache(part))

    def _file(self, part: types.FilePart) -> Part:
        file = part.file
        if file.file_data is None:
            return Other(NAME, {"type": "file", "file": msgspec.to_builtins(file)})
        media_type, data = self._data(file.file_data)
        url = file.file_data if data is None else None
        kind = media_type or "application/octet-stream"
        return Blob(kind, data, url, file.filename, _cache(part))

    def _data(self, url: str) -> tuple[str | None, bytes | None]:
        found = _DATA_URL.fullmatch(url)
        return (found[1] or None, self._decoded(found[2])) if found else (None, None)

    def _decoded(self, data: str) -> bytes:
        try:
            return base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            text = "Invalid base64 data in the request."
            self._denier.deny(text, param="messages", code="invalid_base64")

    # -- what a strict service does not know -----------------------------------------------------

    def _check_words(self, message: types.Message) -> None:
        if not self._service.strict:
            return
        where = f"messages[{self._at}]"
        for field in ("reasoning_content", "reasoning", "reasoning_text", "reasoning_details"):
            if getattr(message, field, None) is not None:
                self._check_word(field, f"{where}.{field}")
        for number, call in enumerate(getattr(message, "tool_calls", None) or ()):
            if call.extra_content is not None:
                self._check_word("extra_content", f"{where}.tool_calls[{number}].extra_content")
        content = getattr(message, "content", None)
        for number, part in enumerate(content if isinstance(content, list) else ()):
            if isinstance(part, types.ThinkingPart | types.VideoPart):
                self._check_word(str(part.__struct_config__.tag), f"{where}.content[{number}].type")
            if getattr(part, "cache_control", None) is not None:
                self._check_word("cache_control", f"{where}.content[{number}].cache_control")

    def _check_word(self, word: str, param: str) -> None:
        if word not in self._service.words:
            self._denier.unknown(param)


def _texts(content: str | list[types.TextPart]) -> list[types.TextPart]:
    return [types.TextPart(content)] if isinstance(content, str) else content


def _parts(content: str | list[types.UserPart]) -> Sequence[types.UserPart]:
    return [types.TextPart(content)] if isinstance(content, str) else content


def _cache(part: Json) -> Cache | None:
    mark = getattr(part, "prompt_cache_breakpoint", None) or part.cache_control
    return None if mark is None else Cache(mark.ttl)


def _arguments(text: str) -> Json:
    try:
        value = msgspec.json.decode(text) if text.strip() else {}
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text
    return text if isinstance(value, str) else value


def _given(call: ToolCall) -> str:
    return call.seal.value.get("id") or "" if call.minted and call.seal else call.id


def _older_call(function: types.Function, at: int) -> ToolCall:
    seal = Seal(NAME, {"function_call": True, "id": None})
    id_ = _mint(f"messages[{at}].function_call", function.name)
    return ToolCall(id_, function.name, _arguments(function.arguments), seal, minted=True)


def _mint(where: str, name: str) -> str:
    digest = hashlib.sha256(f"{where} {name}".encode()).digest()
    return base64.urlsafe_b64encode(digest[:16]).decode().rstrip("=")
