"""People's labels in a run: they correct its judge, and forbid a decision by one that is unfair."""

import asyncio
import csv

import pytest
from tests.sweep.runs import Scripted, answered, begun, runner

from pondero.errors import BadParameter
from pondero.sweep import Question, compute_results, label_run, labels_csv
from pondero.sweep.run.answer_labels import check_labelled_errors, count_mistakes
from pondero.sweep.run.scores import Scores
from pondero.sweep.run.store import StoredGrade

COUNT = 200


@pytest.fixture(autouse=True)
def _own_folder(data_dir):
    return data_dir


def always_right(ask):
    return answered(ask, True, cost="0.01" if ask.arm == 0 else "0.05")


def mostly_right(ask):
    """The reference is not at the ceiling, and both arms are wrong on the same questions."""
    return answered(ask, ask.position % 10 > 0, cost="0.01" if ask.arm == 0 else "0.05")


def finish(run, answer=mostly_right):
    asyncio.run(runner(run, Scripted(answer)).finish())
    return compute_results(run)


def fill(run, path, people):
    """Label what a run asks for; ``people`` says of a row whether it is right."""
    rows = list(csv.DictReader(labels_csv(run).splitlines()))
    for row in rows:
        row["right"] = people(row)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return rows


def judged(row):
    return str(row["target"] in row["answer"]).lower()


def unfair(row):
    """People call every other answer of low wrong that the judge accepts."""
    wrong = row["arm"].endswith("low") and int(row["question"][1:]) % 2
    return "false" if wrong else judged(row)


def labelled_run(**options):
    return begun(COUNT, margin=0.2, label_share=0.5, **options)


def test_the_bets_wait_for_the_labels_of_what_was_drawn(tmp_path):
    with labelled_run() as run:
        results = finish(run)
        assert results.recommendation is None
        assert results.labelled.wanted > 100
        assert results.why == f"{results.labelled.wanted} answers wait to be labelled"
        assert any(line.startswith("labels") for line in results.lines())
        assert results.to_json()["labels"]["share"] == 0.5
        fill(run, tmp_path / "labels.csv", judged)
        assert label_run(run, tmp_path / "labels.csv") == results.labelled.wanted
        decided = compute_results(run)
        assert decided.recommendation.level == "low"
        assert "corrected by people's labels" in decided.why
        assert decided.arms[0].difference == pytest.approx(0)
        assert decided.labelled.given == results.labelled.wanted


def test_labels_correct_a_judge_that_favours_an_arm(tmp_path):
    with begun(COUNT, margin=0.2) as run:
        assert finish(run).recommendation.level == "low"  # by the judge's grades alone
    with labelled_run() as run:
        finish(run)
        fill(run, tmp_path / "labels.csv", unfair)
        label_run(run, tmp_path / "labels.csv")
        results = finish(run)
        assert results.recommendation is None or results.recommendation.level == "high"
        assert results.arms[0].verdict != "enough"
        assert results.arms[0].difference < -0.2


def test_no_question_of_the_pilot_is_drawn_and_about_the_share_is():
    with labelled_run() as run:
        finish(run)
        rows = list(csv.DictReader(labels_csv(run).splitlines()))
        drawn = {row["question"] for row in rows}
        pilot = {question.id for question in run.questions()[:20]}
        assert not drawn & pilot
        assert 60 < len(drawn) < 120
        assert len(rows) == 2 * len(drawn)  # people label both answers


def test_a_label_stays_and_only_what_was_drawn_is_labelled(tmp_path):
    path = tmp_path / "labels.csv"
    with labelled_run() as run:
        finish(run)
        rows = fill(run, path, judged)
        label_run(run, path)
        first = rows[0]
        other = "false" if first["right"] == "true" else "true"
        path.write_text(f"question,arm,right\n{first['question']},{first['arm']},{other}\n")
        with pytest.raises(BadParameter, match="a label stays"):
            label_run(run, path)
        path.write_text(f"question,arm,right\n{run.questions()[0].id},low,true\n")
        with pytest.raises(BadParameter, match="was not drawn"):
            label_run(run, path)
        path.write_text("question,arm,right\nq2,medium,true\n")
        with pytest.raises(BadParameter, match="has no arm 'medium'"):
            label_run(run, path)
        path.write_text("question,arm,right\nq2,low,\n")
        with pytest.raises(BadParameter, match="a label has question, arm"):
            label_run(run, path)


def test_a_judge_that_errs_more_in_one_arm_recommends_nothing(tmp_path):
    path = tmp_path / "labels.csv"
    with begun(COUNT, margin=0.2) as run:
        results = finish(run)
        assert results.recommendation.level == "low"
        asked = [row.question.id for row in results.rows if all(row.cells)][:30]
        lines = [f"{each},high,true" for each in asked]
        lines += [f"{each},low,false" for each in asked]
        path.write_text("question,arm,right\n" + "\n".join(lines))
        label_run(run, path)
        stopped = compute_results(run)
        assert stopped.recommendation is None
        assert stopped.is_gated
        assert "so it favours one" in stopped.why


def test_equal_mistakes_in_both_arms_forbid_nothing(tmp_path):
    path = tmp_path / "labels.csv"
    with begun(COUNT, margin=0.2) as run:
        results = finish(run)
        asked = [row.question.id for row in results.rows if all(row.cells)][:30]
        lines = [f"{each},{arm},{n % 2 == 0}" for n, each in enumerate(asked) for arm in
                 ("low", "high")]  # fmt: skip
        path.write_text("question,arm,right\n" + "\n".join(lines))
        label_run(run, path)
        assert compute_results(run).recommendation.level == "low"


def test_old_labels_that_name_their_arm_show_an_unfair_judge():
    """They are in the questions, and a model that judges has graded them too."""
    old = [
        {"answer": f"{arm} {n}", "right": arm == "high" or n % 2 == 0, "arm": arm}
        for arm in ("low", "high")
        for n in range(20)
    ]
    with begun(COUNT, margin=0.2) as run:
        finish(run)
        first = run.questions()[0]
        question = Question(first.id, first.input, first.target, metadata={"labelled": old})
        for number in range(1, len(old) + 1):
            run.grade(StoredGrade(first.id, f"labelled {number}", "numeric", 1.0))
        scores = Scores(run, "numeric")
        scores.questions = (question, *scores.questions[1:])
        assert count_mistakes(scores, 0) == (20, 10)
        assert count_mistakes(scores, 1) == (20, 0)
        (problem,) = check_labelled_errors(scores, 0)
        assert "errs in 10 of 20 answers of" in problem.why


def test_too_few_questions_for_a_corrected_margin_are_named_before_the_pilot():
    with begun(COUNT, margin=0.05, label_share=0.2, past_gate=False) as run:
        engine = Scripted(always_right)
        assert asyncio.run(runner(run, engine).finish()) is None
        assert engine.asked == []
        assert "658 are the least" in compute_results(run).why


@pytest.mark.parametrize("share", [0, -1, 1.5])
def test_a_share_is_between_0_and_1(share):
    with pytest.raises(BadParameter, match="label_share"):
        begun(COUNT, label_share=share)


def test_one_test_at_the_end_cannot_be_corrected():
    with pytest.raises(BadParameter, match="use no label_share"):
        begun(COUNT, label_share=0.5, once=True)
