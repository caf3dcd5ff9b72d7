"""Long pastes in the input line: each is one short token there, and is sent in full."""

import re

from msgspec import Struct
from msgspec.structs import replace

_LINES = 10
_CHARACTERS = 2_000
"""A paste with more lines or characters than these is folded."""


class FoldedText(Struct, frozen=True):
    """A text with tokens for pastes; ``pastes`` maps each token to its paste."""

    text: str = ""
    pastes: dict[str, str] = {}

    @property
    def full(self) -> str:
        """Return the text with all pastes in it."""
        return self._pattern.sub(lambda found: self.pastes[found[0]], self.text)

    @property
    def is_folded(self) -> bool:
        """Return whether the text has a token."""
        return bool(self.pastes) and self._pattern.search(self.text) is not None

    def spans(self) -> list[tuple[int, int]]:
        """Return where the tokens begin and end in the text."""
        return [found.span() for found in self._pattern.finditer(self.text)]

    def with_text(self, text: str) -> "FoldedText":
        """Return another text with the same tokens."""
        return replace(self, text=text)

    def fold(self, paste: str) -> tuple[str, "FoldedText"]:
        """Return a new token for a paste, and this text knowing it."""
        token = _name(paste)
        number = 2
        while token in self.text or token in paste or token in self.pastes:
            token = f"{_name(paste)[:-1]} · {number}]"
            number += 1
        return token, replace(self, pastes={**self.pastes, token: paste})

    @property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, self.pastes)) or r"(?!)")


def is_long(paste: str) -> bool:
    """Return whether a paste is folded: it is long, or the input line would change it."""
    if len(paste) > _CHARACTERS or paste.count("\n") >= _LINES:
        return True
    return len(paste.splitlines()) > len(paste.removesuffix("\n").split("\n"))


def widen(spans: list[tuple[int, int]], start: int, end: int) -> tuple[int, int]:
    """Return a range that cuts none of the spans: what is typed into one goes behind it."""
    for first, last in spans:
        if start == end and first < start < last:
            return last, last
        if start < last and first < end:
            start, end = min(start, first), max(end, last)
    return start, end


def _name(paste: str) -> str:
    lines = paste.removesuffix("\n").count("\n") + 1  # the last line may have its end, too
    return f"[pasted {lines:,} lines]" if lines > 1 else f"[pasted {len(paste):,} characters]"
