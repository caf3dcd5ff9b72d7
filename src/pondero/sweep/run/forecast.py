"""The forecast of a run by its pilot: the chance to decide, the questions and the cost."""

import math
from collections.abc import Sequence
from decimal import Decimal
from statistics import fmean

from msgspec.structs import replace

from ..statistics.comparison import Pool
from ..statistics.forecast import RUNS, USUAL_DISCORDANCE, Forecast, foresee, foresee_once
from .run_plan import has_dollars, make_comparison, measure_prices, pilot_positions
from .scores import Scores

_PLAYED = 60_000  # units of one forecast, so that it takes less than a second


def forecast_rest(
    scores: Scores, pool: Pool, *, left: Decimal | None = None
) -> tuple[Forecast, ...]:
    """Return two forecasts for the arm to try next: equal, and worse by half the margin.

    Prices and discordance are the pilot's own; the cost is 0 if no price is known.
    """
    facts = scores.facts
    contest = make_comparison(scores, pool).advance()
    places = pilot_positions(facts, pool)
    if contest.waits is None or not places or facts.spec.label_share is not None:
        return ()  # how often people will correct the judge cannot be foreseen
    arm, at = contest.waits
    priced = has_dollars(scores, places)
    free = dict.fromkeys(range(len(facts.arms)), 0.0)
    prices = measure_prices(scores, places) if priced else free
    margin, rest = facts.spec.margin, pool.horizon(arm, at)[1] - at
    process = contest.current_process
    budget = math.inf if left is None or not priced else float(left)
    pair = (prices[arm], prices[facts.reference])
    differs = discordance_of(scores, arm, places)
    found = (
        foresee_once(pair, differs, rest, process=process, budget=budget, difference=difference)
        if facts.spec.once and process is not None
        else foresee(
            pair,
            differs,
            margin,
            max(0, rest),
            budget=budget,
            difference=difference,
            process=process,
            runs=max(40, min(RUNS, _PLAYED // max(1, rest))),
        )
        for difference in (0.0, -margin / 2)
    )
    is_alone = len({each.model for each in facts.arms}) == 1
    name = facts.arms[arm].level if is_alone else facts.arms[arm].name
    return tuple(replace(each, arm=name) for each in found)


def discordance_of(scores: Scores, arm: int, places: Sequence[int]) -> float:
    """Return on what share of the pilot an arm and the reference differ, drawn to the usual."""
    reference = scores.facts.reference
    pairs = [(scores.score(arm, at), scores.score(reference, at)) for at in places]
    both = [abs(one - other) for one, other in pairs if one is not None and other is not None]
    if not both:
        return USUAL_DISCORDANCE
    return (fmean(both) * len(both) + USUAL_DISCORDANCE * 10) / (len(both) + 10)
