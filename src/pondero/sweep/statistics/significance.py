"""Tests apart from the decision: does a level think more than its neighbour, do two arms differ."""

import math
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

Effect = Literal["more", "no_effect", "inverted", "unknown"]

_SURE = 0.05


class ThinkingCheck(Struct, frozen=True):
    """Whether an arm thinks more than its cheaper neighbour, and how sure that is."""

    effect: Effect
    p: float | None = None


def thinks_more(pairs: Iterable[tuple[float | None, float | None]]) -> ThinkingCheck:
    """Compare thinking tokens question by question: those of an arm, and of its cheaper neighbour.

    One-sided sign tests: ``no_effect`` if one does not show more, ``inverted`` if one shows less.
    """
    known = [(above, below) for above, below in pairs if above is not None and below is not None]
    if not known:
        return ThinkingCheck("unknown")
    more = sum(above > below for above, below in known)
    less = sum(above < below for above, below in known)
    p = sign_test(more, less)
    if p <= _SURE:
        return ThinkingCheck("more", p)
    if (other := sign_test(less, more)) <= _SURE:
        return ThinkingCheck("inverted", other)
    return ThinkingCheck("no_effect", p)


def sign_test(more: int, less: int) -> float:
    """Return the probability of at least this many ``more`` if both are equally likely."""
    count = more + less
    return _tail(more, count) if count else 1.0


def mcnemar(gained: int, lost: int) -> float:
    """Return the exact two-sided probability of a discordance as uneven as this one."""
    count = gained + lost
    return min(1.0, 2 * _tail(max(gained, lost), count)) if count else 1.0


def _tail(least: int, count: int) -> float:
    ways: int = sum(math.comb(count, k) for k in range(least, count + 1))
    return ways / (1 << count)
