"""The plan of a run: its units in their order, its arms by price, and the comparison of both."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean

from ...thinking import parse_auto
from ..engines.engine import TrialResult
from ..grading.judges import find_judge_kind
from ..grading.labels import draw_labelled
from ..questions import Question, cluster_name
from ..statistics.allocation import pilot_size
from ..statistics.comparison import Comparison, Correction, Pool
from ..statistics.contest import ContestRule
from ..statistics.e_process import ALPHA
from ..statistics.judge_error import SURE
from ..statistics.units import corrected_margin
from .scores import Scores
from .store import RunFacts

KIND = "kind"
"""The field of a question's metadata that names its kind."""


def make_pool(facts: RunFacts, questions: Sequence[Question]) -> Pool:
    """Return the units of a run: its questions, or its clusters in the order they appear."""
    groups: dict[object, list[int]] = {}
    for position, question in enumerate(questions):
        groups.setdefault(cluster_of(facts, question, position), []).append(position)
    units = tuple(tuple(group) for group in groups.values())
    planned = len(questions) if facts.planned is None else facts.planned
    return Pool(
        units=units,
        kinds=tuple(kind_of(questions[unit[0]]) for unit in units),
        first=sum(unit[0] < planned for unit in units),
        changes=facts.changes,
        is_fixed=True,
    )


def cluster_of(facts: RunFacts, question: Question, position: int) -> object:
    """Return the cluster of a question: a value of its metadata, or the question itself."""
    return cluster_name(question, facts.spec.cluster) or position


def kind_of(question: Question) -> str | None:
    """Return a question's kind, or None if it has none that ``auto#KIND`` can name."""
    kind = question.metadata.get(KIND)
    if not isinstance(kind, str):
        return None
    auto = parse_auto(f"auto#{kind}")
    return kind if auto is not None and auto.kind == kind else None


def pilot_positions(facts: RunFacts, pool: Pool) -> list[int]:
    """Return the questions of the pilot."""
    count = pilot_size(pool.first, facts.spec.pilot)
    return [position for unit in pool.units[:count] for position in unit]


def has_left_pilot(scores: Scores, pool: Pool) -> bool:
    """Return whether answers are there that bets use: those after the pilot, or all with once."""
    facts = scores.facts
    pilot = set() if facts.spec.once else set(pilot_positions(facts, pool))
    return any(
        ask.key in scores.answers
        for (_, at), asks in scores.asks.items()
        if at not in pilot
        for ask in asks
    )


def measure_prices(
    scores: Scores, positions: Sequence[int], arms: Sequence[int] | None = None
) -> dict[int, float]:
    """Return what each arm's answer to a question takes, by the pilot, never by the clock.

    Dollars if every arm has a price, else output tokens if all are counted, else the levels' order.
    """
    chosen = range(len(scores.facts.arms)) if arms is None else arms
    for amount in (_cost, _tokens):
        found = {arm: _mean(scores, arm, positions, amount) for arm in chosen}
        known = {arm: each for arm, each in found.items() if each is not None}
        if len(known) == len(found):
            return known
    return {arm: float(scores.facts.arms[arm].rank) for arm in chosen}


def has_dollars(scores: Scores, positions: Sequence[int]) -> bool:
    """Return whether every arm of the pilot has a price in dollars."""
    arms = range(len(scores.facts.arms))
    return all(_mean(scores, arm, positions, _cost) is not None for arm in arms)


def _mean(
    scores: Scores,
    arm: int,
    positions: Sequence[int],
    amount: Callable[[TrialResult], float | None],
) -> float | None:
    answers = [each for at in positions for each in scores.arm_answers(arm, at)]
    known = [value for each in answers if (value := amount(each)) is not None]
    return fmean(known) * scores.facts.spec.repeats if known else None


def _cost(settled: TrialResult) -> float | None:
    return None if settled.cost is None else float(settled.cost)


def _tokens(settled: TrialResult) -> float | None:
    output = settled.usage.output
    return None if output is None else output + (settled.usage.thinking or 0)


def make_comparison(scores: Scores, pool: Pool | None = None) -> Comparison:
    """Return the comparison of a run, with the arms in the order of the pilot's prices."""
    facts = scores.facts
    pool = pool or make_pool(facts, scores.questions)
    # An arm that was added later must not change the order that the others had.
    first = range(len(facts.arms) - facts.added)
    prices = measure_prices(scores, pilot_positions(facts, pool), first)
    spec = facts.spec
    order, added, rivals = _order(facts, prices)
    margin, alpha = judged_rule(facts)
    rule = ContestRule(
        order=order,
        rivals=rivals,
        margin=margin or spec.margin,
        alpha=alpha,
        worse=_worse_margin(facts),
        pilot=pilot_size(pool.first, spec.pilot),
        added=added,
        graded=_is_graded(facts),
        once=spec.once,
    )
    return Comparison(rule, pool, scores.repeats, _find_correction(scores, pool))


def _is_graded(facts: RunFacts) -> bool:
    spec = facts.spec
    labelled = spec.label_share is not None
    return (
        labelled
        or spec.repeats > 1
        or spec.cluster is not None
        or find_judge_kind(spec.judge).graded
    )


def _find_correction(scores: Scores, pool: Pool) -> Correction | None:
    drawn = find_drawn(scores.facts, scores.questions, pool)
    share = scores.facts.spec.label_share
    return None if drawn is None or share is None else Correction(share, drawn, scores.labels)


def find_drawn(facts: RunFacts, questions: Sequence[Question], pool: Pool) -> frozenset[int] | None:
    """Return the questions that people label, or None without a share of them.

    They are drawn by the seed, none of the pilot: it divides the capital before a label is there.
    """
    share = facts.spec.label_share
    if share is None:
        return None
    drawn = draw_labelled(questions, share, facts.spec.seed).questions
    pilot = set(pilot_positions(facts, pool))
    return frozenset(
        at for at, question in enumerate(questions) if question.id in drawn and at not in pilot
    )


def _worse_margin(facts: RunFacts) -> float:
    """Return the margin of ``worse``: a judge that errs shows less of a difference, never more."""
    share, margin = facts.spec.label_share, facts.spec.margin
    return margin if share is None else corrected_margin(margin, share)


def judged_rule(facts: RunFacts) -> tuple[float | None, float]:
    """Return the margin on the scale of the judge's grades, and the error that is left for it.

    The margin is None if the judge errs too often to decide by.
    """
    if facts.spec.label_share is not None:
        return corrected_margin(facts.spec.margin, facts.spec.label_share), ALPHA
    errors = facts.judge_errors
    if errors is None or not errors.is_enough:
        return facts.spec.margin, ALPHA
    return errors.margin(facts.spec.margin), ALPHA - 2 * SURE


def _order(
    facts: RunFacts, prices: Mapping[int, float]
) -> tuple[tuple[int, ...], tuple[int, ...], Mapping[int, tuple[int, ...]]]:
    """Return the candidates, cheapest first, those that were added, and the rivals of each."""
    every = range(len(facts.arms))
    added = tuple(every[len(every) - facts.added :])
    own = [arm for arm in every if arm not in added]

    def dearness(arm: int) -> tuple[float, int, int]:
        return prices[arm], facts.arms[arm].rank, arm

    if facts.spec.against == "best":
        others = {arm: tuple(rival for rival in every if rival != arm) for arm in every}
        return tuple(sorted(own, key=dearness)), added, others
    cheaper = [arm for arm in own if arm not in _dearer(facts, prices, own)]
    return tuple(sorted(cheaper, key=dearness)), added, dict.fromkeys(every, (facts.reference,))


def _dearer(facts: RunFacts, prices: Mapping[int, float], arms: Iterable[int]) -> set[int]:
    """Return the reference, the levels above it, and arms of other models that cost more."""
    reference = facts.arms[facts.reference]
    return {
        arm
        for arm in arms
        if arm == facts.reference
        or (
            facts.arms[arm].rank > reference.rank
            if facts.arms[arm].model == reference.model
            else prices[arm] > prices[facts.reference]
        )
    }
