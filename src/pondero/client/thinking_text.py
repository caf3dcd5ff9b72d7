"""The thinking and the text of a stream or a turn, while they arrive."""

from typing import Literal

from ..canon import BETWEEN_THOUGHTS, Event, Finished, TextDelta, ThinkingDelta


class ThinkingText:
    """Feed it the events of answers; the texts that it returns add up to ``reply.thinking``."""

    def __init__(self) -> None:
        self._answer = 0
        self._last: tuple[int, int] | None = None  # the answer and the part of the last text

    def feed(self, event: Event) -> str:
        """Return the thinking in an event, after a blank line if it begins another part."""
        if isinstance(event, Finished):
            self._answer += 1
        if not isinstance(event, ThinkingDelta) or not event.text:
            return ""
        before, self._last = self._last, (self._answer, event.index)
        return event.text if before in (None, self._last) else BETWEEN_THOUGHTS + event.text


class TextReaders:
    """The readers of one stream: what one of them passes over, the other begins with."""

    def __init__(self) -> None:
        self._thinking = ThinkingText()
        self._passed: dict[str, list[str]] = {"text": [], "thinking": []}

    def take_passed(self, kind: Literal["text", "thinking"]) -> list[str]:
        """Return the pieces of this kind that the other reader passed over, once."""
        passed, self._passed[kind] = self._passed[kind], []
        return passed

    def feed(self, event: Event, kind: Literal["text", "thinking"]) -> str:
        """Return the piece of this kind in an event; keep a piece of the other kind."""
        text = event.text if isinstance(event, TextDelta) else ""
        thinking = self._thinking.feed(event)
        piece, other = (text, thinking) if kind == "text" else (thinking, text)
        if other:
            self._passed["thinking" if kind == "text" else "text"].append(other)
        return piece
