"""Allocation: how the capital of one sweep is divided among its arms, and how little decides."""

import math
from collections.abc import Sequence

from .e_process import ALPHA
from .intervals import NORMAL

PILOT = 20
"""Questions that every arm is asked first; they are not bet on."""

_HOPELESS = 1.5  # standard errors below the margin
_PLAUSIBLE = (0.05, 0.8)


def pilot_size(pool: int, wanted: int = PILOT) -> int:
    """Return how many units of a pool are the pilot: at most a quarter."""
    return min(wanted, pool // 4)


def fewest(margin: float, share: float = 1.0, *, alpha: float = ALPHA) -> int:
    """Return the least number of units that can show anything without a single gain."""
    return math.ceil(math.log(share * alpha) / math.log(1 - margin) - 1e-9)


def shares(pilot: Sequence[Sequence[float]], margin: float) -> list[float]:
    """Return each candidate's share, cheapest first, by its units of the pilot.

    An arm that the pilot shows to be hopeless gets nothing; the last of the others gets the rest.
    """
    plausible = [_plausibility(units, margin) for units in pilot]
    last = max((number for number, each in enumerate(plausible) if each), default=None)
    found, rest = [], 1.0
    for number, each in enumerate(plausible):
        part = rest if number == last else rest * each
        found.append(part)
        rest -= part
    return found


def _plausibility(units: Sequence[float], margin: float) -> float:
    count, mean = len(units), math.fsum(units) / len(units)
    error = math.sqrt(math.fsum((unit - mean) ** 2 for unit in units) + 0.5) / count
    if mean < -margin - _HOPELESS * error:
        return 0.0
    low, high = _PLAUSIBLE
    return min(max(NORMAL.cdf((mean + margin) / error), low), high)
