"""Server-sent events to their data: the WHATWG event stream, read as far as an API uses it.

Only data matters: event names, ids, retry hints and comments are passed over, and an event
without data, or with empty data, gives nothing.
"""

import re

from ..errors import Malformed
from .limit import MAX_FRAME, oversized

_BOM = b"\xef\xbb\xbf"
# The data of an event written the usual way, nothing for any other event. Only ever used on events
# that are complete, so that it always matches where an event begins.
_usual = re.compile(rb"(?:event:.*+\n)?data: ?(.*+)\n\n|(?:.++\n)++\n").findall


class SseReader:
    """The data of each event; several data lines of one event are joined by a line feed."""

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self._max_frame = max_frame
        self._unchecked = -1  # so many bytes of events need no second look; at first, none
        self._pending = bytearray()  # an event whose blank line has not come; line ends are LF
        self._after_cr = False  # the last byte was CR: a LF that follows belongs to it
        self._broken: Malformed | None = None

    def feed(self, data: bytes) -> list[bytes]:
        """Return the data of every event that these bytes complete."""
        if self._after_cr or b"\r" in data:
            data = self._with_line_feeds(data)
        pending = self._pending
        end = data.rfind(b"\n\n") + 2
        if end == 1 and not (pending and pending[-1] == 10 and data[:1] == b"\n"):
            return self._wait(data)
        events = data[:end]
        if pending:
            events = bytes(pending) + events
            pending.clear()
        if end < len(data):
            pending += data[end:]
        if len(events) > self._unchecked:
            events = self._checked(events)
        payloads: list[bytes] = _usual(events)
        return _unusual(events) if b"" in payloads else payloads

    def eof(self) -> list[bytes]:
        """Return the data of a last event that its blank line never followed."""
        last = self.feed(b"\n\n")
        if self._broken is not None:
            raise self._broken
        return last

    def _wait(self, data: bytes) -> list[bytes]:
        if self._broken is not None:
            raise self._broken
        self._pending += data
        if len(self._pending) > self._max_frame:
            raise self._break()
        return []

    def _checked(self, events: bytes) -> bytes:
        """Return the events without a byte order mark, and only those before an absurd one."""
        if self._broken is not None:
            raise self._broken
        if self._unchecked < 0:
            self._unchecked = self._max_frame
            events = events.removeprefix(_BOM)
        at = 0
        for event in events.split(b"\n\n") if len(events) > self._max_frame else ():
            if len(event) > self._max_frame:
                broken = self._break()
                if at == 0:
                    raise broken
                return events[:at]  # whole events first; the next call raises
            at += len(event) + 2
        return events

    def _break(self) -> Malformed:
        self._pending.clear()
        self._unchecked = -1
        self._broken = oversized(self._max_frame)
        return self._broken

    def _with_line_feeds(self, data: bytes) -> bytes:
        if not data:
            return data
        if self._after_cr and data[0] == 10:
            data = data[1:]
        self._after_cr = data[-1:] == b"\r"
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _unusual(events: bytes) -> list[bytes]:
    return [data for event in events.split(b"\n\n") if (data := _data_of(event))]


def _data_of(event: bytes) -> bytes:
    lines = []
    for line in event.split(b"\n"):
        name, _, value = line.partition(b":")
        if name == b"data":
            lines.append(value[1:] if value[:1] == b" " else value)
    return b"\n".join(lines)
