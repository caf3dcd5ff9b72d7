"""Grades and judges, as values."""

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from ...canon import Usage
from ...errors import BadParameter, PonderoError
from ..questions import Question


class Grade(Struct, frozen=True):
    """A judge's grade: 1 is right, 0 wrong; ``note`` says how the answer was read.

    ``cost`` in dollars and ``usage`` in tokens are the judge's own, if a model judged.
    """

    score: float
    note: str = ""
    cost: str | None = None
    usage: Usage | None = None


class JudgeFailed(PonderoError):
    """The judge itself failed; the answer has no grade. A failed model may have cost too.

    ``is_lost``: a model's reply did not come, and may have been charged.
    """

    def __init__(
        self,
        message: str,
        *,
        cost: str | None = None,
        usage: Usage | None = None,
        is_lost: bool = False,
    ) -> None:
        super().__init__(message)
        self.cost = cost
        self.usage = usage
        self.is_lost = is_lost


Check = Callable[[Question, str], Grade]
Grader = Callable[[Question, str], Awaitable[Grade]]


class Judge(Struct, frozen=True):
    """A judge by its full name, saved with every grade; ``at_once`` grades run at the same time."""

    name: str
    grade: Grader
    at_once: int = 1

    @property
    def kind(self) -> str:
        """Return its name without the argument."""
        return self.name.partition(":")[0]


def describe_failures(judge: str, grades: Sequence[tuple[float | None, str]]) -> str:
    """Return one sentence if every grade (score, note) of a judge failed, else an empty text."""
    if not grades or any(score is not None for score, _ in grades):
        return ""
    count = "the only answer" if len(grades) == 1 else f"all {len(grades):,} answers"
    return f"the judge {judge!r} failed on {count}, so nothing can be said: {grades[0][1]}"


def find_targets(question: Question) -> tuple[str, ...]:
    """Return the targets of a question; raise BadParameter if there are none."""
    if not question.target:
        fields = ", ".join(question.metadata)
        other = f"; its other fields are {fields}" if fields else ""
        message = f"question {question.id!r} has no target to judge by{other}"
        raise BadParameter(message)
    return question.target
