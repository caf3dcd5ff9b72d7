"""The exact test of ``once``: a small pool of right-or-wrong answers, tested once, at its end."""

import math
from functools import lru_cache

ONCE_MOST = 300
"""The largest pool for ``once``; above it the e-process loses nothing by deciding early."""

_NUISANCES = 150
_TINY = 1e-300


@lru_cache  # seconds for a large pool; a run, its end and its results ask for the same one
def exact_probability(gains: int, losses: int, n: int, margin: float) -> float:
    """Return the probability of a score as high as this one, at the least favourable discordance.

    Outcomes are ordered by Tango's score. The arm is enough if the probability is at most
    ``main / (target - spare)`` of its e-process: the main part of the capital is bet on this test.
    """
    seen = tango_score(gains, losses, n, margin) - 1e-9
    logs = [math.lgamma(k + 1) for k in range(n + 1)]
    high = [
        (won, lost, logs[n] - logs[won] - logs[lost] - logs[n - won - lost])
        for won in range(n + 1)
        for lost in range(n + 1 - won)
        if tango_score(won, lost, n, margin) >= seen
    ]
    worst = 0.0
    for number in range(_NUISANCES + 1):  # the chance of a gain, denser where it is small
        gain = (1 - margin) / 2 * (number / _NUISANCES) ** 2
        up, down = math.log(gain or _TINY), math.log(gain + margin)
        tie = math.log(max(1 - 2 * gain - margin, _TINY))
        chances = (
            math.exp(ways + won * up + lost * down + (n - won - lost) * tie)
            for won, lost, ways in high
        )
        worst = max(worst, math.fsum(chances))
    return min(1.0, worst)


def tango_score(gains: int, losses: int, n: int, margin: float) -> float:
    """Return Tango's score of a paired difference against ``-margin`` (1998)."""
    d = -margin
    b = -gains - losses + (2 * n - gains + losses) * d
    q = (math.sqrt(max(b * b + 8 * n * losses * d * (1 - d), 0.0)) - b) / (4 * n)
    return (gains - losses - n * d) / math.sqrt(max(n * (2 * q + d * (1 - d)), 1e-12))
