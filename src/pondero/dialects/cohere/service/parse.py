"""Reads a body into the service's types, then canon; ``parse`` is lenient and has no rules."""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from pondero.canon import (
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
    ToolResult,
    UnknownPart,
    convert_json,
    dump_json,
)
from pondero.dialects.bodies import UnknownFields
from pondero.dialects.dialect import OwnPaths, ParsedRequest
from pondero.framing import UNREADABLE
from pondero.thinking import UNSET, Intent

from . import types
from .errors import reject, reject_types
from .types import NAME

CHOICES: dict[str, Literal["none", "required"]] = {"NONE": "none", "REQUIRED": "required"}
_PATH = "/v2/chat"
_DATA_URL = re.compile(r"data:([^;,]*);base64,(.*)", re.DOTALL)
_SAID = (
    *("model", "messages", "stream", "tools", "strict_tools", "tool_choice", "response_format"),
    *("max_tokens", "temperature", "p", "k", "stop_sequences", "thinking"),
)
_KINDS = {
    "system": ("text",),
    "user": ("text", "image_url"),
    "assistant": ("text", "thinking"),
    "tool": ("text", "document"),
}
_BLANK_PART = {"type": "text", "text": ""}
_BLANK_TOOL = {"type": "function", "function": {"name": "_"}}

UnknownParts = Mapping[str, Json]
"""Parts and tools of kinds that the types do not have, by their paths; they stay as written."""


OWN_PATHS = OwnPaths(
    pattern=re.compile(
        r"/v2/|/v1/(?:chat|check-api-key|classify|detokenize|embed|embed-jobs|rerank|tokenize)$"
    ),
    not_found="not found",
)
"""Addresses of Cohere's SDK; no other API has a second version."""


def serves(path: str) -> bool:
    """Return whether an address with this path is one of this wire's."""
    return path.endswith(_PATH)


def parse(http: HttpRequest) -> ParsedRequest[None]:
    """Return what a request means, without rules; raises Rejected if it is unreadable."""
    raw, unread = _split_unknown(json_value(http.body))
    unknown = UnknownFields()
    unknown.paths += unread
    read = body(raw, unknown)
    if read.tool_choice is not None and read.tool_choice.upper() not in CHOICES:
        unknown.paths.append("tool_choice")
    return ParsedRequest(
        request=canon(read, raw, unread),
        intent=intent_of(read.thinking),
        unknown=tuple(unknown.paths),
        context=None,
    )


def json_value(data: bytes) -> Json:
    """Return the JSON that these bytes are."""
    try:
        return msgspec.json.decode(data)
    except UNREADABLE:
        reject("not_json")


def body(raw: Json, unknown: UnknownFields | None = None) -> types.Body:
    """Return the request in the service's types; strict, unless ``unknown`` collects."""
    try:
        if unknown is None:
            return convert_json(raw, types.Body)
        return unknown.convert(raw, types.LooseBody)
    except msgspec.ValidationError as error:
        reject_types(error)


def intent_of(asked: types.Thinking | None) -> Intent:
    """Return the intent."""
    if asked is None:
        return UNSET
    if asked.type == "disabled":
        return Intent("off")
    if asked.token_budget is None:
        return Intent("on")
    return Intent("budget", tokens=asked.token_budget)


def canon(body: types.Body, raw: Mapping[str, Json], unread: UnknownParts | None = None) -> Request:
    """Return the request as canon; fields that it has no word for are its extras, as written."""
    system, messages = _MessageReader(unread or {}, lenient=unread is not None).read(body.messages)
    known = (name for name in raw if name in types.Body.__struct_fields__)
    extras = {name: raw[name] for name in known if name not in _SAID}
    return Request(
        model=body.model,
        messages=messages,
        system=system,
        tools=_tools(body, unread or {}),
        tool_choice=_choice(body.tool_choice),
        output=_output(body.response_format),
        max_tokens=body.max_tokens,
        temperature=body.temperature,
        top_p=body.p,
        top_k=body.k,
        stop=tuple(body.stop_sequences or ()),
        stream=bool(body.stream),
        extras=extras or None,
    )


def image_of(part: types.ImagePart) -> Image:
    """Return a picture; the data in its address must be base64."""
    url, detail = part.image_url.url, part.image_url.detail
    found = _DATA_URL.fullmatch(url)
    if found is None:
        return Image(url=url, detail=detail)
    try:
        data = base64.b64decode(found[2], validate=True)
    except (binascii.Error, ValueError):
        reject("image_data")
    return Image(found[1] or None, data, detail=detail)


def _split_unknown(raw: Json) -> tuple[Json, UnknownParts]:
    unread: dict[str, Json] = {}
    if not isinstance(raw, dict):
        return raw, unread
    blanked = dict(raw)
    if isinstance(messages := raw.get("messages"), list):
        blanked["messages"] = [
            _blank_message(each, f"messages.{n}", unread) for n, each in enumerate(messages)
        ]
    if isinstance(tools := raw.get("tools"), list):
        blanked["tools"] = [
            _blank_unknown(each, f"tools.{n}", ("function", None), _BLANK_TOOL, unread)
            for n, each in enumerate(tools)
        ]
    return blanked, unread


def _blank_message(message: Json, at: str, unread: dict[str, Json]) -> Json:
    content = message.get("content") if isinstance(message, dict) else None
    role = message.get("role") if isinstance(message, dict) else None
    if not isinstance(content, list) or not isinstance(role, str) or role not in _KINDS:
        return message
    kinds = _KINDS[role]
    parts = [
        _blank_unknown(each, f"{at}.content.{n}", kinds, _BLANK_PART, unread)
        for n, each in enumerate(content)
    ]
    return {**message, "content": parts}


def _blank_unknown(
    each: Json, at: str, kinds: Sequence[str | None], blank: Json, unread: dict[str, Json]
) -> Json:
    if not isinstance(each, dict) or each.get("type") in kinds:
        return each
    unread[at] = each
    return blank


class _MessageReader:
    """Reads the messages of one request, in order; the results of one turn are one message."""

    def __init__(self, unread: UnknownParts, *, lenient: bool) -> None:
        self._unread = unread
        self._lenient = lenient
        self._messages: list[Message] = []
        self._results: list[Part] = []

    def read(
        self, messages: Sequence[types.Message]
    ) -> tuple[tuple[Text, ...], tuple[Message, ...]]:
        """Return the system prompt and the conversation after it."""
        system: tuple[Text, ...] = ()
        for number, message in enumerate(messages):
            match message:
                case types.ToolAnswer():
                    self._results.append(self._result(message, number))
                case types.Assistant():
                    self._settle()
                    self._messages.append(Message("assistant", self._assistant(message, number)))
                case types.User():
                    self._settle(self._parts(message.content, number))
                case types.System():
                    parts = self._parts(message.content, number)
                    texts = tuple(part for part in parts if isinstance(part, Text))
                    if number == 0:
                        system = texts
                    else:
                        self._settle()
                        self._messages.append(Message("system", texts))
        self._settle()
        return system, tuple(self._messages)

    def _settle(self, parts: tuple[Part, ...] = ()) -> None:
        parts = (*self._results, *parts)
        self._results = []
        if parts:
            self._messages.append(Message("user", parts))

    def _result(self, message: types.ToolAnswer, number: int) -> ToolResult:
        parts = self._parts(message.content or [], number)
        content = tuple(part for part in parts if isinstance(part, Text | UnknownPart))
        if self._lenient:
            content = tuple(map(_as_words, content))
        return ToolResult(message.tool_call_id, content)

    def _assistant(self, message: types.Assistant, number: int) -> tuple[Part, ...]:
        parts = [part for part in self._parts(message.content or [], number) if part != Text("")]
        if message.tool_plan:
            parts.append(Text(message.tool_plan, Signature(NAME, {"tool_plan": True})))
        return (*parts, *map(_call, message.tool_calls or ()))

    def _parts(self, content: str | Sequence[types.Content], number: int) -> tuple[Part, ...]:
        if isinstance(content, str):
            return (Text(content),)
        places = (f"messages.{number}.content.{n}" for n in range(len(content)))
        return tuple(
            UnknownPart(NAME, self._unread[at]) if at in self._unread else _part(part)
            for at, part in zip(places, content, strict=True)
        )


def _part(part: types.Content) -> Part:
    match part:
        case types.TextPart():
            return Text(part.text)
        case types.ThinkingPart():
            return Thinking(part.thinking)
        case types.ImagePart():
            return image_of(part)
        case types.DocumentPart():
            document = msgspec.to_builtins(part.document)
            return UnknownPart(NAME, {"type": "document", "document": document})


def _as_words(part: Text | UnknownPart) -> Text | UnknownPart:
    document = part.raw.get("document") if isinstance(part, UnknownPart) else None
    if not isinstance(document, dict):
        return part
    data = document.get("data")
    return Text(data if isinstance(data, str) else dump_json(data))


def _call(call: types.Call) -> ToolCall:
    return ToolCall(call.id, call.function.name, _arguments(call.function.arguments))


def _arguments(text: str) -> Json:
    try:
        value = msgspec.json.decode(text) if text.strip() else {}
    except UNREADABLE:
        return text
    return {} if value is None else text if isinstance(value, str) else value


def _tools(body: types.Body, unread: UnknownParts) -> tuple[Tool, ...]:
    return tuple(
        Tool(str(own.get("type")), raw=own, dialect=NAME, kind="other")
        if (own := unread.get(f"tools.{number}")) is not None
        else _tool(tool.function, strict=body.strict_tools)
        for number, tool in enumerate(body.tools or ())
    )


def _tool(offered: types.Offered, *, strict: bool | None) -> Tool:
    return Tool(offered.name, offered.description or "", offered.parameters, strict or None)


def _choice(asked: str | None) -> ToolChoice | None:
    mode = None if asked is None else CHOICES.get(asked.upper())
    return None if mode is None else ToolChoice(mode)


def _output(asked: types.TextFormat | types.ObjectFormat | None) -> OutputFormat | None:
    return OutputFormat(asked.json_schema) if isinstance(asked, types.ObjectFormat) else None
