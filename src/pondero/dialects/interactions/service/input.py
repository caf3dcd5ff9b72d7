"""Reads an input of any of its four forms into steps, and steps into messages."""

from collections.abc import Iterator
from typing import Any

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
    dump_json,
)
from pondero.dialects.bodies import UnknownFields

from . import types
from .errors import reject
from .signatures import from_base64, is_stand_in
from .validation import read

_GIVEN = (types.UserInput, types.FunctionResult)


def list_steps(given: Json) -> list[Json]:
    """Return the input as raw steps; a text or a list of content is one step of the user."""
    if isinstance(given, str):
        given = {"type": "text", "text": given}
    if isinstance(given, dict):
        given = [given]
    if not isinstance(given, list):
        reject("wrong_type", path="input", why="expected a string, an object or a list")
    kinds = [find_type(each) for each in given]
    as_content = [kind in types.CONTENT for kind in kinds]
    if not any(as_content):
        return given
    if not all(as_content):
        number = as_content.index(not as_content[0])
        reject("mixed_input", type=kinds[number], number=number)
    return [{"type": "user_input", "content": given}]


def read_steps(raw: list[Json], unknown: UnknownFields | None = None) -> list[types.Step]:
    """Return the steps as types; strict, unless ``unknown`` collects."""
    steps: list[types.Step] = []
    for number, step in enumerate(raw):
        if isinstance(step, dict) and "role" in step:
            reject("old_turns", number=number)
        if isinstance(step, dict) and step.get("type") == "user_input":
            _check_no_thought(step)
        kind: Any = types.Step
        if unknown is not None and find_type(step) not in (None, *_TYPES):
            kind = types.OtherStep
        steps.append(read(step, kind, at=f"input[{number}]", unknown=unknown))
    return steps


def find_type(given: Json) -> str | None:
    """Return the type of a step or content; None if it has no word for one."""
    kind = given.get("type") if isinstance(given, dict) else None
    return kind if isinstance(kind, str) else None


def _check_no_thought(step: dict[str, Json]) -> None:
    content = step.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "thought":
            reject("thought_in_input")


_TYPES = frozenset(
    kind.__struct_config__.tag
    for kind in (*types.Step.__args__,)  # all have a tag
)


class MessageReader:
    """Reads steps into messages; signatures name the provider, if known."""

    def __init__(self, model: str | None, provider: str | None = None) -> None:
        self._model = model
        self._provider = provider
        self._names: dict[str, str] = {}

    def read(self, steps: list[types.Step], raw: list[Json]) -> tuple[Message, ...]:
        """Return the messages of a conversation: an answer is all steps between two inputs."""
        turns: list[tuple[bool, bool, list[Part]]] = []
        for step, source in zip(steps, raw, strict=True):
            given, alone = isinstance(step, _GIVEN), isinstance(step, types.FunctionResult)
            parts = list(self._iter_parts(step, source))
            last = turns[-1] if turns else None
            if last is not None and last[:2] == (given, alone) and (alone or not given):
                last[2].extend(parts)
            else:
                turns.append((given, alone, parts))
        return tuple(
            Message("user" if given else "assistant", tuple(parts)) for given, _, parts in turns
        )

    def _iter_parts(self, step: types.Step, raw: dict[str, Any]) -> Iterator[Part]:
        match step:
            case types.UserInput() | types.ModelOutput():
                for block, source in zip(step.content or (), raw.get("content") or (), strict=True):
                    if isinstance(block, types.FunctionResult):
                        yield self._result(block)
                    else:
                        yield _content(block, source)
            case types.FunctionResult():
                yield self._result(step)
            case types.ThoughtStep():
                yield from self._iter_thoughts(step, raw)
            case types.FunctionCall():
                self._names[step.id] = step.name
                signature = self._sign(step.signature)
                yield ToolCall(step.id, step.name, step.arguments, signature)
            case _:
                kept = {key: value for key, value in raw.items() if key != "signature"}
                yield UnknownPart(types.NAME, kept, self._sign(step.signature))

    def _iter_thoughts(self, step: types.ThoughtStep, raw: dict[str, Any]) -> Iterator[Part]:
        texts = [each.text for each in step.summary or () if isinstance(each, types.TextContent)]
        value: Json = step.signature or None
        if value is not None and is_stand_in(value):
            value = None
        if value is not None and len(texts) < len(step.summary or ()):
            value = {"signature": value, "summary": raw["summary"]}
        if value is not None or any(texts):
            yield Thinking("".join(texts), self._sign(value))

    def _result(self, said: types.FunctionResult) -> ToolResult:
        name = None if said.name == self._names.get(said.call_id) else said.name
        return ToolResult(said.call_id, tuple(_result_content(said)), bool(said.is_error), name)

    def _sign(self, value: Json) -> Signature | None:
        return Signature(types.NAME, value, self._model, self._provider) if value else None


def _result_content(said: types.FunctionResult) -> Iterator[Text | Image | Blob | UnknownPart]:
    result = said.result
    if isinstance(result, str):
        yield Text(result)
    elif isinstance(result, list):
        for block in result:
            yield _content(block, {})
    else:
        yield Text(dump_json(result))


def _content(block: types.Content, raw: Json) -> Text | Image | Blob | UnknownPart:
    if isinstance(block, types.TextContent):
        return Text(block.text, citations=tuple(block.annotations or ()))
    data = from_base64(block.data) if block.data is not None else None
    if data is None and block.uri is None:
        return UnknownPart(types.NAME, raw)
    url = block.uri if data is None else None
    if isinstance(block, types.ImageContent):
        return Image(block.mime_type, data, url)
    return Blob(block.mime_type or "application/octet-stream", data, url)
