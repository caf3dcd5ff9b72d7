"""Server-sent events to their data: the part of the WHATWG event stream that APIs use."""

import re

from ..errors import Malformed
from .stream import MAX_FRAME, copy_error, frame_too_large

_BOM = b"\xef\xbb\xbf"
# The data of a usual event, else nothing. Complete events only: it must match at their start.
_find_usual = re.compile(rb"(?:event:.*+\n)?data: ?(.*+)\n\n|(?:.++\n)++\n").findall
_SMALL = 8192


class SseReader:
    """The data of each event; several data lines of one event are joined by a line feed."""

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self._max_frame = max_frame
        self._unchecked = -1  # up to this size no check is needed; -1 before the first event
        # An unfinished event; line ends are LF. Bytes are fastest while short, then a bytearray.
        self._pending: bytes | bytearray = b""
        self._after_cr = False  # the last byte was CR: a LF that follows belongs to it
        self._broken: Malformed | None = None

    def feed(self, data: bytes) -> list[bytes]:
        """Return the data of every event that these bytes complete."""
        if self._after_cr or 13 in data:  # CR; a number is found far faster than bytes
            data = self._with_line_feeds(data)
        pending = self._pending
        end = data.rfind(b"\n\n") + 2
        if end == 1 and not (pending and pending[-1] == 10 and data[:1] == b"\n"):
            pending += data
            self._pending = pending
            if len(pending) > self._unchecked:
                self._wait()
            return []
        events = pending + data[:end]
        self._pending = data[end:]
        if len(events) > self._unchecked:
            events = self._check_events(bytes(events))
        payloads: list[bytes] = _find_usual(events)
        return _read_unusual(bytes(events)) if b"" in payloads else payloads

    def eof(self) -> list[bytes]:
        """Return the data of the last event, where no blank line follows it."""
        last = self.feed(b"\n\n")
        if self._broken is not None:
            raise copy_error(self._broken)
        return last

    def _wait(self) -> None:
        if self._broken is not None or len(self._pending) > self._max_frame:
            raise self._break()
        if isinstance(self._pending, bytes) and len(self._pending) > _SMALL:
            self._pending = bytearray(self._pending)

    def _check_events(self, events: bytes) -> bytes:
        if self._broken is not None:
            raise copy_error(self._broken)
        if self._unchecked < 0:
            self._unchecked = min(_SMALL, self._max_frame)
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
        """Return the error and remember it: every later call raises it."""
        self._pending = b""
        self._unchecked = -1
        self._broken = self._broken or frame_too_large(self._max_frame)
        return copy_error(self._broken)

    def _with_line_feeds(self, data: bytes) -> bytes:
        if not data:
            return data
        if self._after_cr and data[0] == 10:
            data = data[1:]
        self._after_cr = data.endswith(b"\r")
        data = data.replace(b"\r\n", b"\n")
        return data.replace(b"\r", b"\n") if 13 in data else data


class SseSplitter:
    """Splits a stream into its events as they are, but with LF as the line end.

    For a gateway that passes events on: an event is never read, and has no maximum size.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._after_cr = False

    def feed(self, data: bytes) -> list[bytes]:
        """Return the events that these bytes complete, each with the blank line at its end."""
        if self._after_cr or 13 in data:
            is_second = self._after_cr and data.startswith(b"\n")  # of a pair that was split
            self._after_cr = data.endswith(b"\r")
            data = data[is_second:].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *events, self._rest = (self._rest + data).split(b"\n\n")
        return [event + b"\n\n" for event in events if event]

    def eof(self) -> list[bytes]:
        """Return the last event, if no blank line follows it."""
        return self.feed(b"\n\n")


def find_data(event: bytes) -> bytes:
    """Return the data of an event whose lines end with LF; empty if it has none."""
    return _data_of(event)


def _read_unusual(events: bytes) -> list[bytes]:
    return [data for event in events.split(b"\n\n") if (data := _data_of(event))]


def _data_of(event: bytes) -> bytes:
    lines = []
    for line in event.split(b"\n"):
        name, _, value = line.partition(b":")
        if name == b"data":
            lines.append(value[1:] if value[:1] == b" " else value)
    return b"\n".join(lines)
