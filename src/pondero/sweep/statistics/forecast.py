"""The forecast: how likely a sweep decides, after how many questions and at what cost."""

import math
from collections.abc import Sequence
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from .allocation import PILOT, pilot_size
from .e_process import EProcess
from .exact_test import once_chance

USUAL_DISCORDANCE = 0.1
"""The share of questions on which two arms differ, before anything was measured."""

RUNS = 200
_PLAYED = 30_000  # units of a forecast before anything is measured, about half a second
_LEAST_RUNS, _MOST_RUNS = 100, 1_000


def count_runs(units: int) -> int:
    """Return how often to play a pool before anything is measured: a small one more often."""
    return max(_LEAST_RUNS, min(_MOST_RUNS, _PLAYED // max(1, units)))


class Forecast(Struct, frozen=True):
    """The chance to decide if the true difference is ``difference``, mean questions, mean cost."""

    difference: float
    chance: float
    units: float
    cost: float
    arm: str = ""
    """The arm that it is about, if that is known."""


def foresee(
    prices: Sequence[float],
    discordance: float,
    margin: float,
    pool: int,
    *,
    budget: float = math.inf,
    share: float = 0.7,
    difference: float = 0.0,
    process: EProcess | None = None,
    runs: int = RUNS,
    pilot: int = PILOT,
) -> Forecast:
    """Play the procedure ``runs`` times for the first arm; ``prices``, the reference last.

    With ``process`` it continues from there for ``pool`` more units, and has no pilot.
    """
    pair = prices[0] + prices[-1]
    start = 0 if process else pilot_size(pool, pilot)
    piloted = start * math.fsum(prices)
    most = pool
    if budget < math.inf and pair > 0:
        most = max(0, min(pool, start + int((budget - piloted) // pair)))
    discordance = max(discordance, abs(difference))
    gain, differ = (discordance + difference) / 2, discordance
    won = used = 0
    for number in range(runs):
        # Each play has its own luck: what an earlier one used of it does not change the others, so
        # that two margins are compared on the same answers.
        draw = Random(number).random  # noqa: S311 - the same forecast every time
        now = replace(process) if process else EProcess(margin=margin, share=share)
        if process:
            now.extend()
        for at in range(most):
            chance = draw()
            unit = 1.0 if chance < gain else -1.0 if chance < differ else 0.0
            if at < start:
                now.learn(unit)
            else:
                now.see(unit, most - at)
            used += 1
            if now.is_won:
                won += 1
                break
    mean = used / runs
    return Forecast(difference, won / runs, mean, piloted + max(0.0, mean - start) * pair)


def foresee_once(
    prices: Sequence[float],
    discordance: float,
    left: int,
    *,
    process: EProcess,
    budget: float = math.inf,
    difference: float = 0.0,
) -> Forecast:
    """Return the forecast of the one test after ``left`` more units, which are all asked."""
    cost = left * math.fsum(prices)
    chance = 0.0  # a budget that ends before the pool leaves it undecided
    if cost <= budget:
        chance = once_chance(
            left,
            process.margin,
            discordance=max(discordance, abs(difference)),
            difference=difference,
            share=process.share,
            alpha=process.alpha,
            seen=_count_seen(process),
        )
    return Forecast(difference, chance, left, cost)


def _count_seen(process: EProcess) -> tuple[int, int, int]:
    """Return gains, losses and all units that a process of right-or-wrong answers has learned."""
    n, total, margin = process.n, process.total, process.margin
    # The squares are those of gains + margin, losses - margin, and of the margin for each tie.
    losses = round((process.squares - n * margin**2 - total * (1 + 2 * margin)) / 2)
    return round(total) + losses, losses, n
