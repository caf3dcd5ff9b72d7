"""Judges: functions that decide whether an answer is right, named ``KIND`` or ``KIND:ARGUMENT``.

exact        the answer is a target, without blanks around it
includes     the answer contains a target, in upper or lower case
numeric      the answer's number is the target; ``numeric:0.01`` allows one part in a hundred,
             ``numeric:comma`` reads decimal commas
choice       the answer names the target's letter
json         the answer is JSON with the same value as the target's
json_schema  the answer is JSON that fits the schema of a file, else of the target
regex        the pattern is found; if it has a group, the group must match a target
python       ``module:function`` gets answer and question and returns a truth value or 0 to 1
command      a program gets both as JSON on its standard input; it exits with 0 for right, 1 wrong
code         the answer's Python code runs, and then the target's assertions hold
model        another model grades, at its own level; its cost is counted separately
rubric       a model says which criteria of the target are met; the score is their share
pairwise     a model says whether the answer is better than the target; 0.5 is as good

A judge that fails raises JudgeFailed: the question is then missing, not wrong. Regular expressions
and Python run in a process of their own (``isolation``), with the deadlines of ``KINDS``.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from string import ascii_uppercase

from msgspec import Struct

from ...canon import Json
from ...catalog import did_you_mean
from ...client import AsyncClient, SchemaCheck
from ...errors import BadParameter
from ..questions import Question
from .agreement import check_labels
from .grade import Check, Grade, Grader, Judge, JudgeFailed, find_targets
from .isolation import PROCESSES, isolate
from .letter_reader import LETTERS, read_letter
from .model_judges import (
    find_criteria,
    make_comparer,
    make_judge_client,
    make_model_grader,
    make_rubric_grader,
)
from .number_reader import NO_NUMBER, Decimals, NumberReading, read_number
from .own_judges import make_code_grader, make_command_grader, make_python_check
from .text_reader import fold, normalize, parse_json_answer

__all__ = [
    "KINDS",
    "Grade",
    "Judge",
    "JudgeFailed",
    "check_questions",
    "find_judge_kind",
    "find_judge_model",
    "make_check",
    "make_judge",
]

_AT_ONCE = 16  # grades of a judge that waits for another program or a model
_WHOLE_WORD = 3  # a target of up to this many letters must be a word: "no" is not in "know"


class JudgeKind(Struct, frozen=True):
    """A kind of judge. ``check`` grades at once, and isolated if it has ``seconds``.

    ``needs`` raises BadParameter if a question cannot be graded. ``loads``: only a process of its
    own may try the argument. ``is_safe``: this question needs no isolation. ``program`` and
    ``model`` are for judges that wait for one; ``asks`` is how often a model is asked for a grade.
    ``answers``: a target is itself a right answer. ``graded``: scores lie between 0 and 1 too.
    """

    check: Callable[[str], Check] | None = None
    needs: Callable[[Question, str], object] | None = None
    seconds: float | None = None
    loads: bool = False
    is_safe: Callable[[Question, str], bool] | None = None
    argument: bool = True
    program: Callable[[str], Grader] | None = None
    model: Callable[[str, Callable[[], AsyncClient]], Grader] | None = None
    asks: int = 1
    answers: bool = True
    graded: bool = False


def make_judge(name: str, *, client: Callable[[], AsyncClient] | None = None) -> Judge:
    """Return the judge of this name; raise BadParameter. ``client`` is for a model that judges."""
    kind, argument = _find_kind(name)
    if kind.model is not None:
        return Judge(name, kind.model(argument, client or make_judge_client), _AT_ONCE)
    if kind.program is not None:
        return Judge(name, kind.program(argument), _AT_ONCE)
    isolated = None
    if kind.seconds is not None:
        isolated = isolate(name, seconds=kind.seconds, loads=kind.loads)
    check = None if kind.loads else make_check(name)

    async def grade(question: Question, answer: str) -> Grade:
        safe = isolated is None or (kind.is_safe is not None and kind.is_safe(question, argument))
        if check is not None and safe:
            return check(question, answer)
        return await (isolated or grade)(question, answer)

    return Judge(name, grade, 1 if isolated is None else PROCESSES)


def make_check(name: str) -> Check:
    """Return a judge that grades in this process; raise BadParameter if it cannot."""
    kind, argument = _find_kind(name)
    if kind.check is None:
        message = f"the judge {name!r} does not grade by itself"
        raise BadParameter(message)
    return kind.check(argument)


def _find_kind(name: str) -> tuple[JudgeKind, str]:
    kind, _, argument = name.partition(":")
    if kind not in KINDS:
        message = f"unknown judge {name!r}; {did_you_mean(kind, KINDS)}use {' '.join(KINDS)}"
        raise BadParameter(message)
    if argument and not KINDS[kind].argument:
        message = f"the judge {kind!r} takes no argument; remove {argument!r}"
        raise BadParameter(message)
    return KINDS[kind], argument


def find_judge_kind(name: str) -> JudgeKind:
    """Return the kind of a judge; a plain one if it is unknown, as in a run of another version."""
    return KINDS.get(name.partition(":")[0], JudgeKind())


def find_judge_model(name: str) -> str | None:
    """Return the model that a judge asks, as MODEL[/LEVEL], or None if it asks none."""
    return name.partition(":")[2] if find_judge_kind(name).model is not None else None


def check_questions(
    judge: str, questions: Iterable[Question], places: Mapping[str, str] | None = None
) -> None:
    """Raise BadParameter if a judge cannot grade answers to one of these questions.

    ``places``: file and line by the question's id, for the error.
    """
    kind, argument = _find_kind(judge)
    if kind.needs is None:
        return
    for question in questions:
        try:
            kind.needs(question, argument)
        except BadParameter as error:
            if places is None or question.id not in places:
                raise
            message = f"{places[question.id]}: {error}"
            raise BadParameter(message) from None


# -- texts -----------------------------------------------------------------------------------------


def _make_exact(_: str) -> Check:
    def check(question: Question, answer: str) -> Grade:
        targets = {normalize(each) for each in find_targets(question)}
        return Grade(float(normalize(answer) in targets))

    return check


def _make_includes(_: str) -> Check:
    def check(question: Question, answer: str) -> Grade:
        said = fold(answer)
        for target in _find_words(question):
            if _contains(said, fold(target)):
                return Grade(1.0, f"contains {target.strip()!r}")
        return Grade(0.0)

    return check


def _contains(said: str, words: str) -> bool:
    if len(words) > _WHOLE_WORD or not (words.isascii() and words.isalnum()):
        return words in said
    return re.search(rf"(?<![^\W_]){words}(?![^\W_])", said) is not None


def _find_words(question: Question) -> tuple[str, ...]:
    targets = find_targets(question)
    if not all(each.strip() for each in targets):
        message = f"question {question.id!r} has an empty target, which every answer includes"
        raise BadParameter(message)
    return targets


# -- numbers and letters ---------------------------------------------------------------------------


def _make_numeric(argument: str) -> Check:
    tolerance, decimals = _parse_numeric(argument)

    def check(question: Question, answer: str) -> Grade:
        said = read_number(answer, decimals)
        wanted = _find_numbers(question, decimals)
        right = not said.problem and any(said.equals(each, tolerance) for each in wanted)
        return Grade(float(right), said.describe())

    return check


def _parse_numeric(argument: str) -> tuple[Fraction, Decimals]:
    decimals: Decimals = "point"
    tolerance = Fraction(0)
    for word in filter(None, argument.split(",")):
        if word in ("point", "comma"):
            decimals = "comma" if word == "comma" else "point"
        elif re.fullmatch(r"\d*\.?\d+(?:e-?\d{1,2})?", word):
            tolerance = Fraction(word)
        else:
            message = (
                f"invalid numeric:{argument}; use a tolerance such as numeric:0.01, "
                "or numeric:comma for decimal commas"
            )
            raise BadParameter(message)
    return tolerance, decimals


def _find_numbers(question: Question, decimals: Decimals) -> list[NumberReading]:
    read = [read_number(target, decimals) for target in find_targets(question)]
    found = [each for each in read if not each.problem]
    if not found:
        problem = read[0].problem
        why = "" if problem == NO_NUMBER else f": {problem}"
        message = f"question {question.id!r} has no number in its target {question.target[0]!r}"
        raise BadParameter(f"{message}{why}")
    return found


def _make_choice(_: str) -> Check:
    def check(question: Question, answer: str) -> Grade:
        wanted = find_letters(question)
        said = read_letter(answer, question.choices)
        return Grade(float(said.letter in wanted), said.describe())

    return check


def find_letters(question: Question) -> set[str]:
    """Return the letters of a question's targets; raise BadParameter if one is no choice."""
    listed = dict(zip(map(fold, question.choices or LETTERS), ascii_uppercase, strict=False))
    wanted = set()
    for target in find_targets(question):
        letter = target.strip(" ().:*[]").upper()
        wanted.add(listed.get(fold(target), letter))
    if strange := wanted - set(listed.values()):
        message = f"question {question.id!r} has no choice {min(strange)!r}, which is its target"
        if not question.choices:
            message = (
                f"question {question.id!r} has no choices, and its target {min(strange)!r} is no "
                f"letter from {LETTERS[0]} to {LETTERS[-1]}"
            )
        raise BadParameter(message)
    return wanted


# -- patterns --------------------------------------------------------------------------------------


def _compile(text: str) -> re.Pattern[str]:
    try:
        return re.compile(normalize(text) if text.strip() else text, re.MULTILINE)
    except (re.error, RecursionError, OverflowError) as error:
        message = f"{text!r} is not a regular expression: {error}"
        raise BadParameter(message) from None


def _make_regex(argument: str) -> Check:
    given = _compile(argument) if argument else None

    def check(question: Question, answer: str) -> Grade:
        said = normalize(answer)
        if given is None:
            found = any(_compile(target).search(said) for target in find_targets(question))
            return Grade(float(found))
        groups = given.findall(said)
        if not given.groups or not groups:
            return Grade(float(bool(groups)))
        last = groups[-1] if isinstance(groups[-1], str) else groups[-1][0]
        right = normalize(last) in {normalize(target) for target in find_targets(question)}
        return Grade(float(right), f"the pattern found {last[:100]!r}")

    return check


def _check_patterns(question: Question, argument: str) -> None:
    if not argument:
        for target in find_targets(question):
            _compile(target)
    elif _compile(argument).groups:
        find_targets(question)


# -- JSON ------------------------------------------------------------------------------------------


def _make_json(_: str) -> Check:
    def check(question: Question, answer: str) -> Grade:
        wanted = [_parse_target(question, each) for each in find_targets(question)]
        try:
            value = parse_json_answer(answer)
        except ValueError as error:
            return Grade(0.0, f"no JSON: {error}")
        return Grade(float(any(_is_same(value, each) for each in wanted)))

    return check


def _parse_target(question: Question, target: str) -> Json:
    try:
        return json.loads(target)
    except (ValueError, RecursionError) as error:
        message = f"the target of question {question.id!r} is not JSON: {error}"
        raise BadParameter(message) from None


def _is_same(value: Json, target: Json) -> bool:
    """Return whether two JSON values are equal: 1 is 1.0, but true is not 1."""
    if isinstance(value, dict) and isinstance(target, dict):
        same = value.keys() == target.keys()
        return same and all(_is_same(value[key], target[key]) for key in value)
    if isinstance(value, list) and isinstance(target, list):
        return len(value) == len(target) and all(map(_is_same, value, target))
    if isinstance(value, str) and isinstance(target, str):
        return normalize(value) == normalize(target)
    return isinstance(value, bool) == isinstance(target, bool) and value == target


def _make_json_schema(argument: str) -> Check:
    given = _make_schema(_read_schema(argument), argument) if argument else None

    def check(question: Question, answer: str) -> Grade:
        schema = given or _make_schema(find_targets(question)[0], question.id)
        try:
            value = parse_json_answer(answer)
        except ValueError as error:
            return Grade(0.0, f"no JSON: {error}")
        problem = schema.find_problem(value)
        return Grade(float(problem is None), problem or "")

    return check


def _read_schema(name: str) -> str:
    try:
        return Path(name).read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        message = f"the schema {name!r} cannot be read: {error}"
        raise BadParameter(message) from None


def _make_schema(text: str, where: str) -> SchemaCheck:
    try:
        return SchemaCheck(json.loads(text))
    except (BadParameter, RecursionError, ValueError) as error:
        message = f"the schema of {where!r} cannot be used: {error}"
        raise BadParameter(message) from None


def _has_no_pattern(question: Question, argument: str) -> bool:
    """Return whether a schema is free of regular expressions, which may take forever."""
    return "pattern" not in (_read_schema(argument) if argument else find_targets(question)[0])


def _check_schema(question: Question, argument: str) -> None:
    if not argument:
        _make_schema(find_targets(question)[0], question.id)


def _need_target(question: Question, _: str) -> None:
    find_targets(question)


KINDS: dict[str, JudgeKind] = {
    "exact": JudgeKind(check=_make_exact, needs=_need_target, argument=False),
    "includes": JudgeKind(
        check=_make_includes, needs=lambda question, _: _find_words(question), argument=False
    ),
    "numeric": JudgeKind(
        check=_make_numeric,
        needs=lambda question, argument: _find_numbers(question, _parse_numeric(argument)[1]),
    ),
    "choice": JudgeKind(
        check=_make_choice, needs=lambda question, _: find_letters(question), argument=False
    ),
    "json": JudgeKind(
        check=_make_json,
        needs=lambda question, _: [_parse_target(question, t) for t in find_targets(question)],
        argument=False,
    ),
    "json_schema": JudgeKind(
        check=_make_json_schema,
        needs=_check_schema,
        seconds=10.0,
        is_safe=_has_no_pattern,
        answers=False,
    ),
    "regex": JudgeKind(check=_make_regex, needs=_check_patterns, seconds=10.0, answers=False),
    "python": JudgeKind(check=make_python_check, seconds=120.0, loads=True),
    "command": JudgeKind(program=make_command_grader),
    "code": JudgeKind(program=make_code_grader, needs=_need_target, argument=False, answers=False),
    "model": JudgeKind(model=make_model_grader, needs=check_labels),
    "rubric": JudgeKind(
        model=make_rubric_grader,
        needs=lambda question, _: find_criteria(question),
        answers=False,
        graded=True,
    ),
    "pairwise": JudgeKind(model=make_comparer, needs=_need_target, asks=2, graded=True),
}
"""The kinds of judges, by name, in the order of the help."""
