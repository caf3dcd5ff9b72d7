"""Judges: what is right, what is wrong, and what is neither because the judge failed."""

import asyncio
import json
import os
import shlex
import signal
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sweep.runs import engine

from pondero.canon import Message, Reply, Text
from pondero.client import AsyncClient
from pondero.emulator import Emulator
from pondero.errors import BadParameter
from pondero.sweep.arms import arms_of
from pondero.sweep.grading.agreement import agreement
from pondero.sweep.grading.judges import (
    KINDS,
    JudgeFailed,
    check_questions,
    make_judge,
)
from pondero.sweep.grading.number_reader import read_number
from pondero.sweep.questions import Question, questions_of
from pondero.sweep.results.compute import compute_results
from pondero.sweep.run.runner import Runner
from pondero.sweep.run.store import Run
from pondero.sweep.spec import spec_of

ABC = ("red", "green", "dark blue")


def grade(name, answer, *, client=None, **fields):
    question = Question("q", "what?", **fields)
    return asyncio.run(make_judge(name, client=client).grade(question, answer))


@pytest.mark.parametrize(
    ("judge", "target", "answer", "right"),
    [
        ("exact", "Paris", " Paris\n", True),
        ("exact", "Paris", "It is Paris", False),
        ("includes", "paris", "It is PARIS.", True),
        ("includes", "Paris", "It is Rome.", False),
        ("numeric", "391", "17 * 23 = 391", True),
        ("numeric", "391", "391 is near 392", False),
        ("numeric", "1,250.50", "so $1250.5", True),
        ("numeric", "-3", "that makes −3", True),
        ("numeric", "6.02e23", "about 6.02E+23", True),
        ("numeric", "100", "about 101", False),
        ("numeric:0.01", "100", "about 101", True),
        ("numeric", "4", "no idea", False),
        ("regex", r"^\d{3}$", "see:\n391", True),
        ("regex", r"^\d{3}$", "3911", False),
        (r"regex:ANSWER: (\w+)", "B", "ANSWER: A ... ANSWER: B", True),
        (r"regex:ANSWER: (\w+)", "A", "ANSWER: A ... ANSWER: B", False),
        ("regex:ok", "", "all ok", True),
        ("exact", "caf\u00e9", "cafe\u0301", True),
        ("exact", "a\nb", "a\r\nb", True),
        ("includes", "caf\u00e9", "the CAFE\u0301 there", True),
        ("includes", "New York", "in New\u00a0York", True),
        ("includes", "no", "I do not know", False),
        ("includes", "no", "No, it is not", True),
        ("includes", "4", "it is 42", False),
        ("includes", "\u6771\u4eac", "\u9996\u90fd\u306f\u6771\u4eac\u3067\u3059", True),
        ("regex", "caf\u00e9", "cafe\u0301", True),
        ("json", '{"a": 1, "b": [true]}', '```JSON\n{"b": [true], "a": 1.0}\n```', True),
        ("json", '{"a": 1}', '{"a": true}', False),
        ("json", '{"a": 1}', '{"a": 1, "b": 2}', False),
        ("json", "[1]", "none", False),
        ("numeric:comma", "1.234", "1,234", False),
        ("numeric:0.01,comma", "1,234", "1,23", True),
    ],
)
def test_texts_numbers_and_patterns(judge, target, answer, right):
    targets = (target,) if target else ()
    assert grade(judge, answer, target=targets).score == right


def test_a_short_target_is_a_word_of_its_own():
    found = {word: grade("includes", f"x{word}x", target=(word,)).score for word in ("ab", "abc")}
    assert found == {"ab": 0, "abc": 0}
    assert grade("includes", "xabcdx", target=("abcd",)).score == 1


@pytest.mark.parametrize(
    ("answer", "letter"),
    [
        ("B", "B"),
        ("(c)", "C"),
        ("ANSWER: B", "B"),
        ("The answer is **C**.", "C"),
        ("A is wrong, so the answer is (b).", "B"),
        ("Not A) but C)", "C"),
        ("It is dark blue", "C"),
        ("green or red", None),
        ("I don't know. A guess would not help", None),
        ("ANSWER: Z", None),
        ("B) green", "B"),
        ("B) green, as A and C are wrong", "B"),
        ("The answer is a colour that I like: C", "C"),
    ],
)
def test_a_choice_is_named_by_its_letter_or_its_text(answer, letter):
    for target in "ABC":
        found = grade("choice", answer, target=(target,), choices=ABC)
        assert found.score == (letter == target)
    if letter:
        assert grade("choice", answer, target=(ABC["ABC".index(letter)],), choices=ABC).score == 1


@pytest.mark.parametrize(
    ("answer", "letter"),
    [("b", "B"), ("(b)", "B"), ("option b", "B"), ("The answer is B.", "B"), ("B) 4", "B"),
     ("A good guess is D", "D"), ("I think it is J", "J"), ("A or B", None), ("4", None)],
)  # fmt: skip
def test_a_letter_is_named_where_the_question_itself_lists_the_choices(answer, letter):
    for target in "ABDJ":
        assert grade("choice", answer, target=(target,)).score == (letter == target)


def test_a_letter_in_the_text_of_a_choice_is_not_the_answer():
    choices = ("Hepatitis B", "A dog", "Vitamin C")
    for letter, text in zip("ABC", choices, strict=True):
        for answer in (f"{letter}) {text}", f"**{letter}. {text}**", f"({letter}) {text}."):
            assert grade("choice", answer, target=(letter,), choices=choices).score == 1


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3))
def test_a_number_is_found_as_python_writes_it(value):
    assert read_number(f"the result is {value:,}").value == value


def test_more_than_one_target_may_be_right():
    assert grade("includes", "the USA", target=("United States", "USA")).score == 1


@pytest.mark.parametrize("kind", ["exact", "includes", "numeric", "regex", "choice", "json_schema"])
def test_a_question_without_a_target_cannot_be_judged(kind):
    with pytest.raises(BadParameter, match=r"no target|no choices"):
        grade(kind, "x", choices=("a",) if kind == "choice" else ())


@pytest.mark.parametrize(
    "name",
    [
        "nonsense",
        "python:json",
        "python:no_such:f",
        "python:json:no_such",
        "regex:(",
        "model",
        "command",
        "numeric:x",
        "numeric:nan",
        "numeric:inf",
        "numeric:-1",
        "exact:Paris",
        "command:'",
        "command:no-such-program-here",
        "json_schema:no-such-file.json",
        "python:json:__name__",
        "python:broken_syntax:f",
        "python:broken_import:f",
        "python:broken_exit:f",
    ],
)
def test_a_judge_that_cannot_be_is_refused_before_anything_is_asked(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "broken_syntax.py").write_text("def f(:")
    (tmp_path / "broken_import.py").write_text("1 / 0")
    (tmp_path / "broken_exit.py").write_text("raise SystemExit(3)")
    with pytest.raises(BadParameter):
        make_judge(name)


@pytest.mark.parametrize(
    ("judge", "fields", "says"),
    [
        ("exact", {}, "has no target"),
        ("numeric", {"target": ("many",)}, "no number in its target 'many'"),
        ("regex", {"target": ("(",)}, "is not a regular expression"),
        (r"regex:(\d)", {}, "has no target"),
        ("choice", {"target": ("red",)}, "has no choices, and its target 'RED' is no letter"),
        ("choice", {"target": ("0",), "choices": ABC}, "has no choice '0'"),
        ("json_schema", {"target": ("{",)}, "the schema of 'q' cannot be used"),
        ("json_schema", {"target": ("5",)}, "invalid JSON schema 5"),
        ("model:gpt-5.5", {}, "has no target"),
        (
            "model:gpt-5.5",
            {"target": ("4",), "metadata": {"labelled": [{"answer": "4"}]}},
            "'labelled' that is not a list of",
        ),
    ],
)
def test_a_question_that_a_judge_could_not_grade_is_found_before_it_is_asked(judge, fields, says):
    with pytest.raises(BadParameter, match=says):
        check_questions(judge, [Question("q", "what?", **fields)])


@pytest.mark.parametrize("judge", ["regex:ok", "python:json:dumps", "command:true"])
def test_a_judge_that_needs_no_target_asks_for_none(judge):
    check_questions(judge, [Question("q", "what?")])


@pytest.mark.parametrize("answer", ["1e99999999", "-1e999999999999999999999", "9" * 5000])
def test_no_number_that_a_model_may_write_ends_a_run(answer):
    assert grade("numeric:0.01", answer, target=("4",)).score == 0
    assert grade("numeric", answer, target=(answer, "4")).score in (0, 1)


@pytest.mark.parametrize("answer", ["[" * 100_000, "NaN", "1e999", "9" * 4000, "9" * 5000])
def test_no_json_that_a_model_may_write_ends_a_run(answer):
    schema = {"type": "integer", "multipleOf": 7}
    assert grade("json_schema", answer, target=(json.dumps(schema),)).score == 0


def test_a_schema_that_cannot_be_used_is_no_wrong_answer():
    for schema in ({"type": "strin"}, {"$ref": "#/none"}, {"pattern": "("}, {"$ref": "#"}):
        target = (json.dumps(schema),)
        with pytest.raises(BadParameter, match="the schema of 'q' cannot be used"):
            grade("json_schema", '"x"', target=target)
        with pytest.raises(BadParameter, match="the schema of 'q' cannot be used"):
            check_questions("json_schema", [Question("q", "what?", target=target)])


def test_every_kind_is_in_the_modules_table():
    import pondero.sweep.grading.judges as module

    assert all(f"\n{kind} " in module.__doc__ for kind in KINDS)


# -- JSON ------------------------------------------------------------------------------------------

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2, "pattern": "^[A-Z]"},
        "age": {"type": "integer", "minimum": 0, "exclusiveMaximum": 150},
        "tags": {"type": "array", "items": {"enum": ["a", "b", 1]}, "uniqueItems": True},
        "next": {"anyOf": [{"type": "null"}, {"$ref": "#"}]},
    },
    "required": ["name"],
    "additionalProperties": False,
}


def test_an_answer_may_fence_its_json(tmp_path):
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(SCHEMA))
    answer = 'Here it is:\n```json\n{"name": "Ann"}\n```'
    assert grade(f"json_schema:{file}", answer).score == 1
    assert grade("json_schema", answer, target=(json.dumps(SCHEMA),)).score == 1
    assert grade(f"json_schema:{file}", '{"name": "ann"}').note.startswith(
        "$.name: 'ann' does not match"
    )
    assert grade(f"json_schema:{file}", "no").score == 0


# -- the user's own --------------------------------------------------------------------------------


def test_a_python_judge_may_wait_and_may_give_a_part(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "my_checks.py").write_text(
        "async def half(answer, question): return 0.5\n"
        "def same(answer, question): return answer == question.target[0]\n"
        "def breaks(answer, question): raise KeyError('x')\n"
        "def odd(answer, question): return 'yes'\n"
    )
    assert grade("python:my_checks:half", "").score == 0.5
    assert grade("python:my_checks:same", "a", target=("a",)).score == 1
    for name in ("breaks", "odd"):
        with pytest.raises(JudgeFailed, match=name):
            grade(f"python:my_checks:{name}", "a")


def test_a_command_judges_by_its_exit_code():
    check = "import json, sys; told = json.load(sys.stdin); print('seen'); sys.exit({code})"
    same = check.format(code="told['answer'] != told['target'][0]")
    assert grade(f'command:{sys.executable} -c "{same}"', "a", target=("a",)).score == 1
    wrong = grade(f'command:{sys.executable} -c "{same}"', "b", target=("a",))
    assert (wrong.score, wrong.note) == (0, "seen")
    with pytest.raises(JudgeFailed, match="exited with 7"):
        grade(f'command:{sys.executable} -c "{check.format(code=7)}"', "a")
    with pytest.raises(BadParameter, match="'/no/such/program' is not there"):
        make_judge("command:/no/such/program")


@pytest.fixture
def held(tmp_path):
    """A pipe by name, and a function that returns once no process has it open for writing."""
    path = tmp_path / "held"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def wait():
        os.set_blocking(reader, True)
        assert os.read(reader, 1) == b""

    yield path, wait
    os.close(reader)


@pytest.mark.skipif(sys.platform == "win32", reason="the shell and its pipes are those of Unix")
@pytest.mark.parametrize("code", [0, 1])
def test_a_command_is_done_when_it_ends_though_its_child_holds_the_output(held, code, monkeypatch):
    """Before, the grade waited for the child's end, which is the deadline."""
    monkeypatch.setattr("pondero.sweep.grading.own_judges.COMMAND_SECONDS", 20.0)
    path, wait = held
    found = grade(f"command:sh -c 'exec 3>{path}; sleep 60 & echo seen; exit {code}'", "a")
    assert (found.score, found.note) == (1 - code, "seen")
    wait()  # the child was killed


@pytest.mark.skipif(sys.platform == "win32", reason="sessions are those of Unix")
def test_a_child_that_leaves_the_commands_group_costs_no_grade_either(monkeypatch):
    monkeypatch.setattr("pondero.sweep.grading.own_judges.COMMAND_SECONDS", 20.0)
    code = (
        "import subprocess; "
        "child = subprocess.Popen(['sleep', '60'], start_new_session=True); "
        "print(50_000 * 'x', child.pid)"
    )
    found = grade("command:" + shlex.join([sys.executable, "-c", code]), "a")
    words, child = found.note.split()
    os.kill(int(child), signal.SIGKILL)
    assert (found.score, set(words)) == (1, {"x"})


def test_a_command_that_reads_nothing_and_one_that_prints_much_are_graded():
    long = "x" * 1_000_000
    assert grade(f"command:{sys.executable} -c 'pass'", long).score == 1
    much = f"command:{sys.executable} -c 'print(1_000_000 * 2 * str(7)); print(8)'"
    assert grade(much, "a").note.endswith("77\n8")


ADD = "def add(a, b):\n    return a {} b"


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        (ADD.format("+"), True),
        ("Sure!\n```python\n" + ADD.format("+") + "\n```\nDone.", True),
        ("~~~py\n" + ADD.format("+") + "\n~~~", True),
        (ADD.format("-"), False),
        ("import sys; sys.exit(0)", False),
        ("import os; os._exit(0)", False),
        ("raise SystemExit", False),
        ("I cannot.", False),
        ("print('the assertions hold')", False),
    ],
)
def test_code_is_right_if_the_targets_assertions_hold(answer, right):
    assert grade("code", answer, target=("assert add(2, 3) == 5",)).score == right


def test_code_sees_no_key_and_its_endless_loop_is_wrong(monkeypatch):
    from pondero.sweep.grading import own_judges

    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    see = "import os\nkeys = [name for name in os.environ if 'KEY' in name]"
    assert grade("code", see, target=("assert not keys",)).score == 1
    monkeypatch.setattr(own_judges, "CODE_SECONDS", 1.0)
    endless = grade("code", "while True: pass", target=("assert True",))
    assert (endless.score, endless.note) == (0, "the code did not end within 1 s")


# -- a model ---------------------------------------------------------------------------------------


def part_of(asked, name):
    word = asked.partition("begin with ")[2][:24]
    return asked.partition(f"{word} begin {name}\n")[2].partition(f"\n{word} end {name}\n")[0]


def grading(accepted):
    """A mind that grades: right where the answer holds the target, silent where it says so."""
    asked = accepted.request.messages[-1].text
    right, answer = part_of(asked, "right"), part_of(asked, "answer")
    said = "hm" if answer == "?" else f"So:\nGRADE: {'RIGHT' if right in answer else 'WRONG'}"
    return Reply(Message("assistant", (Text(said),)), "stop")


def judging():
    return AsyncClient(transport=Emulator(responder=grading))


def test_a_model_grades_at_its_own_level_and_says_what_it_cost():
    found = grade("model:claude-opus-5/low", "it is 4", client=judging, target=("4",))
    assert found.score == 1
    assert float(found.cost) > 0
    assert grade("model:claude-opus-5/low", "it is 5", client=judging, target=("4",)).score == 0
    with pytest.raises(JudgeFailed, match="gave no grade"):
        grade("model:claude-opus-5/low", "?", client=judging, target=("4",))


LABELLED = [
    {"answer": "it is 46", "right": True},
    {"answer": "it is 5", "right": False},
    {"answer": "forty-six", "right": True},
    {"answer": "it is 6", "right": False},
    {"answer": "?", "right": False},
]


def labelled_run(judge):
    rows = [{"id": f"q{n}", "input": f"What is {n} * 23?", "target": str(n * 23)} for n in (2, 3)]
    rows[0]["metadata"] = {"labelled": LABELLED}
    spec = spec_of(models=["claude-opus-5"], levels="low,high", judge=judge, offline=True,
                   past_gate=True, once=True, pilot=0)  # fmt: skip
    arms = arms_of(spec.models, spec.levels)
    return Run.create(spec, questions_of(rows), arms, reference=1)


def test_a_judge_is_held_against_what_people_labelled(data_dir):
    name, asked = "model:claude-opus-5", []

    def mind(accepted):
        asked.append(accepted.request.messages[-1].text)
        return grading(accepted)

    def driven(run):
        judge = make_judge(name, client=lambda: AsyncClient(transport=Emulator(responder=mind)))
        return Runner(run, engine(), judge)

    with labelled_run(name) as run:
        asyncio.run(driven(run).finish())
        asyncio.run(driven(run).compare())
        found = run.agreement(name)
        assert (found.count, found.agreed, found.kappa) == (4, 3, pytest.approx(0.5))
        assert len(asked) == 4 + len(LABELLED)
        assert run.state == "done"
        assert run.judge_cost(name) > 0
        results = compute_results(run)
        assert "judge      agrees with 3 of 4 labelled answers, kappa 0.50" in results.lines()
        del asked[:]
        asyncio.run(driven(run).compare())
        assert asked == []  # what is graded is not asked again, nor is what failed to be
        asyncio.run(driven(run).judge())
        assert len(asked) == 1  # what failed is
    assert agreement([]) is None


def test_a_kill_while_labelled_answers_are_judged_asks_none_of_them_twice(data_dir):
    """A judge that is cut off after some grades goes on with the others."""
    name, asked = "model:claude-opus-5", []

    def mind(accepted):
        asked.append(accepted.request.messages[-1].text)
        if len(asked) == 3:  # two labelled ones are graded; they come before the answers
            raise KeyboardInterrupt
        return grading(accepted)

    def driven(run):
        judge = make_judge(name, client=lambda: AsyncClient(transport=Emulator(responder=mind)))
        return Runner(run, engine(), judge)

    with labelled_run(name) as run:
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(driven(run).finish())
        before = len(run.grades(name))
        asyncio.run(driven(run).finish())
        assert len(asked) == 3 + 4 + len(LABELLED) - before
        assert run.agreement(name).count == 4
