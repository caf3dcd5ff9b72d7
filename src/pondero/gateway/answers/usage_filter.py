"""Hides the token counts that the gateway asked for from a client that did not ask for them."""

import re
from collections.abc import Callable

_END = re.compile(rb"\n\r?\n")
_EVENT = re.compile(rb".*?\n\r?\n", re.DOTALL)


class UsageFilter:
    """Drops the usage event of an SSE stream; all other bytes stay. Feed it whole lines."""

    def __init__(self, is_usage_event: Callable[[bytes], bool]) -> None:
        self._is_usage_event = is_usage_event
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Return the events that are complete now."""
        if not self._held and data.endswith(b"\n\n"):  # nearly always
            whole = data
        else:
            data = self._held + data
            end = max((found.end() for found in _END.finditer(data)), default=0)
            whole, self._held = data[:end], data[end:]
        if b'"usage"' not in whole:
            return whole
        return b"".join(event for event in _EVENT.findall(whole) if not self._is_hidden(event))

    def eof(self) -> bytes:
        """Return an event that was cut off."""
        held, self._held = self._held, b""
        return held

    def _is_hidden(self, event: bytes) -> bool:
        lines = (line for line in event.splitlines() if line.startswith(b"data:"))
        return self._is_usage_event(b"\n".join(line[5:].strip() for line in lines))
