"""Copies of requests and answers for a hook: what it writes into them has no effect.

Structs cannot be written into, but the JSON in them can. What has none is the same in a copy.
"""

from collections import Counter, OrderedDict, defaultdict, deque
from copy import copy
from operator import is_
from typing import Any, TypeVar

from msgspec.structs import replace

from ...canon import (
    Event,
    Finished,
    Json,
    Message,
    Part,
    PartEnd,
    Reply,
    Request,
    Text,
    Tool,
    ToolCall,
    ToolResult,
    UnknownPart,
)

T = TypeVar("T", bound=Part)

_COLLECTED = frozenset((dict, list, set, bytearray, deque, defaultdict, OrderedDict, Counter))


def copy_request(request: Request) -> Request:
    """Return a request whose JSON a hook may write into."""
    return replace(
        request,
        messages=tuple([_copy_message(each) for each in request.messages]),
        extras=_copy(request.extras),
        tools=tuple([_copy_tool(each) for each in request.tools]),
        output=request.output and replace(request.output, schema=_copy(request.output.schema)),
    )


def copy_event(event: Event) -> Event:
    """Return an event whose JSON a hook may write into."""
    if isinstance(event, PartEnd):
        part = _copy_part(event.part)
        return event if part is event.part else replace(event, part=part)
    if isinstance(event, Finished) and (event.extras or event.grounding or event.safety):
        return replace(
            event,
            extras=_copy(event.extras),
            grounding=_copy(event.grounding),
            safety=_copy(event.safety),
        )
    return event


def copy_reply(reply: Reply) -> Reply:
    """Return an answer whose JSON a hook may write into."""
    return replace(
        reply,
        message=_copy_message(reply.message),
        extras=_copy(reply.extras),
        grounding=_copy(reply.grounding),
        safety=_copy(reply.safety),
    )


def copy_notes(notes: dict[str, Any]) -> dict[str, Any]:
    """Return notes that one attempt at an answer may write into, also into what they collect."""
    return {name: copy(each) if type(each) in _COLLECTED else each for name, each in notes.items()}


def _copy_message(message: Message) -> Message:
    parts = tuple([_copy_part(each) for each in message.parts])
    return message if all(map(is_, parts, message.parts)) else replace(message, parts=parts)


def _copy_part(part: T) -> T:
    match part:
        case ToolCall(arguments=dict() | list() as arguments):
            return replace(part, arguments=_copy(arguments))
        case UnknownPart(raw=raw):
            return replace(part, raw=_copy(raw))
        case ToolResult(content=content):
            return replace(part, content=tuple([_copy_part(each) for each in content]))
        case Text(citations=citations) if citations:
            return replace(part, citations=_copy(citations))
        case _:
            return part


def _copy_tool(tool: Tool) -> Tool:
    if tool.raw is None and tool.parameters is None:
        return tool
    return replace(tool, raw=_copy(tool.raw), parameters=_copy(tool.parameters))


def _copy(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _copy(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([_copy(each) for each in value])
    return value
