"""Builds a message from the events of an answer, streamed or whole."""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from .events import (
    Event,
    Finished,
    PartEnd,
    PartStart,
    Started,
    TextDelta,
    ThinkingDelta,
    Usage,
    UsageUpdate,
)
from .parts import Message, Origin, Part, Text, Thinking

_MANY = 64


def join_pieces(texts: list[str]) -> None:
    """Join the pieces of an unfinished text once there are many.

    A piece of five letters takes 56 bytes, and thousands of streams may be open. A longer text
    waits for more pieces, so each letter is copied a few dozen times at most.
    """
    if len(texts) > _MANY and len(texts) > len(texts[0]) // _MANY:
        texts[:] = ["".join(texts)]


class Assembler:
    """Feed it events; ``message()`` returns the message so far.

    A part that was cut off keeps its text and has no signature. A tool call that was cut off is
    left out: half a call cannot be answered. Events are processed on demand or in bulk, because
    most streams are read once, at their end. ``usage`` has the last counts that arrived before
    the end, ``read_usage`` returns those that no event has told yet. ``ending``: the service has
    said that the answer is over; its counts are still to come. ``emulator``: the address of the
    emulator that answers. ``whole``: the bytes of an answer that came in one piece.
    """

    def __init__(self) -> None:
        self._new: list[Event] = []
        self._open: dict[int, tuple[str, list[str]]] = {}
        self._done: dict[int, Part] = {}
        self._started: Started | None = None
        self._finished: Finished | None = None
        self.usage: Usage | None = None
        self.read_usage: Callable[[], Usage | None] | None = None
        self.ending: bool = False
        self.emulator: str | None = None
        self.whole: bytes = b""

    def feed(self, event: Event) -> None:
        """Add one event."""
        self._new.append(event)

    def extend(self, events: Iterable[Event]) -> None:
        """Add several events."""
        self._new += events
        if len(self._new) > _MANY:
            self._look()

    @property
    def started(self) -> Started | None:
        """Return the first event."""
        self._look()
        return self._started

    @property
    def finished(self) -> Finished | None:
        """Return the last event, once it has arrived."""
        self._look()
        return self._finished

    def known_usage(self) -> Usage | None:
        """Return the counts that have arrived; an answer that breaks off has used them too."""
        if self.finished is not None:
            return self.finished.usage
        read = self.read_usage() if self.read_usage is not None else None
        return read or self.usage

    def message(self, origin: Origin | None = None) -> Message:
        """Return the assistant's message so far."""
        self._look()
        parts = dict(self._done) if self._open else self._done
        for index, (kind, texts) in self._open.items():
            text = "".join(texts)
            if text and kind == "text":
                parts[index] = Text(text)
            elif text and kind == "thinking":
                parts[index] = Thinking(text)
        if self.emulator is not None and origin is not None:
            origin = replace(origin, emulator=self.emulator)
        return Message("assistant", tuple(map(parts.__getitem__, sorted(parts))), origin)

    def _look(self) -> None:
        if not self._new:
            return
        new: list[Any] = self._new  # what has been compared with a kind is of that kind
        self._new = []
        for event in new:
            # Once, and not isinstance: those are calls, and an answer has thousands of events.
            kind = type(event)
            if kind is TextDelta or kind is ThinkingDelta:
                self._open[event.index][1].append(event.text)
            elif kind is PartStart:
                self._open[event.index] = (event.kind, [])
            elif kind is PartEnd:
                self._open.pop(event.index, None)
                self._done[event.index] = event.part
            elif kind is Started:
                self._started = event
            elif kind is UsageUpdate:
                self.usage = event.usage
            elif kind is Finished:
                self._finished = event
        for _, texts in self._open.values():
            join_pieces(texts)
