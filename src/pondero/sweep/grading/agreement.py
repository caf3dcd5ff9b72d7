"""Agreement of a judge with people, on answers that are labelled in a question's metadata."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from ...canon import Json
from ...errors import BadParameter
from ..questions import Question
from .grade import find_targets


class Agreement(Struct, frozen=True):
    """How a judge agrees with people: on how many labelled answers, and beyond chance (kappa)."""

    count: int
    agreed: int
    kappa: float | None


class Label(Struct, frozen=True):
    """An answer that people labelled; ``key`` is the key of its grade."""

    question: Question
    key: str
    answer: str
    right: bool
    arm: str | None = None
    """The level, or MODEL/LEVEL, that gave the answer, if the label says so."""


def labels(questions: Iterable[Question]) -> list[Label]:
    """Return the labels in questions: ``"labelled": [{"answer": "...", "right": true}]``.

    ``"arm"`` may say which level gave the answer.
    """
    return [
        Label(question, f"labelled {number}", each["answer"], each["right"], each.get("arm"))
        for question in questions
        for number, each in enumerate(parse_labels(question), 1)
    ]


def parse_labels(question: Question) -> Sequence[Json]:
    """Return the labels of a question, unchecked."""
    found = question.metadata.get("labelled")
    return () if found is None else found if isinstance(found, list) else [found]


def agreement(both: Sequence[tuple[bool, bool]]) -> Agreement | None:
    """Return how often two agree, and beyond chance, or None without pairs."""
    if not both:
        return None
    count, agreed = len(both), sum(one == other for one, other in both)
    ours, theirs = (sum(pair[n] for pair in both) / count for n in (0, 1))
    chance = ours * theirs + (1 - ours) * (1 - theirs)
    kappa = (agreed / count - chance) / (1 - chance) if chance < 1 else None
    return Agreement(count, agreed, kappa)


def check_labels(question: Question, _: str = "") -> None:
    """Raise BadParameter if a question has no target, or labels that cannot be read."""
    find_targets(question)
    for each in parse_labels(question):
        if (
            not isinstance(each, dict)
            or not isinstance(each.get("right"), bool)
            or not isinstance(each.get("answer"), str)
            or not isinstance(each.get("arm"), str | None)
        ):
            message = (
                f"question {question.id!r} has metadata 'labelled' that is not a list of "
                f'{{"answer": "...", "right": true}}: {each!r}'
            )
            raise BadParameter(message)
