"""Splits streams into frames, for every stream format, and reads the JSON in them."""

from .aws_events import AwsEvent, AwsEventsReader, write_aws_event
from .json_array import JsonArrayReader
from .ndjson import NdjsonReader
from .payloads import (
    UNREADABLE,
    Framing,
    describe_body,
    describe_text,
    detect_framing,
    find_objects,
    parse_json_or_none,
    parse_payload,
    read_payloads,
)
from .sse import SseReader, SseSplitter, find_data
from .stencil import Stencil
from .stream import MAX_FRAME, FrameHandler, FrameReader, Frames, FrameStream, OversizedAnswer

__all__ = [
    "MAX_FRAME",
    "UNREADABLE",
    "AwsEvent",
    "AwsEventsReader",
    "FrameHandler",
    "FrameReader",
    "FrameStream",
    "Frames",
    "Framing",
    "JsonArrayReader",
    "NdjsonReader",
    "OversizedAnswer",
    "SseReader",
    "SseSplitter",
    "Stencil",
    "describe_body",
    "describe_text",
    "detect_framing",
    "find_data",
    "find_objects",
    "parse_json_or_none",
    "parse_payload",
    "read_payloads",
    "write_aws_event",
]
