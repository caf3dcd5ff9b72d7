"""What the frames of a whole stream carry, whatever its framing."""

from collections.abc import Mapping

from .aws_events import AwsEventsReader
from .json_array import JsonArrayReader
from .ndjson import NdjsonReader
from .reader import FrameReader
from .sniff import sniff
from .sse import SseReader

_READERS: Mapping[str, type[FrameReader]] = {
    "sse": SseReader,
    "json_array": JsonArrayReader,
    "ndjson": NdjsonReader,
}


def payloads(data: bytes) -> list[bytes]:
    """Return the payload of every frame; raises WireError where the stream is broken or cut."""
    framing = sniff(data)
    if framing == "aws_events":
        events = AwsEventsReader()
        return [event.payload for event in (*events.feed(data), *events.eof())]
    reader = _READERS[framing]()
    return [*reader.feed(data), *reader.eof()]
