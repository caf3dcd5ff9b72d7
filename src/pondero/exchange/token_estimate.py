"""Estimates the tokens of a request that no service has counted, from its characters.

The gateway and ``client.count_tokens`` call it.
"""

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator
from math import ceil
from typing import NamedTuple

import msgspec

from ..canon import (
    Blob,
    Image,
    Json,
    Message,
    Request,
    Signature,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnknownPart,
)

CHARACTERS = 3.6  # per token, in a usual mix of prose and code
_MARGIN = 1.25  # an estimated prompt may be this much larger
_AROUND = 4  # extra tokens of each message, part and tool
_FILES = (
    b"%PDF",
    b"PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"RIFF",
    b"OggS",
    b"ID3",
    b"ftyp",
    b"fLaC",
    b"PK\x03\x04",
)
_PICTURE = 1_500
_MEDIA = 3_000
_ENCODED = ("data", "file_data", "image_url", "url", "bytes", "result")
"""Fields that hold files in the vendors' types; texts that only the service reads have others."""
_SHORTEST = 64  # characters of a file
_BASE64 = re.compile(r"(?:data:[^,]*,)?[A-Za-z0-9+/_-]+={0,2}")
_HEADER = 1024  # bytes in which readers look for the mark of a PDF


class TextSize(NamedTuple):
    """The size of messages: tokens around them and their parts, and characters in them."""

    tokens: int = 0
    characters: int = 0

    def add(self, messages: Iterable[Message]) -> "TextSize":
        """Return the size with more messages."""
        tokens, characters = self
        for message in messages:
            tokens += _AROUND * (1 + len(message.parts))
            for part in message.parts:
                if type(part) is Text and part.signature is None:  # nearly all are
                    characters += _measure(part.text)
                else:
                    characters += _count_characters(part)
        return TextSize(tokens, characters)


_EMPTY = TextSize()


def sum_most(size: TextSize) -> int:
    """Return an estimate of the tokens of a text that few exceed."""
    return ceil(_sum_tokens(size) * _MARGIN)


def sum_most_with(size: TextSize, text: str) -> int:
    """Return the same of a size with the characters of one more text."""
    tokens, characters = size
    characters += len(text) if text.isascii() else _measure(text)
    return ceil(max(1, tokens + ceil(characters / CHARACTERS)) * _MARGIN)


def estimate_characters(count: int) -> int:
    """Return an estimate of the tokens of so many characters that few exceed."""
    return ceil(count / CHARACTERS * _MARGIN)


def measure_json(value: Json) -> int:
    """Return the characters of all texts in a JSON value, but not of files.

    Those of a list are the sum of its values', those of an object the sum of its fields'.
    """
    characters = -sum(len(each) for each in iter_encoded(value) if _is_file(each))
    waiting: list[Json] = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            characters += _measure(each)
        elif isinstance(each, list):
            waiting += each
        elif isinstance(each, dict):
            waiting += each
            waiting += each.values()
    return characters


def _is_file(text: str) -> bool:
    """Return whether an encoded text begins as files do: any other is read as a text."""
    try:
        begins = b64decode(text.rpartition(",")[2][:64], altchars=b"-_" if "-" in text else None)
    except ValueError:
        return False
    return any(mark in begins for mark in _FILES)


def estimate_tokens(request: Request) -> int:
    """Return an estimate of a request's tokens."""
    parts = (part for message in request.messages for part in message.parts)
    size = measure_frame(request).add(request.messages)
    return _sum_tokens(size) + sum(map(_guess_media, parts))


def measure_frame(request: Request) -> TextSize:
    """Return the size of all in a request but its messages."""
    if not request.system and not request.tools and request.output is None:
        return _EMPTY
    characters = sum(_measure(text.text) for text in request.system)
    characters += sum(
        len(tool.name)
        + len(tool.description)
        + len(msgspec.json.encode(tool.parameters or tool.raw))
        for tool in request.tools
    )
    if request.output is not None:
        characters += len(msgspec.json.encode(request.output.schema))
    return TextSize(_AROUND * len(request.tools), characters)


def _sum_tokens(size: TextSize) -> int:
    return max(1, size.tokens + ceil(size.characters / CHARACTERS))


def _count_characters(part: object) -> int:
    match part:
        case Thinking():
            return max(_measure(part.text), _measure_signature(part.signature))
        case Text():
            return _measure(part.text) + _measure_signature(part.signature)
        case ToolCall():
            size = len(part.name) + len(msgspec.json.encode(part.arguments))
            return size + _measure_signature(part.signature)
        case ToolResult():
            return sum(map(_count_characters, part.content))
        case Blob() if part.data is not None and is_text(part):
            return _measure(part.data.decode("utf-8", "replace"))
        case UnknownPart():
            files = sum(map(len, iter_encoded(part.raw)))
            return len(msgspec.json.encode(part.raw)) - files
    return 0


def _guess_media(part: object) -> int:
    match part:
        case ToolResult():
            return sum(map(_guess_media, part.content))
        case Image():
            return _PICTURE
        case Blob():
            return 0 if is_text(part) else _MEDIA
        case UnknownPart():
            return _MEDIA * sum(1 for _ in iter_encoded(part.raw))
    return 0


def _measure_signature(signature: Signature | None) -> int:
    """Return the characters of thinking in a signature: four of base64 are three bytes."""
    return 0 if signature is None else len(msgspec.json.encode(signature.value)) * 3 // 4


def _measure(text: str) -> int:
    """Return the size of a text in characters of English: others take a token for two bytes."""
    if text.isascii():
        return len(text)
    return len(text) + ceil((len(text.encode("utf-8", "replace")) - len(text)) * CHARACTERS / 2)


# -- files inside of requests ------------------------------------------------------------------


def iter_encoded(raw: Json) -> Iterator[str]:
    """Yield the files that a part of an unknown kind has as text."""
    waiting = [raw]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            waiting += value.values()
            named = (value[name] for name in _ENCODED if name in value)
            yield from (each for each in named if isinstance(each, str) and _is_encoded(each))


def _is_encoded(text: str) -> bool:
    return len(text) >= _SHORTEST and _BASE64.fullmatch(text) is not None


def is_text(part: Blob) -> bool:
    """Return whether a file is read as text, whatever its type says."""
    if part.data is None or is_document(part):
        return False
    if part.media_type.startswith("text/"):
        return True
    if b"\0" in part.data:
        return False
    try:
        part.data.decode()
    except UnicodeDecodeError:
        return False
    return True


def is_document(part: Blob) -> bool:
    """Return whether a file is a PDF, by its type or by its bytes."""
    return part.media_type.endswith("/pdf") or b"%PDF" in (part.data or b"")[:_HEADER]
