"""The check of a calibration: a few of its questions, asked again at its level, one after another.

It says whether the level still does as well as it did: the same model answers, and its answers are
not shown to be worse by more than the margin.
"""

from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from ..errors import UsageError
from ..store import load_calibrations, note_served
from .api import make_engine
from .arms import find_arms
from .engines.engine import CostBudget, Trial, TrialResult
from .grading.judges import make_judge
from .points import describe_points
from .run.prices import max_trial_cost
from .run.scores import Scores
from .run.store import Run
from .statistics.e_process import mirror

QUESTIONS = 20


class CalibrationCheck(Struct, frozen=True):
    """What a check found; ``difference`` is to the answers that were measured."""

    name: str
    asked: int
    difference: float
    served: str
    measured: str
    holds: bool
    why: str
    cost: float


class _NoJournal:
    """Nothing is recorded: a check is small, and ends with its process."""

    def begin(self, key: str, bound: Decimal | None) -> None:
        pass

    def lose(self, key: str, bound: Decimal) -> None:
        pass


async def check_calibration(name: str, *, questions: int = QUESTIONS) -> CalibrationCheck:
    """Ask some of a calibration's questions again; raise UsageError if its run is gone."""
    made = load_calibrations().get(name.lower())
    if made is None:
        known = " ".join(load_calibrations().known) or "none"
        message = f"no calibration is called {name!r}; there are {known}"
        raise UsageError(message)
    with Run.open(made.run) as run:
        scores = Scores(run, made.judge)
        own = find_arms(run.facts.arms, f"{made.model}/{made.level}")
        if not own:
            message = f"run {made.run} has no arm {made.model}/{made.level} to check by"
            raise UsageError(message)
        places = [at for at in range(len(scores.questions)) if scores.score(own[0], at) is not None]
        return await _ask(made.name, scores, own[0], places[:questions])


async def _ask(name: str, scores: Scores, arm: int, places: list[int]) -> CalibrationCheck:
    spec = scores.facts.spec
    engine, judge = make_engine(replace(spec, engine="live")), make_judge(spec.judge)
    worse, served, cost, asked = mirror(spec.margin), "", 0.0, 0
    budget = CostBudget(_NoJournal(), spent=Decimal(0))
    try:
        for number, at in enumerate(places):
            trial = _make_trial(scores, arm, at)
            settled = [each async for each in engine.answers([trial], budget)]
            found = settled[0] if settled else TrialResult(key=trial.key, error="no answer")
            score = 0.0
            if not found.is_missing and not found.is_refused:
                score = (await judge.grade(scores.questions[at], found.text)).score
            served, asked = found.model or served, number + 1
            cost += float(found.cost or 0)
            worse.see((scores.score(arm, at) or 0.0) - score, len(places) - number)
            if worse.is_won:
                break
    finally:
        await engine.aclose()
    return _conclude(name, asked, 0.0 - worse.mean, served, is_worse=worse.is_won, cost=cost)


def _make_trial(scores: Scores, arm: int, at: int) -> Trial:
    spec, own, question = scores.facts.spec, scores.facts.arms[arm], scores.questions[at]
    bound = None if spec.budget is None else max_trial_cost(spec, own, question)
    return Trial(
        f"check {at}",
        arm,
        at,
        0,
        own.model,
        own.level,
        question.prompt,
        spec.system,
        spec.max_tokens,
        bound,
    )


def _conclude(
    name: str, asked: int, difference: float, served: str, *, is_worse: bool, cost: float
) -> CalibrationCheck:
    made = load_calibrations().known[name]
    why = f"{asked} questions, {100 * difference:+.1f} points against the answers of {made.date}"
    is_same = not served or not made.served or served == made.served
    if served:
        note_served(made.model, name, served)
    if is_worse:
        why = f"worse than on {made.date} by more than {describe_points(made.margin)}; {why}"
    if not is_same:
        why = f"{served} answers now, and {made.served} was measured; {why}"
    return CalibrationCheck(
        name=name,
        asked=asked,
        difference=difference,
        served=served,
        measured=made.served,
        holds=is_same and not is_worse,
        why=why,
        cost=cost,
    )
