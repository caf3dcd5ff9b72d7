"""How many tokens is that? A plain rule, the same every time: four bytes are one token."""

from msgspec.json import encode

from ..canon import Blob, Image, Json, Other, Part, Request, Text, Thinking, ToolCall, ToolResult

BYTES = 4
_MEDIUM = 258  # what a picture costs on one of the services; any other figure would do
_ENVELOPE = 3  # a message's role and its borders


def count(text: str) -> int:
    """Return the tokens of a text."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES)


def clip(text: str, tokens: int) -> str:
    """Return as much of a text as fits into so many tokens."""
    data = text.encode("utf-8", "replace")[: max(tokens, 0) * BYTES]
    return data.decode("utf-8", "ignore")


def asked(request: Request) -> int:
    """Return the tokens of everything that was sent."""
    tools = sum(count(tool.name + tool.description) + _json(tool.parameters or tool.raw)
                for tool in request.tools)  # fmt: skip
    said = sum(_ENVELOPE + sum(map(_part, message.parts)) for message in request.messages)
    return tools + said + sum(_part(text) for text in request.system)


def called(call: ToolCall) -> int:
    """Return the tokens of a call."""
    return count(call.name) + _json(call.arguments)


def _part(part: Part) -> int:
    match part:
        case Text() | Thinking():
            return count(part.text)
        case ToolCall():
            return called(part)
        case ToolResult():
            return sum(map(_part, part.content))
        case Image() | Blob():
            return _MEDIUM
        case Other():
            return _json(part.raw)


def _json(value: Json) -> int:
    return 0 if value is None else -(-len(encode(value)) // BYTES)
