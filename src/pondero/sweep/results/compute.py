"""Computes the results of a run from its answers and grades.

It recommends nothing under 30 questions (or clusters), over 2 % missing, or before the last look.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean

from msgspec.structs import replace

from ..engines.engine import TrialResult
from ..run.store import Run, StoredGrade
from ..statistics.intervals import accuracy
from ..statistics.progress import Scores, SweepProgress, obstacle, replay_looks
from ..statistics.sample_size import pass_all, pass_at, questions_missing
from ..statistics.significance import ThinkingCheck, mcnemar, thinks_more
from .kinds import by_kind
from .values import (
    ArmResult,
    Cell,
    QuestionRow,
    Recommendation,
    SweepResults,
    TrialAnswer,
    Verdict,
    choose_measure,
)


def compute_results(run: Run, *, judge: str | None = None) -> SweepResults:
    """Return the results so far, by the run's own judge or another that has graded it."""
    name = judge or run.facts.spec.judge
    scores = Scores(run, name)
    now = replay_looks(scores)
    arms = [_measure(scores, now, number) for number in range(len(run.facts.arms))]
    dropped = len(scores.dropped_questions(now.questions))
    against = _Against(scores, now, arms)
    forbidden = against.obstacle()
    chosen = None if forbidden else against.choose()
    found = None if chosen is None else against.recommend(chosen)
    verdicts = [against.verdict(number, chosen) for number in range(len(arms))]
    return SweepResults(
        run=run.facts.run,
        state=run.state,
        facts=run.facts,
        judge=name,
        arms=tuple(replace(arm, verdict=word) for arm, word in zip(arms, verdicts, strict=True)),
        rows=tuple(_rows(scores, run.grades_by(name))),
        recommendation=found,
        why=forbidden or (found.why if found else "no arm is good enough against every other"),
        questions=now.questions - dropped,
        dropped=dropped,
        looks=now.look,
        spent=run.spent,
        lost=run.lost,
        judging=run.judge_cost(name),
        agreement=run.agreement(name),
        kinds=() if chosen is None else by_kind(scores, chosen, against.dearness),
    )


# -- one arm ---------------------------------------------------------------------------------------


def _measure(scores: Scores, now: SweepProgress, arm: int) -> ArmResult:
    facts = scores.facts
    own = facts.arms[arm]
    look = now.look_of(arm)
    upto = now.looks[look - 1] if look else len(scores.questions)
    places = scores.shared_positions(upto, arm)
    values = [scores.score(arm, at) or 0.0 for at in places]
    clusters = [scores.cluster(at) for at in places] if facts.spec.cluster else None
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
        cost=_mean(settled, _cost),
        seconds=_mean(settled, lambda each: each.seconds or None),  # a batch has no times
        exhausted=sum(each.is_exhausted for each in settled),
        refused=sum(each.is_refused for each in settled),
        look=look,
        effect=_effect(scores, arm, below),
        neighbour=None if below is None else facts.arms[below].level,
        always_right=always,
        ever_right=ever,
    )
    return _compare(alone, scores, arm, upto=upto, boundary=now.z_of(arm))


def _compare(
    alone: ArmResult, scores: Scores, arm: int, *, upto: int, boundary: float
) -> ArmResult:
    reference = scores.facts.reference
    places = scores.shared_positions(upto, arm, reference)
    if arm == reference or not places:
        return alone
    found = scores.versus(arm, reference, upto)
    if not math.isfinite(found.error):
        return replace(alone, difference=found.mean)
    both = [(scores.score(arm, at) or 0.0, scores.score(reference, at) or 0.0) for at in places]
    return replace(
        alone,
        difference=found.mean,
        lower=found.lower(boundary),
        upper=found.upper(boundary),
        needed=questions_missing(found, scores.facts.spec.margin),
        p=mcnemar(sum(one > other for one, other in both), sum(one < other for one, other in both)),
    )


def _cost(settled: TrialResult) -> float | None:
    return None if settled.cost is None else float(settled.cost)


def _thinking(settled: TrialResult) -> float | None:
    return settled.usage.thinking


Grades = Mapping[tuple[str, str], StoredGrade]


def _rows(scores: Scores, grades: Grades) -> Iterator[QuestionRow]:
    for at, question in enumerate(scores.questions):
        cells = (_cell(scores, arm, at, grades) for arm in range(len(scores.facts.arms)))
        yield QuestionRow(question, tuple(cells))


def _cell(scores: Scores, arm: int, at: int, grades: Grades) -> Cell | None:
    question = scores.questions[at].id
    answers = tuple(
        TrialAnswer(repeat, scores.answers[ask.key], grades.get((question, ask.key)))
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
    if below is None:
        return ThinkingCheck("unknown")

    def tokens(which: int, at: int) -> float | None:
        return _total(scores, which, at, _thinking)

    places = scores.shared_positions(len(scores.questions), arm, below)
    return thinks_more([(tokens(arm, at), tokens(below, at)) for at in places])


# -- all arms --------------------------------------------------------------------------------------


class _Against:
    """The arms and their verdicts."""

    def __init__(self, scores: Scores, now: SweepProgress, arms: Sequence[ArmResult]) -> None:
        self._scores = scores
        self._now = now
        self._arms = arms
        self._facts = scores.facts
        self._best = scores.facts.spec.against == "best"

    @property
    def margin(self) -> str:
        return f"{100 * self._facts.spec.margin:g} points"

    def obstacle(self) -> str:
        """Return what forbids a recommendation, or an empty text."""
        now = self._now
        if now.is_over:
            return obstacle(self._scores, now.questions)
        done = f"{now.look} of {len(now.looks)} looks"
        return f"the run has not ended ({done}); 'pondero sweep resume' goes on"

    def choose(self) -> int | None:
        """Return the cheapest arm that is good enough; the reference if no cheaper one is."""
        passed = self._now.passed
        if not self._best:
            passed = passed | {self._facts.reference}
        if not passed and len(left := set(range(len(self._arms))) - self._now.worse) == 1:
            return left.pop()  # every other one is shown to be worse
        return min(passed, key=self.dearness) if passed else None

    def dearness(self, arm: int) -> tuple[float, bool]:
        """Return the measured amount of an arm as a sort key; on a tie the reference is last."""
        taken = choose_measure(self._arms).value_of(self._arms[arm])
        return taken, arm == self._facts.reference

    def recommend(self, chosen: int) -> Recommendation:
        arm = self._arms[chosen]
        return Recommendation(arm.model, arm.level, self._why(chosen))

    def _why(self, chosen: int) -> str:
        if self._best:
            return f"cheapest not worse than any other arm by more than {self.margin}"
        reference = self._arms[self._facts.reference]
        if chosen != self._facts.reference:
            named = reference.level if self._one_model else reference.name
            return f"cheapest not worse than {named} by more than {self.margin}"
        if self._now.passed:
            return f"nothing that is good enough within {self.margin} was cheaper"
        return f"no cheaper level is shown to be within {self.margin} of it"

    @property
    def _one_model(self) -> bool:
        return len({arm.model for arm in self._arms}) == 1

    def verdict(self, arm: int, chosen: int | None) -> Verdict:
        """Return the verdict of an arm."""
        if arm == chosen:
            return "recommended"
        if arm == self._facts.reference and not self._best:
            return "reference"
        effect = self._arms[arm].effect.effect
        if effect in ("no_effect", "inverted"):
            return effect
        return self._decide(arm)

    def _decide(self, arm: int) -> Verdict:
        if arm in self._now.passed:
            return "enough"
        if arm in self._now.worse:
            return "worse"
        if self._is_above(arm):
            return "dearer"
        return "untested" if self._is_out_of_reach(arm) else "undecided"

    def _is_above(self, arm: int) -> bool:
        own, reference = (self._facts.arms[n] for n in (arm, self._facts.reference))
        return not self._best and own.model == reference.model and own.rank > reference.rank

    def _is_out_of_reach(self, arm: int) -> bool:
        own = self._facts.arms[arm]
        above = [
            number
            for number, other in enumerate(self._facts.arms)
            if other.model == own.model and other.rank > own.rank
        ]
        ended = any(number in self._now.worse for number in above)
        return not self._best and (ended or self._now.look_of(arm) < self._now.look)
