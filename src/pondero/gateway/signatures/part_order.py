"""Puts the parts of a stream one after another; some services continue a part after the next."""

from collections.abc import Iterable
from typing import Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from ...canon import (
    Event,
    Finished,
    Part,
    PartEnd,
    PartStart,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
    join_pieces,
    parse_arguments,
)


class _Open(Struct):
    """The part being read; ``resumed``: it was ended before, and continued."""

    start: PartStart
    texts: list[str]
    resumed: bool = False

    def make_part(self) -> Part | None:
        """Return the part so far; None if it cannot end yet."""
        text, start = "".join(self.texts), self.start
        if start.kind == "text":
            return Text(text) if text else None
        if start.kind == "thinking":
            return Thinking(text)
        if start.kind != "tool_call" or not text.rstrip().endswith("}"):
            return None
        # A complete JSON object cannot continue: the call may end before its service says so.
        arguments = parse_arguments(text)
        if isinstance(arguments, str):
            return None
        return ToolCall(start.id or "", start.name or "", arguments, start.signature)

    def finish_part(self, part: Part) -> Part:
        """Return a part at its end with the kind and text that were sent."""
        text = "".join(self.texts)
        if self.start.kind == "text" and isinstance(part, Thinking):
            return Text(text)  # a late closing tag made all this thinking
        if self.resumed and isinstance(part, Text):
            return replace(part, text=text, tokens=UNSET)  # its pieces had them
        if self.resumed and isinstance(part, Thinking):
            return replace(part, text=text)
        return part


# Tuples: building a union for every event costs more than the check.
WORDS: Final = (TextDelta, ThinkingDelta)
DELTAS: Final = (*WORDS, ToolDelta)


class PartOrder:
    """Feed it events.

    A part that continues after the next has begun is ended there; later text for it becomes a part
    of its own, with the same index. Events during an incomplete call wait for its end.
    """

    def __init__(self) -> None:
        self._open: _Open | None = None
        self._ended: dict[int, PartStart] = {}  # ended before their own end
        self._waiting: list[Event] = []

    def take_words(self, events: list[Event], at: int | None) -> bool:
        """Take events if all are text of the open part, as nearly all are; else take none."""
        now = self._open
        if now is None or now.start.index != at or self._waiting:
            return False
        texts = [each.text for each in events if isinstance(each, WORDS) and each.index == at]
        if len(texts) < len(events) or "" in texts:
            return False
        now.texts += texts
        join_pieces(now.texts)
        return True

    def feed(self, events: Iterable[Event]) -> list[Event]:
        """Return the events in order, as far as they are known."""
        out: list[Event] = []
        for event in events:
            if isinstance(event, DELTAS):
                self._delta(event, out)
            elif isinstance(event, PartStart | PartEnd):
                self._change_part(event, out)
            else:
                if isinstance(event, Finished):
                    self._finish(out)
                out.append(event)
        if self._open is not None:
            join_pieces(self._open.texts)
        return out

    def _delta(self, event: TextDelta | ThinkingDelta | ToolDelta, out: list[Event]) -> None:
        now = self._open
        if now is None or now.start.index != event.index:
            self._change_part(event, out)
            return
        now.texts.append(event.json if isinstance(event, ToolDelta) else event.text)
        out.append(event)
        if self._waiting and self._end_early(out):
            self._resume(out)

    def _change_part(self, event: Event, out: list[Event]) -> None:
        """Take an event that begins or ends a part, or belongs to another than the open one."""
        now = self._open
        if isinstance(event, PartEnd) and now is not None and event.index == now.start.index:
            out.append(PartEnd(event.index, now.finish_part(event.part)))
            self._open = None
            self._ended.pop(event.index, None)
            self._resume(out)
        elif self._waiting:
            self._waiting.append(event)
        elif isinstance(event, PartEnd):
            self._ended.pop(event.index, None)
            out.append(event)
        elif not self._end_early(out):
            self._waiting.append(event)
        elif isinstance(event, PartStart):
            self._open = _Open(event, [])
            out.append(event)
        elif isinstance(event, TextDelta | ThinkingDelta):
            start = replace(self._ended[event.index], signature=None)
            self._open = _Open(start, [], resumed=True)
            out.append(start)
            self._delta(event, out)

    def _end_early(self, out: list[Event]) -> bool:
        """End the open part so that another can begin; False if it cannot end yet."""
        now = self._open
        if now is None:
            return True
        part = now.make_part()
        if part is None:
            return False
        out.append(PartEnd(now.start.index, part))
        self._ended[now.start.index] = now.start
        self._open = None
        return True

    def _resume(self, out: list[Event]) -> None:
        waiting, self._waiting = self._waiting, []
        out += self.feed(waiting)

    def _finish(self, out: list[Event]) -> None:
        """Send waiting events, though a call before them never ended."""
        while self._open is not None and not self._end_early(out):
            self._open = None
            self._resume(out)
