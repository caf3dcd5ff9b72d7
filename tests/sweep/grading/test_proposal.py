"""A judge proposed from the targets, and the answers that show what it does."""

import asyncio
import json

import pytest

from pondero.sweep.grading.judges import make_judge
from pondero.sweep.grading.proposal import grade_examples, make_examples, propose_judge
from pondero.sweep.questions import questions_of


def asked(*targets, **fields):
    return questions_of(
        {"input": f"{n}?", "target": each, **fields} for n, each in enumerate(targets)
    )


@pytest.mark.parametrize(
    ("questions", "judge"),
    [
        (asked("4", "1,250.50", "3/4", "50%"), "numeric"),
        (asked(4, 5.5), "numeric"),
        (asked("2 + 2 = 4\n#### 4", "#### 5"), "numeric"),
        (asked("A", "B", choices=["red", "green"]), "choice"),
        (asked("red", choices=["red", "green"]), "choice"),
        (asked("A", "b", "(C)"), "choice"),
        (asked("A", "Z"), "includes"),
        (asked('{"a": 1}', "[1, 2]"), "json"),
        (asked('{"type": "object", "properties": {}}'), "json_schema"),
        (asked("Paris", "New York"), "includes"),
        (asked("4", "Paris"), "includes"),
        (asked("long words " * 20), None),
        (asked(None, "4"), None),
    ],
)
def test_a_judge_is_proposed_from_the_targets(questions, judge):
    found = propose_judge(questions)
    assert found.judge == judge
    assert found.why
    if judge:
        right, in_words, wrong = asyncio.run(
            grade_examples(make_judge(judge), make_examples(questions))
        )
        assert right.score == 1 or judge == "json_schema"
        assert in_words.score in (0, 1)
        assert right.describe()
        assert wrong.target == right.target


def test_an_answer_that_another_judge_would_accept_says_which():
    (question,) = questions_of([{"input": "?", "target": "0.5"}])
    (found,) = asyncio.run(grade_examples(make_judge("exact"), [(question, "It is 50%.")]))
    assert found.score == 0
    assert found.accepting == ("numeric",)
    assert found.describe() == "wrong: 'It is 50%.' for '0.5'; numeric would accept it"


def test_a_judge_that_fails_is_shown_too(tmp_path, monkeypatch):
    (tmp_path / "bad.py").write_text("def judge(answer, question): raise SystemExit\n")
    monkeypatch.chdir(tmp_path)
    (question,) = questions_of([{"input": "?", "target": json.dumps("x")}])
    (found,) = asyncio.run(grade_examples(make_judge("python:bad:judge"), [(question, "x")]))
    assert found.score is None
    assert found.describe().startswith("failed: ")
