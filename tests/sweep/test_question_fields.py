"""Questions with the field names of other tools and datasets."""

import json

import pytest

from pondero.errors import BadParameter
from pondero.sweep.outline import make_outline
from pondero.sweep.questions import read_questions

PAIRS = [
    ("question", "answer"), ("prompt", "expected"), ("Prompt", "Expected Output"), ("query", "ideal"),
    ("problem", "solution"), ("instruction", "output"), ("input", "label"), ("input", "reference"),
    ("Question", "Correct Answer"), ("q", "a"),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "right"), PAIRS)
def test_other_names_are_read_and_said(asked, right):
    found = read_questions([{asked: "2 + 2?", right: "4", "level": 3}])
    (question,) = found.questions
    assert (question.input, question.target) == ("2 + 2?", ("4",))
    assert question.metadata == {"level": 3}
    (note,) = found.notes
    assert repr(right) in note
    assert note.endswith("kept as metadata: level")


def test_our_own_names_win_and_need_no_note():
    row = {"input": "x?", "question": "other?", "target": "1", "answer": "2"}
    found = read_questions([row])
    assert (found.questions[0].input, found.questions[0].target) == ("x?", ("1",))
    assert found.notes == ()


ROW = {"question": "2 + 2?", "answer": "4"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("d.jsonl", json.dumps(ROW)),
        ("d.json", json.dumps([ROW], indent=1)),
        ("d.json", json.dumps({"version": 1, "data": [ROW]}, indent=1)),
        ("d.json", json.dumps(ROW)),
        ("d.csv", "question,answer\n2 + 2?,4\n"),
        ("d.csv", "question;answer\n2 + 2?;4\n"),
        ("d.tsv", "question\tanswer\n2 + 2?\t4\n"),
        ("d.csv", "\ufeffquestion,answer\r\n2 + 2?,4\r\n"),
    ],
)
def test_every_usual_file_is_read(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="")
    (question,) = read_questions(path).questions
    assert (question.input, question.target) == ("2 + 2?", ("4",))


@pytest.mark.parametrize(
    ("row", "choices", "target"),
    [
        ({"choices": ["x", "y"], "answer": "B"}, ("x", "y"), "B"),
        ({"options": {"A": "x", "B": "y"}, "answer": "B"}, ("x", "y"), "B"),
        ({"choices": {"text": ["x", "y"], "label": ["A", "B"]}, "answerKey": "B"}, ("x", "y"), "B"),
        ({"A": "x", "B": "y", "answer": "B"}, ("x", "y"), "B"),
        ({"option_a": "x", "option_b": "y", "answer": "B"}, ("x", "y"), "B"),
        ({"choices": ["x", "y"], "answer": 0}, ("x", "y"), "A"),
    ],
)
def test_choices_of_other_datasets_are_read(row, choices, target):
    (question,) = read_questions([{"question": "which?", **row}]).questions
    assert (question.choices, question.target) == (choices, (target,))


def test_places_of_choices_count_from_zero_only_if_that_is_sure():
    rows = [{"input": "?", "choices": ["x", "y"], "target": n} for n in (0, 1)]
    found = read_questions(rows)
    assert [each.target for each in found.questions] == [("A",), ("B",)]
    assert "counted from 0" in found.notes[-1]
    assert read_questions(rows[1:]).questions[0].target == ("1",)
    named = [{"input": "?", "choices": [1, 0], "target": 0}]
    assert read_questions(named).questions[0].target == ("0",)


def test_a_task_and_its_text_are_one_question():
    rows = [
        {"instruction": "Add.", "input": "2, 2", "output": "4"},
        {"instruction": "Say hi.", "input": "", "output": "hi"},
    ]
    found = read_questions(rows).questions
    assert [each.input for each in found] == ["Add.\n\n2, 2", "Say hi."]


def test_tests_of_promptfoo_are_read(tmp_path):
    rows = [
        {"vars": {"question": "Capital?"}, "assert": [{"type": "icontains", "value": "Paris"}]},
        {"vars": {"city": "Rome"}, "assert": [{"type": "equals", "value": "Italy"}]},
    ]
    for row, asked, right in zip(rows, ("Capital?", "Rome"), ("Paris", "Italy"), strict=True):
        (question,) = read_questions([row]).questions
        assert (question.input, question.target) == (asked, (right,))
    table = tmp_path / "tests.csv"
    table.write_text("question,__expected\nCapital?,icontains: Paris\n")
    assert read_questions(table).questions[0].target == ("Paris",)
    with pytest.raises(BadParameter, match="unknown assert 'javascript'"):
        read_questions([{"vars": {"q": "?"}, "assert": [{"type": "javascript", "value": "1"}]}])


def test_fields_that_are_no_question_are_named():
    with pytest.raises(BadParameter, match="no field is the question; found 'frage', 'antwort'"):
        read_questions([{"frage": "x?", "antwort": "4"}])


def test_an_outline_says_how_it_read_the_data_and_which_judge_it_takes():
    rows = [{"question": f"{n} + 1?", "answer": str(n + 1)} for n in range(5)]
    outline = make_outline(rows, {"models": ["claude-opus-5"], "offline": True})
    assert outline.spec.judge == "numeric"
    assert outline.notes == (
        "read 'question' as input, 'answer' as target",
        "judge numeric: every target is a number; --judge takes another",
    )
    with pytest.raises(
        BadParameter, match=r"no judge was named, and .* no target \(other fields: note"
    ):
        make_outline(
            [{"question": "x?", "note": "y"}], {"models": ["claude-opus-5"], "offline": True}
        )
