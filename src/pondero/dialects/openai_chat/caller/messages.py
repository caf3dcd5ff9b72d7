"""A conversation as this wire has it: one flat list, tool results as messages of their own."""

import base64
import hashlib
import re
from collections.abc import Iterable

import msgspec

from pondero.canon import (
    Blob,
    Image,
    Json,
    Message,
    Other,
    Part,
    Request,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

from .content import content_of, flat, text_of
from .parts import NAME
from .quirks import Quirks
from .replay import Replay

_encode = msgspec.json.encode
_is_nine = re.compile(r"[A-Za-z0-9]{9}").fullmatch


class Messages:
    """The messages of one request, in order; remembers how each call is to be answered."""

    def __init__(self, quirks: Quirks, model: str) -> None:
        self._system_role = quirks.system_role
        self._marks = quirks.cache_marks
        self._nine = quirks.tool_call_ids == "9 alphanumerics"
        self._replay = Replay(quirks, model)
        self._answers: dict[str, dict[str, Json]] = {}  # to calls not answered by their own id

    def of(self, request: Request) -> list[Json]:
        """Return the wire's list."""
        messages: list[Json] = []
        if request.system:
            messages.append(self._system(request.system))
        for message in request.messages:
            if message.role == "assistant":
                self._assistant(message, messages)
            elif message.role == "user":
                self._user(message, messages)
            else:
                messages.append(self._system(message.parts))
        return messages

    def _system(self, parts: Iterable[Part]) -> Json:
        return {"role": self._system_role, "content": content_of(parts, marks=self._marks)}

    def _user(self, message: Message, messages: list[Json]) -> None:
        rest: list[Part] = []
        for part in message.parts:
            if isinstance(part, ToolResult):
                messages.append(self._result(part))
                rest += (each for each in part.content if isinstance(each, Image | Blob))
            else:
                rest.append(part)
        if rest:
            messages.append({"role": "user", "content": content_of(rest, marks=self._marks)})

    def _result(self, result: ToolResult) -> Json:
        words = [part for part in result.content if not isinstance(part, Image | Blob)]
        content = content_of(words, marks=self._marks)
        wire = self._answers.get(result.call_id)
        if wire is None:
            wire = {"role": "tool", "tool_call_id": self._id(result.call_id)}
        return {**wire, "content": content}

    def _assistant(self, message: Message, messages: list[Json]) -> None:
        wire: dict[str, Json] = {"role": "assistant"}
        content: list[Json] = []
        calls = [self._call(part) for part in message.parts if isinstance(part, ToolCall)]
        if calls:
            self._replay.called()
        for part in message.parts:
            if isinstance(part, Text):
                if part.seal is not None and _ours(part).get("refusal"):
                    wire["refusal"] = part.text
                else:
                    content.append(text_of(part, marks=self._marks))
            elif isinstance(part, Thinking):
                self._replay.think(part, wire, content)
            elif isinstance(part, Other) and part.dialect == NAME:
                _keep(part.raw, wire, content)
        self._replay.fill(wire)
        if content:
            wire["content"] = _joined(content)
        if calls:
            _add_calls(wire, calls)
        elif len(wire) == 1:
            return  # a turn that said nothing is refused in some places and needed in none
        elif not content and "refusal" not in wire:
            wire["content"] = ""
        messages.append(wire)

    def _call(self, call: ToolCall) -> dict[str, Json]:
        extras = _ours(call)
        arguments = call.arguments
        text = arguments if isinstance(arguments, str) else _encode(arguments).decode()
        if extras.get("function_call"):
            self._answers[call.id] = {"role": "function", "name": call.name}
            return {"function_call": {"name": call.name, "arguments": text}}
        wire: dict[str, Json] = {"id": self._id(call.id), "type": "function"}
        if extras.get("type") == "custom":
            wire["custom"] = {"name": call.name, "input": text}
        else:
            wire["function"] = {"name": call.name, "arguments": text}
        if not extras:
            return wire
        if "id" in extras:
            answered = {} if extras["id"] is None else {"tool_call_id": extras["id"]}
            self._answers[call.id] = {"role": "tool", **answered}
        wire.update(extras)
        if wire["id"] is None:
            del wire["id"]
        return wire

    def _id(self, id_: str) -> str:
        if not self._nine or _is_nine(id_):
            return id_
        digest = base64.b32encode(hashlib.sha256(id_.encode("utf-8", "replace")).digest())
        return digest[:9].decode()


def _ours(part: Text | ToolCall) -> dict[str, Json]:
    seal = part.seal
    if seal is None or seal.dialect != NAME or not isinstance(seal.value, dict):
        return {}
    return seal.value


def _keep(raw: Json, wire: dict[str, Json], content: list[Json]) -> None:
    """Put back what we do not know: a part of the content, or fields of the message."""
    if not isinstance(raw, dict):
        return
    if "type" in raw:
        content.append(raw)
    elif isinstance(audio := raw.get("audio"), dict):  # spoken answers go back by id
        wire["audio"] = {"id": audio.get("id")}
    else:
        wire.update(raw)


def _joined(content: list[Json]) -> Json:
    """Return the content of a turn; thinking between tags is text among text."""
    if not any(isinstance(each, str) for each in content):
        return flat(content)
    return "".join(each if isinstance(each, str) else each.get("text", "") for each in content)


def _add_calls(wire: dict[str, Json], calls: list[dict[str, Json]]) -> None:
    if "function_call" in calls[0]:
        wire.update(calls[0])
    else:
        wire["tool_calls"] = calls
