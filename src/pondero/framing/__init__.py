"""Where one frame ends: bytes to frames, for every stream format.

Every reader takes bytes in any split and gives whole frames back; what was looked at once is not
looked at again, so the cost is linear in the bytes fed, one at a time or all at once.
"""

from .json_array import JsonArrayReader
from .limit import MAX_FRAME
from .ndjson import NdjsonReader
from .reader import FrameReader
from .sniff import Framing, sniff
from .sse import SseReader

__all__ = [
    "MAX_FRAME",
    "FrameReader",
    "Framing",
    "JsonArrayReader",
    "NdjsonReader",
    "SseReader",
    "sniff",
]
