"""Which judge fits the targets, and what it says about a few answers before anything is spent."""

import json
from collections.abc import Iterable, Sequence

from msgspec import Struct

from ...canon import Json
from ...errors import BadParameter, PonderoError
from ..questions import Question
from .grade import Judge
from .judges import KINDS, check_questions, make_check
from .number_reader import is_number

_SHORT = 60  # characters of a target that an answer can repeat word for word
_SCHEMA_WORDS = ("$schema", "properties", "$ref", "anyOf", "oneOf", "allOf", "enum", "items")
_SHOWN = 3


class JudgeProposal(Struct, frozen=True):
    """A judge for some questions, or None, and ``why`` in words."""

    judge: str | None
    why: str


class GradedAnswer(Struct, frozen=True):
    """An answer with its target and its grade; ``accepting`` are judges that find it right."""

    question: str
    target: str
    answer: str
    score: float | None
    note: str = ""
    accepting: tuple[str, ...] = ()

    def describe(self) -> str:
        """Return the answer, its target and its grade in one line."""
        word = {1.0: "right", 0.0: "wrong", None: "failed"}.get(self.score, f"{self.score}")
        read = f" ({self.note})" if self.note else ""
        line = f"{word}: {_shorten(self.answer)} for {_shorten(self.target)}{read}"
        others = ", ".join(self.accepting)
        return f"{line}; {others} would accept it" if others and self.score != 1 else line


def propose_judge(questions: Sequence[Question]) -> JudgeProposal:
    """Return the judge that the targets call for: letters, numbers, JSON or short text."""
    targets = [target for question in questions for target in question.target]
    if not targets or not all(question.target for question in questions):
        found = ", ".join(dict.fromkeys(key for each in questions for key in each.metadata))
        other = f" (other fields: {found})" if found else ""
        why = f"some questions have no target{other}; name a judge that needs none, as python:"
        return JudgeProposal(None, why)
    if all(each.choices for each in questions) and _fits("choice", questions):
        return JudgeProposal("choice", "every question has choices")
    if _fits("choice", questions):
        return JudgeProposal("choice", "every target is a letter or a choice")
    if all(map(is_number, targets)) or all("####" in each for each in targets):
        return JudgeProposal("numeric", "every target is a number")
    values = [_parse_container(each) for each in targets]
    if all(map(_is_schema, values)) and _fits("json_schema", questions):
        return JudgeProposal("json_schema", "every target is a JSON schema")
    if all(each is not None for each in values):
        return JudgeProposal("json", "every target is JSON")
    if all(len(each) <= _SHORT for each in targets) and _fits("includes", questions):
        return JudgeProposal("includes", "the targets are short texts")
    why = "the targets are long texts; name a model that compares, as model:MODEL"
    return JudgeProposal(None, why)


def _fits(judge: str, questions: Sequence[Question]) -> bool:
    try:
        check_questions(judge, questions)
    except BadParameter:
        return False
    return True


def _parse_container(target: str) -> Json:
    try:
        found = json.loads(target)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict | list) else None


def _is_schema(value: Json) -> bool:
    if not isinstance(value, dict):
        return False
    typed = value.get("type") in ("object", "array", "string", "number", "integer", "boolean")
    return typed or any(word in value for word in _SCHEMA_WORDS)


# -- graded answers to look at ---------------------------------------------------------------------


def make_examples(questions: Sequence[Question]) -> list[tuple[Question, str]]:
    """Return answers to try a judge on without asking a model: right, in a sentence, and wrong."""
    with_target = [each for each in questions if each.target]
    if not with_target:
        return []
    first = with_target[0]
    right = first.target[0]
    other = next((e.target[0] for e in with_target if e.target[0] != right), "I do not know.")
    return [(first, right), (first, f"The answer is {right}."), (first, other)]


async def grade_examples(
    judge: Judge, answers: Iterable[tuple[Question, str]], *, count: int = _SHOWN
) -> tuple[GradedAnswer, ...]:
    """Return the first answers with their grades, and the plain judges that would accept each."""
    graded = []
    for question, answer in list(answers)[:count]:
        score, note = None, ""
        try:
            grade = await judge.grade(question, answer)
            score, note = grade.score, grade.note
        except PonderoError as error:
            note = str(error)
        target = question.target[0] if question.target else ""
        accepting = find_accepting(question, answer)
        graded.append(GradedAnswer(question.id, target, answer, score, note, accepting))
    return tuple(graded)


def find_accepting(question: Question, answer: str) -> tuple[str, ...]:
    """Return the judges without arguments and isolation that find an answer right."""
    found = []
    for name, kind in KINDS.items():
        if kind.check is None or kind.seconds is not None:
            continue
        try:
            if make_check(name)(question, answer).score == 1:
                found.append(name)
        except BadParameter:
            continue
    return tuple(found)


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= _SHORT else f"{line[: _SHORT - 3]}...")
