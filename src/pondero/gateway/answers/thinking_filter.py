"""Hides thinking that a service puts into its text: between tags, or in a plan before a call."""

import re
from collections.abc import Callable

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

_NAMES = ("<think>", "<thinking>", "<mm:think>")
_OPENING = re.compile(rf"\s*(?:{'|'.join(_NAMES)})")
_CLOSING = re.compile("</(?:think|thinking|mm:think)>[\r\n]*")
_LONGEST = len("</mm:think>")


class ThinkingFilter:
    """Feed it the events of an answer; thinking in its first text is not in those it returns.

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
        self._rule = rule
        self._may_think = may_think
        self._is_plan = is_plan
        self._plans: set[int] = set()
        self._is_decided = rule == "no"
        self._start: PartStart | None = None  # of the text that waits
        self._end: Text | None = None
        self._text = ""
        self._looked = 0  # characters of it, for a closing tag
        self._cut: int | None = None  # the index of a text that began with thinking
        self._shown: list[str] = []  # the rest of it

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
                    self._settle(out, is_cut=event.finish in ("length", "exhausted"))
                elif isinstance(event, ThinkingDelta) and event.text:
                    self._settle(out)  # thinking has a field of its own here
                    self._is_decided = True
                out.append(event)
        return out

    def _begin(self, event: PartStart, out: list[Event]) -> None:
        self._settle(out)
        if event.kind == "text" and self._is_plan is not None and self._is_plan(event.signature):
            self._plans.add(event.index)
            out.append(replace(event, kind="other"))
        elif event.kind == "text" and not self._is_decided:
            self._start = event
        else:
            out.append(event)

    def _add(self, event: TextDelta, out: list[Event]) -> None:
        if self._start is not None and event.index == self._start.index:
            self._text += event.text
            if (at := self._find_answer()) is not None:
                self._release(at, out)
        elif event.index == self._cut:
            self._show(event.text, out)
        elif event.index not in self._plans:
            out.append(event)

    def _end_part(self, event: PartEnd, out: list[Event]) -> None:
        part, start = event.part, self._start
        if event.index == self._cut and isinstance(part, Text):
            out.append(PartEnd(event.index, replace(part, text="".join(self._shown))))
            self._cut = None
        elif start is None or event.index != start.index:
            self._is_decided = self._is_decided or isinstance(part, Thinking)
            out.append(event)
        elif isinstance(part, Text):
            self._text, self._end = part.text, part
            if (at := self._find_answer()) is not None:
                self._release(at, out)
        else:  # the caller's side found the closing tag
            self._start, self._text, self._is_decided = None, "", True
            out += (replace(start, kind="thinking"), event)

    def _find_answer(self) -> int | None:
        """Return where the answer begins in the text that waits; None if it is not known yet."""
        text = self._text
        is_opened = _OPENING.match(text) is not None
        if is_opened or self._rule == "preopened":
            found = _CLOSING.search(text, max(0, self._looked - _LONGEST))
            self._looked = len(text)
            return found.end() if found else None
        begun = text.lstrip()
        return None if any(name.startswith(begun) for name in _NAMES) else 0

    def _settle(self, out: list[Event], *, is_cut: bool = False) -> None:
        """Decide about the text that waits: no closing tag will come."""
        if self._start is None:
            return
        is_thinking = _OPENING.match(self._text) or (
            is_cut and self._may_think and self._rule == "preopened"
        )
        self._release(len(self._text) if is_thinking else 0, out)

    def _release(self, at: int, out: list[Event]) -> None:
        """Let the text that waits go, without the thinking before ``at``."""
        start, text, end = self._start, self._text, self._end
        self._start, self._text, self._end, self._is_decided = None, "", None, True
        if start is None:
            return
        out.append(start)
        if at:
            self._cut = start.index
            self._show(text[at:], out)
        elif text:
            out.append(TextDelta(start.index, text))
        if end is not None:
            self._end_part(PartEnd(start.index, end), out)

    def _show(self, text: str, out: list[Event]) -> None:
        """Show more of a text after its thinking, without the blank lines between them."""
        text = text if self._shown else text.lstrip("\r\n")
        if text and self._cut is not None:
            self._shown.append(text)
            out.append(TextDelta(self._cut, text))
