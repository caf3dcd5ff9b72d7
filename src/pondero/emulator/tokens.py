"""How many tokens is that? A plain rule, the same every time: four bytes are one token."""

from collections.abc import Iterator
from typing import NamedTuple

from msgspec.json import encode

from ..canon import (
    Blob,
    Image,
    Json,
    Other,
    Part,
    Request,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
)

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


class Piece(NamedTuple):
    """A tool, a text of the system prompt or a part of a message, and its tokens."""

    role: str
    value: Tool | Part
    tokens: int


def asked(request: Request) -> int:
    """Return the tokens of everything that was sent."""
    empty = sum(not message.parts for message in request.messages)
    return sum(piece.tokens for piece in pieces(request)) + empty * _ENVELOPE


def pieces(request: Request) -> Iterator[Piece]:
    """Yield everything that was sent, in order; a message's borders count with its first part."""
    for tool in request.tools:
        words = count(tool.name + tool.description)
        yield Piece("tool", tool, words + _json(tool.parameters or tool.raw))
    for text in request.system:
        yield Piece("system", text, _part(text))
    for message in request.messages:
        for number, part in enumerate(message.parts):
            yield Piece(message.role, part, _part(part) + (0 if number else _ENVELOPE))


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
