"""The parts of a streamed answer put strictly one after another, as most wires must have them.

Some backs let a part go on after the next has begun: words stay open until the answer ends, and
the arguments of parallel calls come in turns. The carrier reads every answer through here.
"""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct
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
    """The part that is being told; ``resumed``: it was ended before, and went on."""

    start: PartStart
    texts: list[str]
    resumed: bool = False

    def make_part(self) -> Part | None:
        """Return the part as far as it came; None for one of which too little came."""
        text, start = "".join(self.texts), self.start
        if start.kind == "text":
            return Text(text) if text else None
        if start.kind == "thinking":
            return Thinking(text)
        if start.kind != "tool_call" or not text.rstrip().endswith("}"):
            return None
        # A JSON object that is complete cannot go on: the call may end before its service says so.
        arguments = parse_arguments(text)
        if isinstance(arguments, str):
            return None
        return ToolCall(start.id or "", start.name or "", arguments, start.signature)

    def finish_part(self, part: Part) -> Part:
        """Return a part at its end as it was told: of this kind, with these words."""
        text = "".join(self.texts)
        if self.start.kind == "text" and isinstance(part, Thinking):
            return Text(text)  # a closing tag said late that all this was thinking
        if self.resumed and isinstance(part, Text | Thinking):
            return replace(part, text=text)
        return part


# Tuples: to build a union for every event costs more than to look at it.
WORDS: Final = (TextDelta, ThinkingDelta)
DELTAS: Final = (*WORDS, ToolDelta)


class PartOrder:
    """Feed events as they come.

    A part that goes on after the next has begun ends there; its own end comes later, when another
    part may be open. Words that come for it after that are a part of their own, with the same
    index. What comes while a call is incomplete waits until the call is complete.
    """

    def __init__(self) -> None:
        self._open: _Open | None = None
        self._ended: dict[int, PartStart] = {}  # before their own end
        self._waiting: list[Event] = []

    def take_words(self, events: list[Event], at: int | None) -> bool:
        """Take events that are all words of the open part, which is at this index.

        Nearly all events are, and stay as they are. If one is not, none is taken.
        """
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
        """Take an event that begins or ends a part, or that is of another part than the open."""
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
        """End the open part so that another can begin; return False where it cannot end yet."""
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
        """Tell what still waits, though a call before it never ended."""
        while self._open is not None and not self._end_early(out):
            self._open = None
            self._resume(out)
