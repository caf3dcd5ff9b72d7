"""The exact test of ``once``: a small pool of right-or-wrong answers, tested once, at its end."""

import math
from collections.abc import Iterator
from functools import lru_cache

from .e_process import divide_capital

ONCE_MOST = 300
"""The largest pool for ``once``; above it the e-process loses nothing by deciding early."""

_NUISANCES = 150
_TINY = 1e-300
_SAME = 1e-9  # scores this close are the same


@lru_cache  # seconds for a large pool; a run, its end and its results ask for the same one
def exact_probability(gains: int, losses: int, n: int, margin: float) -> float:
    """Return the probability of a score as high as this one, at the least favourable discordance.

    Outcomes are ordered by Tango's score. The arm is enough if the probability is at most
    ``main / (target - spare)`` of its e-process: the main part of the capital is bet on this test.
    """
    seen = tango_score(gains, losses, n, margin) - _SAME
    logs = [math.lgamma(k + 1) for k in range(n + 1)]
    high = [
        (won, lost, logs[n] - logs[won] - logs[lost] - logs[n - won - lost])
        for won in range(n + 1)
        for lost in range(n + 1 - won)
        if tango_score(won, lost, n, margin) >= seen
    ]
    worst = 0.0
    for up, down, tie in _nuisances(margin):
        chances = (
            math.exp(ways + won * up + lost * down + (n - won - lost) * tie)
            for won, lost, ways in high
        )
        worst = max(worst, math.fsum(chances))
    return min(1.0, worst)


def once_chance(
    left: int,
    margin: float,
    *,
    discordance: float,
    difference: float,
    share: float,
    alpha: float,
    seen: tuple[int, int, int] = (0, 0, 0),
) -> float:
    """Return how likely the test shows an arm with this share of the capital.

    ``seen`` are the gains, losses and number of the units so far; ``left`` follow.
    """
    main, spare = divide_capital(share)
    gains, losses, before = seen
    winning = _find_winning(before + left, margin, main / (1 / alpha - spare))
    gain, loss = (discordance + difference) / 2, (discordance - difference) / 2
    up, down = math.log(max(gain, _TINY)), math.log(max(loss, _TINY))
    tie = math.log(max(1 - gain - loss, _TINY))
    logs = [math.lgamma(k + 1) for k in range(left + 1)]
    rest = ((won - gains, lost - losses) for won, lost, _ in winning)
    chances = (
        math.exp(
            logs[left] - logs[won] - logs[lost] - logs[left - won - lost]
            + won * up + lost * down + (left - won - lost) * tie
        )
        for won, lost in rest
        if won >= 0 and lost >= 0 and won + lost <= left
    )  # fmt: skip
    return min(1.0, math.fsum(chances))


@lru_cache
def _find_winning(n: int, margin: float, level: float) -> tuple[tuple[int, int, float], ...]:
    """Return gains, losses and the log of the ways to them, of every outcome that wins."""
    logs = [math.lgamma(k + 1) for k in range(n + 1)]
    outcomes = sorted(
        (
            (
                tango_score(won, lost, n, margin),
                (won, lost, logs[n] - logs[won] - logs[lost] - logs[n - won - lost]),
            )
            for won in range(n + 1)
            for lost in range(n + 1 - won)
        ),
        reverse=True,
    )
    most = len(outcomes)
    for up, down, tie in _nuisances(margin):
        total, first = 0.0, 0
        for at in range(most):
            score, (won, lost, ways) = outcomes[at]
            if score < outcomes[first][0] - _SAME:
                first = at
            total += math.exp(ways + won * up + lost * down + (n - won - lost) * tie)
            if total > level:
                most = first  # outcomes of the same score win together, or none of them
                break
    return tuple(outcome for _, outcome in outcomes[:most])


def _nuisances(margin: float) -> Iterator[tuple[float, float, float]]:
    """Yield the logs of the chances of a gain, a loss and a tie on the margin."""
    for number in range(_NUISANCES + 1):  # the chance of a gain, denser where it is small
        gain = (1 - margin) / 2 * (number / _NUISANCES) ** 2
        yield (
            math.log(gain or _TINY),
            math.log(gain + margin),
            math.log(max(1 - 2 * gain - margin, _TINY)),
        )


def tango_score(gains: int, losses: int, n: int, margin: float) -> float:
    """Return Tango's score of a paired difference against ``-margin`` (1998)."""
    d = -margin
    b = -gains - losses + (2 * n - gains + losses) * d
    q = (math.sqrt(max(b * b + 8 * n * losses * d * (1 - d), 0.0)) - b) / (4 * n)
    return (gains - losses - n * d) / math.sqrt(max(n * (2 * q + d * (1 - d)), 1e-12))
