"""The sanity gate: whether a sweep makes sense, asked after the pilot and before the rest is spent.

A judge that does not fit the data makes every level look the same, and the cheapest look enough.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Literal

from msgspec import Struct

from ...emulator import has_answer
from ..grading.proposal import GradedAnswer, find_accepting
from ..points import describe_points
from ..statistics.allocation import fewest
from ..statistics.comparison import Pool
from .run_plan import judged_rule, pilot_positions
from .scores import Scores
from .store import RunFacts

Condition = Literal["failed", "floor", "ceiling", "cut", "refused", "judge", "few"]

FLOOR = 0.05
"""The share of right answers of the reference at which nothing can be compared."""

_CUT = 0.05  # of the answers
_FAILED = 0.5  # of the requests
_TOLD = 300  # characters of an error
_CLEAR = 3  # wrong answers of a cheaper level, where the reference has none
_SHOWN = 3
_ANSWER = 60  # characters of an answer that are shown


class GateExample(Struct, frozen=True):
    """An answer that was graded wrong, and its targets."""

    question: str
    answer: str
    targets: tuple[str, ...]

    def describe(self) -> str:
        """Return the end of the answer, which judges read, and the targets."""
        answer = self.answer if len(self.answer) <= _ANSWER else f"…{self.answer[-_ANSWER:]}"
        return f"answered {answer!r}, target {' or '.join(map(repr, self.targets)) or 'none'}"


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

    @property
    def evidence(self) -> tuple[str, ...]:
        """Return the examples in words, and which judges would fit them."""
        fits = [f"judges that accept one of these: {', '.join(self.judges)}"] if self.judges else []
        return (*(each.describe() for each in self.examples), *fits)

    @property
    def is_final(self) -> bool:
        """Return whether continuing makes no sense: nothing can be compared without answers."""
        return self.condition == "failed" and self.stays


def check_units(
    margin: float, units: int, *, noun: str = "questions", least: int | None = None
) -> list[GateProblem]:
    """Return a problem if so few units cannot show anything; known before anything is asked."""
    least = fewest(margin) if least is None else least
    if units >= least:
        return []
    few = f"{units} {noun} are" if units != 1 else f"1 {noun.removesuffix('s')} is"
    why = f"{few} too few to show anything within {describe_points(margin)}: {least} are the least"
    return [GateProblem("few", why)]


def check_trial_grades(judge: str, graded: Sequence[GradedAnswer]) -> list[GateProblem]:
    """Return a problem if a judge failed on every answer that it was tried on."""
    if not graded or any(each.score is not None for each in graded):
        return []
    why = f"the judge {judge!r} failed on each of these {len(graded)} answers, so it can grade none"
    return [GateProblem("judge", why)]


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
        for check in (_check_failed, _check_reference, _check_cut, _check_refused, _check_judge):
            problems += check(scores, positions)
    return problems


def check_rest(scores: Scores, pool: Pool) -> list[GateProblem]:
    """Return a problem if requests to the reference failed after the pilot.

    Each missing answer counts against the cheaper level, so a lost connection would give up every
    level, and the reference would stay. A level that won did so in spite of it.
    """
    pilot = set(pilot_positions(scores.facts, pool))
    rest = [at for unit in pool.units for at in unit if at not in pilot]
    return [each for each in _check_failed(scores, rest, most=_CUT) if each.stays]


def _check_failed(
    scores: Scores, positions: Sequence[int], *, most: float = _FAILED
) -> list[GateProblem]:
    """Return a problem for each arm that failed more often than ``most``; one if all failed."""
    found, facts = list[GateProblem](), scores.facts
    again = f"'pondero sweep resume {facts.run}' asks them again"
    every = [scores.errors(arm, positions) for arm in range(len(facts.arms))]
    asked = [error for errors in every for error in errors]
    if asked and None not in asked:
        why = (
            f"every request failed, {len(asked)} of {len(asked)}: {find_commonest(asked)}; {again}"
        )
        return [GateProblem("failed", why)]
    for number, (arm, errors) in enumerate(zip(facts.arms, every, strict=True)):
        failed = len(errors) - errors.count(None)
        if failed > most * len(errors):
            is_reference = number == facts.reference
            role = ", the reference," if is_reference else ""
            why = (
                f"{failed} of {len(errors)} requests to {arm.name}{role} failed: "
                f"{find_commonest(errors)}; {again}"
            )
            found.append(GateProblem("failed", why, stays=is_reference))
    return found


def find_commonest(errors: Iterable[str | None]) -> str:
    """Return the error that is the most frequent, on one line."""
    counted = Counter(" ".join(error.split()) for error in errors if error)
    (error, _), *others = counted.most_common()
    return f"{'most often ' if others else ''}{error[:_TOLD]}"


def _check_reference(scores: Scores, positions: Sequence[int]) -> list[GateProblem]:
    reference = scores.facts.reference
    known = [(at, score) for at in positions if (score := scores.score(reference, at)) is not None]
    if not known:
        return []
    name, share = scores.facts.arms[reference].name, fmean(score for _, score in known)
    right = f"{name}, the reference, is right in {100 * share:.0f} % of {len(known)} answers"
    if share <= FLOOR:
        wrong = [at for at, score in known if not score]
        why = f"{right}: {_describe_misfit(scores, wrong)}"
        examples, judges = _examples(scores, reference, wrong)
        return [GateProblem("floor", why, examples=examples, judges=judges)]
    if share == 1 and not _has_clear_losses(scores, positions):
        why = (
            f"{right}{_describe_others(scores, positions)}: with questions this easy, or a judge "
            "this mild, a level can look enough that is not on harder work; if these questions "
            "are your work, this does no harm"
        )
        return [GateProblem("ceiling", why, stays=False)]
    return []


def _describe_misfit(scores: Scores, wrong: Sequence[int]) -> str:
    """Return why the reference is never right: offline, the emulator may have no answer."""
    spec, reference = scores.facts.spec, scores.facts.reference
    helpless = scores.count(reference, wrong, lambda each: not has_answer(each.text))
    if spec.offline and helpless > len(wrong) / 2:
        return "the emulator only does sums, so it could not answer; leave out --offline"
    return f"the judge {scores.judge!r} or the data does not fit"


def _has_clear_losses(scores: Scores, positions: Sequence[int]) -> bool:
    """Return whether an arm is wrong often enough to show that these questions tell levels apart.

    The pilot is not bet on, so whatever it decides leaves the error of the bets as it is.
    """
    for arm in range(len(scores.facts.arms)):
        known = [each for at in positions if (each := scores.score(arm, at)) is not None]
        lost = len(known) - sum(known)
        if lost >= _CLEAR and lost > scores.facts.spec.margin * len(known):
            return True
    return False


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
    why = f"the judge {scores.judge!r} could not grade {failed} answers"
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
    return tuple(found), tuple(name for name in judges if name != scores.judge)
