"""The sanity gate: whether a sweep makes sense, asked after the pilot and before the rest is spent.

A judge that does not fit the data makes every level look the same, and the cheapest look enough.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import Literal

from msgspec import Struct

from ..grading.proposal import find_accepting
from ..points import describe_points
from ..statistics.allocation import fewest
from ..statistics.comparison import Pool
from .run_plan import judged_rule, pilot_positions
from .scores import Scores
from .store import RunFacts

Condition = Literal["floor", "ceiling", "cut", "refused", "judge", "few"]

FLOOR = 0.05
"""The share of right answers of the reference at which nothing can be compared."""

_CUT = 0.05  # of the answers
_SHOWN = 3


class GateExample(Struct, frozen=True):
    """An answer that was graded wrong, and its targets."""

    question: str
    answer: str
    targets: tuple[str, ...]


class GateProblem(Struct, frozen=True):
    """Why the gate fails. ``stays``: a recommendation is not possible while it holds.

    Otherwise it is a caution: a run that continues past it has a recommendation, which names it.
    """

    condition: Condition
    why: str
    stays: bool = True
    examples: tuple[GateExample, ...] = ()
    judges: tuple[str, ...] = ()
    """Judges that would have accepted one of the examples."""


def check_units(
    margin: float, units: int, *, noun: str = "questions", least: int | None = None
) -> list[GateProblem]:
    """Return a problem if so few units cannot show anything; known before anything is asked."""
    least = fewest(margin) if least is None else least
    if units >= least:
        return []
    why = (
        f"{units} {noun} are too few to show anything within {describe_points(margin)}: "
        f"{least} are the least"
    )
    return [GateProblem("few", why)]


def count_units(facts: RunFacts, pool: Pool) -> int:
    """Return how many units a run has by now: those it was planned with, and those added."""
    return pool.first if facts.planned is None else len(pool.units)


def fewest_units(facts: RunFacts) -> int:
    """Return the least number of units that can show anything, on the scale of the judge."""
    margin, alpha = judged_rule(facts)
    return fewest(margin or facts.spec.margin, alpha=alpha)


def is_pilot_known(scores: Scores, pool: Pool) -> bool:
    """Return whether every arm that a run began with has been asked and graded in the pilot."""
    facts = scores.facts
    arms = range(len(facts.arms) - facts.added)
    return all(scores.is_known(arm, at) for at in pilot_positions(facts, pool) for arm in arms)


def check_pilot(scores: Scores, pool: Pool, *, is_over: bool = False) -> list[GateProblem]:
    """Return the problems of the pilot's answers, or of all so far if the run went on past it.

    Part of a pilot shows nothing, unless nothing more is asked: then these answers are all.
    """
    facts = scores.facts
    positions = pilot_positions(facts, pool)
    if facts.past_gate:
        positions = [at for unit in pool.units for at in unit]
    noun = "clusters" if facts.spec.cluster else "questions"
    problems = check_units(
        facts.spec.margin, count_units(facts, pool), noun=noun, least=fewest_units(facts)
    )
    problems += _check_labelled(scores)
    if is_over or is_pilot_known(scores, pool):
        for check in (_check_reference, _check_cut, _check_refused, _check_judge):
            problems += check(scores, positions)
    return problems


def _check_reference(scores: Scores, positions: Sequence[int]) -> list[GateProblem]:
    reference = scores.facts.reference
    known = [(at, score) for at in positions if (score := scores.score(reference, at)) is not None]
    if not known:
        return []
    name, share = scores.facts.arms[reference].name, fmean(score for _, score in known)
    right = f"{name}, the reference, is right in {100 * share:.0f} % of {len(known)} answers"
    if share <= FLOOR:
        why = f"{right}: the judge {scores.facts.spec.judge!r} or the data does not fit"
        wrong = [at for at, score in known if not score]
        examples, judges = _examples(scores, reference, wrong)
        return [GateProblem("floor", why, examples=examples, judges=judges)]
    if share == 1:
        why = (
            f"{right}{_describe_others(scores, positions)}: with questions this easy, or a judge "
            "this mild, a level can look enough that is not on harder work; if these questions "
            "are your work, this does no harm"
        )
        return [GateProblem("ceiling", why, stays=False)]
    return []


def _describe_others(scores: Scores, positions: Sequence[int]) -> str:
    """Return how often the other arms are right, if that is not always."""
    said = []
    for number, arm in enumerate(scores.facts.arms):
        known = [each for at in positions if (each := scores.score(number, at)) is not None]
        if known and fmean(known) < 1:
            said.append(f"{arm.level} in {100 * fmean(known):.0f} %")
    return f", {', '.join(said)}" if said else ""


def _check_cut(scores: Scores, positions: Sequence[int]) -> list[GateProblem]:
    problems = []
    for number, arm in enumerate(scores.facts.arms):
        asked = scores.count(number, positions, lambda _: True)
        cut = scores.count(number, positions, lambda each: each.is_cut)
        if cut > _CUT * asked:
            why = f"{cut} of {asked} answers of {arm.name} were cut off; raise --max-tokens"
            problems.append(GateProblem("cut", why, stays=number == scores.facts.reference))
    return problems


def _check_refused(scores: Scores, positions: Sequence[int]) -> list[GateProblem]:
    problems = []
    for number, arm in enumerate(scores.facts.arms):
        asked = scores.count(number, positions, lambda _: True)
        if asked and asked == scores.count(number, positions, lambda each: each.is_refused):
            why = f"{arm.name} refuses every question, {asked} of {asked}"
            problems.append(GateProblem("refused", why))
    return problems


def _check_labelled(scores: Scores) -> list[GateProblem]:
    if judged_rule(scores.facts)[0] is not None:
        return []
    why = f"the judge {scores.facts.spec.judge!r} errs too often on the labelled answers"
    return [GateProblem("judge", why)]


def _check_judge(scores: Scores, positions: Sequence[int]) -> list[GateProblem]:
    if judged_rule(scores.facts)[0] is None:
        return []  # found already, by labelled answers
    arms = range(len(scores.facts.arms))
    failed = sum(scores.count_ungraded(arm, positions) for arm in arms)
    asked = sum(scores.count(arm, positions, lambda _: True) for arm in arms)
    if failed <= (_CUT * asked if scores.facts.past_gate else 0):
        return []
    why = f"the judge {scores.facts.spec.judge!r} could not grade {failed} answers"
    return [GateProblem("judge", why)]


def _examples(
    scores: Scores, arm: int, positions: Sequence[int]
) -> tuple[tuple[GateExample, ...], tuple[str, ...]]:
    """Return answers that were graded wrong, and the judges that would have accepted one."""
    found, judges = list[GateExample](), dict[str, None]()
    for at in positions:
        question = scores.questions[at]
        answers = scores.arm_answers(arm, at)
        if len(found) < _SHOWN and answers and not answers[0].is_missing:
            found.append(GateExample(question.words, answers[0].text, question.target))
            judges |= dict.fromkeys(find_accepting(question, answers[0].text))
    own = scores.facts.spec.judge
    return tuple(found), tuple(name for name in judges if name != own)
