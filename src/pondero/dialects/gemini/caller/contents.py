"""Writes messages as ``contents``; signatures go back on their own part, to their own route.

From Gemini 3 on, each step's first call is signed (vendor page thought-signatures, 2026-11-15).
"""

import base64
import re
from collections.abc import Iterable

from pondero.canon import (
    Blob,
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
)

from .parts import NAME

UNSIGNED = "skip_thought_signature_validator"
SIGNS_SINCE = 3  # generation that rejects unsigned calls and takes media in results
_GENERATION = re.compile(r"gemini-(\d+)")


def contents(messages: Iterable[Message], *, route: str, models: tuple[str, ...]) -> list[Json]:
    """Return the conversation; the first of the model's names that has a number counts."""
    found = next((number for model in models if (number := _GENERATION.search(model))), None)
    writer = _ContentsWriter(route, newer=found is not None and int(found[1]) >= SIGNS_SINCE)
    for message in messages:
        if message.role == "assistant":
            writer.model(message.parts)
        elif message.role == "user":
            writer.user(message.parts)
    return writer.contents


def text_parts(parts: Iterable[Part]) -> list[Json]:
    """Return the texts among these parts."""
    return [{"text": part.text} for part in parts if isinstance(part, Text) and part.text]


class _ContentsWriter:
    def __init__(self, route: str, *, newer: bool) -> None:
        self.contents: list[Json] = []
        self._route = route
        self._newer = newer
        self._calls: dict[str, ToolCall] = {}
        self._results: list[Json] | None = None  # of the last content, if it has no other parts

    def model(self, parts: tuple[Part, ...]) -> None:
        said: list[Json] = []
        called = False
        for part in parts:
            if isinstance(part, ToolCall):
                self._calls[part.id] = part
                said.append(self._call(part, said, first=not called))
                called = True
            elif (one := self._part(part)) is not None:
                said.append(one)
        if said:
            self.contents.append({"role": "model", "parts": said})
            self._results = None

    def user(self, parts: tuple[Part, ...]) -> None:
        said: list[Json] = []
        only_results = True
        for part in parts:
            if isinstance(part, ToolResult):
                said += self._result(part)
            elif (one := self._part(part)) is not None:
                said.append(one)
                only_results = False
        if not said:
            return
        if only_results and self._results is not None:
            self._results += said  # one content for the results of a step
            return
        self.contents.append({"role": "user", "parts": said})
        self._results = said if only_results else None

    def _part(self, part: Part) -> Json:
        match part:
            case Text():
                return self._sign_part({"text": part.text}, part.signature, empty=not part.text)
            case Thinking():
                if part.signature is not None and part.signature.dialect != NAME:
                    return None
                thought: dict[str, Json] = {"text": part.text, "thought": True}
                return self._sign_part(thought, part.signature, empty=not part.text)
            case Image() | Blob():
                return self._sign_part(_medium(part), part.signature, empty=False)
            case UnknownPart():
                if part.dialect != NAME:
                    return None
                return self._sign_part(dict(part.raw), part.signature, empty=False)
            case _:
                return None

    def _sign_part(self, part: dict[str, Json], own: Signature | None, *, empty: bool) -> Json:
        """Return the part with its signature; None if it is empty and unsigned."""
        signature = self._signature(own)
        if signature is not None:
            part["thoughtSignature"] = signature
        return None if empty and signature is None else part

    def _signature(self, own: Signature | None) -> Json:
        if own is None or own.dialect != NAME:
            return None
        return own.value if own.route in (None, self._route) else None

    def _call(self, call: ToolCall, before: list[Json], *, first: bool) -> Json:
        arguments = call.arguments
        if not isinstance(arguments, dict):
            arguments = {} if arguments is None else {"arguments": arguments}
        function: dict[str, Json] = {"name": call.name, "args": arguments}
        if not call.minted:
            function["id"] = call.id
        part: dict[str, Json] = {"functionCall": function}
        signature = self._signature(call.signature)
        if signature is None and first and self._newer:
            signature = _take_signature(before) or UNSIGNED
        if signature is not None:
            part["thoughtSignature"] = signature
        return part

    def _result(self, result: ToolResult) -> list[Json]:
        call = self._calls.get(result.call_id)
        name = result.name or (call.name if call else result.call_id)
        response: dict[str, Json] = {"name": name, "response": _response(result)}
        if call is not None and not call.minted:
            response["id"] = call.id
        media = [_medium(part) for part in result.content if isinstance(part, Image | Blob)]
        if media and self._newer:
            response["parts"] = media
            media = []
        return [{"functionResponse": response}, *media]


def _take_signature(parts: list[Json]) -> Json:
    last = parts[-1] if parts else {}
    if last.get("text") == "" and "thoughtSignature" in last:
        return parts.pop()["thoughtSignature"]
    return None


def _response(result: ToolResult) -> Json:
    texts = []
    for part in result.content:
        if isinstance(part, UnknownPart) and part.dialect == NAME:
            return part.raw
        if isinstance(part, Text):
            texts.append(part.text)
    if not texts and not result.error:
        return {}
    return {"error" if result.error else "output": texts if len(texts) > 1 else "".join(texts)}


def _medium(part: Image | Blob) -> dict[str, Json]:
    if part.data is not None:
        data = base64.b64encode(part.data).decode()
        return {"inlineData": {"mimeType": part.media_type or "image/png", "data": data}}
    url = part.url or ""
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return {"inlineData": {"mimeType": head[5:-7], "data": data}}
    file = {"fileUri": url}
    return {"fileData": file | {"mimeType": part.media_type} if part.media_type else file}
