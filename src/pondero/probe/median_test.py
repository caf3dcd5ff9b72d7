"""Bounds of a median that hold at every look: how much more a level thinks on a typical question.

The claim "the median is above m" bets on every pair that it lies above. If the median is not above
m, each bet loses at least as often as it wins, so the capital reaches ``1 / alpha`` with a
probability of at most ``alpha``, whenever one stops (Ville 1939). Nothing is assumed about the
noise: not its size, not its tails, not that it is the same for all questions.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

ALPHA = 0.05
"""How often a verdict may be wrong."""

_STAKES = ((0.95, 0.6), (0.7, 0.2), (0.4, 0.1), (0.2, 0.1))
"""The fraction of its capital that each part bets, and the part: bold first, for a clear answer."""


class Bounds(Struct, frozen=True):
    """What is shown of a median so far; infinite where nothing is."""

    low: float = -math.inf
    high: float = math.inf

    def narrow(self, newer: "Bounds") -> "Bounds":
        """Return both together: a bound once shown stays."""
        return Bounds(max(self.low, newer.low), min(self.high, newer.high))


def capital(count: int, wins: int) -> float:
    """Return what a claim has after so many bets, of which it won some."""
    losses = count - wins
    return math.fsum(part * (1 + stake) ** wins * (1 - stake) ** losses for stake, part in _STAKES)


@lru_cache(maxsize=1024)
def wins_needed(count: int, alpha: float = ALPHA) -> int | None:
    """Return how many of so many bets a claim must win to be shown; None if all are too few."""
    return next((wins for wins in range(count + 1) if capital(count, wins) * alpha >= 1), None)


def bound_median(lows: Sequence[float], highs: Sequence[float], alpha: float = ALPHA) -> Bounds:
    """Return the bounds of the median of values that lie between ``lows`` and ``highs``.

    Each bound is wrong with a probability of at most ``alpha``, at all looks together.
    """
    count = len(lows)
    needed = wins_needed(count, alpha)
    if needed is None:
        return Bounds()
    return Bounds(sorted(lows)[count - needed], sorted(highs)[needed - 1])


def can_still_win(values: Sequence[float], edge: float, left: int, alpha: float = ALPHA) -> bool:
    """Return whether "the median is above the edge" could be shown within ``left`` more values."""
    wins, count = sum(value > edge for value in values), len(values)
    return any(capital(count + more, wins + more) * alpha >= 1 for more in range(left + 1))
