"""Adds cache breakpoints for clients that set none, as their own services cache every prompt."""

from functools import lru_cache

from msgspec.structs import replace

from ...canon import (
    Blob,
    CacheBreakpoint,
    Image,
    Message,
    Part,
    Request,
    Text,
    Tool,
    ToolCall,
    ToolResult,
)
from ...catalog import ModelEntry
from ...dialects import get_dialect

_BREAKPOINT = CacheBreakpoint()
_MARKED = (Text, Image, Blob, ToolCall, ToolResult)
_MODELS = 512  # a gateway that serves every model of the catalog stays below this
_TURNS = 2  # the last turn is written to the cache, the one before it read from there


def add_cache_breakpoints(entry: ModelEntry, request: Request, *, simple: int = 0) -> Request:
    """Add breakpoints if this model's cache needs them and the request has none.

    ``simple``: how many first messages are known to have none.
    """
    if not _needs_them(entry) or not entry.capability.thinks or _list_marked(request, simple):
        return request
    messages, left = list(request.messages), _TURNS
    for number in reversed(range(len(messages))):
        if left and messages[number].role == "user":
            messages[number], left = _mark_end(messages[number]), left - 1
    system, tools = request.system, request.tools
    if system:  # a breakpoint after the system prompt covers the tools before it
        system = (*system[:-1], replace(system[-1], cache=_BREAKPOINT))
    elif tools:
        tools = (*tools[:-1], replace(tools[-1], cache=_BREAKPOINT))
    return replace(request, messages=tuple(messages), system=system, tools=tools)


def count_cache_breakpoints(entry: ModelEntry, request: Request) -> int:
    """Return how many breakpoints a request has for a cache that needs them."""
    return len(_list_marked(request)) if _needs_them(entry) else 0


@lru_cache(_MODELS)
def _needs_them(entry: ModelEntry) -> bool:
    needs = get_dialect(entry.provider.dialect).caller().needs_cache_breakpoints
    return needs is not None and needs(entry.model, entry.quirks)


def _mark_end(message: Message) -> Message:
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


def _list_marked(request: Request, simple: int = 0) -> list[Text | Tool | Part]:
    """Return what has a breakpoint; the plain lists are for the many that have none."""
    return [
        *[text for text in request.system if text.cache is not None],
        *[tool for tool in request.tools if tool.cache is not None],
        *[
            part
            for message in request.messages[simple:]
            for part in message.parts
            if isinstance(part, _MARKED) and part.cache is not None
        ],
    ]
