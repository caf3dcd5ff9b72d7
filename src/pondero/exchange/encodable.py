"""Names the value of a request that JSON cannot carry; asked only after encoding has failed."""

from collections.abc import Iterator, Mapping

import msgspec

from ..canon import Json, Request, ToolCall
from ..errors import BadParameter


def check_encodable(request: Request) -> None:
    """Raise BadParameter for a value of the caller's that has no JSON."""
    for place, value in _given_values(request):
        for path, each in _iter_leaves(value, place):
            if not _is_encodable(each):
                kind = type(each).__name__
                message = f"{path} is not JSON: {kind}; use text, numbers, lists and mappings"
                raise BadParameter(message)


def _given_values(request: Request) -> Iterator[tuple[str, Json]]:
    yield "extras", request.extras
    yield "output", None if request.output is None else request.output.schema
    for tool in request.tools:
        yield f"tools[{tool.name!r}].parameters", tool.parameters
        yield f"tools[{tool.name!r}].raw", tool.raw
    for message in request.messages:
        for call in message.tool_calls:
            yield _name_call(call), call.arguments


def _name_call(call: ToolCall) -> str:
    return f"arguments of the call {call.id!r}"


def _iter_leaves(value: Json, path: str) -> Iterator[tuple[str, Json]]:
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _iter_leaves(each, f"{path}[{name!r}]")
    elif isinstance(value, list | tuple):
        for place, each in enumerate(value):
            yield from _iter_leaves(each, f"{path}[{place}]")
    else:
        yield path, value


def _is_encodable(value: Json) -> bool:
    try:
        msgspec.json.encode(value)
    except TypeError:
        return False
    return True
