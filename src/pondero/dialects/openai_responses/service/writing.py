"""JSON and events as the service writes them."""

import json

import msgspec

from pondero.canon import Json


def arguments_text(arguments: Json) -> str:
    """Return the arguments of a call as text; what is text already is no JSON and stays."""
    if isinstance(arguments, str):
        return arguments
    try:
        return msgspec.json.encode(arguments).decode()
    except (OverflowError, UnicodeEncodeError):
        return json.dumps(arguments, separators=(",", ":"))


def written(value: Json) -> bytes:
    """Return a body."""
    try:
        return msgspec.json.encode(value)
    except (OverflowError, UnicodeEncodeError):
        return json.dumps(value, separators=(",", ":")).encode()


def event(kind: str, number: int, fields: dict[str, Json]) -> bytes:
    """Return one event of a stream."""
    data = written({"type": kind, "sequence_number": number, **fields})
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), data)
