"""Events to a message: the one place that puts an answer together."""

from .events import Event, Finished, PartEnd, PartStart, Started, TextDelta, ThinkingDelta
from .messages import Message, Origin
from .parts import Part, Text, Thinking


class Assembler:
    """Feed events as they come; ``message()`` is what has come so far.

    A part cut off before its end keeps its text and has no seal; a tool call cut off is left
    out, because half a call cannot be answered.
    """

    def __init__(self) -> None:
        self.started: Started | None = None
        self.finished: Finished | None = None
        self._open: dict[int, tuple[str, list[str]]] = {}
        self._done: dict[int, Part] = {}

    def feed(self, event: Event) -> None:
        """Take one event."""
        match event:
            case TextDelta() | ThinkingDelta():
                self._open[event.index][1].append(event.text)
            case PartStart():
                self._open[event.index] = (event.kind, [])
            case PartEnd():
                self._open.pop(event.index, None)
                self._done[event.index] = event.part
            case Started():
                self.started = event
            case Finished():
                self.finished = event
            case _:
                pass

    def message(self, origin: Origin | None = None) -> Message:
        """Return the assistant's message as far as it came."""
        parts = dict(self._done)
        for index, (kind, texts) in self._open.items():
            text = "".join(texts)
            if text and kind == "text":
                parts[index] = Text(text)
            elif text and kind == "thinking":
                parts[index] = Thinking(text)
        return Message("assistant", tuple(parts[index] for index in sorted(parts)), origin)
