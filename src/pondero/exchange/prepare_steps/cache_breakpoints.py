"""Marks for prompt caches, added to requests of clients that do not know of them.

Some services cache every prompt by themselves; clients that are made for those mark nothing. Sent
elsewhere, their conversations would be paid for in full at every turn. The gateway calls
``add_cache_breakpoints`` for such requests. Marks that a service has no use for are left out when a
request is encoded.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from ...canon import Blob, CacheBreakpoint, Image, Message, Request, Text, ToolCall, ToolResult
from ...catalog import ModelEntry
from ...dialects import get_dialect

_BREAKPOINT = CacheBreakpoint()
_TURNS = 2  # the end of the prompt is written to the cache; the end before it is read from there


def add_cache_breakpoints(entry: ModelEntry, request: Request) -> Request:
    """Return the request with marks where this model's cache needs them and none are set."""
    caller = get_dialect(entry.provider.dialect).caller()
    marks = caller.needs_cache_breakpoints is not None and caller.needs_cache_breakpoints(
        entry.model, entry.provider.quirks
    )
    if not marks or not entry.capability.thinks or any(_iter_marked(request)):
        return request
    messages, left = list(request.messages), _TURNS
    for number in reversed(range(len(messages))):
        if left and messages[number].role == "user":
            messages[number], left = _mark_end(messages[number]), left - 1
    tools = request.tools
    if tools and not request.system:
        tools = (*tools[:-1], replace(tools[-1], cache=_BREAKPOINT))
    return replace(
        request, messages=tuple(messages), system=_mark_system(request.system), tools=tools
    )


def _mark_system(texts: tuple[Text, ...]) -> tuple[Text, ...]:
    """Return the system prompt with a mark at its end: the tools before it are cached, too."""
    return (*texts[:-1], replace(texts[-1], cache=_BREAKPOINT)) if texts else texts


def _mark_end(message: Message) -> Message:
    """Return a message with a mark on the last part that can have one."""
    for number in reversed(range(len(message.parts))):
        part = message.parts[number]
        if isinstance(part, Image | Blob | ToolResult) or (isinstance(part, Text) and part.text):
            parts = (
                *message.parts[:number],
                replace(part, cache=_BREAKPOINT),
                *message.parts[number + 1 :],
            )
            return replace(message, parts=parts)
    return message


def _iter_marked(request: Request) -> Iterator[bool]:
    """Yield whether something is marked, for everything that can be."""
    yield from (text.cache is not None for text in request.system)
    yield from (tool.cache is not None for tool in request.tools)
    for message in request.messages:
        for part in message.parts:
            if isinstance(part, Text | Image | Blob | ToolCall | ToolResult):
                yield part.cache is not None
