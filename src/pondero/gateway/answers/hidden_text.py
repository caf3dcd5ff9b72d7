"""Reads one text of an answer piece by piece, and returns the parts that are not thinking.

Blocks between tags are thinking wherever they stand, in any case and however many there are: a
model may write them although its service has a field for thinking (kimi-k2-thinking on Bedrock
does). A tag in backticks, or one that is never closed after other text, is text about tags.
"""

import re
from typing import Literal

_NAMES = ("think", "thinking", "thought", "mm:think", "seed:think")
_TAG = rf"(?:{'|'.join(_NAMES)})"
_OPEN = rf"<{_TAG}(?:\s[^<>]{{0,100}})?>"
_OPENING = re.compile(rf"(?<!`){_OPEN}|{_OPEN}(?=[^`])", re.IGNORECASE)
_LEADING = re.compile(rf"\s*{_OPEN}", re.IGNORECASE)
_CLOSING = re.compile(rf"</{_TAG}\s*>", re.IGNORECASE)
_BEGUN = re.compile(rf"<{_TAG}(?:\s[^<>]{{0,100}})?>?", re.IGNORECASE)
_STARTS = frozenset(f"<{name}"[:end] for name in _NAMES for end in range(1, len(name) + 2))
_LONGEST = 128  # characters of a tag


class HiddenText:
    """``feed`` returns what may be shown, and ``end`` the rest.

    ``is_open``: a chat template opened the tag, so that all text waits for the first closing one.
    """

    def __init__(self, *, is_open: bool) -> None:
        self.shown: list[str] = []
        self.is_cut: bool = False
        """Whether some of the text is hidden."""
        self.is_unclosed: bool = False
        """Whether the text ended in thinking: the closing tag may be in the next one."""
        self._state: Literal["preopened", "answer", "block"] = "preopened" if is_open else "answer"
        self._waiting = ""
        self._looked = 0  # characters of it, for a closing tag
        self._last = ""  # the last character shown

    @property
    def is_decided(self) -> bool:
        """Return whether no more than the end of the text is needed to know what waits."""
        return self._state == "answer"

    @property
    def is_preopened(self) -> bool:
        """Return whether all of the text may still be thinking."""
        return self._state == "preopened"

    def feed(self, text: str) -> str:
        """Return what may be shown now."""
        if self._state == "answer" and not self._waiting and self.shown and "<" not in text:
            return self._show(text)
        self._waiting += text
        return self._drain()

    def read_as_answer(self) -> str:
        """Return what may be shown after all: thinking has a field of its own here."""
        self._state = "answer"
        return self._drain()

    def end(self, *, is_cut_off: bool, may_think: bool) -> str:
        """Return the last part that may be shown; ``is_cut_off``: by the output limit."""
        is_thinking = {
            "answer": False,
            "preopened": is_cut_off and may_think,
            "block": is_cut_off or self.is_cut or not self.shown,
        }[self._state]
        rest, self._waiting = self._waiting, ""
        self.is_unclosed = is_thinking and self._state == "block"
        self._state = "answer"
        if not is_thinking:
            return self._show(rest)
        self.is_cut = True
        return ""

    def _drain(self) -> str:
        """Return what may be shown of the text that waits."""
        pieces: list[str] = []
        while (piece := self._take()) is not None:
            pieces.append(piece)
        return "".join(pieces)

    def _take(self) -> str | None:
        """Return the next piece to show, which may be empty; None if more text is needed."""
        if self._state == "answer":
            return self._take_answer()
        if self._state == "preopened" and _LEADING.match(self._waiting):
            self._state = "block"
        found = _CLOSING.search(self._waiting, max(0, self._looked - _LONGEST))
        self._looked = len(self._waiting)
        if found is None:
            return None
        self._waiting = self._waiting[found.end() :]
        self._looked, self._state = 0, "answer"
        self.is_cut = True
        return ""

    def _take_answer(self) -> str | None:
        text = self._waiting if self.shown or not self.is_cut else self._waiting.lstrip("\r\n")
        before = self._last
        found = _OPENING.search(before + text, len(before))
        if found is not None:
            at = found.start() - len(before)
            self._waiting, self._looked, self._state = text[at:], 0, "block"
            return self._show(text[:at]) if self.shown or text[:at].strip() else ""
        cut = len(text) - _count_begun(text)
        if not self.shown and not text[:cut].strip():
            cut = 0  # blanks before a tag belong to it
        self._waiting = text[cut:]
        return self._show(text[:cut]) if cut else None

    def _show(self, text: str) -> str:
        if text:
            self.shown.append(text)
            self._last = text[-1]
        return text


def _count_begun(text: str) -> int:
    """Return how many characters at the end may become an opening tag."""
    at = text.rfind("<", max(0, len(text) - _LONGEST))
    if at < 0:
        return 0
    tail = text[at:]
    return len(tail) if tail.lower() in _STARTS or _BEGUN.fullmatch(tail) else 0
