"""Replaces tools of another API by this service's own or by functions; converts calls back."""

import json
import re
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from ...canon import (
    Event,
    Json,
    Message,
    Part,
    PartEnd,
    PartStart,
    Request,
    Tool,
    ToolCall,
    ToolDelta,
    dump_json,
)
from ...catalog import Provider
from ...thinking import Adjustment
from .draft import RequestDraft
from .hosted_settings import MissingLimit, carry_settings

INPUT = "input"
"""The only argument of a function that replaces a tool which takes a text."""

_ANY_TEXT = {"type": "string"}
_FUNCTION = "a function with one text argument"


def replace_foreign_tools(draft: RequestDraft) -> RequestDraft:
    """Replace tools of another API by this service's own, or by functions that take a text."""
    request, provider = draft.request, draft.entry.provider
    if not request.tools:
        return draft
    has_text = bool(draft.target.quirks.get("text_tools", draft.caller.tools.text_tools))
    fits = [_fits(tool, provider.dialect, has_text=has_text) for tool in request.tools]
    if all(fits):
        return draft
    tools: list[Tool] = []
    notes: list[Adjustment] = []
    renamed: dict[str, str | None] = {}
    for tool, fitting in zip(request.tools, fits, strict=True):
        found, more = (tool, []) if fitting else _convert(tool, draft)
        renamed[tool.name] = None if found is None else found.name
        if found is not None:
            tools.append(found)
        if tool.kind != "function" and found is not tool:
            notes += more or [_note(tool, found, provider)]
    texts = frozenset(
        tool.name for tool in request.tools if tool.kind == "text" and tool not in tools
    )
    request = replace(
        request, tools=tuple(tools), messages=tuple(_with_objects(request.messages, texts))
    )
    request = _with_choice(request, renamed, notes)
    return draft.but(request=request, text_tools=texts).note(*notes)


def _fits(tool: Tool, dialect: str, *, has_text: bool) -> bool:
    if tool.raw is None:
        return tool.kind == "function"
    if tool.kind == "text" and not has_text:
        return False
    return tool.dialect in (None, dialect)


def _convert(tool: Tool, draft: RequestDraft) -> tuple[Tool | None, list[Adjustment]]:
    """Convert a tool, with the notes on it that are not the usual one."""
    provider, caller = draft.entry.provider, draft.caller
    found = _convert_tool(tool, provider, caller.hosted_tools)
    if found is None or not isinstance(found.raw, dict):
        return found, []
    try:
        raw, notes = carry_settings(tool, found.raw, caller.hosted_settings.get(tool.kind, {}))
    except MissingLimit as limit:
        why = f"{provider.label} has such a tool, and it cannot keep to {limit}"
        return None, [Adjustment("tool_left_out", "tools", tool.name, None, why)]
    made = replace(found, raw=raw)
    return made, [_note(tool, made, provider), *notes] if notes else []


def _convert_tool(tool: Tool, provider: Provider, hosted: Mapping[str, Json]) -> Tool | None:
    """Convert a tool for this service; None if it has no such tool."""
    match tool.kind:
        case "function":
            return replace(tool, raw=None, dialect=None)
        case "text":
            schema = tool.parameters or _ANY_TEXT
            parameters = {
                "type": "object",
                "properties": {INPUT: schema},
                "required": [INPUT],
                "additionalProperties": False,
            }
            return Tool(tool.name, tool.description, parameters, cache=tool.cache)
        case kind if kind in provider.hosted and kind in hosted:
            raw = hosted[kind]
            name = str(raw.get("name") or tool.name)
            return Tool(name, raw=raw, dialect=provider.dialect, kind=kind)
    return None


def _note(tool: Tool, found: Tool | None, provider: Provider) -> Adjustment:
    if found is None:
        why = f"{provider.label} has no tool of this kind"
        return Adjustment("tool_left_out", "tools", tool.name, None, why)
    if tool.kind == "text":
        why = f"a tool of {provider.label} that takes a text is {_FUNCTION}"
        return Adjustment("tool_replaced", "tools", tool.name, _FUNCTION, why)
    why = f"{provider.label} has its own"
    return Adjustment("tool_replaced", "tools", tool.name, tool.kind, why)


def _with_choice(
    request: Request, renamed: Mapping[str, str | None], notes: list[Adjustment]
) -> Request:
    choice = request.tool_choice
    if choice is None:
        return request
    if not request.tools:
        return replace(request, tool_choice=None)
    if choice.mode != "tool" or choice.name is None or choice.name not in renamed:
        return request
    name = renamed[choice.name]
    if name is None:
        why = "the tool that must be called is not on offer here"
        notes.append(Adjustment("dropped_parameter", "tool_choice", choice.name, None, why))
        return replace(request, tool_choice=replace(choice, mode="auto", name=None))
    return replace(request, tool_choice=replace(choice, name=name))


def _with_objects(messages: Iterable[Message], texts: frozenset[str]) -> Iterable[Message]:
    for message in messages:
        parts = message.parts
        if message.role == "assistant":
            parts = tuple(_with_object(part, texts) for part in parts)
        yield message if parts == message.parts else replace(message, parts=parts)


def _with_object(part: Part, texts: frozenset[str]) -> Part:
    if not isinstance(part, ToolCall) or part.name not in texts or isinstance(part.arguments, dict):
        return part
    said = part.arguments
    return replace(part, arguments={INPUT: said if isinstance(said, str) else dump_json(said)})


# -- calls on their way back ---------------------------------------------------------------------


class TextCalls:
    """Turns calls of such functions into calls with their text."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names
        self._open: dict[int, _TextReader] = {}

    def take(self, events: list[Event]) -> list[Event]:
        """Return the events with arguments as text, in the same pieces."""
        return [each for event in events for each in self._convert_event(event)]

    def _convert_event(self, event: Event) -> tuple[Event, ...]:
        match event:
            case PartStart(kind="tool_call") if event.name in self._names:
                self._open[event.index] = _TextReader()
            case ToolDelta() if event.index in self._open:
                text = self._open[event.index].feed(event.json)
                return (ToolDelta(event.index, text),) if text else ()
            case PartEnd(part=ToolCall() as call) if call.name in self._names:
                read = self._open.pop(event.index, _TextReader())
                return (PartEnd(event.index, replace(call, arguments=read.end(call.arguments))),)
        return (event,)


_OPENING = re.compile(rf'\s*\{{\s*"{INPUT}"\s*:\s*"')
_HEX = "[0-9a-fA-F]"
# Whole characters of a JSON string; both halves of a surrogate pair are one.
_WHOLE = re.compile(
    r'(?:[^"\\]++|\\[^u]'
    rf"|\\u(?![dD][89a-fA-F]){_HEX}{{4}}"
    rf"|\\u[dD][89abAB]{_HEX}{{2}}\\u[dD][c-fC-F]{_HEX}{{2}})*+",
    re.DOTALL,
)


class _TextReader:
    """Reads the text in a call's only argument while its JSON arrives."""

    def __init__(self) -> None:
        self._waiting = ""  # unread JSON
        self._opened = self._closed = False
        self._read: list[str] = []

    def feed(self, piece: str) -> str:
        """Return the text that this piece of JSON adds."""
        self._waiting += piece
        if not self._opened:
            if (found := _OPENING.match(self._waiting)) is None:
                return ""
            self._opened, self._waiting = True, self._waiting[found.end() :]
        return "" if self._closed else self._read_more()

    def end(self, arguments: Json) -> str:
        """Return the whole text; ``arguments`` are the finished call's."""
        if isinstance(arguments, dict) and isinstance(text := arguments.get(INPUT), str):
            return text
        if self._read:
            return "".join(self._read)
        return arguments if isinstance(arguments, str) else dump_json(arguments)

    def _read_more(self) -> str:
        found = _WHOLE.match(self._waiting)
        ready = found[0] if found else ""
        self._waiting = self._waiting[len(ready) :]
        self._closed = self._waiting.startswith('"')
        try:
            text: str = json.loads(f'"{ready}"', strict=False)
        except ValueError:  # an escape that JSON does not have
            self._closed = True
            return ""
        self._read.append(text)
        return text
