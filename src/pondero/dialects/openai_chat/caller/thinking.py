"""Reads thinking between tags, or in a list of details.

Tags count only at the beginning. Some chat templates open the tag: only in their answers a closing
tag needs no opening one. Details go back unchanged; deltas with the same type and index are merged.
"""

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from pondero.canon import Json
from pondero.dialects.dialect import TagRule

_NAMES = ("think", "thinking", "mm:think")
_OPENING = tuple(f"<{name}>" for name in _NAMES)
_CLOSING = tuple(f"</{name}>" for name in _NAMES)
_ANY = (*_OPENING, *_CLOSING)
_LONGEST = max(map(len, _ANY))
_find_tag = re.compile("</?(?:" + "|".join(_NAMES) + ")>").search


class Piece(NamedTuple):
    """Text and its kind; ``unopened`` means that all text before it was thinking."""

    kind: Literal["text", "thinking", "unopened"]
    text: str


_Read = Callable[[str, list[Piece]], str]


class Tags:
    """Splits an answer's text into pieces. ``opened`` and ``closed`` are the tags as written.

    While ``plain``, text without a ``<`` is text. ``reads`` reads the next text; None if no tag can
    follow.
    """

    def __init__(self, rule: TagRule) -> None:
        off = rule == "no"
        self.opened: str = ""
        self.closed: str = ""
        self.plain: bool = off
        self._held = ""  # may become a tag, or the blank lines around one
        self._close = ""
        self._before = ""
        self._next: _Read | None = self._answer if rule == "preopened" else None
        self.reads: _Read | None = None if off else self._read_beginning

    def stop(self) -> None:
        """Stop looking for tags."""
        if self.reads != self._thinking:
            self.reads, self.plain = None, not self._held

    def flush(self) -> list[Piece]:
        """Return the text held back, which did not become a tag."""
        held, self._held = self._held, ""
        return [Piece("thinking" if self.reads == self._thinking else "text", held)] if held else []

    def feed(self, text: str, *, before: str) -> list[Piece]:
        """Return the pieces that are certain; ``before`` is the last character returned so far."""
        self._before = before
        pieces: list[Piece] = []
        text, self._held = self._held + text, ""
        while text:
            if self.reads is None:
                pieces.append(Piece("text", text))
                break
            text = self.reads(text, pieces)
        self.plain = not self._held and (self.reads is None or self.reads == self._answer)
        return pieces

    def _read_beginning(self, text: str, _pieces: list[Piece]) -> str:
        start = text.lstrip()
        if not start or any(tag.startswith(start) for tag in _OPENING):
            self._held = text
            return ""
        for tag in _OPENING:
            if start.startswith(tag):
                self._close = f"</{tag[1:]}"
                return self._open(text, len(text) - len(start) + len(tag))
        self.reads = self._next
        return text

    def _open(self, text: str, end: int) -> str:
        self.opened, self.reads = text[:end], self._first_lines
        return text[end:]

    def _first_lines(self, text: str, _pieces: list[Piece]) -> str:
        thought = text.lstrip("\r\n")
        self.opened += text[: len(text) - len(thought)]
        if thought:
            self.reads = self._thinking
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
        self.closed, self.reads = text[len(thought) : end], self._last_lines
        return text[end:]

    def _last_lines(self, text: str, _pieces: list[Piece]) -> str:
        answer = text.lstrip("\r\n")
        self.closed += text[: len(text) - len(answer)]
        if answer:
            self.reads = None
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
            self.reads = None  # the answer writes about tags
            return text
        if tag.start():
            pieces.append(Piece("text", text[: tag.start()]))
        pieces.append(Piece("unopened", ""))
        self.closed, self.reads = tag[0], self._last_lines
        return text[tag.end() :]


def _partial(text: str, tags: tuple[str, ...]) -> int:
    at = text.rfind("<", max(0, len(text) - _LONGEST))
    if at < 0:
        return 0
    tail = text[at:]
    return len(tail) if any(tag.startswith(tail) for tag in tags) else 0


_TEXTS = ("text", "summary")
_ADD_UP = ("reasoning.text", "reasoning.summary")


class Details:
    """Merges lists of details: feed each, then take ``value()``."""

    def __init__(self) -> None:
        self._details: list[dict[str, Json]] = []
        self._texts: list[dict[str, list[str]]] = []
        self._slots: dict[tuple[Json, Json], int] = {}
        self._last: tuple[dict[str, Json], list[str]] = ({}, [])  # all but the text of the last

    def feed(self, details: list[dict[str, Json]]) -> str:
        """Take a list, whole or in deltas; return the readable text it adds."""
        if len(details) == 1 and (more := self._more(details[0])):
            return more
        readable: list[str] = []
        for position, detail in enumerate(details):
            index = detail.get("index")
            key = (str(detail.get("type")), position if index is None else str(index))
            slot = self._slots.get(key)
            if slot is None or not self._belongs(slot, detail):
                slot = self._slots[key] = len(self._details)
                self._details.append({})
                self._texts.append({})
            self._merge(slot, detail, readable)
        return "".join(readable)

    def value(self) -> list[Json]:
        """Return the merged details, as in a whole answer."""
        return [
            {**detail, **{key: "".join(texts) for key, texts in parts.items()}}
            for detail, parts in zip(self._details, self._texts, strict=True)
        ]

    def _more(self, detail: dict[str, Json]) -> str | None:
        known, texts = self._last
        text = detail.get("text")
        if (
            isinstance(text, str)
            and len(detail) == len(known) + 1
            and detail.get("index") == known.get("index")
            and detail.get("type") == known.get("type")
            and detail.get("id") == known.get("id")
            and "signature" not in detail
        ):
            texts.append(text)
            return text
        return None

    def _belongs(self, slot: int, detail: dict[str, Json]) -> bool:
        known = self._details[slot]
        if detail.get("type") not in _ADD_UP:
            return False
        return known.get("id") is None or detail.get("id") in (None, known["id"])

    def _merge(self, slot: int, detail: dict[str, Json], readable: list[str]) -> None:
        known, texts = self._details[slot], self._texts[slot]
        for key, value in detail.items():
            if key in _TEXTS and isinstance(value, str):
                texts.setdefault(key, []).append(value)
                readable.append(value)
            elif value is not None or key not in known:
                known[key] = value
        if texts.keys() == {"text"} and detail.get("type") in _ADD_UP:
            self._last = known, texts["text"]
