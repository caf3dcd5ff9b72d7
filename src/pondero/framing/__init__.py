"""Splits streams into frames, for every stream format, and reads the JSON in them.

Every reader takes bytes in any split and returns whole frames. No byte is scanned twice, so the
cost is linear in the bytes fed, one at a time or all at once.
"""

from .aws_events import AwsEvent, AwsEventsReader, write_aws_event
from .json_array import JsonArrayReader
from .ndjson import NdjsonReader
from .payloads import UNREADABLE, Framing, json_of, parse, payloads, readable, sniff
from .sse import SseReader
from .stencil import Stencil
from .stream import MAX_FRAME, FrameReader, Frames, FrameStream, Reading

__all__ = [
    "MAX_FRAME",
    "UNREADABLE",
    "AwsEvent",
    "AwsEventsReader",
    "FrameReader",
    "FrameStream",
    "Frames",
    "Framing",
    "JsonArrayReader",
    "NdjsonReader",
    "Reading",
    "SseReader",
    "Stencil",
    "json_of",
    "parse",
    "payloads",
    "readable",
    "sniff",
    "write_aws_event",
]
