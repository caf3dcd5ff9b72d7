"""Restores calls of tools that were fitted to a service: their names and their arguments."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from ...canon import Event, Json, PartEnd, PartStart, ToolCall, ToolDelta, dump_json
from ...framing import parse_json_or_none
from .restore import JsonRewriter, OutputRestore, restore_text


class CallRestore(Struct, frozen=True):
    """How calls differ from the tools that were asked for.

    ``names``: a name that was sent, and the tool's own. ``arguments``: how the arguments of a
    tool, by its own name, differ from its schema.
    """

    names: Mapping[str, str] = {}
    arguments: Mapping[str, OutputRestore] = {}


NO_RESTORE = CallRestore()


class CallRestorer:
    """Restores the calls in the events of an answer."""

    def __init__(self, restore: CallRestore) -> None:
        self._names = restore.names
        self._arguments = restore.arguments
        self._open: dict[int, JsonRewriter] = {}

    def take(self, events: list[Event]) -> list[Event]:
        """Return the events with the names and arguments that the tools have."""
        return [each for event in events for each in self._convert_event(event)]

    def _convert_event(self, event: Event) -> tuple[Event, ...]:
        match event:
            case PartStart(kind="tool_call", name=str() as sent):
                name = self._names.get(sent, sent)
                if name in self._arguments:
                    self._open[event.index] = JsonRewriter(self._arguments[name])
                return (event if name == sent else replace(event, name=name),)
            case ToolDelta() if event.index in self._open:
                text = self._open[event.index].feed(event.json)
                return (ToolDelta(event.index, text),) if text else ()
            case PartEnd(part=ToolCall() as call):
                return self._end_call(event, call)
        return (event,)

    def _end_call(self, event: PartEnd, call: ToolCall) -> tuple[Event, ...]:
        name = self._names.get(call.name, call.name)
        arguments = call.arguments
        if name in self._arguments:
            arguments = restore_arguments(arguments, self._arguments[name])
        whole = replace(call, name=name, arguments=arguments)
        end = PartEnd(event.index, whole if whole != call else call)
        rewriter = self._open.pop(event.index, None)
        rest = rewriter.end() if rewriter is not None else ""
        return (ToolDelta(event.index, rest), end) if rest else (end,)


def restore_arguments(arguments: Json, restore: OutputRestore) -> Json:
    """Return a call's arguments as the tool's own schema has them."""
    said = arguments if isinstance(arguments, str) else dump_json(arguments)
    text = restore_text(said, restore)
    found = parse_json_or_none(text.encode())
    return found if isinstance(found, dict) else text
