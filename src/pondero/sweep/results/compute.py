"""Computes the results of a run from its answers and grades, by replaying its bets."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean

from msgspec.structs import replace

from ..engines.engine import TrialResult
from ..grading.judges import find_judge_model
from ..points import describe_points
from ..run.answer_labels import LabelState, check_labelled_errors, find_label_state
from ..run.forecast import forecast_rest
from ..run.gate import GateProblem, check_pilot, check_rest, count_units, is_pilot_known
from ..run.run_plan import (
    cluster_of,
    has_left_pilot,
    make_comparison,
    make_pool,
    measure_prices,
    pilot_positions,
)
from ..run.scores import Scores
from ..run.store import Run, StoredGrade
from ..statistics.comparison import Comparison
from ..statistics.contest import Contest, Standing
from ..statistics.e_process import ALPHA
from ..statistics.intervals import accuracy
from ..statistics.thinking_effect import ThinkingCheck, thinking_effect
from ..statistics.units import pass_all, pass_at
from .kinds import by_kind
from .values import (
    ArmResult,
    Cell,
    QuestionRow,
    Reason,
    Recommendation,
    SweepResults,
    TrialAnswer,
)


def compute_results(run: Run, *, judge: str | None = None) -> SweepResults:
    """Return the results so far, by the run's own judge or another that has graded it."""
    name = judge or run.facts.spec.judge
    scores = Scores(run, name)
    pool = make_pool(run.facts, scores.questions)
    comparison = make_comparison(scores, pool)
    contest = comparison.advance()
    is_over = contest.is_over or run.facts.is_closed
    problems = [
        each
        for each in check_pilot(scores, pool, is_over=is_over or bool(contest.winners))
        if each.condition != "few" or not contest.winners
    ]  # few questions that show something were enough
    if is_over and not contest.winners and not any(each.is_final for each in problems):
        problems += check_rest(scores, pool)
    for arm in contest.winners[:1]:
        problems += check_labelled_errors(scores, arm)
    labels = find_label_state(scores, comparison)
    reader = _Reader(scores, comparison, problems, labels, needs_budget=run.needs_budget)
    recommendation = reader.recommend()
    answers = [each for each in scores.answers.values() if each.error is None]
    is_waiting = not is_over and not reader.gate and is_pilot_known(scores, pool)
    return SweepResults(
        run=run.facts.run,
        state=run.state,
        facts=run.facts,
        judge=name,
        arms=tuple(_measure(scores, comparison, arm) for arm in range(len(run.facts.arms))),
        rows=tuple(_rows(scores, run.grades_by(name))),
        recommendation=recommendation,
        why=reader.why(),
        questions=max((each.units for each in contest.standings.values()), default=0),
        pilot=contest.rule.pilot,
        pool=count_units(run.facts, pool),
        asked=sum(not each.reused for each in answers),
        reused=sum(each.reused for each in answers),
        spent=run.spent,
        lost=run.lost,
        judging=run.judge_cost(name),
        agreement=run.agreement(name),
        labelled=labels,
        gate=tuple(problems),
        forecasts=forecast_rest(scores, pool) if is_waiting else (),
        kinds=by_kind(comparison, run.facts) if recommendation else (),
    )


# -- one arm ---------------------------------------------------------------------------------------


def _measure(scores: Scores, comparison: Comparison, arm: int) -> ArmResult:
    facts, own = scores.facts, scores.facts.arms[arm]
    places = [at for at in range(len(scores.questions)) if scores.score(arm, at) is not None]
    values = [scores.score(arm, at) or 0.0 for at in places]
    clusters = None
    if facts.spec.cluster:
        clusters = [cluster_of(facts, scores.questions[at], at) for at in places]
    within = accuracy(values, clusters, repeats=facts.spec.repeats)
    settled = [each for at in places for each in scores.arm_answers(arm, at)]
    always, ever = _passes(scores, arm, places)
    below = _neighbour(scores, arm)
    alone = ArmResult(
        model=own.model,
        level=own.level,
        levels=own.levels,
        fields=own.fields,
        n=len(places),
        accuracy=within.value if values else None,
        low=within.low if values else None,
        high=within.high if values else None,
        thinking_tokens=_mean(settled, _thinking),
        output_tokens=_mean(settled, _output),
        cost=_mean(settled, _cost),
        seconds=_mean(settled, lambda each: each.seconds or None),  # a batch has no times
        exhausted=sum(each.is_exhausted for each in settled),
        cut=sum(each.is_cut for each in settled),
        refused=sum(each.is_refused for each in settled),
        effect=_effect(scores, arm, below),
        neighbour=None if below is None else facts.arms[below].level,
        always_right=always,
        ever_right=ever,
        served=tuple(sorted({each.model for each in settled if each.model})),
    )
    return _stand(alone, scores, comparison, arm)


def _stand(alone: ArmResult, scores: Scores, comparison: Comparison, arm: int) -> ArmResult:
    facts, contest = scores.facts, comparison.contest
    if arm not in contest.standings:
        is_reference = arm == facts.reference
        return replace(
            alone,
            verdict="reference" if is_reference else "undecided",
            reason="reference" if is_reference else "dearer",
        )
    standing = contest.standings[arm]
    part = contest.rule.alpha / ALPHA  # a judge's own bounds use up some of it; 20 always wins
    places = [at for unit in contest_units(scores)[: standing.units] for at in unit]
    if places and all(scores.score(facts.reference, at) is None for at in places):
        return replace(alone, verdict="undecided", reason="unmeasured")
    missing = sum(
        any(None in (scores.repeats(who, at) or ()) for who in (arm, facts.reference))
        for at in places
    )
    return replace(
        alone,
        verdict=standing.verdict,
        reason=_reason(contest, standing),
        won_at=standing.won_at,
        capital=standing.capital * part,
        share=standing.share,
        units=standing.units,
        difference=comparison.difference(standing),
        plain_difference=_plain_difference(scores, arm, places),
        missing=missing,
        history=tuple(capital * part for capital in standing.history),
    )


def _reason(contest: Contest, standing: Standing) -> Reason:
    if standing.why is not None:
        return standing.why
    if standing.verdict != "undecided":
        return ""
    if contest.parts is None:
        return "untried"  # the pilot is not complete
    if contest.waits is not None and contest.waits[0] == standing.arm:
        return "waiting"
    return "pool" if standing.is_tried else "untried"


def contest_units(scores: Scores) -> Sequence[Sequence[int]]:
    """Return the positions of each unit, in the order of the bets."""
    return make_pool(scores.facts, scores.questions).units


def _plain_difference(scores: Scores, arm: int, places: Sequence[int]) -> float | None:
    reference = scores.facts.reference
    pairs = [(scores.score(arm, at), scores.score(reference, at)) for at in places]
    both = [one - other for one, other in pairs if one is not None and other is not None]
    return fmean(both) if both else None


def _cost(settled: TrialResult) -> float | None:
    return None if settled.cost is None else float(settled.cost)


def _thinking(settled: TrialResult) -> float | None:
    return settled.usage.thinking


def _output(settled: TrialResult) -> float | None:
    output = settled.usage.output
    return None if output is None else output + (settled.usage.thinking or 0)


Grades = Mapping[tuple[str, str], StoredGrade]


def _rows(scores: Scores, grades: Grades) -> Iterator[QuestionRow]:
    for at, question in enumerate(scores.questions):
        cells = (_cell(scores, arm, at, grades) for arm in range(len(scores.facts.arms)))
        yield QuestionRow(question, tuple(cells))


def _cell(scores: Scores, arm: int, at: int, grades: Grades) -> Cell | None:
    question = scores.questions[at].id
    answers = tuple(
        TrialAnswer(
            repeat,
            scores.answers[ask.key],
            grades.get((question, ask.key)),
            scores.label_of(question, ask.key),
        )
        for repeat, ask in enumerate(scores.asks[arm, at], 1)
        if ask.key in scores.answers
    )
    if not answers:
        return None
    return Cell(
        scores.score(arm, at),
        _total(scores, arm, at, _thinking),
        _total(scores, arm, at, _cost),
        sum(each.settled.seconds for each in answers),
        answers,
        _total(scores, arm, at, _output),
    )


def _mean(
    settled: Sequence[TrialResult], get: Callable[[TrialResult], float | None]
) -> float | None:
    known = [value for each in settled if (value := get(each)) is not None]
    return fmean(known) if known else None


def _total(
    scores: Scores, arm: int, at: int, get: Callable[[TrialResult], float | None]
) -> float | None:
    """Return the sum over a question's repeats, or None if one is unknown."""
    values = [get(each) for each in scores.arm_answers(arm, at)]
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _passes(scores: Scores, arm: int, places: Sequence[int]) -> tuple[float | None, float | None]:
    repeats = scores.facts.spec.repeats
    if repeats == 1 or not places:
        return None, None
    right = [round((scores.score(arm, at) or 0.0) * repeats) for at in places]
    always = fmean(pass_all(repeats, count, repeats) for count in right)
    return always, fmean(pass_at(repeats, count, repeats) for count in right)


def _neighbour(scores: Scores, arm: int) -> int | None:
    arms = scores.facts.arms
    own = [
        (other.rank, number)
        for number, other in enumerate(arms)
        if other.model == arms[arm].model and other.rank < arms[arm].rank
    ]
    return max(own)[1] if own else None


def _effect(scores: Scores, arm: int, below: int | None) -> ThinkingCheck:
    """Compare thinking tokens with the neighbour's; output tokens if thinking is not counted."""
    if below is None:
        return ThinkingCheck("unknown")
    places = range(len(scores.questions))
    for amount in (_thinking, _output):
        pairs = [
            (_total(scores, arm, at, amount), _total(scores, below, at, amount)) for at in places
        ]
        found = thinking_effect(pairs)
        if found.ratio is not None:
            return found
    return ThinkingCheck("unknown")


# -- all arms --------------------------------------------------------------------------------------


class _Reader:
    """Reads the recommendation off a contest."""

    def __init__(
        self,
        scores: Scores,
        comparison: Comparison,
        problems: Sequence[GateProblem],
        labels: LabelState,
        *,
        needs_budget: bool,
    ) -> None:
        self._needs_budget = needs_budget
        self._facts = scores.facts
        self._judge = scores.judge
        self._is_late = has_left_pilot(scores, comparison.pool)
        self._labels = labels
        self._contest = comparison.contest
        places = pilot_positions(scores.facts, comparison.pool)
        self._prices = measure_prices(scores, places)
        self._problems = problems

    @property
    def gate(self) -> GateProblem | None:
        """Return the problem that forbids a recommendation."""
        holding = (each for each in self._problems if each.stays or not self._facts.past_gate)
        return next(holding, None)

    @property
    def _is_over(self) -> bool:
        return self._contest.is_over or self._facts.is_closed

    def recommend(self) -> Recommendation | None:
        chosen = self._choose()
        if chosen is None:
            return None
        arm = self._facts.arms[chosen]
        return Recommendation(arm.model, arm.level, self._reason(chosen))

    def why(self) -> str:
        """Return why there is this recommendation, or none."""
        if self.gate is not None:
            return self.gate.why
        chosen = self._choose()
        if chosen is not None:
            return self._reason(chosen)
        if self._is_over:
            return "no arm is shown to be enough against every other"
        if self._labels.wanted:
            return f"{self._labels.wanted:,} answers wait to be labelled"
        resume = f"pondero sweep resume {self._facts.run}"
        if self._judge != self._facts.spec.judge:
            return self._describe_other_judge(resume)
        if self._needs_budget:
            return f"not decided yet: --budget is used up; '{resume} --budget USD' raises it"
        return f"not decided yet; '{resume}' continues"

    def _describe_other_judge(self, resume: str) -> str:
        """Return whether the run can continue with a judge that is not its own."""
        if not self._is_late:
            return f"not decided yet; '{resume} --judge {self._judge}' continues"
        own = self._facts.spec.judge
        return (
            f"not decided by {self._judge!r}; the bets of this run are by {own!r}, so only a new "
            f"run with --judge {self._judge} can continue"
        )

    def _choose(self) -> int | None:
        if self.gate is not None:
            return None
        if self._contest.winners:
            return min(self._contest.winners, key=lambda arm: self._prices[arm])
        is_best = self._facts.spec.against == "best"
        return self._facts.reference if self._is_over and not is_best else None

    def _reason(self, chosen: int) -> str:
        facts = self._facts
        margin = describe_points(facts.spec.margin)
        if facts.spec.against == "best":
            return f"cheapest not worse than any other arm by more than {margin}"
        reference = facts.arms[facts.reference]
        if chosen == facts.reference:
            return f"no cheaper level is shown to be within {margin} of it"
        is_alone = len({arm.model for arm in facts.arms}) == 1
        named = reference.level if is_alone else reference.name
        return f"not worse than {named} by more than {margin}{self._judged}"

    @property
    def _judged(self) -> str:
        """Return whose grades these are; people's labels correct those of a judge."""
        if self._labels.share is not None:
            return f", corrected by people's labels of {self._labels.given:,} answers"
        return ", by this judge's grades" if find_judge_model(self._judge) else ""
