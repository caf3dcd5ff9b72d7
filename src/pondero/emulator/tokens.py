"""Counts tokens: four bytes each."""

from collections.abc import Iterator
from typing import NamedTuple

from msgspec.json import encode

from ..canon import (
    Blob,
    Image,
    Json,
    LevelUpdate,
    Part,
    Request,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
    UnknownPart,
)
from ..dialects import Layer

BYTES = 4
_MEDIUM = 258  # Gemini's count for an image; any number would do
_ENVELOPE = 3  # a message's role and its borders


def count_tokens(text: str) -> int:
    """Count the tokens of a text."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES)


def clip(text: str, tokens: int) -> str:
    """Cut a text to a number of tokens."""
    data = text.encode("utf-8", "replace")[: max(tokens, 0) * BYTES]
    return data.decode("utf-8", "ignore")


class CountedPiece(NamedTuple):
    """A tool, a text of the system prompt or a part of a message, and its tokens.

    ``number`` is that of the message, ``envelope`` the tokens that are not the part's own.
    """

    layer: Layer
    role: str
    value: Tool | Part
    tokens: int
    number: int = 0
    envelope: int = 0


def count_request(request: Request) -> int:
    """Count the tokens of a request."""
    empty = sum(not message.parts for message in request.messages)
    return sum(piece.tokens for piece in iter_pieces(request)) + empty * _ENVELOPE


def iter_pieces(request: Request) -> Iterator[CountedPiece]:
    """Yield the pieces of a request; a message's envelope counts with its first part."""
    for tool in request.tools:
        words = count_tokens(tool.name + tool.description)
        yield CountedPiece("tools", "tool", tool, words + _json(tool.parameters or tool.raw))
    for text in request.system:
        yield CountedPiece("system", "system", text, _part(text))
    for number, message in enumerate(request.messages):
        envelope = _ENVELOPE
        for part in message.parts:
            tokens = _part(part) + envelope
            yield CountedPiece("messages", message.role, part, tokens, number, envelope)
            envelope = 0


def count_call(call: ToolCall) -> int:
    """Count the tokens of a call."""
    return count_tokens(call.name) + _json(call.arguments)


def _part(part: Part) -> int:
    match part:
        case Text() | Thinking():
            return count_tokens(part.text)
        case ToolCall():
            return count_call(part)
        case ToolResult():
            return sum(map(_part, part.content))
        case Image() | Blob():
            return _MEDIUM
        case LevelUpdate():
            return 0
        case UnknownPart():
            return _json(part.raw)


def _json(value: Json) -> int:
    return 0 if value is None else -(-len(encode(value)) // BYTES)
