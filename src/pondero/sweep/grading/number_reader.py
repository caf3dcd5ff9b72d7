r"""How the judge ``numeric`` reads a number.

which     the last ``\boxed{}``; else the clause after "answer is" or "####"; else the last number
          outside brackets. "section 3", "GPT-4" and list numbers are labels.
decimals  the point; ``1,234`` is thousands, ``3,14`` a decimal comma, because no group of
          thousands has two digits. With ``comma`` the two change places.
groups    ``1,234`` ``1 234`` ``1'234`` ``1_234`` and the Indian ``12,34,567``
fractions ``3/4``, ``1 1/2``, ``\frac{3}{4}``, the characters for fractions
scale     percent, thousand, million, billion; ``50%`` is 0.5. If only one side has the word, equal
          figures above 1 are equal too: "50%" is right for 50.
Times, dates, versions, lists and "4 or 5" are ambiguous: no number, with the reason.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Literal

from msgspec import Struct

from .text_reader import find_boxed, find_marked

Decimals = Literal["point", "comma"]

_LARGEST_EXPONENT = 5_000
_MOST_DIGITS = 4_000  # Python refuses to read more
_POINTS: dict[Decimals, str] = {"point": ".", "comma": ","}

_VULGAR = {
    "½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅕": "1/5", "⅖": "2/5", "⅗": "3/5",
    "⅘": "4/5", "⅙": "1/6", "⅚": "5/6", "⅐": "1/7", "⅛": "1/8", "⅜": "3/8", "⅝": "5/8", "⅞": "7/8",
    "⅑": "1/9", "⅒": "1/10",
}  # fmt: skip
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_ONE_SPELLING = str.maketrans(
    {
        **dict.fromkeys("−‐‑‒–—﹣－", "-"),  # noqa: RUF001 - what people and models write
        **dict.fromkeys("\u00a0\u202f\u2009\u2007\u2008\u2005", " "),
        **dict.fromkeys("’‘ʼ＇", "'"),  # noqa: RUF001 - as above
        **dict.fromkeys("⁄∕÷／", "/"),  # noqa: RUF001 - as above
        **dict.fromkeys("·×⋅", "*"),
        **dict.fromkeys("％٪", "%"),  # noqa: RUF001 - as above
        "٫": ".", "٬": ",", "．": ".", "，": ",", "＋": "+",  # noqa: RUF001 - as above
    }
)  # fmt: skip
_LATEX = (
    (re.compile(r"\{,\}"), ","),
    (re.compile(r"\\[,;:!> ]|~"), " "),
    (re.compile(r"\\%"), "%"),
    (re.compile(r"\\(?:times|cdot)\b"), "*"),
    (re.compile(r"\\[dtc]?frac\s*\{\s*([-+\d.]+)\s*\}\s*\{\s*([-+\d.]+)\s*\}"), r" \1/\2 "),
    (re.compile(r"\\(?:text|mathrm|mathbf|textbf)\s*\{([^{}]*)\}"), r"\1"),
)

_FIGURE = r"\d{1,3}(?:\ \d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,'_]\d+)*|\.\d+"
_TOKEN = re.compile(
    rf"""
    (?<!\d)(?<![A-Za-z])(?<![A-Za-z][-_])            # "x2" and "GPT-4" are names
    (?:(?<![\w)])(?P<sign>[-+](?=[\d.$€£¥₹])))?      # "17-23" and the bullet "- 23" have no sign
    (?:[$€£¥₹]\s?|(?:USD|EUR|GBP|Rs\.?)\s?)?
    (?P<minus>[-+](?=[\d.]))?
    (?P<figure>{_FIGURE})
    (?P<power>[eE][-+]?\d+(?![\w.])
        |\s?[*xX]\s?10\s?(?:\^|\*\*)\s?[{{(]?(?P<exponent>[-+]?\d+)[}})]?
        |\s?[*xX]\s?10(?P<raised>[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+))?
    (?P<fraction>(?:\ (?P<top>\d+))?\s?/\s?(?P<bottom>\d+))?
    (?P<tail>[:/]\d[\d:/.]*|-\d+-\d+)?
    (?P<scale>\s?(?:%|‰|[kK]\b
        |(?:percent(?:age\ points?)?|per\ cent|pct|thousand|million|billion|trillion)\b))?
    """,
    re.VERBOSE,
)
_SCALES = {
    "%": Fraction(1, 100), "percent": Fraction(1, 100), "pct": Fraction(1, 100),
    "per cent": Fraction(1, 100), "‰": Fraction(1, 1000), "k": Fraction(10**3),
    "thousand": Fraction(10**3), "million": Fraction(10**6), "billion": Fraction(10**9),
    "trillion": Fraction(10**12),
}  # fmt: skip
_THOUSANDS = re.compile(r"\d{1,3}(?:([,.' _])\d{3})(?:\1\d{3})*|\d{1,2}(?:,\d{2})+,\d{3}")
_LABELS = re.compile(
    r"\b(?:section|sec\.|step|figure|fig\.|table|page|p\.|chapter|equation|eq\.|note|ref\.?|line|"
    r"option|question|part|example|theorem|lemma|rule|number|no\.|version|#)\s*[.:]?\s*$",
    re.IGNORECASE,
)
_ASIDES = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|【[^【】]*】")
_LIST_NUMBER = re.compile(r"(?m)^[ \t]*\d{1,3}[.)][ \t]+(?=\S)")
_EITHER = re.compile(r"\W{0,3}\b(?:or|oder|ou)\b\W{0,3}|\s?-\s?", re.IGNORECASE)
_SEPARATORS = re.compile(r"[.,' _]")
NO_NUMBER = "the answer has no number"


class NumberReading(Struct, frozen=True):
    """A number as a judge reads it, or ``problem``: why there is none. ``text`` is its source."""

    text: str = ""
    figure: Fraction = Fraction(0)
    scale: Fraction = Fraction(1)
    problem: str = ""

    @property
    def value(self) -> Fraction:
        """Return the number with its scale."""
        return self.figure * self.scale

    def equals(self, target: "NumberReading", tolerance: Fraction) -> bool:
        """Return whether both are the same number, or the same figure if one lacks the scale."""
        if _is_near(self.value, target.value, tolerance):
            return True
        lacks = self.scale != target.scale and 1 in (self.scale, target.scale)
        return lacks and abs(target.figure) > 1 and _is_near(self.figure, target.figure, tolerance)

    def describe(self) -> str:
        """Return how the number was read."""
        if self.problem:
            return self.problem
        return f"read {self.text!r} as {format_fraction(self.value)}"


def format_fraction(value: Fraction) -> str:
    """Format a number in decimals if that is exact and short, else as a fraction."""
    if value.denominator == 1:
        whole = value.numerator
        return str(whole) if abs(whole) < 10**30 else "a number of more than 30 digits"
    exact = f"{float(value):.12g}" if abs(value) < 10**12 else ""
    if exact and Fraction(exact) == value:
        return exact
    short = len(str(value)) <= 40
    return str(value) if short else "a fraction of more than 40 characters"


def read_number(text: str, decimals: Decimals = "point") -> NumberReading:
    """Return the number that a text gives as its answer, by the rules above."""
    said = _spell(text)
    boxed = find_boxed(said)
    parts = [part for part in (boxed, find_marked(said)) if part]
    for part in parts:
        if found := _find_last(_without_asides(part), decimals):
            return found
    whole = _LIST_NUMBER.sub(" ", said) if "\n" in said.strip() else said
    return _find_last(_without_asides(whole), decimals) or NumberReading(problem=NO_NUMBER)


def is_number(text: str, decimals: Decimals = "point") -> bool:
    """Return whether a text is one number, with its sign, currency and scale, and nothing else."""
    said = _spell(text).strip()
    found = _TOKEN.fullmatch(said)
    return found is not None and not _read(found, decimals).problem


def _spell(text: str) -> str:
    for pattern, plain in _LATEX:
        text = pattern.sub(plain, text)
    for sign, plain in _VULGAR.items():
        if sign in text:
            text = re.sub(rf"(?<=\d)\s*{sign}", f" {plain}", text).replace(sign, plain)
    return text.translate(_ONE_SPELLING)


def _without_asides(text: str) -> str:
    """Return a text without what is in brackets, if a number is left."""
    kept = _ASIDES.sub(lambda aside: " " * len(aside[0]), text)
    return kept if any(_iter_tokens(kept)) else text


def _iter_tokens(text: str) -> Iterator[re.Match[str]]:
    for token in _TOKEN.finditer(text):
        before = text[max(0, token.start() - 20) : token.start()]
        if not _LABELS.search(before):
            yield token


def _find_last(text: str, decimals: Decimals) -> NumberReading | None:
    tokens = list(_iter_tokens(text))
    if not tokens:
        return None
    last = tokens[-1]
    found = _read(last, decimals)
    if len(tokens) > 1 and _EITHER.fullmatch(text[tokens[-2].end() : last.start()]):
        before = _read(tokens[-2], decimals)
        if before.problem or before.value != found.value:
            several = f"{tokens[-2][0].strip()} or {last[0].strip()}"
            return NumberReading(problem=f"{several!r} is ambiguous: it gives two numbers")
    return found


def _read(token: re.Match[str], decimals: Decimals) -> NumberReading:
    text = token[0].strip()[:60]
    if token["tail"]:
        return NumberReading(problem=f"{text!r} is ambiguous: a time, a date or a ratio")
    try:
        figure = _parse_figure(token["figure"], decimals)
        power = _parse_power(token)
        if token["fraction"]:
            figure = _parse_fraction(token, figure)
    except ValueError as error:
        return NumberReading(problem=f"{text!r} is ambiguous: {error}")
    figure *= Fraction(10) ** power
    negative = "-" in (token["sign"], token["minus"])
    word = (token["scale"] or "").strip().lower()
    scale = _SCALES.get(word, _SCALES["percent"] if word.startswith("percent") else Fraction(1))
    return NumberReading(text, -figure if negative else figure, scale)


def _parse_figure(text: str, decimals: Decimals) -> Fraction:
    if len(text) > _MOST_DIGITS:
        raise ValueError("it has too many digits")
    if text.startswith("."):
        text = f"0{text}"
    marks = _SEPARATORS.findall(text)
    if marks and _is_decimal_mark(text, marks, decimals):
        whole, _, rest = text.rpartition(marks[-1])
        return _parse_groups(whole) + Fraction(int(rest), 10 ** len(rest))
    return Fraction(_parse_groups(text))


def _is_decimal_mark(text: str, marks: list[str], decimals: Decimals) -> bool:
    """Return whether the last separator of a figure begins its decimals."""
    last = marks[-1]
    if last not in ".," or marks.count(last) > 1:
        return False
    return len(marks) > 1 or last == _POINTS[decimals] or not _is_grouped(text)


def _is_grouped(text: str) -> bool:
    return _THOUSANDS.fullmatch(text) is not None and not text.startswith("0")


def _parse_groups(text: str) -> int:
    if not text.isdigit() and not _is_grouped(text):
        raise ValueError("a list, a version or a date, or groups that are not thousands")
    return int(_SEPARATORS.sub("", text))


def _parse_power(token: re.Match[str]) -> int:
    if not token["power"]:
        return 0
    written = token["exponent"] or (token["raised"] or "").translate(_RAISED)
    power = int(written or token["power"].strip()[1:])
    if abs(power) > _LARGEST_EXPONENT:
        raise ValueError("its exponent is too large")
    return power


def _parse_fraction(token: re.Match[str], figure: Fraction) -> Fraction:
    bottom = int(token["bottom"])
    if not bottom:
        raise ValueError("it divides by zero")
    return figure + Fraction(int(token["top"]), bottom) if token["top"] else figure / bottom


def _is_near(found: Fraction, target: Fraction, tolerance: Fraction) -> bool:
    return abs(found - target) <= tolerance * abs(target)
