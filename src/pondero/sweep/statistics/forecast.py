"""The forecast: how likely a sweep decides, after how many questions and at what cost."""

import math
from collections.abc import Sequence
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from .allocation import pilot_size
from .e_process import EProcess

USUAL_DISCORDANCE = 0.1
"""The share of questions on which two arms differ, before anything was measured."""

RUNS = 200


class Forecast(Struct, frozen=True):
    """The chance to decide if the true difference is ``difference``, mean questions, mean cost."""

    difference: float
    chance: float
    units: float
    cost: float


def foresee(
    prices: Sequence[float],
    discordance: float,
    margin: float,
    pool: int,
    *,
    arm: int = 0,
    budget: float = math.inf,
    share: float = 0.7,
    difference: float = 0.0,
    process: EProcess | None = None,
    runs: int = RUNS,
) -> Forecast:
    """Play the procedure ``runs`` times for one arm; ``prices`` of a question, the reference last.

    With ``process`` it continues from there for ``pool`` more units, and has no pilot.
    """
    draw = Random(1).random  # noqa: S311 - the same forecast every time
    pair = prices[arm] + prices[-1]
    start = 0 if process else pilot_size(pool)
    piloted = start * math.fsum(prices)
    most = pool
    if budget < math.inf and pair > 0:
        most = max(0, min(pool, start + int((budget - piloted) // pair)))
    discordance = max(discordance, abs(difference))
    gain, differ = (discordance + difference) / 2, discordance
    won = used = 0
    for _ in range(runs):
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
