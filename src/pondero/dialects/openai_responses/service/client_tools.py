"""Tools that OpenAI defines and clients run: as functions for other models, and back again."""

import re
from base64 import b64decode
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from pondero.canon import (
    Image,
    Json,
    Message,
    Part,
    Request,
    Text,
    Tool,
    ToolCall,
    ToolResult,
    UnknownPart,
    dump_json,
)
from pondero.dialects.client_tools import ClientTool, load_client_tools

from .signatures import parse_id
from .types import NAME

Item = dict[str, Json]
_INLINE = re.compile(r"data:([^;,]*);base64,(.*)", re.DOTALL)


def find_client_tool(raw: Mapping[str, Json]) -> ClientTool | None:
    """Return the tool that a client runs; a shell in a container is the service's own."""
    environment = raw.get("environment")
    where = environment.get("type") if isinstance(environment, dict) else None
    if raw.get("type") == "shell" and where not in (None, "local"):
        return None
    return load_client_tools(__package__).get(str(raw.get("type")))


def list_client_tools(tools: tuple[Tool, ...]) -> dict[str, ClientTool]:
    """Return those of the offered tools that OpenAI defines, by name."""
    own = {tool.name: find_client_tool(tool.raw) for tool in tools if isinstance(tool.raw, dict)}
    return {name: found for name, found in own.items() if found is not None}


def write_call(tool: ClientTool, head: Item, call: ToolCall) -> Item:
    """Return a call as an item of its own kind; ``head`` has id and status."""
    said = call.arguments if isinstance(call.arguments, dict) else {"input": call.arguments}
    action: Json = {**tool.fixed, **said}
    item = {**head, "type": tool.call, "call_id": call.id}
    if tool.call == "computer_call":
        item["pending_safety_checks"] = []
    return {**item, tool.field: [action] if tool.several else action}


def as_functions(request: Request, is_foreign: Callable[[Message], bool]) -> Request:
    """Return the request with such calls and outputs as those of functions.

    Those are rewritten that another model made: in an answer that ``is_foreign``, or with an id
    that we wrote for a client. OpenAI made neither the answer nor the id, and knows no such item.
    """
    tools = list_client_tools(request.tools)
    table = load_client_tools(__package__)
    named = {tool.call: name for name, tool in (*table.items(), *tools.items())}
    by_type = {tool.call: tool for tool in (*table.values(), *tools.values())}
    outputs = {tool.output for tool in table.values()}
    reader = _Reader(named, by_type, outputs, is_foreign)
    messages = tuple(map(reader.read, request.messages))
    return request if messages == request.messages else replace(request, messages=messages)


class _Reader:
    """Reads the items of a conversation; an output may name its call by the item's id."""

    def __init__(
        self,
        names: Mapping[str, str],
        tools: Mapping[str, ClientTool],
        outputs: set[str],
        is_foreign: Callable[[Message], bool],
    ) -> None:
        self._names, self._tools, self._outputs = names, tools, outputs
        self._is_foreign = is_foreign
        self._calls: dict[str, ToolCall] = {}

    def read(self, message: Message) -> Message:
        """Return a message with functions in place of such items."""
        if not _has_items(message):
            return message
        foreign = self._is_foreign(message)
        parts = tuple([self._part(part, foreign=foreign) for part in message.parts])
        return message if parts == message.parts else replace(message, parts=parts)

    def _part(self, part: Part, *, foreign: bool) -> Part:
        raw = part.raw if isinstance(part, UnknownPart) and part.dialect == NAME else None
        if not isinstance(raw, dict):
            return part
        if (kind := raw.get("type")) in self._tools:
            if foreign or parse_id(str(raw.get("id"))) is not None:
                return self._call(raw, self._tools[str(kind)], self._names[str(kind)])
            return part
        if kind not in self._outputs:
            return part
        known = str(raw.get("call_id") or raw.get("id")) in self._calls
        return self._result(raw) if known or foreign else part

    def _call(self, raw: Item, tool: ClientTool, name: str) -> ToolCall:
        given = raw.get(tool.field) or raw.get("action") or {}
        several = given if isinstance(given, list) else [given]
        is_one = len(several) == 1 and isinstance(several[0], dict)
        said = {
            key: value
            for key, value in (several[0] if is_one else {"actions": several}).items()
            if value is not None and not (key in tool.fixed and value == tool.fixed[key])
        }
        id = str(raw.get("call_id") or raw.get("id"))
        call = ToolCall(id, name, said)
        self._calls |= {id: call, str(raw.get("id")): call}
        return call

    def _result(self, raw: Item) -> ToolResult:
        given = str(raw.get("call_id") or raw.get("id"))
        call = self._calls.get(given)
        failed = raw.get("status") == "failed"
        content = _read_output(raw.get("output"), str(raw.get("status") or ""))
        id, name = (given, None) if call is None else (call.id, call.name)
        return ToolResult(id, (content,), error=failed, name=name)


def _has_items(message: Message) -> bool:
    for part in message.parts:  # noqa: SIM110 - thrice as fast, for each message of a request
        if isinstance(part, UnknownPart):
            return True
    return False


def _read_output(output: Json, status: str) -> Text | Image | UnknownPart:
    if isinstance(output, dict):
        url = output.get("image_url")
        if not isinstance(url, str):
            return UnknownPart(NAME, output)
        inline = _INLINE.fullmatch(url)
        return Image(inline[1], b64decode(inline[2])) if inline else Image(url=url)
    if output is None or output == "":
        return Text(status)
    return Text(output if isinstance(output, str) else dump_json(output))
