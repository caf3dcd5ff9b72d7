"""Writes requests for one deployment, with its quirks: a flat list, a message for each result."""

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import msgspec

from pondero.canon import (
    Blob,
    CacheBreakpoint,
    EarlierTurns,
    HttpRequest,
    Image,
    Json,
    Message,
    OutputFormat,
    Part,
    Request,
    Target,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    UnknownPart,
    merge_json,
)
from pondero.dialects.level_turns import LevelTurns
from pondero.dialects.written_turns import encode_body, join_turns, write_turns
from pondero.framing import parse_json_or_none
from pondero.thinking import Plan

from .parts import NAME
from .quirks import Quirks, quirks_of
from .replay import Replay, is_replayed

_CAPS = ("max_tokens", "max_completion_tokens")
_MEDIA = (Image, Blob)


def encode(request: Request, plan: Plan, target: Target) -> HttpRequest:
    """Return the request on this wire, with the plan's fields and headers merged in."""
    quirks = quirks_of(target.quirks)
    writer = _Messages(quirks, request.model)
    body: dict[str, Json] = {
        "model": request.model,
        "messages": writer.write_all(request, target.earlier),
        **_parameters(request, plan, quirks),
        **_tools(request.tools, request.tool_choice),
    }
    if request.output is not None:
        body["response_format"] = _response_format(request.output)
    if request.stream:
        body["stream"] = True
        if quirks.usage_in_stream == "asked":
            body["stream_options"] = {"include_usage": True}
    if quirks.replay_with and writer.has_replayed:
        body = merge_json(body, quirks.replay_with)
    body = merge_json(merge_json(body, request.extras or {}), plan.fields)
    return HttpRequest(
        method="POST",
        url=_address(target.url, quirks.path),
        headers=_headers(target.headers, quirks.headers, plan.headers),
        body=encode_body(body),
    )


def _address(base: str, path: str) -> str:
    address, mark, query = base.partition("?")  # Azure's api-version is in the query
    return f"{address.rstrip('/')}{path}{mark}{query}"


def _parameters(request: Request, plan: Plan, quirks: Quirks) -> dict[str, Json]:
    said: dict[str, Json] = {
        "temperature": request.temperature,
        "top_p": request.top_p,
        "top_k": request.top_k,
        "stop": list(request.stop) or None,
    }
    if not any(cap in plan.fields for cap in _CAPS):
        said["max_tokens"] = request.max_tokens
    return {
        quirks.max_tokens_field if name == "max_tokens" else name: value
        for name, value in said.items()
        if value is not None and name not in plan.dropped
    }


def _tools(tools: tuple[Tool, ...], choice: ToolChoice | None) -> dict[str, Json]:
    if not tools:
        return {}
    body: dict[str, Json] = {"tools": [_tool(tool) for tool in tools]}
    if choice is not None:
        if choice.mode == "tool":
            body["tool_choice"] = _choose_tool(choice.name, tools)
        elif choice.mode != "auto" or choice.parallel is None:
            body["tool_choice"] = choice.mode
        if choice.parallel is not None:
            body["parallel_tool_calls"] = choice.parallel
    return body


def _choose_tool(name: str | None, tools: tuple[Tool, ...]) -> Json:
    raw = next((tool.raw for tool in tools if tool.name == name), None)
    kind = "custom" if isinstance(raw, dict) and raw.get("type") == "custom" else "function"
    return {"type": kind, kind: {"name": name}}


def _tool(tool: Tool) -> Json:
    if tool.raw is not None:
        return tool.raw
    function: dict[str, Json] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    if tool.parameters is not None:
        function["parameters"] = tool.parameters
    elif not tool.strict:  # Mistral rejects a function without any (mistralai 3.7.0, Function)
        function["parameters"] = {"type": "object", "properties": {}}
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}


def _response_format(output: OutputFormat) -> Json:
    if output.schema is None:
        return {"type": "json_object"}
    schema: dict[str, Json] = {"name": output.name, "schema": output.schema}
    if output.strict is not None:
        schema["strict"] = output.strict
    return {"type": "json_schema", "json_schema": schema}


def _headers(*layers: Mapping[str, str]) -> dict[str, str]:
    headers = {"content-type": "application/json"}
    for layer in layers:
        for name, value in ((name.lower(), value) for name, value in layer.items()):
            before = headers.get(name)
            both = before and name.endswith("-beta") and value not in before.split(",")
            headers[name] = f"{before},{value}" if both else value
    return headers


_is_nine = re.compile(r"[A-Za-z0-9]{9}").fullmatch


def _as_json(text: str) -> str:
    """Return arguments that are JSON, whatever the model wrote."""
    if parse_json_or_none(text.encode("utf-8", "replace")) is not None:
        return text
    return "{}" if text in ("", "null") else msgspec.json.encode({"arguments": text}).decode()


class _Messages:
    """The messages of one request; remembers how the result of each call is addressed."""

    def __init__(self, quirks: Quirks, model: str) -> None:
        self._by = (NAME, quirks, model)
        self._system_role = quirks.system_role
        self._one_text = quirks.system_turns == "lead"
        self._points = quirks.cache_marks
        self._form = _Form(quirks.cache_marks, chunks=quirks.media_form == "chunks")
        self._nine = quirks.tool_call_ids == "9 alphanumerics"
        self._json_arguments = quirks.json_arguments
        self._by_place = quirks.results_by_place
        self._prefill_field = quirks.prefill_field
        self._bridge = quirks.bridge
        self._text_tools = quirks.text_tools
        self._refusals = quirks.refusals
        self._replay = Replay(quirks, model)
        self._answers: dict[str, dict[str, Json]] = {}  # to calls that came without an id
        # Those since the last that were saved, after a stand-in for the one before them.
        self._written: list[Json] = [{}]
        self._replay_adds = bool(quirks.replay_with)
        self.has_replayed: bool = False

    def write_all(self, request: Request, earlier: EarlierTurns | None) -> Json:
        """Return the wire's list."""
        system = [self._system(request.system)] if request.system else []
        written, messages = write_turns(self, request.messages, earlier, self._by)
        last = self._written[-1]
        if self._prefill_field and last.get("role") == "assistant" and "tool_calls" not in last:
            last[self._prefill_field] = True
        self._note_replayed()
        if not written:
            return [*system, *messages]
        return join_turns([*map(msgspec.json.encode, system), *written], messages)

    def write(self, given: Sequence[Message]) -> list[Json]:
        """Write the next messages; return all since the last that were saved."""
        messages = self._written
        for message in given:
            if message.role == "assistant":
                self._assistant(message, messages)
            elif message.role == "user":
                self._user(message, messages)
            elif (update := message.level_update) is not None:
                messages.append(write_level_turn(update.level))
            else:
                messages.append(self._system(message.parts))
        return messages[1:]

    def save(self) -> object:
        """Return the last role and the needs of thinking; None if results are addressed oddly."""
        role = self._written[-1].get("role")
        if self._answers or role not in ("tool", "user"):
            return None
        self._note_replayed()
        self._written = [{"role": role}]
        return (role, self._replay.is_wanted, self.has_replayed)

    def load(self, state: object) -> None:
        """Continue after messages that are written already."""
        role, is_wanted, self.has_replayed = cast("tuple[str, bool, bool]", state)
        self._written = [{"role": role}]
        self._replay.is_wanted = is_wanted

    def _note_replayed(self) -> None:
        if self._replay_adds:
            self.has_replayed = self.has_replayed or any(map(is_replayed, self._written))

    def _system(self, parts: Iterable[Part]) -> Json:
        content = _content(parts, form=self._form)
        if self._one_text and isinstance(content, list):  # as chat templates want it
            content = "\n\n".join(text["text"] for text in content)
        return {"role": self._system_role, "content": content}

    def _user(self, message: Message, messages: list[Json]) -> None:
        rest: list[Part] = []
        for part in message.parts:
            if isinstance(part, ToolResult):
                messages.append(self._result(part))
                rest += [each for each in part.content if isinstance(each, _MEDIA)]
            else:
                rest.append(part)
        if rest:
            if self._bridge and messages[-1].get("role") == "tool":
                messages.append({"role": "assistant", "content": self._bridge})
            messages.append({"role": "user", "content": _content(rest, form=self._form)})

    def _result(self, result: ToolResult) -> Json:
        words = [part for part in result.content if not isinstance(part, _MEDIA)]
        content = _content(words, form=self._form)
        wire = self._answers.get(result.call_id)
        if wire is None:
            wire = {"role": "tool", "tool_call_id": self._id(result.call_id)}
        return {**wire, "content": content}

    def _assistant(self, message: Message, messages: list[Json]) -> None:
        wire: dict[str, Json] = {"role": "assistant"}
        content: list[Json] = []
        calls = [self._call(part) for part in message.parts if isinstance(part, ToolCall)]
        if calls:
            self._replay.note_call()
        for part in message.parts:
            if isinstance(part, Text):
                if self._refusals and part.signature is not None and _ours(part).get("refusal"):
                    wire["refusal"] = part.text
                else:
                    content.append(_text(part, points=self._points))
            elif isinstance(part, Thinking):
                self._replay.think(part, wire, content)
            elif isinstance(part, UnknownPart) and part.dialect == NAME:
                _keep(part.raw, wire, content)
        self._replay.fill(wire)
        if content:
            wire["content"] = _join_content(content)
        if calls:
            _add_calls(wire, calls)
        elif len(wire) == 1:
            return  # Mistral rejects an empty turn (mistralai 3.7.0, 2026-11-15); none needs it
        elif not content and "refusal" not in wire:
            wire["content"] = ""
        messages.append(wire)

    def _call(self, call: ToolCall) -> dict[str, Json]:
        extras = _ours(call)
        arguments = call.arguments
        text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
        text = _as_json(text) if self._json_arguments else text
        if extras.get("function_call"):
            self._answers[call.id] = {"role": "function", "name": call.name}
            return {"function_call": {"name": call.name, "arguments": text}}
        wire: dict[str, Json] = {"id": self._id(call.id), "type": "function"}
        if extras.get("type") == "custom" and self._text_tools:
            wire["custom"] = {"name": call.name, "input": text}
        elif extras.get("type") == "custom":  # a function with one text argument replaces it
            extras = {key: value for key, value in extras.items() if key != "type"}
            text = msgspec.json.encode({"input": text}).decode() if text is arguments else text
            wire["function"] = {"name": call.name, "arguments": text}
        else:
            wire["function"] = {"name": call.name, "arguments": text}
        if not extras:
            return wire
        if "id" in extras and self._by_place:
            answered = {} if extras["id"] is None else {"tool_call_id": extras["id"]}
            self._answers[call.id] = {"role": "tool", **answered}
            del wire["id"]
            if extras["id"] is not None:
                wire["id"] = extras["id"]
        return {**wire, **{key: value for key, value in extras.items() if key != "id"}}

    def _id(self, id_: str) -> str:
        if not self._nine or _is_nine(id_):
            return id_
        digest = base64.b32encode(hashlib.sha256(id_.encode("utf-8", "replace")).digest())
        return digest[:9].decode()


def write_level_turn(word: str) -> Json:
    """Return the turn that sets the level, as OpenRouter takes it (its docs; wires/in-band)."""
    change = {"reasoning": {"effort": word}}
    return {"role": "system", "content": "", "configuration_update": change}


def _is_result(turn: Mapping[str, Json]) -> bool:
    return turn.get("role") == "tool"


LEVEL_TURNS = LevelTurns(at=("reasoning", "effort"), write=write_level_turn, waits_after=_is_result)


def _ours(part: Text | ToolCall) -> dict[str, Json]:
    own = part.signature
    if own is None or own.dialect != NAME or not isinstance(own.value, dict):
        return {}
    return own.value


def _keep(raw: Json, wire: dict[str, Json], content: list[Json]) -> None:
    if not isinstance(raw, dict):
        return
    if "type" in raw:
        content.append(raw)
    elif isinstance(audio := raw.get("audio"), dict):  # answers in sound are sent back by id
        wire["audio"] = {"id": audio.get("id")}
    else:
        wire.update(raw)


def _join_content(content: list[Json]) -> Json:
    if str not in map(type, content):
        return _flat(content)
    return "".join(each if isinstance(each, str) else each.get("text", "") for each in content)


def _add_calls(wire: dict[str, Json], calls: list[dict[str, Json]]) -> None:
    if "function_call" in calls[0]:
        wire.update(calls[0])
    else:
        wire["tool_calls"] = calls


_BREAKPOINTS = {
    "cache_control": {"type": "ephemeral"},
    "prompt_cache_breakpoint": {"mode": "explicit"},
}
_SOUNDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


class _Form(msgspec.Struct, frozen=True):
    """How parts are written: the field of cache breakpoints, and whether media are chunks."""

    points: str
    chunks: bool = False


def _content(parts: Iterable[Part], *, form: _Form) -> Json:
    content = [wire for part in parts if (wire := _part(part, form)) is not None]
    return _flat(content) if content else ""


def _flat(content: list[Json]) -> Json:
    if len(content) == 1 and content[0].keys() == {"type", "text"}:
        return content[0]["text"]
    return content


def _text(part: Text, *, points: str) -> dict[str, Json]:
    return _set_breakpoint({"type": "text", "text": part.text}, part.cache, points=points)


def _part(part: Part, form: _Form) -> Json:
    points = form.points
    match part:
        case Text():
            return _text(part, points=points)
        case Image():
            image: dict[str, Json] = {"url": _url(part, part.media_type or "image/png")}
            if part.detail is not None:
                image["detail"] = part.detail
            return _set_breakpoint(
                {"type": "image_url", "image_url": image}, part.cache, points=points
            )
        case Blob():
            medium = _chunk(part) if form.chunks else _blob(part)
            return _set_breakpoint(medium, part.cache, points=points)
        case UnknownPart():
            return part.raw if part.dialect == NAME else None
        case _:
            return None


def _chunk(blob: Blob) -> dict[str, Json]:
    """Write a file or a sound as Mistral does (mistralai 3.7.0, DocumentURLChunk, AudioChunk)."""
    if blob.media_type.startswith("audio/"):
        sound = blob.url if blob.data is None else base64.b64encode(blob.data).decode()
        return {"type": "input_audio", "input_audio": sound}
    name = {} if blob.name is None else {"document_name": blob.name}
    address = _url(blob, blob.media_type)
    return {"type": "document_url", "document_url": address, **name}


def _blob(blob: Blob) -> dict[str, Json]:
    if blob.data is not None and blob.media_type in _SOUNDS:
        data = base64.b64encode(blob.data).decode()
        sound = {"data": data, "format": _SOUNDS[blob.media_type]}
        return {"type": "input_audio", "input_audio": sound}
    address = _url(blob, blob.media_type)
    if blob.media_type.startswith("video/"):
        return {"type": "video_url", "video_url": {"url": address}}
    file = {"file_data": address}
    if blob.name is not None:
        file["filename"] = blob.name
    return {"type": "file", "file": file}


def _url(medium: Image | Blob, media_type: str) -> str:
    if medium.data is None:
        return medium.url or ""
    return f"data:{media_type};base64,{base64.b64encode(medium.data).decode()}"


def _set_breakpoint(
    part: dict[str, Json], cache: CacheBreakpoint | None, *, points: str
) -> dict[str, Json]:
    if cache is not None and points != "none":
        point = dict(_BREAKPOINTS[points])
        if cache.ttl is not None:
            point["ttl"] = cache.ttl
        part[points] = point
    return part
