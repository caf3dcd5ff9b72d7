"""The beginning of a stream in which its client would see nothing yet.

While it is held back, another answer can take its place: one that was all thinking is asked for
once more.
"""

from ...canon import (
    AdjustmentNote,
    Event,
    Finished,
    PartEnd,
    PartStart,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    UsageUpdate,
)

_MOST = 1 << 20  # bytes; hidden thinking is a few signatures
_SILENT = (Started, AdjustmentNote, UsageUpdate, Finished)


class HeldBeginning:
    """Holds the bytes of a stream until its client would see something of the answer.

    ``is_open``: nothing is held any more. ``shows_thinking``: thinking is something to see.
    """

    def __init__(self, *, holds: bool, shows_thinking: bool) -> None:
        self.is_open: bool = not holds
        self._shows_thinking = shows_thinking
        self._held: list[bytes] = []
        self._size = 0

    def look(self, events: list[Event]) -> None:
        """Open it if one of these events is something to see."""
        self.is_open = self.is_open or any(map(self._is_seen, events))

    def add(self, data: bytes) -> None:
        """Hold some bytes; too many open it."""
        self._held.append(data)
        self._size += len(data)
        self.is_open = self.is_open or self._size > _MOST

    def take(self) -> bytes:
        """Return what was held, once; it is open now."""
        held, self._held, self.is_open = b"".join(self._held), [], True
        return held

    def _is_seen(self, event: Event) -> bool:
        match event:
            case ThinkingDelta(text=text) | PartEnd(part=Thinking(text=text)):
                return self._shows_thinking and bool(text)
            case TextDelta(text=text) | PartEnd(part=Text(text=text)):
                return bool(text)
            case PartStart():
                return event.kind not in ("thinking", "text")
        return not isinstance(event, _SILENT)
