"""Finds strings and numbers in the bytes of any dialect: in JSON wherever it begins."""

import re
from collections.abc import Iterator
from json import JSONDecodeError, JSONDecoder

from ..canon import Json

_JSON = JSONDecoder(strict=False)
Path = tuple[str | int, ...]
_BEGIN = re.compile(r"[{\[]\s*(?=[{\[\"\]}])")


def objects(data: bytes) -> Iterator[Json]:
    """Yield each JSON object of a body or of a stream, in order."""
    text = data.decode("utf-8", "replace")
    at = 0
    while (begin := _BEGIN.search(text, at)) is not None:
        try:
            value, at = _JSON.raw_decode(text, begin.start())
        except (JSONDecodeError, RecursionError):
            at = begin.start() + 1
        else:
            yield value


def leaves(value: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Yield the leaves of a JSON value, each with its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            yield from leaves(inner, (*path, place))
    else:
        yield path, value


def wire_value(value: Json, path: Path) -> Json:
    """Return the value at a path, or None."""
    for step in path:
        try:
            value = value[step]
        except (IndexError, KeyError, TypeError):
            return None
    return value


def says(data: bytes, text: str) -> bool:
    """Return whether the data contains this text, in one string or over the pieces of a stream."""
    said: dict[Path, list[str]] = {}
    for each in objects(data):
        for path, leaf in leaves(each):
            if isinstance(leaf, str):
                said.setdefault(path, []).append(leaf)
    return any(text in "".join(pieces) for pieces in said.values())


def strings(value: Json) -> set[str]:
    """Return every non-empty string of a value, keys excluded."""
    return {leaf for _, leaf in leaves(value) if isinstance(leaf, str) and leaf}


def wire_usage(data: bytes) -> set[int]:
    """Return every whole number in the data."""
    return {
        leaf
        for each in objects(data)
        for _, leaf in leaves(each)
        if isinstance(leaf, int) and not isinstance(leaf, bool)
    }


def printable(text: str) -> str:
    """Return a text without control characters, for terminals and XML."""
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)
