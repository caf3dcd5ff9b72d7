"""Whether a level thinks more than its cheaper neighbour; it never enters the decision."""

import math
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from .intervals import NORMAL, Interval

Effect = Literal["more", "same", "less", "unknown"]

LEAST = 30
RATIO = 1.15
"""Two levels think the same if the ratio of their tokens is shown to be within this."""

_Z = 1.645  # for the correction to Student's t, which is exact enough here


class ThinkingCheck(Struct, frozen=True):
    """Whether an arm thinks more than its cheaper neighbour, and how often more tokens it uses."""

    effect: Effect
    ratio: Interval | None = None


def thinking_effect(
    pairs: Iterable[tuple[float | None, float | None]], *, ratio: float = RATIO, least: int = LEAST
) -> ThinkingCheck:
    """Compare the tokens of an arm and its cheaper neighbour, question by question.

    The mean log ratio (of tokens plus one) with its 90 % interval: two one-sided tests at 5 %.
    """
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    logs = [math.log((above + 1) / (below + 1)) for above, below in known]
    n = len(logs)
    if n < max(2, least):
        return ThinkingCheck("unknown")
    mean = math.fsum(logs) / n
    error = math.sqrt(math.fsum((each - mean) ** 2 for each in logs) / (n - 1) / n)
    reach = (NORMAL.inv_cdf(0.95) + (_Z**3 + _Z) / 4 / (n - 1)) * error
    low, high, edge = mean - reach, mean + reach, math.log(ratio)
    found = Interval(math.exp(mean), math.exp(low), math.exp(high))
    if low > -edge and high < edge:
        return ThinkingCheck("same", found)
    if low > 0:
        return ThinkingCheck("more", found)
    return ThinkingCheck("less" if high < 0 else "unknown", found)
