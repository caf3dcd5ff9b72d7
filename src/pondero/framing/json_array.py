"""The elements of one JSON array while it arrives; a bare object is an array of one."""

import re

from ..errors import Malformed, Truncated
from .stream import MAX_FRAME, copy_error, frame_too_large

_BETWEEN = re.compile(rb"[\s,]*+")
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+("?)|[{}\[\]]', re.DOTALL)
_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+("?)', re.DOTALL)
_BOM = b"\xef\xbb\xbf"


class JsonArrayReader:
    """The bytes of each element."""

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self._max_frame = max_frame
        self._pending = bytearray()  # an unfinished element
        self._depth = 0  # how many brackets of that element are open
        self._in_string = False
        self._escaped = False  # the last byte was a backslash in a string
        self._in_array = False
        self._closed = False
        self._seen = 0  # bytes of a byte order mark before the first bracket
        self._broken: Malformed | None = None

    def feed(self, data: bytes) -> list[bytes]:
        """Return the elements that these bytes complete."""
        if self._broken is not None:
            raise copy_error(self._broken)
        elements: list[bytes] = []
        try:
            self._read(data, elements)
        except Malformed as error:
            self._broken = copy_error(error)
            self._pending.clear()
            if not elements:
                raise
        return elements  # whole elements first; the next call raises

    def eof(self) -> list[bytes]:
        """Return nothing; raise Truncated inside an element or the array."""
        if self._broken is not None:
            raise copy_error(self._broken)
        if self._depth or (self._in_array and not self._closed):
            raise Truncated("the stream ended inside a JSON array")
        return []

    def _read(self, data: bytes, elements: list[bytes]) -> None:
        at = 0
        while at < len(data):
            if self._depth:
                end = self._end_of_element(data, at)
                self._pending += data[at:end]
                if len(self._pending) > self._max_frame:
                    raise frame_too_large(self._max_frame)
                if not self._depth:
                    elements.append(bytes(self._pending))
                    self._pending.clear()
                at = end
            else:
                at = self._between_elements(data, at)

    def _between_elements(self, data: bytes, at: int) -> int:
        if self._seen < 3 and not self._in_array and data[at] == _BOM[self._seen]:
            self._seen += 1
            return at + 1
        between = _BETWEEN.match(data, at)
        at = between.end() if between else at
        if at == len(data):
            return at
        byte = data[at : at + 1]
        if byte == b"{" and not self._closed:
            self._seen = 3
            return self._end_of_first_bracket(at)
        if byte == b"[" and not self._in_array and not self._closed:
            self._in_array = True
        elif byte == b"]" and self._in_array and not self._closed:
            self._closed = True
        else:
            raise Malformed(f"expected a JSON array of objects, found {data[at : at + 1]!r}")
        return at + 1

    def _end_of_first_bracket(self, at: int) -> int:
        self._depth = 1
        self._pending += b"{"
        return at + 1

    def _end_of_element(self, data: bytes, at: int) -> int:
        if self._in_string:
            at = self._end_of_string(data, at)
        depth = self._depth
        while token := _TOKEN.search(data, at):
            at = token.end()
            byte = data[token.start()]
            if byte == 34:
                if not token[1]:
                    at = self._cut_in_string(data, at)
            elif byte in b"{[":
                depth += 1
            else:
                depth -= 1
                if not depth:
                    self._depth = 0
                    return at
        self._depth = depth
        return len(data)

    def _end_of_string(self, data: bytes, at: int) -> int:
        if self._escaped:
            self._escaped = False
            at += 1
        rest = _STRING.match(data, at)
        if rest is None or not rest[1]:
            return self._cut_in_string(data, rest.end() if rest else at)
        self._in_string = False
        return rest.end()

    def _cut_in_string(self, data: bytes, at: int) -> int:
        self._in_string = True
        self._escaped = at < len(data)  # only a lone backslash stops the match before the end
        return len(data)
