"""Reads a body into the service's types, then canon; ``parse`` is lenient and has no rules."""

import base64
import hashlib
from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec import Struct

from pondero.canon import (
    Blob,
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
    dump_json,
)
from pondero.dialects.bodies import UnknownFields, describe_invalid_json
from pondero.dialects.dialect import ParsedRequest
from pondero.framing import UNREADABLE
from pondero.thinking import UNSET, Intent, Kind

from . import types
from .address import SESSION, Address, Framing, address_of
from .errors import RPC, Surface
from .models import HOME, table
from .protobuf import Reader, camel, fields_of, from_base64, snake
from .schemas import json_schema
from .signatures import is_stand_in
from .words import HOSTED, NAME

_SAID = {"contents", "system_instruction", "tools", "tool_config", "generation_config", "model"}
_CONFIG_SAID = {
    "max_output_tokens",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "thinking_config",
    "response_mime_type",
    "response_schema",
    "response_json_schema",
}
_MODES: dict[str | None, Literal["auto", "none", "required"]] = {
    "AUTO": "auto",
    "NONE": "none",
    "ANY": "required",
}

_USUAL_BEHAVIOR = ("", "UNSPECIFIED", "BLOCKING")


class Context(Struct, frozen=True):
    """What an answer must know of its request: its framing, and Cloud Code Assist's wrapping."""

    framing: Framing = "array"
    wrapped: bool = False


def parse(http: HttpRequest) -> ParsedRequest[Context]:
    """Return what a request means, without rules; raises Rejected if it is unreadable."""
    surface = table().surface(HOME)
    address = address_of(http)
    if address is None:
        raise surface.rejection("no_address")
    model, raw = split_model(json_object(http.body, surface), address, surface)
    unknown = UnknownFields()
    read = body(raw, surface, unknown)
    thinking = read.generation_config.thinking_config
    return ParsedRequest(
        request=canon(read, model=model, stream=address.streams, lenient=True),
        intent=intent_of(thinking),
        show=thinking.include_thoughts,
        unknown=(*unknown.paths, *_iter_unread(read)),
        context=context_of(address),
    )


def _iter_unread(read: types.GenerateContentRequest) -> Iterator[str]:
    """Yield the paths of known fields that no other service has."""
    system = read.system_instruction
    for number, part in enumerate(system.parts if system else ()):
        if part.text is None:
            yield f"systemInstruction.parts.{number}"
    for number, tool in enumerate(read.tools):
        for inner, function in enumerate(tool.function_declarations):
            at = f"tools.{number}.functionDeclarations.{inner}"
            if function.behavior not in _USUAL_BEHAVIOR:
                yield f"{at}.behavior"
            if function.response is not None or function.response_json_schema is not None:
                yield f"{at}.response"
    for number, content in enumerate(read.contents):
        for inner, part in enumerate(content.parts):
            said, at = part.function_response, f"contents.{number}.parts.{inner}.functionResponse"
            if said is not None and said.will_continue:
                yield f"{at}.willContinue"
            if said is not None and said.scheduling:
                yield f"{at}.scheduling"


def context_of(address: Address) -> Context:
    """Return what answers to a request at this address must know."""
    return Context(address.framing, wrapped=address.model is None)


def json_object(data: bytes, surface: Surface) -> dict[str, Json]:
    """Return the JSON object that these bytes are."""
    try:
        raw = msgspec.json.decode(data)
    except UNREADABLE as error:
        raise surface.rejection("bad_json", why=describe_invalid_json(error)) from error
    if not isinstance(raw, dict):
        raise surface.rejection("bad_root")
    return raw


def split_model(
    raw: dict[str, Json], address: Address, surface: Surface
) -> tuple[str, dict[str, Json]]:
    """Return the model's name and the request; Cloud Code Assist has both in the body."""
    if address.model is not None:
        return address.model, raw
    name, inner = raw.get("model"), raw.get("request")
    if not isinstance(name, str) or not isinstance(inner, dict):
        raise surface.rejection("unwrapped")
    return name, {k: v for k, v in inner.items() if k not in SESSION}


def body(
    raw: dict[str, Json], surface: Surface, unknown: UnknownFields | None = None
) -> types.GenerateContentRequest:
    """Return the request in the service's types; strict, unless ``unknown`` collects."""
    reader = Reader(surface.text, unknown, surface.lacking if unknown is None else ())
    read = reader.message(types.GenerateContentRequest, raw)
    if not reader.violations:
        return read
    found = [
        ({"field": each.field} if each.field else {}) | {"description": each.description}
        for each in reader.violations
    ]
    detail = {"@type": f"{RPC}.BadRequest", "fieldViolations": found}
    text = "\n".join(each.description for each in reader.violations)
    raise surface.reject_as(reader.violations[0].rule, text, details=[detail])


def intent_of(asked: types.ThinkingConfig) -> Intent:
    """Return the intent; a budget of 0 is off, and -1 leaves the depth to the model."""
    level, budget = asked.thinking_level, asked.thinking_budget
    if level is not None and level != "THINKING_LEVEL_UNSPECIFIED":
        return Intent("level", level.lower())
    if budget is not None:
        special: dict[int, Kind] = {0: "off", -1: "on"}
        return Intent(special.get(budget, "budget"), tokens=budget)
    return Intent("on") if asked.include_thoughts else UNSET


def canon(
    request: types.GenerateContentRequest,
    *,
    model: str,
    stream: bool,
    provider: str | None = None,
    lenient: bool = False,
) -> Request:
    """Return the request as canon; signatures name the provider, if known."""
    config, system = request.generation_config, request.system_instruction
    messages_in = _MessageReader(model, provider, lenient=lenient)
    choice = _choice(request.tool_config.function_calling_config, lenient=lenient)
    return Request(
        model=model,
        messages=tuple(messages_in.message(n, each) for n, each in enumerate(request.contents)),
        system=tuple(Text(part.text) for part in system.parts if part.text) if system else (),
        tools=tuple(tool for each in request.tools for tool in _tools(each, lenient=lenient)),
        tool_choice=choice,
        output=_output(config, lenient=lenient),
        max_tokens=config.max_output_tokens,
        temperature=config.temperature,
        top_p=config.top_p,
        top_k=int(config.top_k) if config.top_k is not None else None,
        stop=tuple(config.stop_sequences),
        stream=stream,
        extras=_extras(request, choice) or None,
    )


class _MessageReader:
    def __init__(self, model: str, provider: str | None, *, lenient: bool) -> None:
        self._model = model
        self._provider = provider
        self._lenient = lenient
        self._open: list[ToolCall] = []  # calls without a result yet

    def message(self, number: int, content: types.Content) -> Message:
        parts = (self._part(part, f"{number}.{n}") for n, part in enumerate(content.parts))
        return Message("assistant" if content.role == "model" else "user", tuple(parts))

    def _part(self, part: types.Part, where: str) -> Part:
        signature = self._make_signature(part)
        if part.function_call is not None:
            return self._call(part.function_call, signature, where)
        if part.function_response is not None:
            return self._result(part.function_response)
        if part.text is not None:
            return Thinking(part.text, signature) if part.thought else Text(part.text, signature)
        medium = _medium(part.inline_data, part.file_data, signature)
        return medium or UnknownPart(NAME, _less(part.raw, {"thought_signature"}), signature)

    def _make_signature(self, part: types.Part) -> Signature | None:
        if not part.thought_signature or is_stand_in(part.thought_signature):
            return None
        return Signature(NAME, part.thought_signature, self._model, self._provider)

    def _call(self, said: types.FunctionCall, signature: Signature | None, where: str) -> ToolCall:
        id = said.id or _make_id(where, said.name)
        call = ToolCall(id, said.name, said.args, signature, not said.id)
        self._open.append(call)
        return call

    def _result(self, said: types.FunctionResponse) -> ToolResult:
        by_id = (call for call in self._open if said.id and call.id == said.id)
        by_name = (call for call in self._open if call.name == said.name)
        call = next(by_id, None) or next(by_name, None)
        content, failed = _content(said.response, lenient=self._lenient)
        media = (_medium(part.inline_data, part.file_data, None) for part in said.parts)
        content += [medium for medium in media if medium is not None]
        if call is None:
            return ToolResult(said.id or said.name, tuple(content), failed, said.name)
        self._open.remove(call)
        name = None if call.name == said.name else said.name
        return ToolResult(call.id, tuple(content), failed, name)


def _content(
    response: types.Object, *, lenient: bool
) -> tuple[list[Text | Image | Blob | UnknownPart], bool]:
    """Return the content of a result, as text if lenient, and whether the call failed."""
    key = next(iter(response), "")
    said = response.get(key)
    texts: list[Json] = said if isinstance(said, list) and len(said) > 1 else [said]
    if len(response) == 1 and key in ("output", "error") and _all_strings(texts):
        return [Text(text) for text in texts], key == "error"
    if not lenient or not response:
        return [UnknownPart(NAME, response)] if response else [], False
    words = said if len(response) == 1 and isinstance(said, str) else None
    return [Text(words if words is not None else dump_json(response))], "error" in response


def _all_strings(values: list[Json]) -> bool:
    return all(isinstance(value, str) for value in values)


def _make_id(where: str, name: str) -> str:
    seed = f"{where}:{name}".encode("utf-8", "replace")
    digest = hashlib.blake2b(seed, digest_size=16).digest()
    return base64.urlsafe_b64encode(digest)[:22].decode()


def _medium(
    inline: types.Blob | None, file: types.FileData | None, signature: Signature | None
) -> Image | Blob | None:
    if inline is not None:
        kind, data = inline.mime_type, from_base64(inline.data)
        if kind.startswith("image/"):
            return Image(kind, data, signature=signature)
        return Blob(kind, data, signature=signature)
    if file is not None:
        if file.mime_type is None or file.mime_type.startswith("image/"):
            return Image(file.mime_type, url=file.file_uri, signature=signature)
        return Blob(file.mime_type, url=file.file_uri, signature=signature)
    return None


def _tools(tool: types.Tool, *, lenient: bool) -> Iterator[Tool]:
    for function in tool.function_declarations:
        parameters = function.parameters_json_schema
        if function.parameters is not None:
            parameters = function.parameters.raw
        yield Tool(function.name, function.description, json_schema(parameters))
    own = _less(tool.raw, {"function_declarations"})
    if not lenient:
        if own:
            yield Tool(next(iter(own)), raw=own)
        return
    for name, settings in own.items():
        kind = HOSTED.get(name, "other")
        yield Tool(name, raw={name: settings}, dialect=NAME, kind=kind)


def _choice(config: types.FunctionCallingConfig, *, lenient: bool) -> ToolChoice | None:
    if lenient and config.mode == "VALIDATED":  # the model chooses; its arguments fit the schema
        return ToolChoice("auto", allowed=tuple(config.allowed_function_names))
    if config.mode == "ANY" and len(config.allowed_function_names) == 1:
        return ToolChoice("tool", config.allowed_function_names[0])
    if config.mode not in _MODES:
        return None
    return ToolChoice(_MODES[config.mode], allowed=tuple(config.allowed_function_names))


def _output(config: types.GenerationConfig, *, lenient: bool) -> OutputFormat | None:
    if config.response_schema is not None:
        return OutputFormat(json_schema(config.response_schema.raw))
    schema = config.response_json_schema
    if config.response_mime_type != "application/json" and not (lenient and schema is not None):
        return None
    return OutputFormat(json_schema(schema))


def _extras(request: types.GenerateContentRequest, choice: ToolChoice | None) -> dict[str, Json]:
    extras = _rest(request, _SAID)
    if config := _rest(request.generation_config, _CONFIG_SAID):
        extras["generationConfig"] = config
    tools = _rest(request.tool_config, {"function_calling_config"})
    said = {"mode"} if choice else set()
    if choice and choice.mode == "tool":
        said.add("allowed_function_names")
    if calling := _rest(request.tool_config.function_calling_config, said):
        tools["functionCallingConfig"] = calling
    if tools:
        extras["toolConfig"] = tools
    return extras


def _rest(message: types.Wire, said: set[str]) -> types.Object:
    known = fields_of(type(message))
    rest = _less(message.raw, said)
    return {name: value for name, value in rest.items() if snake(name) in known}


def _less(raw: types.Object, names: set[str]) -> types.Object:
    return {camel(snake(k)): v for k, v in raw.items() if snake(k) not in names and v is not None}
