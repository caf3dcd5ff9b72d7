"""Parses frames and bodies for the dialects: the framing, the JSON, or an error page's text."""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Literal, TypeVar

from msgspec import DecodeError, Raw, ValidationError
from msgspec.json import Decoder

from ..canon import Json
from ..errors import Malformed, WireError
from .aws_events import AwsEventsReader, begins_aws_events
from .json_array import JsonArrayReader
from .ndjson import NdjsonReader
from .sse import SseReader
from .stream import FrameReader

Framing = Literal["sse", "json_array", "ndjson", "aws_events"]


def detect_framing(data: bytes) -> Framing:
    """Return the framing of a stream's first bytes; an indented object is an array of one."""
    if begins_aws_events(data):
        return "aws_events"
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"["):
        return "json_array"
    if not start.startswith(b"{"):
        return "sse"
    return "json_array" if start[1:].lstrip(b" \t\r").startswith(b"\n") else "ndjson"


_READERS: Mapping[str, type[FrameReader]] = {
    "sse": SseReader,
    "json_array": JsonArrayReader,
    "ndjson": NdjsonReader,
}


def read_payloads(data: bytes) -> list[bytes]:
    """Return the payload of every frame; raises WireError if the stream is broken or cut."""
    framing = detect_framing(data)
    if framing == "aws_events":
        events = AwsEventsReader()
        return [event.payload for event in (*events.feed(data), *events.eof())]
    reader = _READERS[framing]()
    return [*reader.feed(data), *reader.eof()]


T = TypeVar("T")

UNREADABLE = (DecodeError, UnicodeError, RecursionError)
"""What a decoder raises for bytes that it cannot read as its type."""

_ANYTHING: Decoder[Json] = Decoder()
_PLACE = re.compile(r"^(.*) - at `(?:key in )?\$(.*)`$", re.DOTALL)
_HALF = re.compile("[\ud800-\udfff]")


def parse_payload(data: bytes | Raw, decoder: Decoder[T], *, at: str = "$") -> T:
    """Return the data as the decoder's type; ``at`` is its path in the frame, for errors."""
    try:
        return decoder.decode(data)
    except ValidationError as error:
        raise _misfit(error, at) from None
    except UNREADABLE as error:
        return _once_more(bytes(data), decoder, error, at=at)


def parse_json_or_none(data: bytes) -> Json:
    """Return the data's JSON value; None if it is not JSON."""
    try:
        return _ANYTHING.decode(data)
    except UNREADABLE:
        return None


def _once_more(data: bytes, decoder: Decoder[T], first: Exception, *, at: str) -> T:
    import json  # noqa: PLC0415 - only for what msgspec refuses

    try:
        text = json.dumps(json.loads(data), ensure_ascii=False)
        return decoder.decode(_HALF.sub("\ufffd", text))
    except ValidationError as error:
        raise _misfit(error, at) from None
    except (ValueError, RecursionError):
        raise Malformed(f"not JSON ({first}): {data[:60]!r}", path=at) from None


def _misfit(error: ValidationError, at: str) -> Malformed:
    place = _PLACE.match(str(error))
    if place is None:
        return Malformed(str(error), path=at)
    return Malformed(place[1], path=at + place[2])


# An unclosed style or script extends to the end, so that nothing is scanned twice.
_TAGS = re.compile(r"<(style|script)\b.*?(?:</\1>|$)|<[^>]{0,1000}>", re.DOTALL | re.IGNORECASE)
_LOOKED_AT = 20_000
_SHOWN = 300


def describe_body(body: bytes, *, status: int | None) -> str:
    """Return the status and the words of a body; ``status`` is None inside a stream."""
    words = describe_text(body)
    said = f"HTTP {status}" if status else "an error without a message"
    return f"{said}: {words}" if words else f"{said}, and nothing more"


def describe_text(body: bytes) -> str:
    """Return the first words of a body, without tags and without bytes that are not text."""
    text = _TAGS.sub(" ", body[:_LOOKED_AT].decode("utf-8", "replace"))
    clean = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(clean.split())[:_SHOWN]


def find_objects(body: bytes, *, streamed: bool) -> list[Json]:
    """Return the JSON of a body, or the first values of a stream, which may be cut."""
    frames: list[bytes] = [body]
    if streamed:
        frames = []
        with suppress(WireError):
            _read_frames(body, frames)
    values = (parse_json_or_none(frame) for frame in frames[:_FEW])
    return [value for value in values if value is not None]


def _read_frames(body: bytes, frames: list[bytes]) -> None:
    framing = detect_framing(body)
    if framing == "aws_events":
        frames += [event.payload for event in AwsEventsReader().feed(body)]
        return
    reader = _READERS[framing]()
    frames += reader.feed(body)
    frames += reader.eof()


_FEW = 5
