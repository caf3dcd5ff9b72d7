"""Reads a body into the server's types, then canon; ``parse`` is lenient and has no checks."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable
from typing import NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from pondero.canon import (
    HttpRequest,
    Image,
    Json,
    Message,
    OutputFormat,
    Part,
    Request,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
)
from pondero.dialects.bodies import UnknownFields, describe_invalid_json
from pondero.dialects.dialect import OwnPaths, ParsedRequest
from pondero.framing import UNREADABLE
from pondero.thinking import UNSET, Intent

from . import types
from .errors import reject, reject_type

_CHAT, _GENERATE = "/api/chat", "/api/generate"
_SAID = ("model", "messages", "tools", "format", "options", "stream", "think")
_PICTURES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp"}


class Body(NamedTuple):
    """A body, unchanged and typed."""

    raw: dict[str, Json]
    typed: types.Body


class Context(Struct, frozen=True):
    """``generates``: the request came to ``/api/generate``, whose answer has its message on top."""

    generates: bool = False


OWN_PATHS = OwnPaths(
    pattern=re.compile(r"/api/(?:(?!v\d)[^/]*|blobs/.*)$"), not_found="404 page not found"
)
"""All that Ollama's server has is below ``/api``; others have a version or more names there."""


def serves(path: str) -> bool:
    """Return whether an address with this path is one of this wire's."""
    return path.endswith((_CHAT, _GENERATE))


def context_of(http: HttpRequest) -> Context:
    """Return what the answer to a request depends on."""
    return Context(generates=http.url.partition("?")[0].endswith(_GENERATE))


def unwrap(http: HttpRequest) -> HttpRequest:
    """Return a request to ``/api/generate`` as the one to ``/api/chat`` that means the same."""
    if not context_of(http).generates:
        return http
    try:
        raw = msgspec.json.decode(http.body)
    except UNREADABLE:
        return http  # ``parse`` rejects it
    if not isinstance(raw, dict):
        return http
    path, mark, query = http.url.partition("?")
    url = f"{path.removesuffix(_GENERATE)}{_CHAT}{mark}{query}"
    return replace(http, url=url, body=msgspec.json.encode(_with_messages(raw)))


def body(http: HttpRequest, unknown: UnknownFields | None = None) -> Body:
    """Return the body; fields the server does not know are left out of the typed one."""
    try:
        raw = msgspec.json.decode(http.body)
    except UNREADABLE as error:
        if not http.body:
            reject("no_body")
        reject("not_json", why=describe_invalid_json(error))
    if context_of(http).generates and isinstance(raw, dict):
        raw = _with_messages(raw)
    known = raw if unknown is None else _without_strange_tools(raw)
    try:
        return Body(raw, (unknown or UnknownFields()).convert(known, types.Body))
    except msgspec.ValidationError as error:
        reject_type(error)


def _with_messages(raw: dict[str, Json]) -> dict[str, Json]:
    rest = {key: value for key, value in raw.items() if key not in ("prompt", "system", "images")}
    asked = {"role": "user", "content": raw.get("prompt"), "images": raw.get("images")}
    messages: list[Json] = (
        [{"role": "system", "content": raw["system"]}] if raw.get("system") else []
    )
    if asked["content"] or asked["images"]:
        messages.append({key: value for key, value in asked.items() if value is not None})
    return {**rest, "messages": messages}


def _without_strange_tools(raw: Json) -> Json:
    tools = raw.get("tools") if isinstance(raw, dict) else None
    if not isinstance(tools, list):
        return raw
    return {**raw, "tools": [tool for tool in tools if _is_function(tool)]}


def canon(body: Body, unknown: UnknownFields | None = None) -> Request:
    """Return what is asked; what the server takes and canon has no words for is in ``extras``."""
    raw, typed = body
    options = _options(typed.options or {}, unknown)
    extras = {key: value for key, value in raw.items() if key not in _SAID}
    if options.rest:
        extras["options"] = options.rest
    system, messages = _Reader(unknown).read(typed.messages or ())
    return Request(
        model=typed.model,
        messages=messages,
        system=system,
        tools=tuple(_tool(tool) for tool in raw.get("tools") or ()),
        output=_output(typed.format, unknown),
        max_tokens=options.max_tokens,
        temperature=options.temperature,
        top_p=options.top_p,
        top_k=options.top_k,
        stop=options.stop,
        stream=typed.stream is not False,
        extras=extras or None,
    )


def parse(http: HttpRequest) -> ParsedRequest[Context]:
    """Return what a request means, whatever its model is and whatever the rules say about it."""
    unknown = UnknownFields()
    read = body(http, unknown)
    return ParsedRequest(
        request=canon(read, unknown),
        intent=intent_of(read.typed.think, unknown),
        unknown=tuple(unknown.paths),
        context=context_of(http),
    )


def intent_of(think: Json, unknown: UnknownFields) -> Intent:
    """Return the intent; list a value of another type."""
    match think:
        case None:
            return UNSET
        case bool():
            return Intent("on" if think else "off")
        case str():
            return Intent("level", think)
    unknown.paths.append("think")
    return UNSET


# -- tools and the shape of the answer -------------------------------------------------------


def _is_function(tool: Json) -> bool:
    return isinstance(tool, dict) and isinstance(tool.get("function"), dict)


def _tool(raw: Json) -> Tool:
    if not _is_function(raw):  # only the lenient road lets one through
        said = raw if isinstance(raw, dict) else {}
        name = str(said.get("name") or said.get("type") or "")
        return Tool(name, raw=raw, dialect=types.NAME, kind="other")
    function = raw["function"]
    if raw.get("type", "function") != "function":
        return Tool(function["name"], raw=raw, dialect=types.NAME, kind="other")
    return Tool(function["name"], function.get("description") or "", function.get("parameters"))


def _output(said: Json, unknown: UnknownFields | None) -> OutputFormat | None:
    if said is None or said == "":
        return None
    if said == "json":
        return OutputFormat()
    if isinstance(said, dict):
        return OutputFormat(said)
    if unknown is None:
        reject("format", format=msgspec.json.encode(said).decode())
    unknown.paths.append("format")
    return None


# -- options ---------------------------------------------------------------------------------

_INTEGERS = (
    *("num_predict", "top_k", "seed", "num_ctx", "num_keep", "repeat_last_n", "num_gpu"),
    *("num_batch", "main_gpu", "num_thread"),
)
_NUMBERS = (
    *("temperature", "top_p", "min_p", "typical_p"),
    *("repeat_penalty", "presence_penalty", "frequency_penalty"),
)
_SWITCHES = ("use_mmap",)
_IN_CANON = ("num_predict", "top_k", "temperature", "top_p", "stop")


class _Options(Struct, frozen=True):
    """What canon has words for, and the rest. A cap below one means none, and is in the rest."""

    max_tokens: int | None
    temperature: float | None
    top_p: float | None
    top_k: int | None
    stop: tuple[str, ...]
    rest: dict[str, Json]


def _options(raw: dict[str, Json], unknown: UnknownFields | None) -> _Options:
    given = {name: value for name, value in raw.items() if value is not None}
    rest = {name: value for name, value in raw.items() if name not in _IN_CANON}
    for name in [name for name in given if name != "stop"] + ["stop"] * ("stop" in given):
        if (wanted := _misfit(name, given[name])) is None:
            continue
        if unknown is None:
            reject("option", option=name, wanted=wanted)
        unknown.paths.append(f"options.{name}")
        rest[name] = given.pop(name)
    cap = int(given.get("num_predict", 0))
    if cap < 0:
        rest["num_predict"] = cap
    return _Options(
        max_tokens=cap if cap > 0 else None,
        temperature=given.get("temperature"),
        top_p=given.get("top_p"),
        top_k=int(given["top_k"]) if "top_k" in given else None,
        stop=tuple(given.get("stop", ())),
        rest=rest,
    )


def _misfit(name: str, value: Json) -> str | None:
    if name in _INTEGERS and not _is_integer(value):
        return "integer"
    if name in _NUMBERS and not _is_number(value):
        return "float32"
    if name in _SWITCHES and not isinstance(value, bool):
        return "boolean"
    strings = isinstance(value, list) and all(isinstance(each, str) for each in value)
    return "array" if name == "stop" and not strings else None


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: Json) -> bool:
    """Return whether Go makes an integer of a value: it cuts off what is behind the point."""
    return _is_number(value) and abs(value) < 2**63


# -- messages --------------------------------------------------------------------------------


class _Reader:
    """Reads the messages of one request, in order."""

    def __init__(self, unknown: UnknownFields | None) -> None:
        self._strict = unknown is None
        self._messages: list[Message] = []
        self._open: list[ToolCall] = []  # calls without a result yet
        self._results: list[Part] = []

    def read(
        self, messages: Iterable[types.Message]
    ) -> tuple[tuple[Text, ...], tuple[Message, ...]]:
        """Return the system prompt, which is what comes first, and the conversation after it."""
        system: list[Text] = []
        for message in messages:
            if message.role == "tool":
                self._results.append(self._result(message))
            elif message.role == "user":
                self._settle(self._read_parts(message))
            elif message.role == "assistant":
                self._settle()
                self._messages.append(Message("assistant", self._assistant(message)))
            elif self._messages or self._results:
                self._settle()
                self._messages.append(Message("system", (Text(message.content or ""),)))
            else:
                system.append(Text(message.content or ""))
        self._settle()
        return tuple(system), tuple(self._messages)

    def _settle(self, parts: tuple[Part, ...] = ()) -> None:
        parts = (*self._results, *parts)
        self._results = []
        if parts:
            self._messages.append(Message("user", parts))

    def _assistant(self, message: types.Message) -> tuple[Part, ...]:
        parts: list[Part] = []
        if message.thinking:
            parts.append(Thinking(message.thinking))
        if message.content:
            parts.append(Text(message.content))
        where = len(self._messages)
        calls = [_call(call, f"{where}.{n}") for n, call in enumerate(message.tool_calls or ())]
        self._open += calls
        return (*parts, *calls)

    def _result(self, message: types.Message) -> ToolResult:
        id, name = message.tool_call_id, message.tool_name
        by_id = (call for call in self._open if id and call.id == id)
        by_name = (call for call in self._open if not id and name in (None, call.name))
        call = next(by_id, None) or next(by_name, None)
        content = tuple(
            part for part in self._read_parts(message) if isinstance(part, Text | Image)
        )
        if call is None:
            return ToolResult(id or name or "", content, name=name)
        self._open.remove(call)
        return ToolResult(call.id, content, name=None if name in (None, call.name) else name)

    def _read_parts(self, message: types.Message) -> tuple[Part, ...]:
        texts = (Text(message.content),) if message.content else ()
        images = message.images or ()
        return (*texts, *(_picture(data, strict=self._strict) for data in images))


def _call(call: types.Call, where: str) -> ToolCall:
    function = call.function
    id = call.id or _make_id(f"{where} {function.name}")
    return ToolCall(id, function.name, function.arguments, minted=not call.id)


def _picture(text: str, *, strict: bool) -> Image:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        reject("image_data")
    found = (kind for magic, kind in _PICTURES.items() if data.startswith(magic))
    kind = next(found, None)
    if kind is None and strict:
        reject("image_kind")
    return Image(kind, data)


def _make_id(seed: str) -> str:
    digest = hashlib.sha256(seed.encode("utf-8", "replace")).digest()
    return base64.urlsafe_b64encode(digest)[:22].decode()
