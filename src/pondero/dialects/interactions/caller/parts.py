"""Turns steps into parts, whole or in pieces, for ``response`` and ``stream``.

A thought's signature goes back on its own step, in its own place. Its value is the string of the
service; with the summary too if that is more than text.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from pondero.canon import (
    Blob,
    Event,
    Finish,
    Image,
    Json,
    Part,
    PartEnd,
    PartKind,
    PartStart,
    Signature,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
    UnknownPart,
    Usage,
    is_thinking_only,
    join_pieces,
    make_call_id,
    parse_arguments,
)
from pondero.errors import Malformed

NAME = "interactions"
MEDIA = frozenset({"image", "audio", "video", "document"})
"""Types of content that hold data or an address."""
_FINISHES: dict[str, Finish] = {
    "completed": "stop",
    "requires_action": "tool_calls",
    "incomplete": "length",
    "requires_continuation": "length",
    "budget_exceeded": "length",
    "failed": "error",
}
_BLOCKED = "content_blocked"


class Delta(Struct, gc=False):
    """A piece of a step, with the fields of the usual types."""

    type: str = ""
    text: str | None = None
    signature: str | None = None
    arguments: Json = None
    content: Json = None
    annotations: list[Json] | None = None


class OpenStep(Struct):
    """A step that is being read; ``kind`` is that of its open part, empty if none is open."""

    raw: dict[str, Json]
    type: str
    index: int = -1
    kind: PartKind | None = None
    texts: list[str] = []
    cited: list[Json] = []
    signature: str = ""
    pictures: list[Json] = []


class Steps:
    """The steps of one answer; every method adds its events to ``out``."""

    def __init__(self, model: str | None, route: str | None) -> None:
        self.model = model
        self.answer_id: str | None = None
        self.parts: list[Part] = []
        self.open: dict[int, OpenStep] = {}
        self._ended: set[int] = set()
        self._route = route
        self._next = 0
        self._beginnings: dict[str, Callable[[OpenStep, list[Event]], None]] = {
            "thought": self._begin_thought,
            "function_call": self._begin_call,
            "model_output": self._begin_output,
        }
        self._handlers: dict[str, Callable[[OpenStep, Delta, list[Event]], None]] = {
            "text": self._add_text,
            "thought_summary": self._add_summary,
            "thought_signature": self._add_signature,
            "arguments_delta": self._add_arguments,
            "text_annotation_delta": self._add_annotations,
        }

    # -- beginnings ----------------------------------------------------------------------------

    def begin(self, place: int, raw: Json, out: list[Event]) -> None:
        """Begin a step; what it has already is its first piece."""
        if not isinstance(raw, dict) or not isinstance(raw.get("type"), str):
            raise Malformed("a step without a type", path="$.step")
        if place in self.open:
            self.end(place, out)
        self._ended.discard(place)
        step = self.open[place] = OpenStep(
            raw, raw["type"], texts=[], cited=[], pictures=[], signature=_text(raw, "signature")
        )
        begin = self._beginnings.get(step.type)
        if begin is None:
            self._start(step, "other", out)
        else:
            begin(step, out)

    def _begin_thought(self, step: OpenStep, out: list[Event]) -> None:
        self._start(step, "thinking", out)
        for content in _list(step.raw.get("summary"), at="$.step.summary"):
            self._summarise(step, content, out)

    def _begin_call(self, step: OpenStep, out: list[Event]) -> None:
        if not _text(step.raw, "name"):
            raise Malformed("a function call without a name", path="$.step.name")
        self._start(step, "tool_call", out)

    def _begin_output(self, step: OpenStep, out: list[Event]) -> None:
        for content in _list(step.raw.get("content"), at="$.step.content"):
            self._add_content(step, content, out)

    def _start(self, step: OpenStep, kind: PartKind, out: list[Event]) -> None:
        step.index, step.kind = self._next, kind
        step.texts, step.cited = [], []
        self._next += 1
        if kind == "tool_call":
            id, name = self._call_id(step), _text(step.raw, "name")
            out.append(PartStart(step.index, kind, id, name, self._sign(step.signature)))
        else:
            out.append(PartStart(step.index, kind))

    # -- pieces --------------------------------------------------------------------------------

    def add(self, place: int, delta: Delta, raw: Callable[[], Json], out: list[Event]) -> None:
        """Add a piece to a step; ``raw`` reads all its fields, for types that we do not know."""
        step = self.open.get(place)
        if step is None:
            if place in self._ended:
                return
            raise Malformed(f"a piece of step {place}, which has not begun", path="$.index")
        handle = self._handlers.get(delta.type)
        if handle is not None:
            handle(step, delta, out)
            return
        fields = raw()
        fields = fields if isinstance(fields, dict) else {}
        if step.type == "model_output" and delta.type not in (step.type, ""):
            self._add_content(step, fields, out)
        else:
            step.raw = step.raw | {key: fields[key] for key in fields if key != "type"}
            step.signature = _text(fields, "signature") or step.signature

    def _add_text(self, step: OpenStep, delta: Delta, out: list[Event]) -> None:
        if step.type != "model_output":
            return
        if step.kind is None:
            self._start(step, "text", out)
        if delta.text:
            step.texts.append(delta.text)
            out.append(TextDelta(step.index, delta.text))

    def _add_summary(self, step: OpenStep, delta: Delta, out: list[Event]) -> None:
        if step.type == "thought":
            self._summarise(step, delta.content, out)

    def _summarise(self, step: OpenStep, content: Json, out: list[Event]) -> None:
        text = _text(content, "text") if isinstance(content, dict) else ""
        if text:
            step.texts.append(text)
            out.append(ThinkingDelta(step.index, text))
        if isinstance(content, dict):
            step.pictures.append(content)

    def _add_signature(self, step: OpenStep, delta: Delta, _out: list[Event]) -> None:
        # Empty ones are repeated after the real one (wire sheet, 2026-11-16).
        step.signature = delta.signature or step.signature

    def _add_arguments(self, step: OpenStep, delta: Delta, out: list[Event]) -> None:
        if step.kind == "tool_call" and isinstance(delta.arguments, str) and delta.arguments:
            step.texts.append(delta.arguments)
            out.append(ToolDelta(step.index, delta.arguments))
        elif step.kind == "tool_call" and isinstance(delta.arguments, dict):
            step.raw = {**step.raw, "arguments": delta.arguments}

    def _add_annotations(self, step: OpenStep, delta: Delta, _out: list[Event]) -> None:
        step.cited += delta.annotations or ()

    def _add_content(self, step: OpenStep, content: Json, out: list[Event]) -> None:
        """Add a content of an output that is whole: each is a part of its own."""
        if not isinstance(content, dict):
            raise Malformed("a content that is no object", path="$.step.content")
        self._close_part(step, out)
        if content.get("type") == "text":
            self._start(step, "text", out)
            if text := _text(content, "text"):
                step.texts.append(text)
                out.append(TextDelta(step.index, text))
            step.cited = list(_list(content.get("annotations"), at="$..annotations"))
            self._close_part(step, out)
            return
        part = _medium(content) or UnknownPart(NAME, content)
        self._start(step, _KINDS[type(part)], out)
        self._put(step, part, out)

    # -- ends ----------------------------------------------------------------------------------

    def end(self, place: int, out: list[Event]) -> None:
        """End a step."""
        step = self.open.pop(place, None)
        if step is not None:
            self._ended.add(place)
            self._close_part(step, out)

    def end_all(self, out: list[Event]) -> None:
        """End every step that is open."""
        for place in sorted(self.open):
            self.end(place, out)

    def join(self) -> None:
        """Join the pieces read so far, so that a long part is not copied again and again."""
        for step in self.open.values():
            join_pieces(step.texts)

    def _close_part(self, step: OpenStep, out: list[Event]) -> None:
        text = "".join(step.texts)
        match step.kind:
            case "text":
                self._put(step, Text(text, citations=tuple(step.cited)), out)
            case "thinking":
                self._put(step, Thinking(text, self._sign_thought(step)), out)
            case "tool_call":
                self._put(step, self._call(step, text, out), out)
            case "other":
                known = {key: step.raw[key] for key in step.raw if key != "signature"}
                self._put(step, UnknownPart(NAME, known, self._sign(step.signature)), out)
            case _:
                pass

    def _put(self, step: OpenStep, part: Part, out: list[Event]) -> None:
        out.append(PartEnd(step.index, part))
        self.parts.append(part)
        step.kind = None

    def _call(self, step: OpenStep, text: str, out: list[Event]) -> ToolCall:
        arguments: Json = parse_arguments(text) if text else step.raw.get("arguments") or {}
        if not text:
            out.append(ToolDelta(step.index, msgspec.json.encode(arguments).decode()))
        signature = self._sign(step.signature)
        minted = not _text(step.raw, "id")
        return ToolCall(
            self._call_id(step), _text(step.raw, "name"), arguments, signature, minted=minted
        )

    def _call_id(self, step: OpenStep) -> str:
        given = _text(step.raw, "id")
        seed = [self.answer_id, step.index, step.raw.get("name")]
        return given or make_call_id(msgspec.json.encode(seed))

    def _sign_thought(self, step: OpenStep) -> Signature | None:
        plain = all(each.get("type") == "text" for each in step.pictures)
        if plain or not step.signature:
            return self._sign(step.signature)
        return self._sign({"signature": step.signature, "summary": step.pictures})

    def _sign(self, value: Json) -> Signature | None:
        return Signature(NAME, value, self.model, self._route) if value else None


_KINDS: dict[type, PartKind] = {Image: "image", Blob: "blob", UnknownPart: "other"}


def find_finish(status: str, errors: Json, parts: list[Part], used: Usage) -> Finish:
    """Return how an answer of this status ended."""
    finish = _FINISHES.get(status, "other")
    if finish == "stop" and any(isinstance(part, ToolCall) for part in parts):
        return "tool_calls"
    if finish == "length" and is_thinking_only(parts, used):
        return "exhausted"
    if finish == "error" and _BLOCKED in _codes(errors):
        return "content_filter"
    return finish


def _codes(errors: Json) -> list[Json]:
    listed = errors if isinstance(errors, list) else []
    return [each.get("code") for each in listed if isinstance(each, dict)]


def _medium(content: Mapping[str, Any]) -> Image | Blob | None:
    kind, uri = content.get("mime_type"), content.get("uri")
    if content.get("type") not in MEDIA:
        return None
    data = _decode(content["data"]) if isinstance(content.get("data"), str) else None
    url = uri if isinstance(uri, str) and data is None else None
    if data is None and url is None:
        return None
    if content["type"] == "image":
        return Image(kind if isinstance(kind, str) else None, data, url)
    return Blob(kind if isinstance(kind, str) else "application/octet-stream", data, url)


def _decode(text: str) -> bytes:
    standard = text.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Malformed(str(error), path="$..data") from error


def _text(raw: Mapping[str, Json], key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""


def _list(value: Json, *, at: str) -> list[Json]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise Malformed(f"expected a list, got {type(value).__name__}", path=at)
    return value
