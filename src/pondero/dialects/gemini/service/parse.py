"""A request the service has read, as canon: what the wire can say, nothing guessed."""

import base64
import hashlib
from collections.abc import Iterator
from typing import Literal

from pondero.canon import (
    Blob,
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

from . import types
from .protobuf import camel, from_base64, snake
from .seals import is_dummy

NAME = "gemini"
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


def canon(
    request: types.GenerateContentRequest, *, model: str, service: str, stream: bool
) -> Request:
    """Return the canon of a request."""
    config, system = request.generation_config, request.system_instruction
    talk = _Talk(model, service)
    return Request(
        model=model,
        messages=tuple(talk.message(n, each) for n, each in enumerate(request.contents)),
        system=tuple(Text(part.text) for part in system.parts if part.text) if system else (),
        tools=tuple(tool for each in request.tools for tool in _tools(each)),
        tool_choice=_choice(request.tool_config.function_calling_config),
        output=_output(config),
        max_tokens=config.max_output_tokens,
        temperature=config.temperature,
        top_p=config.top_p,
        top_k=int(config.top_k) if config.top_k is not None else None,
        stop=tuple(config.stop_sequences),
        stream=stream,
        extras=_extras(request) or None,
    )


class _Talk:
    def __init__(self, model: str, service: str) -> None:
        self._model = model
        self._service = service
        self._open: list[ToolCall] = []  # calls without a result yet

    def message(self, number: int, content: types.Content) -> Message:
        parts = (self._part(part, f"{number}.{n}") for n, part in enumerate(content.parts))
        return Message("assistant" if content.role == "model" else "user", tuple(parts))

    def _part(self, part: types.Part, where: str) -> Part:
        seal = self._seal(part)
        if part.function_call is not None:
            return self._call(part.function_call, seal, where)
        if part.function_response is not None:
            return self._result(part.function_response)
        if part.text is not None:
            return Thinking(part.text, seal) if part.thought else Text(part.text, seal)
        medium = _medium(part.inline_data, part.file_data, seal)
        return medium or Other(NAME, _less(part.raw, {"thought_signature"}), seal)

    def _seal(self, part: types.Part) -> Seal | None:
        if not part.thought_signature or is_dummy(part.thought_signature):
            return None
        return Seal(NAME, part.thought_signature, self._model, self._service)

    def _call(self, said: types.FunctionCall, seal: Seal | None, where: str) -> ToolCall:
        id = said.id or _minted(where, said.name)
        call = ToolCall(id, said.name, said.args, seal, not said.id)
        self._open.append(call)
        return call

    def _result(self, said: types.FunctionResponse) -> ToolResult:
        by_id = (call for call in self._open if said.id and call.id == said.id)
        by_name = (call for call in self._open if call.name == said.name)
        call = next(by_id, None) or next(by_name, None)
        content, failed = _content(said.response)
        media = (_medium(part.inline_data, part.file_data, None) for part in said.parts)
        content += [medium for medium in media if medium is not None]
        if call is None:
            return ToolResult(said.id or said.name, tuple(content), failed, said.name)
        self._open.remove(call)
        name = None if call.name == said.name else said.name
        return ToolResult(call.id, tuple(content), failed, name)


def _content(response: types.Object) -> tuple[list[Text | Image | Blob | Other], bool]:
    """Return what a result says, and whether it says that the call failed."""
    key = next(iter(response), "")
    said = response.get(key)
    texts: list[Json] = said if isinstance(said, list) and len(said) > 1 else [said]
    if len(response) != 1 or key not in ("output", "error") or not _all_strings(texts):
        return [Other(NAME, response)] if response else [], False
    return [Text(text) for text in texts], key == "error"


def _all_strings(values: list[Json]) -> bool:
    return all(isinstance(value, str) for value in values)


def _minted(where: str, name: str) -> str:
    mark = f"{where}:{name}".encode("utf-8", "replace")
    digest = hashlib.blake2b(mark, digest_size=16).digest()
    return base64.urlsafe_b64encode(digest)[:22].decode()


def _medium(
    inline: types.Blob | None, file: types.FileData | None, seal: Seal | None
) -> Image | Blob | None:
    if inline is not None:
        kind, data = inline.mime_type, from_base64(inline.data)
        if kind.startswith("image/"):
            return Image(kind, data, seal=seal)
        return Blob(kind, data, seal=seal)
    if file is not None:
        if file.mime_type is None or file.mime_type.startswith("image/"):
            return Image(file.mime_type, url=file.file_uri, seal=seal)
        return Blob(file.mime_type, url=file.file_uri, seal=seal)
    return None


def _tools(tool: types.Tool) -> Iterator[Tool]:
    for function in tool.function_declarations:
        parameters = function.parameters_json_schema
        if function.parameters is not None:
            parameters = function.parameters.raw
        yield Tool(function.name, function.description, parameters)
    if own := _less(tool.raw, {"function_declarations"}):
        yield Tool(next(iter(own)), raw=own)


def _choice(config: types.FunctionCallingConfig) -> ToolChoice | None:
    if config.mode == "ANY" and len(config.allowed_function_names) == 1:
        return ToolChoice("tool", config.allowed_function_names[0])
    return ToolChoice(_MODES[config.mode]) if config.mode in _MODES else None


def _output(config: types.GenerationConfig) -> Output | None:
    if config.response_schema is not None:
        return Output(config.response_schema.raw)
    if config.response_mime_type != "application/json":
        return None
    return Output(config.response_json_schema)


def _extras(request: types.GenerateContentRequest) -> dict[str, Json]:
    """Return what canon has no word for, where it stood."""
    extras = _less(request.raw, _SAID)
    if config := _less(request.generation_config.raw, _CONFIG_SAID):
        extras["generationConfig"] = config
    tools = _less(request.tool_config.raw, {"function_calling_config"})
    choice = _choice(request.tool_config.function_calling_config)
    said = {"mode"} if choice else set()
    if choice and choice.mode == "tool":
        said.add("allowed_function_names")
    if calling := _less(request.tool_config.function_calling_config.raw, said):
        tools["functionCallingConfig"] = calling
    if tools:
        extras["toolConfig"] = tools
    return extras


def _less(raw: types.Object, names: set[str]) -> types.Object:
    return {camel(snake(k)): v for k, v in raw.items() if snake(k) not in names and v is not None}
