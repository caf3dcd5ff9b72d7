"""People's labels of a run: which answers they are asked for, and what they say of the judge."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from ...errors import BadParameter
from ..arms import find_arms
from ..grading.agreement import labels as find_labels
from ..grading.labels import AnswerLabel, load_labels
from ..statistics.comparison import Comparison
from ..statistics.judge_error import errors_differ
from .gate import GateProblem
from .run_plan import find_drawn, make_comparison, make_pool
from .scores import PEOPLE, Scores, TrialSlot
from .store import Run, StoredGrade


class LabelState(Struct, frozen=True):
    """How far people have come: the share drawn, answers labelled, and those the bets wait for."""

    share: float | None
    given: int
    wanted: int


def find_label_state(scores: Scores, comparison: Comparison) -> LabelState:
    """Return how many answers are labelled, and how many must be."""
    slots = [slot for asks in scores.asks.values() for slot in asks]
    given = sum(_label(scores, slot) is not None for slot in slots)
    return LabelState(
        scores.facts.spec.label_share, given, sum(1 for _ in iter_wanted(scores, comparison))
    )


def iter_wanted(scores: Scores, comparison: Comparison) -> Iterator[TrialSlot]:
    """Yield the answers that people must label next: of the arm that is bet on, and its rivals."""
    contest, correction = comparison.contest, comparison.correction
    if contest.waits is None or correction is None:
        return
    arm = contest.waits[0]
    for at in sorted(correction.drawn):
        for who in (arm, *contest.rule.rivals[arm]):
            for slot in scores.asks[who, at]:
                settled = scores.answers.get(slot.key)
                if settled is None or settled.is_missing or settled.is_refused:
                    continue  # people have nothing to say of it
                if _label(scores, slot) is None:
                    yield slot


def _label(scores: Scores, slot: TrialSlot) -> float | None:
    return scores.label_of(scores.questions[slot.position].id, slot.key)


# -- labels of a file ------------------------------------------------------------------------------


def label_run(run: Run, path: str | Path) -> int:
    """Save the labels of a file with a run, and return how many; raise BadParameter.

    A label that is there stays: the bets have seen it.
    """
    scores = Scores(run, run.facts.spec.judge)
    given = load_labels(path)
    places = {question.id: at for at, question in enumerate(scores.questions)}
    drawn = find_drawn(run.facts, scores.questions, make_pool(run.facts, scores.questions))
    found = [(label, _find_slot(scores, places, drawn, label)) for label in given]
    new = 0
    for label, slot in found:
        known = _label(scores, slot)
        if known is not None and known != label.score:
            message = f"{_name(label)} is labelled already, with {known:g}; a label stays"
            raise BadParameter(message)
        new += known is None
    for label, slot in found:
        run.grade(StoredGrade(label.question, slot.key, PEOPLE, label.score))
    return new


def _name(label: AnswerLabel) -> str:
    return f"the answer of {label.arm} to {label.question!r}"


def _find_slot(
    scores: Scores, places: dict[str, int], drawn: frozenset[int] | None, label: AnswerLabel
) -> TrialSlot:
    facts = scores.facts
    arms = find_arms(facts.arms, label.arm)
    if len(arms) != 1 or label.question not in places:
        what = f"arm {label.arm!r}" if len(arms) != 1 else f"question {label.question!r}"
        message = f"run {facts.run} has no {what}"
        raise BadParameter(message)
    at = places[label.question]
    if drawn is not None and at not in drawn:
        message = f"question {label.question!r} was not drawn to be labelled; label those exported"
        raise BadParameter(message)
    slots = scores.asks[arms[0], at]
    slot = slots[label.repeat - 1] if 1 <= label.repeat <= len(slots) else None
    settled = None if slot is None else scores.answers.get(slot.key)
    if slot is None or settled is None or settled.is_missing or settled.is_refused:
        message = f"{_name(label)} is not there to be labelled"
        raise BadParameter(message)
    return slot


# -- what labels say of a judge --------------------------------------------------------------------


def check_labelled_errors(scores: Scores, arm: int) -> list[GateProblem]:
    """Return a problem if the judge errs in an arm otherwise than in the reference.

    Labels of a share that was drawn correct a judge, whatever it errs.
    """
    facts = scores.facts
    if facts.spec.label_share is not None or arm == facts.reference:
        return []
    own, other = (count_mistakes(scores, who) for who in (arm, facts.reference))
    if not own[0] or not other[0] or not errors_differ(own, other):
        return []
    said = describe_mistakes(facts.arms[arm].name, own, facts.arms[facts.reference].name, other)
    return [GateProblem("judge", said)]


def describe_mistakes(
    arm: str, own: tuple[int, int], reference: str, rival: tuple[int, int]
) -> str:
    """Return in words that a judge's error rates differ in two arms."""
    return (
        f"by the labels the judge errs in {own[1]} of {own[0]} answers of {arm} and in {rival[1]} "
        f"of {rival[0]} of {reference}, so it favours one; draw questions to label (--label-share)"
    )


def count_mistakes(scores: Scores, arm: int) -> tuple[int, int]:
    """Return how many labelled answers of an arm the judge has graded, and how many wrongly."""
    both = [*_run_pairs(scores, arm), *_old_pairs(scores, arm)]
    return len(both), sum(judged != people for judged, people in both)


def _run_pairs(scores: Scores, arm: int) -> Iterator[tuple[bool, bool]]:
    for at, question in enumerate(scores.questions):
        for slot in scores.asks[arm, at]:
            grade, label = scores.grade_of(question.id, slot.key), _label(scores, slot)
            if grade is not None and label is not None:
                yield grade >= _HALF, label >= _HALF


def _old_pairs(scores: Scores, arm: int) -> Iterator[tuple[bool, bool]]:
    for each in find_labels(scores.questions):
        if each.arm is not None and arm in find_arms(scores.facts.arms, each.arm):
            grade = scores.grade_of(each.question.id, each.key)
            if grade is not None:
                yield grade >= _HALF, each.right


_HALF = 0.5


def find_wanted(run: Run) -> Sequence[TrialSlot]:
    """Return the answers of a run that people must label next."""
    scores = Scores(run, run.facts.spec.judge)
    comparison = make_comparison(scores)
    comparison.advance()
    return tuple(iter_wanted(scores, comparison))
