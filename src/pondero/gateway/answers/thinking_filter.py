"""Hides thinking that a service puts into its texts: between tags, or in a plan before a call."""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from ...canon import (
    Event,
    Finished,
    PartEnd,
    PartStart,
    Signature,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
)
from ...dialects import TagRule
from .hidden_text import HiddenText


class _OpenText(Struct):
    """A text being read; ``start`` waits while all of it may be thinking, ``end`` for the rest."""

    index: int
    read: HiddenText
    start: PartStart | None = None
    end: Text | None = None
    is_empty: bool = True


class ThinkingFilter:
    """Feed it the events of an answer; thinking in its texts is not in those it returns.

    Text waits while it may be thinking. If a template opens the tag, that is until the closing tag
    or the end, as in the servers' own parsers: the first closing tag ends the thinking. Without
    one, a text that the output limit cut off was thinking, if the model ``may_think``.
    ``is_plan``: whether a text with this signature is a plan.
    """

    def __init__(
        self,
        rule: TagRule,
        *,
        may_think: bool,
        is_plan: Callable[[Signature | None], bool] | None = None,
    ) -> None:
        self._may_think = may_think
        self._is_plan = is_plan
        self._plans: set[int] = set()
        self._is_open = rule == "preopened"  # whether the next text may begin with thinking
        self._texts: dict[int, _OpenText] = {}

    def feed(self, events: list[Event]) -> list[Event]:
        """Return the events for the client."""
        out: list[Event] = []
        for event in events:
            if isinstance(event, PartStart):
                self._begin(event, out)
            elif isinstance(event, TextDelta):
                self._add(event, out)
            elif isinstance(event, PartEnd):
                self._end_part(event, out)
            else:
                if isinstance(event, Finished):
                    is_cut_off = event.finish in ("length", "exhausted")
                    for opened in [*self._texts.values()]:
                        self._close(opened, out, is_cut_off=is_cut_off)
                elif isinstance(event, ThinkingDelta) and event.text:
                    self._read_as_answer(out)
                out.append(event)
        return out

    def _begin(self, event: PartStart, out: list[Event]) -> None:
        self._settle(out)
        if event.kind != "text":
            out.append(event)
        elif self._is_plan is not None and self._is_plan(event.signature):
            self._plans.add(event.index)
            out.append(replace(event, kind="other"))
        else:
            self._texts[event.index] = opened = _OpenText(
                event.index, HiddenText(is_open=self._is_open), event
            )
            if not self._is_open:
                self._open(opened, out)

    def _add(self, event: TextDelta, out: list[Event]) -> None:
        opened = self._texts.get(event.index)
        if opened is not None:
            opened.is_empty = False
            self._show(opened, opened.read.feed(event.text), out)
        elif event.index not in self._plans:
            out.append(event)

    def _end_part(self, event: PartEnd, out: list[Event]) -> None:
        part, opened = event.part, self._texts.get(event.index)
        if isinstance(part, Thinking):
            self._is_open = False
        if opened is None:
            out.append(event)
        elif isinstance(part, Text):
            opened.end = part
            if opened.is_empty:  # it came whole
                self._show(opened, opened.read.feed(part.text), out)
            if opened.read.is_decided:
                self._close(opened, out)
        else:  # the caller's side found the closing tag
            del self._texts[event.index]
            if opened.start is not None:
                out.append(replace(opened.start, kind="thinking"))
            out.append(event)

    def _read_as_answer(self, out: list[Event]) -> None:
        """Look for no closing tag without an opening one: thinking has a field of its own here."""
        self._is_open = False
        for opened in [*self._texts.values()]:
            if opened.read.is_preopened:
                self._show(opened, opened.read.read_as_answer(), out)

    def _settle(self, out: list[Event]) -> None:
        """Decide about the texts that wait: another part begins, so no closing tag will come."""
        for opened in [*self._texts.values()]:
            if opened.end is not None or opened.read.is_preopened:
                self._close(opened, out)

    def _close(self, opened: _OpenText, out: list[Event], *, is_cut_off: bool = False) -> None:
        read = opened.read
        self._show(opened, read.end(is_cut_off=is_cut_off, may_think=self._may_think), out)
        self._is_open = self._is_open or read.is_unclosed
        if (part := opened.end) is not None:
            del self._texts[opened.index]
            kept = replace(part, text="".join(read.shown)) if read.is_cut else part
            out.append(PartEnd(opened.index, kept))

    def _show(self, opened: _OpenText, text: str, out: list[Event]) -> None:
        if not opened.read.is_preopened:
            self._open(opened, out)
        if text:
            out.append(TextDelta(opened.index, text))

    def _open(self, opened: _OpenText, out: list[Event]) -> None:
        """Let the start of a text go, before its first words."""
        if opened.start is not None:
            out.append(opened.start)
            opened.start, self._is_open = None, False
