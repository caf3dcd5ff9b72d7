"""Parses every spelling of a level or budget into an ``Intent``; knows no model and no wire."""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct

from ..errors import BadThinking

if TYPE_CHECKING:
    from typing_extensions import deprecated

    unknown_level: Final = deprecated(
        "not a known level: use off minimal low medium high xhigh max, on, auto, a number of "
        "tokens, or a variable of type str"
    )
    """Marks the signature that takes every other text in the source of a program."""
else:
    unknown_level = None  # the signatures that it marks are left out: see MYPY

LEVELS = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
ALIASES = {
    "none": "off",
    "min": "off",
    "disabled": "off",
    "false": "off",
    "med": "medium",
    "true": "on",
    "enabled": "on",
}
ABOVE_MAX = frozenset({"ultra"})
"""Words of agents for more than the highest level; no service has one, so they are adjusted."""
BIGGEST_BUDGET = 10_000_000  # above any context window: a typing error

_NUMBER = re.compile(r"(\d+(?:[,_]\d{3})*|\d+\.\d+)\s*([km]?)(?:\s*tokens?)?")
_SCALE = {"": 1, "k": 1_000, "m": 1_000_000}
_AUTO = re.compile(r"auto(?::([a-z0-9_][a-z0-9_.-]{0,63}))?(?:#([\w .:+-]{1,64}))?", re.IGNORECASE)

Kind = Literal["unset", "off", "on", "level", "budget", "native", "auto"]

_Name = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
_Alias = Literal["on", "auto", "none", "min", "disabled", "false", "med", "true", "enabled"]
Level = _Name | _Alias
"""Every word that every model's dial takes, for type checkers and editors.

Annotate your own names with it, and a type checker reports a misspelt level.

>>> level: pondero.Level = "high"
>>> pondero.plan("claude-opus-5", level).level
'high'
"""

_Budget = Literal[
    "1k", "2k", "4k", "8k", "10k", "12k", "16k", "20k", "24k", "32k", "48k", "64k", "100k", "128k"
]


class MeasuredLevel(Struct, frozen=True):
    """The level and token budget that a calibration measured, and under which circumstances."""

    level: str | None
    budget: int | None
    words: str


class Auto(Struct, frozen=True):
    """A level that a calibration decides; ``found`` has adjustment codes and their reasons."""

    name: str | None = None
    kind: str | None = None
    found: tuple[tuple[str, str], ...] = ()
    measured: MeasuredLevel | None = None

    def __str__(self) -> str:
        name = f":{self.name}" if self.name else ""
        return f"auto{name}#{self.kind}" if self.kind else f"auto{name}"


class Intent(Struct, frozen=True):
    """A parsed request; ``level``: the word with a budget; ``auto``: a calibration decides."""

    kind: Kind
    level: str | None = None
    tokens: int | None = None
    fields: Mapping[str, Any] | None = None
    auto: Auto | None = None

    @property
    def as_text(self) -> str | int | None:
        """Return the intent as a user would write it."""
        if self.auto is not None:
            return str(self.auto)
        if self.kind in ("level", "budget"):
            return self.tokens if self.kind == "budget" else self.level
        return None if self.kind == "unset" else self.kind


ThinkingLike = str | int | Mapping[str, Any] | Intent | None
"""A request for thinking: a level, a number of tokens, on or off, or the service's own fields.

A text is what stands after the slash of a model's name: "8k" is a number.

>>> [pondero.plan("claude-opus-5", each).level for each in ("high", "8k", 8000, True, False)]
['high', 'medium', 'medium', 'on', 'off']
"""

KnownThinking = Level | _Budget | int | Mapping[str, Any] | Intent | None
"""What a type checker knows to be right: ``ThinkingLike`` with the usual texts alone."""

MYPY: bool = True
"""Whether the signatures for pyright alone are to be left out.

They report a misspelt level: of three signatures the first takes known levels, the second, which is
marked as deprecated, takes any other text in the source, and the third takes any ``str``. mypy does
not tell the last two apart, and takes this name for true. It sees one signature, and so its errors
are one line.
"""

UNSET = Intent("unset")
OFF = Intent("off", "off")
ON = Intent("on")


def parse_intent(
    thinking: object, thinking_effort: object = None, *, words: Iterable[str] = ()
) -> Intent:
    """Return the intent of one field, or of the two fields thinking and effort.

    Native settings win over everything, ``False`` wins over an effort, an effort alone means on.
    """
    given = _parse(thinking, tuple(words))
    if thinking_effort is None or given.kind in ("native", "off"):
        return given
    effort = _parse(thinking_effort, tuple(words))
    if given.kind in ("unset", "on") or given == effort:
        return effort
    message = f"thinking={thinking!r} and thinking_effort={thinking_effort!r} disagree; give one"
    raise BadThinking(message)


def is_level_text(text: str, *, words: Iterable[str] = ()) -> bool:
    """Return whether this text is a level, an alias or a number of tokens."""
    try:
        return bool(text) and _parse(text, tuple(words)).kind != "unset"
    except BadThinking:
        return False


def parse_auto(text: str) -> Auto | None:
    """Return what ``auto[:NAME][#KIND]`` says; None for any other text."""
    if text[:4].lower() != "auto" or (found := _AUTO.fullmatch(text)) is None:
        return None
    name, kind = found.groups()
    return Auto(name and name.lower(), (kind and kind.strip()) or None)


def vocabulary(words: Iterable[str] = ()) -> str:
    """Return the accepted words, for an error message."""
    extra = [word for word in words if word not in LEVELS]
    return f"use {' '.join([*LEVELS, *extra])}, on, auto, or a number of tokens such as 8000 or 8k"


def _parse(given: object, words: tuple[str, ...]) -> Intent:
    if given is None:
        return UNSET
    if isinstance(given, bool):
        return ON if given else OFF
    if isinstance(given, Intent):
        return given
    if isinstance(given, str):
        return _word(given, words)
    if isinstance(given, int | float):
        return _tokens(given, repr(given))
    if isinstance(given, Mapping):
        return _native(given)
    message = f"invalid thinking {given!r} of type {type(given).__name__}; {vocabulary(words)}"
    raise BadThinking(message)


def _word(text: str, words: tuple[str, ...]) -> Intent:
    word = text.strip().lower()
    word = ALIASES.get(word, word)
    if word == "off":
        return OFF
    if word == "on":
        return ON
    if word in LEVELS or word in words or word in ABOVE_MAX:
        return Intent("level", word)
    if (auto := parse_auto(text.strip())) is not None:
        return Intent("auto", auto=auto)
    if number := _NUMBER.fullmatch(word):
        digits, scale = number.groups()
        return _tokens(float(digits.replace(",", "").replace("_", "")) * _SCALE[scale], repr(text))
    message = f"unknown level {text!r}; {_guess(word, words)}{vocabulary(words)}"
    raise BadThinking(message)


def is_nearly_level(text: str, words: Iterable[str] = ()) -> bool:
    """Return whether a text is no level, and most likely meant as one."""
    from difflib import get_close_matches  # noqa: PLC0415 - costs 5 ms, needed only for an error

    word = text.strip().lower()
    return bool(word.isalpha() and get_close_matches(word, [*LEVELS, *words], n=1, cutoff=0.75))


def _guess(word: str, words: tuple[str, ...]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - costs 5 ms, needed only for an error

    close = get_close_matches(word, [*LEVELS, *words, *ALIASES, "on", "auto"], n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}? " if close else ""


def _tokens(number: float, said: str) -> Intent:
    if number != number // 1:  # NaN and infinity included
        message = f"a budget is a whole number of tokens, not {said}; try 8000 or 8k"
        raise BadThinking(message)
    if not 0 <= number <= BIGGEST_BUDGET:
        message = f"invalid budget of {said} tokens; use 0 (off) to {BIGGEST_BUDGET:,}"
        raise BadThinking(message)
    return Intent("budget", tokens=int(number)) if number else OFF


def _native(fields: Mapping[Any, Any]) -> Intent:
    if odd := [key for key in fields if not isinstance(key, str)]:
        message = f"native fields have names, not {odd[0]!r}; pass what the service's body takes"
        raise BadThinking(message)
    return Intent("native", fields=dict(fields))
