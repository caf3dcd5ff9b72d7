"""Judges: functions that decide whether an answer is right, named ``KIND`` or ``KIND:ARGUMENT``.

exact        the answer is a target, without blanks around it
includes     the answer contains a target, in upper or lower case
numeric      the answer's last number is the target; ``numeric:0.01`` allows one part in a hundred
regex        the pattern is found; if it has a group, the group must match a target
choice       the answer names the target's letter
json_schema  the answer is JSON that fits the schema of a file, else of the target
python       ``module:function`` gets answer and question and returns a truth value or 0 to 1
command      a program gets both as JSON on its standard input; it exits with 0 for right, 1 wrong
model        another model grades, at its own level; its cost is counted separately

A judge that fails raises JudgeFailed: the question is then missing, not wrong.
"""

import asyncio
import importlib
import inspect
import json
import re
import shlex
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from decimal import Context, Decimal, InvalidOperation, localcontext
from pathlib import Path
from string import ascii_uppercase

import msgspec
from msgspec import Struct

from ...canon import Json
from ...client import AsyncClient, SchemaCheck, reply_cost
from ...errors import BadParameter, PonderoError
from ..questions import Question
from .agreement import parse_labels

COMMAND_SECONDS = 120.0
_AT_ONCE = 16  # grades of a judge that waits for another program or a model


class Grade(Struct, frozen=True):
    """A judge's grade: 1 is right, 0 wrong; ``cost`` in dollars if a model judged."""

    score: float
    note: str = ""
    cost: str | None = None


class JudgeFailed(PonderoError):
    """The judge itself failed; the answer has no grade."""


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


def make_judge(name: str, *, client: Callable[[], AsyncClient] | None = None) -> Judge:
    """Return the judge of this name; raise BadParameter. ``client`` is for a model that judges."""
    kind, _, argument = name.partition(":")
    if kind not in KINDS:
        message = f"unknown judge {name!r}; use {' '.join(KINDS)}"
        raise BadParameter(message)
    if argument and kind in _PLAIN:
        message = f"the judge {kind!r} takes no argument; remove {argument!r}"
        raise BadParameter(message)
    if kind == "model":
        return Judge(name, _model(argument, client or AsyncClient), _AT_ONCE)
    return Judge(name, _MAKERS[kind](argument), _AT_ONCE if kind == "command" else 1)


def _plain(check: Callable[[Question, str], bool | Grade]) -> Grader:
    async def grade(question: Question, answer: str) -> Grade:
        found = check(question, answer)
        return found if isinstance(found, Grade) else Grade(float(found))

    return grade


def _targets(question: Question) -> tuple[str, ...]:
    if not question.target:
        message = f"question {question.id!r} has no target to judge by"
        raise BadParameter(message)
    return question.target


def _exact(_: str) -> Grader:
    return _plain(
        lambda question, answer: answer.strip() in {t.strip() for t in _targets(question)}
    )


def _includes(_: str) -> Grader:
    def check(question: Question, answer: str) -> bool:
        said = answer.casefold()
        return any(target.strip().casefold() in said for target in _targets(question))

    return _plain(check)


# -- numbers, patterns, letters --------------------------------------------------------------------

_NUMBER = re.compile(r"[-+−]?(?:\d[\d,_]*(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?")


_UNTRAPPED = Context(traps=[])  # a model may write a number beyond every exponent; it is wrong


def number_in(text: str) -> Decimal | None:
    """Return the last number of a text, without thousands separators, or None."""
    found = _NUMBER.findall(text)
    if not found:
        return None
    try:
        return Decimal(found[-1].replace(",", "").replace("_", "").replace("−", "-"))
    except InvalidOperation:
        return None


def _numeric(argument: str) -> Grader:
    try:
        tolerance = Decimal(argument or "0")
    except InvalidOperation:
        tolerance = Decimal("nan")
    if not tolerance.is_finite() or tolerance < 0:
        message = f"invalid numeric:{argument}; use a tolerance such as numeric:0.01"
        raise BadParameter(message)

    def check(question: Question, answer: str) -> bool:
        said, wanted = number_in(answer), _numbers(question)
        with localcontext(_UNTRAPPED):
            return said is not None and any(
                abs(said - each) <= tolerance * abs(each) for each in wanted
            )

    return _plain(check)


def _numbers(question: Question) -> list[Decimal]:
    found = [each for target in _targets(question) if (each := number_in(target)) is not None]
    if not found:
        message = f"question {question.id!r} has no number in its target {question.target[0]!r}"
        raise BadParameter(message)
    return found


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text, re.MULTILINE)
    except (re.error, RecursionError, OverflowError) as error:
        message = f"{text!r} is no regular expression: {error}"
        raise BadParameter(message) from None


def _regex(argument: str) -> Grader:
    given = _pattern(argument) if argument else None

    def check(question: Question, answer: str) -> bool:
        if given is None:
            return any(_pattern(target).search(answer) for target in _targets(question))
        found = given.findall(answer)
        if not given.groups or not found:
            return bool(found)
        last = found[-1] if isinstance(found[-1], str) else found[-1][0]
        return last.strip() in {target.strip() for target in _targets(question)}

    return _plain(check)


_NAMED_LETTER = re.compile(
    r"(?i:\banswer\b\W*(?:is\b)?\W*\(?\*{0,2})([A-Z]\b|[a-z]\b(?!\s+\w))"  # no article
)
_ALONE = re.compile(r"(?<![A-Za-z0-9'’])\(?([A-Z])(?:\)|\.|:|(?![A-Za-z0-9'’]))")


def letter_in(answer: str, choices: Sequence[str]) -> str | None:
    """Return the letter named as the answer, else with its choice, last alone, or by its text."""
    letters = ascii_uppercase[: len(choices)]
    with_text = "|".join(
        rf"{letter}(?=\)?[.:]?\**\s*{re.escape(each)}(?!\w))"
        for letter, each in zip(letters, choices, strict=True)
    )
    own = re.compile(f"(?<![A-Za-z0-9'’])\\(?({with_text})")  # "B) A dog" names B alone
    for pattern in (_NAMED_LETTER, own, _ALONE):
        said: list[str] = [each.upper() for each in pattern.findall(answer)]
        if found := [each for each in said if each in letters]:
            return found[-1]
    words, named = answer.casefold(), zip(letters, choices, strict=True)
    held = [letter for letter, each in named if each.casefold() in words]
    return held[0] if len(held) == 1 else None


def _choice(_: str) -> Grader:
    return _plain(
        lambda question, answer: letter_in(answer, question.choices) in _letters(question)
    )


def _letters(question: Question) -> set[str]:
    if not question.choices:
        message = f"question {question.id!r} has no choices; the judge 'choice' needs them"
        raise BadParameter(message)
    listed = dict(zip(question.choices, ascii_uppercase, strict=False))
    wanted = {listed.get(each.strip(), each.strip().upper()) for each in _targets(question)}
    if strange := wanted - set(listed.values()):
        message = f"question {question.id!r} has no choice {min(strange)!r}, which is its target"
        raise BadParameter(message)
    return wanted


# -- JSON ------------------------------------------------------------------------------------------

_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)


def _json_schema(argument: str) -> Grader:
    given = _schema_check(_file(argument), argument) if argument else None

    def check(question: Question, answer: str) -> Grade:
        schema = given or _schema_check(_targets(question)[0], question.id)
        fenced = _FENCED.findall(answer)
        try:
            value = json.loads(fenced[-1] if fenced else answer, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            return Grade(0.0, f"no JSON: {error}")
        problem = schema.find_problem(value)
        return Grade(float(problem is None), problem or "")

    return _plain(check)


def _no_constant(word: str) -> Json:
    message = f"{word} is Python's"
    raise ValueError(message)


def _file(name: str) -> str:
    try:
        return Path(name).read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        message = f"the schema {name!r} cannot be read: {error}"
        raise BadParameter(message) from None


def _schema_check(text: str, where: str) -> SchemaCheck:
    try:
        return SchemaCheck(json.loads(text))
    except (BadParameter, RecursionError, ValueError) as error:
        message = f"the schema of {where!r} cannot be used: {error}"
        raise BadParameter(message) from None


# -- the user's own --------------------------------------------------------------------------------


def _python(argument: str) -> Grader:
    module, _, name = argument.partition(":")
    if not module or not name:
        message = f"python:{argument} names no function; write python:module:function"
        raise BadParameter(message)
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)  # the path of a console script lacks the current folder
    try:
        function = getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:  # a user's module may raise anything
        message = f"the judge {argument!r} cannot be loaded: {error!r}"
        raise BadParameter(message) from error
    if not callable(function):
        message = f"the judge {argument!r} is no function, but {function!r}"
        raise BadParameter(message)

    async def grade(question: Question, answer: str) -> Grade:
        try:
            found = function(answer, question)
            found = await found if inspect.isawaitable(found) else found
        except Exception as error:
            message = f"{argument} failed on question {question.id!r}: {error!r}"
            raise JudgeFailed(message) from error
        return found if isinstance(found, Grade) else Grade(_score(found, argument))

    return grade


def _score(found: object, where: str) -> float:
    if isinstance(found, bool | int | float) and 0 <= found <= 1:
        return float(found)
    message = f"{where} returned {found!r}; a judge returns a truth value, or a number from 0 to 1"
    raise JudgeFailed(message)


def _command(argument: str) -> Grader:
    try:
        words = shlex.split(argument)
    except ValueError as error:
        message = f"command:{argument} cannot be read: {error}"
        raise BadParameter(message) from None
    if not words:
        raise BadParameter("command: names no program; write command:PROGRAM [ARGUMENT]...")
    if shutil.which(words[0]) is None:
        message = f"the judge's program {words[0]!r} is not there, or may not be run"
        raise BadParameter(message)

    async def grade(question: Question, answer: str) -> Grade:
        told = msgspec.json.encode({**msgspec.to_builtins(question), "answer": answer})
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *words, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.STDOUT
            )
        except OSError as error:
            message = f"{words[0]!r} cannot be run: {error.strerror or error}"
            raise JudgeFailed(message) from None
        try:
            out, _ = await asyncio.wait_for(process.communicate(told), COMMAND_SECONDS)
        except TimeoutError:
            message = f"{words[0]!r} gave no verdict within {COMMAND_SECONDS:g} s"
            raise JudgeFailed(message) from None
        finally:
            if process.returncode is None:
                process.kill()
        said = out.decode("utf-8", "replace").strip()[-500:]
        if process.returncode not in (0, 1):
            message = f"{words[0]!r} exited with {process.returncode}, not 0 or 1: {said}"
            raise JudgeFailed(message)
        return Grade(float(process.returncode == 0), said)

    return grade


# -- a model ---------------------------------------------------------------------------------------

_ASKED = """Grade an answer. Compare it with what is right, and with nothing else.

<question>
{question}
</question>
<right>
{target}
</right>
<answer>
{answer}
</answer>

Does the answer say the same as what is right? End with one line: GRADE: RIGHT or GRADE: WRONG."""
_GRADE = re.compile(r"GRADE:\W*(RIGHT|WRONG)", re.IGNORECASE)


def _model(model: str, client: Callable[[], AsyncClient]) -> Grader:
    if not model:
        raise BadParameter("model: names no model; write model:MODEL[/LEVEL]")
    shared: list[AsyncClient] = []

    async def grade(question: Question, answer: str) -> Grade:
        if not shared:
            shared.append(client())
        target = "\n".join(_targets(question))
        asked = _ASKED.format(question=question.words, target=target, answer=answer)
        try:
            reply = await shared[0].ask(model, asked)
        except PonderoError as error:
            message = f"{model} could not grade question {question.id!r}: {error}"
            raise JudgeFailed(message) from error
        found = _GRADE.findall(reply.text)
        if not found:
            message = f"{model} gave no grade to question {question.id!r}: {reply.text[-80:]!r}"
            raise JudgeFailed(message)
        return Grade(float(found[-1].upper() == "RIGHT"), cost=reply_cost(reply))

    return grade


_MAKERS: dict[str, Callable[[str], Grader]] = {
    "exact": _exact,
    "includes": _includes,
    "numeric": _numeric,
    "regex": _regex,
    "choice": _choice,
    "json_schema": _json_schema,
    "python": _python,
    "command": _command,
}
KINDS = (*_MAKERS, "model")
_PLAIN = ("exact", "includes", "choice")


# -- what a judge needs of a question --------------------------------------------------------------


def check_questions(judge: str, questions: Iterable[Question]) -> None:
    """Raise BadParameter if a judge cannot grade answers to one of these questions."""
    kind, _, argument = judge.partition(":")
    if kind in _NEEDS:
        for question in questions:
            _NEEDS[kind](question, argument)


def _check_patterns(question: Question, argument: str) -> None:
    if not argument:
        for target in _targets(question):
            _pattern(target)
    elif _pattern(argument).groups:
        _targets(question)


def _check_labels(question: Question, _: str) -> None:
    _targets(question)
    for each in parse_labels(question):
        if (
            not isinstance(each, dict)
            or not isinstance(each.get("right"), bool)
            or (not isinstance(each.get("answer"), str))
        ):
            message = (
                f"question {question.id!r} has metadata 'labelled' that is no list of "
                f'{{"answer": "...", "right": true}}: {each!r}'
            )
            raise BadParameter(message)


_NEEDS: dict[str, Callable[[Question, str], object]] = {
    "exact": lambda question, _: _targets(question),
    "includes": lambda question, _: _targets(question),
    "numeric": lambda question, _: _numbers(question),
    "regex": _check_patterns,
    "choice": lambda question, _: _letters(question),
    "json_schema": lambda question, argument: (
        argument or _schema_check(_targets(question)[0], question.id)
    ),
    "model": _check_labels,
}
