r"""How the judge ``choice`` reads a letter, in this order; the last of its sort counts.

``\boxed{B}``; an answer that is one letter, as ``b``, ``(b)``, ``**B**``, ``option b``; "the answer
is B"; a letter with its choice's text; a capital letter by itself; the text of one choice alone.
"A or B" is ambiguous: no letter, with the reason. Without choices the letters are A to J.
"""

import re
from collections.abc import Sequence
from string import ascii_uppercase

from msgspec import Struct

from .text_reader import find_boxed, find_fenced, fold, normalize

_WIDE = {ord(each) + 0xFEE0: each for each in f"{ascii_uppercase}{ascii_uppercase.lower()}()[].:"}
_TEXT_MACRO = re.compile(r"\\(?:text|mathrm|mathbf|textbf)\s*\{([^{}]*)\}")
_ONLY = re.compile(
    r"\W*(?:(?:the\s+)?(?:correct\s+|best\s+|right\s+|final\s+|my\s+)?"
    r"(?:answer|option|choice|letter)\W{0,3}(?:is\b)?)?"
    r"(?:\W*(?:option|choice|letter))?\W*\b([A-Za-z])\W*",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"(?i:\b(?:answer|choice|option|choose|chose|pick|select|go\s+with)\b\W{0,6}"
    r"(?:(?:is|be|should\s+be|would\s+be|would|must\s+be|option|choice|letter|number)\b\W{0,6}){0,3})"
    r"([A-Z](?![\w'’])|[a-z](?![\w'’])(?!\s+\w))"  # a small letter before a word is an article
)
_ALONE = re.compile(r"(?<![\w'’\\])([A-Z])(?![\w'’])")
_ARTICLE = re.compile(r"\s+(?!(?:is|was|are|because|since|as|and|or|but|seems|fits|only)\b)[a-z]")
_EITHER = re.compile(r"\W{0,3}\b(?:or|and)\b\W{0,3}|\s?[/&,]\s?", re.IGNORECASE)
LETTERS = ascii_uppercase[:10]
"""The letters of a question whose choices are part of its text; no test in use has more."""
_SHORT = 80  # characters; _ONLY takes cubic time on blanks and signs


class LetterReading(Struct, frozen=True):
    """The letter that an answer names, or ``problem``: why there is none."""

    letter: str | None = None
    problem: str = ""

    def describe(self) -> str:
        """Return how the answer was read."""
        return self.problem or f"read the letter {self.letter}"


def read_letter(answer: str, choices: Sequence[str]) -> LetterReading:
    """Return the letter that an answer names, by the rules above."""
    choices = choices or ("",) * len(LETTERS)
    letters = ascii_uppercase[: len(choices)]
    said = _TEXT_MACRO.sub(r"\1", normalize(answer).translate(_WIDE))
    boxed = find_boxed(said)
    fenced = find_fenced(said)
    for part in (boxed, said, fenced[-1] if fenced else None, *_outer_lines(said)):
        only = _ONLY.fullmatch(part) if part and len(part) <= _SHORT else None
        if only and only[1].upper() in letters:
            return LetterReading(only[1].upper())
    own = _own_pattern(letters, choices)
    for pattern in (_NAMED, own, _ALONE):
        found = [each for each in pattern.finditer(said) if _is_letter(said, each, letters)]
        if found:
            return _settle(said, found)
    return _find_by_text(said, letters, choices)


def _outer_lines(said: str) -> list[str]:
    lines = [line for line in said.split("\n") if line.strip()]
    return [lines[-1], lines[0]] if len(lines) > 1 else []


def _own_pattern(letters: str, choices: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern for letters with the text of their choice: "B) A dog" names B alone."""
    with_text = "|".join(
        rf"{letter}(?=[)\].:]{{0,2}}\**\s{{0,3}}{re.escape(normalize(each))}(?!\w))"
        for letter, each in zip(letters, choices, strict=True)
        if each.strip()
    )
    return re.compile(f"(?<![\\w'’])({with_text or '(?!)'})")


def _is_letter(said: str, found: re.Match[str], letters: str) -> bool:
    letter = found[1].upper()
    if letter not in letters:
        return False
    article = letter in "AI" and _ARTICLE.match(said, found.end(1))
    return not article or found.re is not _ALONE


def _settle(said: str, found: Sequence[re.Match[str]]) -> LetterReading:
    last = found[-1]
    after = _ALONE.search(said, last.end(1))
    pairs = [(found[-2], last)] if len(found) > 1 and last.re is _ALONE else []
    if after is not None and last.re is _NAMED:
        pairs.append((last, after))
    for one, other in pairs:
        joined = _EITHER.fullmatch(said[one.end(1) : other.start(1)])
        if joined and one[1].upper() != other[1].upper():
            return LetterReading(problem=f"ambiguous: it names {one[1].upper()} and {other[1]}")
    return LetterReading(last[1].upper())


def _find_by_text(said: str, letters: str, choices: Sequence[str]) -> LetterReading:
    words = fold(said)
    held = {
        letter: fold(each)
        for letter, each in zip(letters, choices, strict=True)
        if each.strip() and re.search(rf"(?<!\w){re.escape(fold(each))}(?!\w)", words)
    }
    # "dark blue" contains "blue", and means itself.
    widest = [
        a for a, text in held.items() if not any(text in o and text != o for o in held.values())
    ]
    if len(widest) == 1:
        return LetterReading(widest[0])
    if held:
        return LetterReading(problem=f"ambiguous: it has the text of {' and '.join(held)}")
    return LetterReading(problem="the answer names no choice")
