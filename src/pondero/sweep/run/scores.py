"""The scores of a run: what each arm was asked, and how its answers were graded, as they arrive."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from ..engines.engine import TrialResult, trial_key
from ..questions import Question
from .store import Run, RunFacts

PEOPLE = "people"
"""Whose grades are the labels of a run's answers; no judge has this name."""


class TrialSlot(Struct, frozen=True):
    """One question to one arm, once: its place in the run and the key of its answer."""

    arm: int
    position: int
    repeat: int
    key: str


Asks = Mapping[tuple[int, int], Sequence[TrialSlot]]
"""All that a run may ask, by arm and position."""


def every_ask(facts: RunFacts, questions: Sequence[Question]) -> Asks:
    """Return all that a run may ask, by arm and position; the same words count as more repeats."""
    spec, seen = facts.spec, dict[str, int]()
    found: dict[tuple[int, int], list[TrialSlot]] = {}
    for position, question in enumerate(questions):
        said = (question.prompt, spec.system, spec.max_tokens)
        words = trial_key("", None, said, 0)
        before = seen.get(words, 0)
        seen[words] = before + spec.repeats
        for number, arm in enumerate(facts.arms):
            found[number, position] = [
                TrialSlot(number, position, repeat, trial_key(arm.model, arm.fields, said, repeat))
                for repeat in range(before, before + spec.repeats)
            ]
    return found


class Scores:
    """The scores of every arm on every question, as far as they are known."""

    def __init__(self, run: Run, judge: str, asks: Asks | None = None) -> None:
        self.facts: RunFacts = run.facts
        self.judge: str = judge
        self.questions: tuple[Question, ...] = run.questions()
        self.asks: Asks = asks or every_ask(run.facts, self.questions)
        self.answers: dict[str, TrialResult] = run.answers()
        self._grades = run.grades(judge)
        self._labels = run.grades(PEOPLE)

    def add_answer(self, settled: TrialResult) -> None:
        """Take an answer that arrived since."""
        self.answers[settled.key] = settled

    def add_grade(self, question: str, key: str, score: float | None) -> None:
        """Take a grade that was given since."""
        self._grades[question, key] = score

    def arm_answers(self, arm: int, position: int) -> list[TrialResult]:
        """Return the answers of an arm to a question, those that came."""
        asks = self.asks[arm, position]
        return [self.answers[ask.key] for ask in asks if ask.key in self.answers]

    def repeats(self, arm: int, position: int) -> list[float | None] | None:
        """Return an arm's scores on a question, or None before all are known.

        A score is None if the answer is missing: cut off, failed for good, or without a grade.
        """
        return self._read(arm, position, self._grades)

    def labels(self, arm: int, position: int) -> list[float | None] | None:
        """Return people's scores of an arm's answers, or None before all are labelled."""
        return self._read(arm, position, self._labels)

    def grade_of(self, question: str, key: str) -> float | None:
        """Return the judge's score of an answer, or None."""
        return self._grades.get((question, key))

    def label_of(self, question: str, key: str) -> float | None:
        """Return people's score of an answer, or None."""
        return self._labels.get((question, key))

    def _read(
        self, arm: int, position: int, grades: Mapping[tuple[str, str], float | None]
    ) -> list[float | None] | None:
        found: list[float | None] = []
        for ask in self.asks[arm, position]:
            settled = self.answers.get(ask.key)
            if settled is None:
                return None
            if settled.is_missing:
                found.append(None)
            elif settled.is_refused:
                found.append(0.0)
            elif (place := (self.questions[position].id, ask.key)) in grades:
                found.append(grades[place])
            else:
                return None
        return found

    def is_known(self, arm: int, position: int) -> bool:
        """Return whether everything about this arm and question is settled."""
        return self.repeats(arm, position) is not None

    def score(self, arm: int, position: int) -> float | None:
        """Return the mean over repeats to describe an arm by; None if no answer came.

        An answer that was cut off is wrong here, whichever arm it is of; one that failed is left
        out.
        """
        known = self.repeats(arm, position)
        if known is None:
            return None
        pairs = zip(known, self.arm_answers(arm, position), strict=True)
        counted = [
            0.0 if settled.is_cut else score
            for score, settled in pairs
            if score is not None or settled.is_cut
        ]
        values = [score or 0.0 for score in counted]
        return sum(values) / len(values) if values else None

    def count(self, arm: int, positions: Sequence[int], test: Callable[[TrialResult], bool]) -> int:
        """Return how many of an arm's answers to these questions pass a test."""
        return sum(test(each) for at in positions for each in self.arm_answers(arm, at))

    def errors(self, arm: int, positions: Sequence[int]) -> list[str | None]:
        """Return the error of each of an arm's requests, or None for an answer."""
        return [each.error for at in positions for each in self.arm_answers(arm, at)]

    def count_ungraded(self, arm: int, positions: Sequence[int]) -> int:
        """Return how many answers to these questions the judge could not grade."""
        return sum(
            self._grades.get((self.questions[at].id, ask.key), 0.0) is None
            for at in positions
            for ask in self.asks[arm, at]
        )
