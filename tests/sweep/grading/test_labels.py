"""People's labels: which questions are drawn, what a file says, and a judge's errors."""

import pytest

from pondero.errors import BadParameter
from pondero.sweep.grading.labels import (
    AnswerLabel,
    count_errors,
    draw_labelled,
    load_labels,
)
from pondero.sweep.questions import Question
from pondero.sweep.statistics.judge_error import JudgeErrors

QUESTIONS = [Question(str(n), "?") for n in range(2_000)]


def test_the_drawn_share_is_the_same_for_a_question_in_any_set():
    drawn = draw_labelled(QUESTIONS, 0.2, 7)
    assert 330 < len(drawn.questions) < 470
    assert draw_labelled(QUESTIONS[:500], 0.2, 7).questions == {
        each for each in drawn.questions if int(each) < 500
    }
    assert drawn.questions != draw_labelled(QUESTIONS, 0.2, 8).questions
    with pytest.raises(BadParameter, match="invalid share 0"):
        draw_labelled(QUESTIONS, 0, 7)


def test_a_file_without_labels_says_what_is_missing(tmp_path):
    path = tmp_path / "labels.csv"
    head = "question,arm,repeat,input,target,answer,right\n"
    path.write_text(head)
    with pytest.raises(
        BadParameter, match=r"labels.csv has no rows; .* --labels FILE' writes them"
    ):
        load_labels(path)
    path.write_text(head + "q1,low,1,1 + 1?,2,it is 2,\nq2,low,1,1 + 2?,3,it is 3,\n")
    with pytest.raises(BadParameter, match="'right' is empty or not there in all 2 rows"):
        load_labels(path)


def test_labels_are_read_from_a_table(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("question,arm,right\n1,low,yes\n1,high,False\n2,low,0.5\n2,high,\n")
    assert load_labels(path) == (
        AnswerLabel("1", "low", 1.0),
        AnswerLabel("1", "high", 0.0),
        AnswerLabel("2", "low", 0.5),
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"question": "1", "arm": "low"}', ":1: a label has question, arm"),
        ('{"question": "1", "right": true}', "found 'question', 'right'"),
        ('{"question": "1", "arm": "low", "score": 2}', "a label has"),
        (
            '{"question":"1","arm":"a","right":true}\n{"question":"1","arm":"a","right":true}',
            "twice",
        ),
    ],
)
def test_what_is_no_label_is_named(tmp_path, text, says):
    path = tmp_path / "labels.jsonl"
    path.write_text(text)
    with pytest.raises(BadParameter, match=says):
        load_labels(path)


def test_a_judges_errors_are_counted_on_each_side():
    pairs = [(True, True), (False, True), (True, False), (False, False), (False, False)]
    assert count_errors(pairs) == JudgeErrors(right=2, missed=1, wrong=3, accepted=1)
