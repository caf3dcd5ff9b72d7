"""AWS event streams: binary frames of headers and a payload, each with two checksums.

A frame is its length and that of its headers (four bytes each, big-endian), a CRC-32 of these eight
bytes, the headers, the payload, and a CRC-32 of everything before it.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from struct import Struct as Layout
from typing import NamedTuple
from zlib import crc32

from ..errors import Malformed, Truncated
from .stream import MAX_FRAME, copy_error, frame_too_large

_PRELUDE = Layout(">III")  # the frame's length, that of its headers, and their checksum
_CRC = Layout(">I")
_LEAST = _PRELUDE.size + _CRC.size
_KNOWN = 64  # header blocks to remember; further ones are parsed each time
_TEXT = 7


class AwsEvent(NamedTuple):
    """One frame; a header that is neither text nor bytes keeps its raw bytes."""

    headers: Mapping[str, str]
    payload: bytes


def write_aws_event(headers: Mapping[str, str], payload: bytes) -> bytes:
    """Return the frame of these headers and this payload."""
    written = b"".join(_header(name, value) for name, value in headers.items())
    sizes = (len(written) + len(payload) + _LEAST, len(written))
    prelude = _PRELUDE.pack(*sizes, crc32(_PRELUDE.pack(*sizes, 0)[:8]))
    frame = prelude + written + payload
    return frame + _CRC.pack(crc32(frame))


def begins_aws_events(data: bytes) -> bool:
    """Return whether these bytes begin with the prelude of a frame."""
    return len(data) >= _LEAST and crc32(data[:8]) == _PRELUDE.unpack_from(data)[2]


@lru_cache(256)
def _header(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode()
    return bytes([len(key)]) + key + bytes([_TEXT]) + len(text).to_bytes(2, "big") + text


class AwsEventsReader:
    """The frames, their checksums verified."""

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self._max_frame = max_frame
        self._pending = bytearray()  # an unfinished frame
        self._wanted = _PRELUDE.size  # bytes needed before the next read
        self._known: dict[bytes, Mapping[str, str]] = {}
        self._broken: Malformed | None = None

    def feed(self, data: bytes) -> list[AwsEvent]:
        """Return the frames that these bytes complete."""
        if self._broken is not None:
            raise copy_error(self._broken)
        pending = self._pending
        pending += data
        if len(pending) < self._wanted:
            return []
        events: list[AwsEvent] = []
        try:
            self._read(bytes(pending), events)
        except Malformed as error:
            self._broken = copy_error(error)
            pending.clear()
            if not events:
                raise
        return events  # whole frames first; the next call raises

    def eof(self) -> list[AwsEvent]:
        """Return nothing; raise Truncated inside a frame."""
        if self._broken is not None:
            raise copy_error(self._broken)
        if self._pending:
            raise Truncated("the stream ended inside a frame")
        return []

    def _read(self, data: bytes, events: list[AwsEvent]) -> None:
        at, size = 0, len(data)
        known = self._known.get
        self._wanted = _PRELUDE.size
        while size - at >= _PRELUDE.size:
            total, of_headers, checksum = _PRELUDE.unpack_from(data, at)
            if crc32(data[at : at + 8]) != checksum:
                raise Malformed("the checksum of a frame's prelude is wrong")
            if total > self._max_frame:
                raise frame_too_large(self._max_frame)
            if of_headers > total - _LEAST:
                raise Malformed(f"a frame of {total} bytes with {of_headers} bytes of headers")
            end = at + total
            if end > size:
                self._wanted = total
                break
            body = end - _CRC.size
            if crc32(data[at:body]) != _CRC.unpack_from(data, body)[0]:
                raise Malformed("the checksum of a frame is wrong")
            first = at + _PRELUDE.size
            headers = data[first : first + of_headers]
            named = known(headers) or self._headers(headers)
            events.append(AwsEvent(named, data[first + of_headers : body]))
            at = end
        del self._pending[:at]

    def _headers(self, data: bytes) -> Mapping[str, str]:
        found = _headers(data)
        if len(self._known) < _KNOWN:
            self._known[data] = found
        return found


def _headers(data: bytes) -> dict[str, str]:
    headers: dict[str, str] = {}
    at = 0
    try:
        while at < len(data):
            begin = at + 1
            at = begin + data[at]
            name = data[begin:at].decode()
            begin, end = _SIZES[data[at]](data, at + 1)
            at = end
            if end > len(data):
                break
            headers[name] = data[begin:end].decode("utf-8", "backslashreplace")
    except (IndexError, KeyError, UnicodeDecodeError):
        raise Malformed("the headers of a frame are broken") from None
    if at != len(data):
        raise Malformed("the headers of a frame are broken")
    return headers


def _fixed_span(size: int) -> Callable[[bytes, int], tuple[int, int]]:
    return lambda _data, at: (at, at + size)


def _sized_span(data: bytes, at: int) -> tuple[int, int]:
    begin = at + 2
    return begin, begin + int.from_bytes(data[at:begin], "big")


# Ends of a value by type: two of yes and no, four of numbers, bytes, text, a time, an id.
_SIZES: Mapping[int, Callable[[bytes, int], tuple[int, int]]] = {
    0: _fixed_span(0),
    1: _fixed_span(0),
    2: _fixed_span(1),
    3: _fixed_span(2),
    4: _fixed_span(4),
    5: _fixed_span(8),
    6: _sized_span,
    _TEXT: _sized_span,
    8: _fixed_span(8),
    9: _fixed_span(16),
}
