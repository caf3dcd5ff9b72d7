"""The planner: how many questions would decide, by Miller's formula (arXiv 2411.00640)."""

import math

from .intervals import NORMAL, Estimate
from .looks import ALPHA

POWER = 0.80
USUAL_DISCORDANCE = 0.10
"""The share of questions on which two arms differ, before anything was measured."""

_MANY = 1_000_000


def questions_needed(
    variance: float, margin: float, *, alpha: float = ALPHA, power: float = POWER
) -> int:
    """Return how many questions show a true difference of none to be within the margin.

    ``variance``, of right or wrong, is the discordance: the share that exactly one arm gets right.
    """
    sure = NORMAL.inv_cdf(1 - alpha) + NORMAL.inv_cdf(power)
    return math.ceil(sure * sure * variance / (margin * margin))


def questions_missing(estimate: Estimate, margin: float) -> int | None:
    """Return how many more questions would decide, or None if the difference is on the margin."""
    distance = abs(estimate.centre + margin)
    variance = estimate.error**2 * (estimate.count + 2)
    if distance * distance * _MANY < variance:
        return None
    return max(1, questions_needed(variance, distance) - estimate.count)


def pass_at(k: int, right: int, repeats: int) -> float:
    """Return the chance that at least one of ``k`` answers is right (pass@k)."""
    return 1 - math.comb(repeats - right, k) / math.comb(repeats, k)


def pass_all(k: int, right: int, repeats: int) -> float:
    """Return the chance that all of ``k`` answers are right (pass^k)."""
    return math.comb(right, k) / math.comb(repeats, k)
