"""Which known name a misspelt one is nearly: for hints and refusals of ``lookup`` alone."""

import re
from collections.abc import Iterable

_WORD = re.compile(r"[a-z]{4,}")
_NO_DIGIT = re.compile(r"\D+")


def near_name(model: str, names: Iterable[str]) -> str | None:
    """Return the name that has the same digits and nearly the same letters; None without one."""
    digits = _NO_DIGIT.sub("", model)
    alike = [name for name in names if digits and _NO_DIGIT.sub("", name) == digits]
    return next(iter(_close(model.lower(), alike, 1, 0.85)), None) if alike else None


def is_misspelt(model: str, names: Iterable[str]) -> bool:
    """Return whether a word of this name is nearly a known one; numbers may be new."""
    known = set(_WORD.findall(" ".join(names).lower()))
    swapped = {"".join(sorted(word)) for word in known}
    return any(
        word not in known and ("".join(sorted(word)) in swapped or _close(word, known, 3, 0.8))
        for word in _WORD.findall(model.lower())
    )


def close_names(model: str, names: Iterable[str]) -> list[str]:
    """Return the names that are nearly this one, the nearest first."""
    return _close(model.lower(), sorted(names), 3, 0.6)


def _close(word: str, known: Iterable[str], most: int, cutoff: float) -> list[str]:
    from difflib import get_close_matches  # noqa: PLC0415 - costs 5 ms, only for an error

    return get_close_matches(word, list(known), n=most, cutoff=cutoff)
