"""Looks: after how many questions a sweep is looked at, and O'Brien and Fleming's boundaries."""

import math
from functools import lru_cache

from .intervals import NORMAL

LOOKS = 4
ALPHA = 0.05

_POINTS = 80  # of the grid that the walk is followed on
_REACH = 10.0  # how far below the boundary the grid goes, in steps of the walk


def positions(questions: int, looks: int = LOOKS) -> tuple[int, ...]:
    """Return the number of questions at each look; the last one has all of them."""
    found = (math.ceil(questions * look / looks) for look in range(1, looks + 1))
    return tuple(sorted(set(found)))


@lru_cache(maxsize=64)
def boundaries(looks: int = LOOKS, alpha: float = ALPHA) -> tuple[float, ...]:
    """Return the z to pass at each look, so that one passes wrongly with probability ``alpha``."""
    low, high = 0.0, math.sqrt(looks) * NORMAL.inv_cdf(1 - alpha / looks)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if _probability_to_cross(middle, looks) > alpha else (low, middle)
        )
    return tuple(high / math.sqrt(look) for look in range(1, looks + 1))


def _probability_to_cross(height: float, looks: int) -> float:
    """Return the probability that a walk of standard normal steps ever passes this height.

    The density below is carried from step to step (Armitage, McPherson and Rowe 1969) on a grid.
    """
    step = _REACH / _POINTS
    below = [height - number * step for number in range(_POINTS + 1)]
    weights = [(4 if n % 2 else 2) * step / 3 for n in range(_POINTS + 1)]
    weights[0] = weights[-1] = step / 3
    near = [NORMAL.pdf(number * step) for number in range(_POINTS + 1)]
    over = [1 - NORMAL.cdf(number * step) for number in range(_POINTS + 1)]
    density = [NORMAL.pdf(at) for at in below]
    crossed = 1 - NORMAL.cdf(height)
    for _ in range(looks - 1):
        mass = [weight * each for weight, each in zip(weights, density, strict=True)]
        crossed += math.fsum(a * b for a, b in zip(mass, over, strict=True))
        density = [
            math.fsum(each * near[abs(here - there)] for there, each in enumerate(mass))
            for here in range(_POINTS + 1)
        ]
    return crossed
