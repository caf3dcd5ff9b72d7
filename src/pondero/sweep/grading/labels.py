"""People's labels as values: which questions they label, their grades, and a judge's errors.

A share of the questions is drawn before the answers; people then grade the answers of every arm to
them. ``statistics`` corrects a judge by these values.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random

from msgspec import Struct

from ...canon import Json
from ...errors import BadParameter
from ..questions import Question, read_rows
from ..statistics.judge_error import JudgeErrors


class LabelDraw(Struct, frozen=True):
    """The questions that people label: each is drawn with the probability ``share``."""

    share: float
    seed: int
    questions: frozenset[str]


class AnswerLabel(Struct, frozen=True):
    """A person's grade of an arm's answer to a question; ``repeat`` counts from 1."""

    question: str
    arm: str
    score: float
    repeat: int = 1


def draw_labelled(questions: Iterable[Question], share: float, seed: int) -> LabelDraw:
    """Draw the questions to label; another set of questions changes no question's draw."""
    if not 0 < share <= 1:
        message = f"invalid share {share!r}; use a number above 0, at most 1"
        raise BadParameter(message)
    drawn = (q.id for q in questions if Random(f"{seed} {q.id}").random() < share)  # noqa: S311 - a sample
    return LabelDraw(share, seed, frozenset(drawn))


def load_labels(path: str | Path) -> tuple[AnswerLabel, ...]:
    """Return the labels of a file with question, arm and right (or score); raise BadParameter.

    Rows without a label are those that people have not come to; one row must have one.
    """
    rows = list(read_rows(Path(path)))
    done = [(place, row) for place, row in rows if not _is_open(row)]
    if not rows:
        message = f"{path} has no rows; 'pondero sweep export RUN --labels FILE' writes them"
        raise BadParameter(message)
    if not done:
        message = (
            f"{rows[0][0]}: a label has question, arm, and right (true or false) or score (0 to "
            f"1); 'right' is empty or not there in all {len(rows):,} rows"
        )
        raise BadParameter(message)
    found = tuple(_parse_label(place, row) for place, row in done)
    seen = set[tuple[str, str, int]]()
    for each in found:
        key = (each.question, each.arm, each.repeat)
        if key in seen:
            message = f"{path}: question {each.question!r} of {each.arm} is labelled twice"
            raise BadParameter(message)
        seen.add(key)
    return found


_SCORES: Mapping[str, float] = {
    "true": 1.0, "right": 1.0, "yes": 1.0, "correct": 1.0,
    "false": 0.0, "wrong": 0.0, "no": 0.0, "incorrect": 0.0,
}  # fmt: skip


def _is_open(row: Mapping[str, Json]) -> bool:
    given = row.get("score", row.get("right"))
    return "question" in row and "arm" in row and given in (None, "")


def _parse_label(place: str, row: Mapping[str, Json]) -> AnswerLabel:
    given = row.get("score", row.get("right"))
    word = given.strip().lower() if isinstance(given, str) else json.dumps(given)
    try:
        score = _SCORES[word] if word in _SCORES else float(word)
        repeat = int(row.get("repeat") or 1)
    except (ValueError, TypeError):
        score, repeat = -1.0, 1
    if not 0 <= score <= 1 or "question" not in row or "arm" not in row:
        message = (
            f"{place}: a label has question, arm, and right (true or false) or score (0 to 1); "
            f"found {', '.join(map(repr, row))}"
        )
        raise BadParameter(message)
    return AnswerLabel(str(row["question"]), str(row["arm"]), score, repeat)


def count_errors(both: Sequence[tuple[bool, bool]]) -> JudgeErrors:
    """Count a judge's errors over pairs of (the judge's verdict, the person's)."""
    right = [verdict for verdict, person in both if person]
    wrong = [verdict for verdict, person in both if not person]
    return JudgeErrors(len(right), right.count(False), len(wrong), wrong.count(True))
