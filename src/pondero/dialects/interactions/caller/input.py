"""Writes messages as steps; every thought goes back in its place, to its own route.

From Gemini 3 on, a call of the current turn needs a signed thought before it (known issue
allenhutchison/obsidian-gemini#1269). Calls of other models get the documented stand-in.
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

from .parts import MEDIA, NAME

UNSIGNED = "skip_thought_signature_validator"  # earendil-works/pi#2172
_SIGNS_SINCE = 3
_GENERATION = re.compile(r"gemini-(\d+)")
_CONTENT = MEDIA | {"text"}


def make_steps(messages: Iterable[Message], *, route: str, models: tuple[str, ...]) -> list[Json]:
    """Return the conversation; the first of the model's names that has a number counts."""
    found = next((number for model in models if (number := _GENERATION.search(model))), None)
    signs = found is not None and int(found[1]) >= _SIGNS_SINCE
    writer = _StepWriter(route, signs=signs)
    for message in messages:
        if message.role == "assistant":
            writer.add_answer(message.parts)
        elif message.role == "user":
            writer.add_input(message.parts)
    return writer.steps


class _StepWriter:
    def __init__(self, route: str, *, signs: bool) -> None:
        self.steps: list[Json] = []
        self._route = route
        self._signs = signs
        self._names: dict[str, str] = {}

    def add_answer(self, parts: tuple[Part, ...]) -> None:
        steps = [step for part in parts if (step := self._step(part)) is not None]
        if self._signs and _needs_thought(steps):
            steps.insert(0, {"type": "thought", "signature": UNSIGNED})
        self.steps += steps

    def add_input(self, parts: tuple[Part, ...]) -> None:
        content = [block for part in parts if (block := self._content(part)) is not None]
        if content:
            self.steps.append({"type": "user_input", "content": content})

    # -- the model's side ------------------------------------------------------------------------

    def _step(self, part: Part) -> dict[str, Json] | None:
        match part:
            case Thinking():
                return self._write_thought(part)
            case ToolCall():
                return self._call(part)
            case UnknownPart() if part.dialect == NAME and part.raw.get("type") not in _CONTENT:
                return self._sign_step(dict(part.raw), part.signature)
            case Text() if part.text:
                return {"type": "model_output", "content": [_output_text(part)]}
            case Text() | ToolResult():
                return None
            case _:
                content = self._content(part)
                return None if content is None else {"type": "model_output", "content": [content]}

    def _write_thought(self, part: Thinking) -> dict[str, Json] | None:
        value = self._read_signature(part.signature)
        if value is None:
            return None
        if isinstance(value, dict):
            return {"type": "thought", **value}
        summary = {"summary": [{"type": "text", "text": part.text}]} if part.text else {}
        return {"type": "thought", "signature": value, **summary}

    def _call(self, part: ToolCall) -> dict[str, Json]:
        arguments = part.arguments
        if not isinstance(arguments, dict):
            arguments = {} if arguments is None else {"arguments": arguments}
        self._names[part.id] = part.name
        step = {"type": "function_call", "id": part.id, "name": part.name, "arguments": arguments}
        return self._sign_step(step, part.signature)

    def _sign_step(self, step: dict[str, Json], own: Signature | None) -> dict[str, Json]:
        value = self._read_signature(own)
        return step if value is None else {**step, "signature": value}

    def _read_signature(self, own: Signature | None) -> Json:
        if own is None or own.dialect != NAME:
            return None
        return own.value if own.route in (None, self._route) else None

    # -- the user's side -------------------------------------------------------------------------

    def _content(self, part: Part) -> Json:
        match part:
            case Text():
                return {"type": "text", "text": part.text}
            case Image() | Blob():
                return _medium(part)
            case ToolResult():
                return self._result(part)
            case UnknownPart() if part.dialect == NAME:
                return part.raw
            case _:
                return None

    def _result(self, part: ToolResult) -> Json:
        block: dict[str, Json] = {"type": "function_result", "call_id": part.call_id}
        if name := part.name or self._names.get(part.call_id):
            block["name"] = name
        block["result"] = self._result_content(part)
        return {**block, "is_error": True} if part.error else block

    def _result_content(self, part: ToolResult) -> Json:
        content = [block for each in part.content if (block := self._content(each)) is not None]
        if len(content) == 1 and content[0].get("type") == "text":
            return content[0]["text"]
        return content


def _needs_thought(steps: list[dict[str, Json]]) -> bool:
    """Return whether the first call is signed neither itself nor by a thought before it."""
    for step in steps:
        if step["type"] == "thought" or step.get("signature"):
            return False
        if step["type"] == "function_call":
            return True
    return False


def _output_text(part: Text) -> dict[str, Json]:
    content: dict[str, Json] = {"type": "text", "text": part.text}
    own = [each for each in part.citations if isinstance(each, dict) and _is_own(each)]
    return {**content, "annotations": own} if own else content


def _is_own(citation: dict[str, Json]) -> bool:
    return citation.get("type") in ("url_citation", "file_citation", "place_citation")


def _medium(part: Image | Blob) -> dict[str, Json]:
    kind = part.media_type
    family = "image" if isinstance(part, Image) else (kind or "").partition("/")[0]
    content: dict[str, Json] = {"type": family if family in MEDIA else "document"}
    if kind:
        content["mime_type"] = kind
    if part.data is not None:
        content.setdefault("mime_type", "image/png")
        return {**content, "data": base64.b64encode(part.data).decode()}
    return {**content, "uri": part.url}
