"""Thinking written into the answer between tags, told from the answer while it streams.

Tags count at the very beginning of an answer only; a closing tag that nothing opened counts once,
because some templates open it for the model. A ``<`` in normal text is text.
"""

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

_NAMES = ("think", "thinking", "mm:think")
_OPENING = tuple(f"<{name}>" for name in _NAMES)
_CLOSING = tuple(f"</{name}>" for name in _NAMES)
_ANY = (*_OPENING, *_CLOSING)
_LONGEST = max(map(len, _ANY))
_find_tag = re.compile("</?(?:" + "|".join(_NAMES) + ")>").search


class Piece(NamedTuple):
    """Some text, and whose it is; ``unopened`` says that all text before it was thinking."""

    kind: Literal["text", "thinking", "unopened"]
    text: str


_Read = Callable[[str, list[Piece]], str]


class Tags:
    """Feed an answer's text; pieces come back. ``opened`` and ``closed`` are the tags as written.

    ``plain`` says that text without a ``<`` is nothing but text from here on.
    """

    def __init__(self, *, off: bool) -> None:
        self.opened = ""
        self.closed = ""
        self.plain = off
        self._held = ""  # may turn out to be (part of) a tag or the blank lines around one
        self._close = ""
        self._before = ""
        self._read: _Read | None = None if off else self._beginning

    def off(self) -> None:
        """Look for no more tags."""
        if self._read != self._thinking:
            self._read, self.plain = None, not self._held

    def flush(self) -> list[Piece]:
        """Return what was held back: no tag came of it."""
        held, self._held = self._held, ""
        return [Piece("thinking" if self._read == self._thinking else "text", held)] if held else []

    def feed(self, text: str, *, before: str) -> list[Piece]:
        """Return what is certain by now; ``before`` is how the text given out so far ends."""
        self._before = before
        pieces: list[Piece] = []
        text, self._held = self._held + text, ""
        while text:
            if self._read is None:
                pieces.append(Piece("text", text))
                break
            text = self._read(text, pieces)
        self.plain = not self._held and (self._read is None or self._read == self._answer)
        return pieces

    def _beginning(self, text: str, _pieces: list[Piece]) -> str:
        start = text.lstrip()
        if not start or any(tag.startswith(start) for tag in _OPENING):
            self._held = text
            return ""
        for tag in _OPENING:
            if start.startswith(tag):
                self._close = f"</{tag[1:]}"
                return self._open(text, len(text) - len(start) + len(tag))
        self._read = self._answer
        return text

    def _open(self, text: str, end: int) -> str:
        self.opened, self._read = text[:end], self._first_lines
        return text[end:]

    def _first_lines(self, text: str, _pieces: list[Piece]) -> str:
        thought = text.lstrip("\r\n")
        self.opened += text[: len(text) - len(thought)]
        if thought:
            self._read = self._thinking
        return thought

    def _thinking(self, text: str, pieces: list[Piece]) -> str:
        end = text.find(self._close)
        cut = end if end >= 0 else len(text) - _partial(text, (self._close,))
        thought = text[:cut].rstrip("\r\n")
        if thought:
            pieces.append(Piece("thinking", thought))
        if end < 0:
            self._held = text[len(thought) :]
            return ""
        end += len(self._close)
        self.closed, self._read = text[len(thought) : end], self._last_lines
        return text[end:]

    def _last_lines(self, text: str, _pieces: list[Piece]) -> str:
        answer = text.lstrip("\r\n")
        self.closed += text[: len(text) - len(answer)]
        if answer:
            self._read = None
        return answer

    def _answer(self, text: str, pieces: list[Piece]) -> str:
        tag = _find_tag(text)
        if tag is None:
            cut = len(text) - _partial(text, _ANY)
            self._held = text[cut:]
            if cut:
                pieces.append(Piece("text", text[:cut]))
            return ""
        before = text[: tag.start()][-1:] or self._before
        if not tag[0].startswith("</") or before == "`":
            self._read = None  # the answer speaks of tags
            return text
        if tag.start():
            pieces.append(Piece("text", text[: tag.start()]))
        pieces.append(Piece("unopened", ""))
        self.closed, self._read = tag[0], self._last_lines
        return text[tag.end() :]


def _partial(text: str, tags: tuple[str, ...]) -> int:
    """Return how many characters at the end may be the beginning of one of the tags."""
    at = text.rfind("<", max(0, len(text) - _LONGEST))
    if at < 0:
        return 0
    tail = text[at:]
    return len(tail) if any(tag.startswith(tail) for tag in tags) else 0
