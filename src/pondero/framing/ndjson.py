"""One JSON value a line."""

from ..errors import Malformed
from .stream import MAX_FRAME, copy_error, frame_too_large

_BLANK = b" \t\r"


class NdjsonReader:
    """Whole lines without their ends; blank lines give nothing."""

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self._max_frame = max_frame
        self._pending = bytearray()
        self._broken: Malformed | None = None

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that these bytes complete."""
        if self._broken is not None:
            raise copy_error(self._broken)
        pending = self._pending
        end = data.rfind(b"\n")
        if end < 0:
            pending += data
            return self._check_sizes([]) if len(pending) > self._max_frame else []
        whole = data[:end]
        if pending:
            whole = bytes(pending + whole)
            pending.clear()
        if end + 1 < len(data):
            pending += data[end + 1 :]
        lines = whole.split(b"\n")
        if len(whole) > self._max_frame or len(pending) > self._max_frame:
            return self._check_sizes(lines)
        return [stripped for line in lines if (stripped := line.strip(_BLANK))]

    def eof(self) -> list[bytes]:
        """Return the last line, where no newline follows it."""
        if self._broken is not None:
            raise copy_error(self._broken)
        last = bytes(self._pending)
        self._pending.clear()
        return self._check_sizes([last])

    def _check_sizes(self, lines: list[bytes]) -> list[bytes]:
        whole = []
        for line in lines:
            if len(line) > self._max_frame:
                self._broken = frame_too_large(self._max_frame)
                break
            if stripped := line.strip(_BLANK):
                whole.append(stripped)
        if len(self._pending) > self._max_frame:
            self._broken = frame_too_large(self._max_frame)
        if self._broken is not None:
            self._pending.clear()
            if not whole:
                raise copy_error(self._broken)
        return whole  # whole lines first; the next call raises
