"""AWS event streams by other hands than ours: written with struct, read by botocore."""

import json
from struct import pack
from typing import Any
from zlib import crc32

from botocore.eventstream import EventStreamBuffer

Json = Any


def aws_frame(headers: dict[str, str], payload: bytes) -> bytes:
    """Return one frame."""
    block = b"".join(
        pack(">B", len(name)) + name.encode() + pack(">BH", 7, len(value.encode())) + value.encode()
        for name, value in headers.items()
    )
    prelude = pack(">II", 16 + len(block) + len(payload), len(block))
    frame = prelude + pack(">I", crc32(prelude)) + block + payload
    return frame + pack(">I", crc32(frame))


def aws_event(kind: str, said: Json) -> bytes:
    """Return the frame of one event."""
    headers = {
        ":event-type": kind,
        ":content-type": "application/json",
        ":message-type": "event",
    }
    return aws_frame(headers, json.dumps(said).encode())


def aws_stream(events: list[Json]) -> bytes:
    """Return a stream of events that stand in an object under their names."""
    return b"".join(aws_event(kind, said) for event in events for kind, said in event.items())


def aws_objects(stream: bytes) -> list[Json]:
    """Return the events of a stream, each in an object under its name."""
    buffer = EventStreamBuffer()
    buffer.add_data(stream)
    return [{frame.headers[":event-type"]: json.loads(frame.payload)} for frame in buffer]
