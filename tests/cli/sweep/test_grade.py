"""``pondero sweep grade``, and a run whose judge fails on every answer."""

import json
import sys
from pathlib import Path

import pytest

from pondero.sweep import list_runs

BROKEN = "import sys\ndef judge(answer, question):\n    print('noise')\n    sys.exit(0)\n"
BRITTLE = BROKEN.replace("    print", "    if len(answer) < 20:\n        return True\n    print")
"""It grades short answers, such as those of the outline, and no other."""


@pytest.fixture(autouse=True)
def _own_folders(data_dir, config_dir, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text(BROKEN)
    (tmp_path / "brittle.py").write_text(BRITTLE)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("--judge", "numeric", "--target", "0.5", "--answer", "50%"), 0, "right  read '50%' as 0.5"),
        (("--judge", "numeric", "--target", "12", "--answer", "1,2"), 1, "wrong  read '1,2' as 1.2"),
        (("--judge", "numeric", "--target", "30", "--answer", "12:30"), 1, "is ambiguous: a time"),
        (("--judge", "choice", "--choices", "red|green", "--target", "B", "--answer", "(b)"), 0,
         "read the letter B"),
        (("--judge", "includes", "--target", "a", "--target", "Paris", "--answer", "PARIS!"), 0,
         "contains 'Paris'"),
        (("--judge", "numeric", "--target", "x", "--answer", "1"), 2, "no number in its target"),
        (("--judge", "nonsense", "--target", "x", "--answer", "1"), 2, "unknown judge"),
        (("--judge", "exact", "--answer", "1"), 2, "has no target"),
        (("--judge", "includes", "--target", "", "--answer", "1"), 2, "has an empty target"),
        (("--judge", "python:broken:judge", "--answer", "1"), 3, "the judge failed: "),
    ],
)  # fmt: skip
def test_one_answer_is_graded_and_its_reading_told(call, words, code, says):
    ended, out, err = call("sweep", "grade", *words)
    assert ended == code, err
    assert says in (out if code < 2 else err)
    if code >= 2:
        assert out == ""


def test_the_judges_of_the_page_grade(call, tmp_path):
    page = (Path(__file__).parents[3] / "docs" / "sweep.md").read_text()
    for name in ("myjudge.py", "check.py"):
        code = page.partition(f'```python title="{name}"\n')[2].partition("```")[0]
        (tmp_path / name).write_text(code)
    for judge, answer, wrong in (
        ("python:myjudge:grade", "It is 4.", "It is 5."),
        (f"command:{sys.executable} check.py", "4", "It is 4."),
    ):
        words = ("sweep", "grade", "--judge", judge, "--target", "4", "--answer")
        assert [call(*words, each)[0] for each in (answer, wrong)] == [0, 1]


def test_json_has_the_grade_and_its_reading(call):
    words = ("--judge", "numeric", "--target", "1/2", "--answer", "-", "--json")
    code, out, _ = call("sweep", "grade", *words, stdin="The answer is 0.5.")
    assert (code, json.loads(out)) == (0, {
        "judge": "numeric", "score": 1.0, "right": True, "note": "read '0.5' as 0.5", "cost": None,
    })  # fmt: skip
    code, out, _ = call(
        "sweep", "grade", "--judge", "python:broken:judge", "--answer", "1", "--json"
    )
    told = json.loads(out)
    assert (code, told["score"]) == (3, None)
    assert "SystemExit(0)" in told["error"]


def test_a_run_whose_every_grade_failed_exits_with_3_and_a_sentence(call, tmp_path):
    data = tmp_path / "data.jsonl"
    data.write_text("\n".join(json.dumps({"input": f"{n}?", "target": "x"}) for n in range(80)))
    words = ("-m", "claude-opus-5", "--levels", "low,high", "--offline", "--json")
    code, out, err = call("sweep", "run", str(data), *words, "--judge", "python:brittle:judge")
    assert code == 3
    assert json.loads(out)["recommended"] is None
    assert "noise" not in out
    assert (
        "the judge 'python:brittle:judge' failed on all 40 answers, so nothing can be said" in err
    )
    assert call("sweep", "judge", "last", "--judge", "python:brittle:judge")[0] == 3
    assert call("sweep", "judge", "last", "--judge", "exact")[0] == 0


def test_a_judge_that_fails_on_every_trial_stops_the_sweep_before_anything_is_asked(call, tmp_path):
    data = tmp_path / "data.jsonl"
    data.write_text("\n".join(json.dumps({"input": f"{n}?", "target": "x"}) for n in range(80)))
    words = ("-m", "claude-opus-5", "--levels", "low,high", "--offline")
    judge = ("--judge", "python:broken:judge")
    code, out, err = call("sweep", "run", str(data), *words, *judge)
    assert (code, out) == (3, "")
    assert "the judge 'python:broken:judge' failed on each of these 3 answers" in err
    assert "--continue only measures" in err
    assert list_runs() == []
    assert call("sweep", "run", str(data), *words, *judge, "--continue")[0] == 3
    assert len(list_runs()) == 1


def test_a_run_tells_how_it_read_the_data_and_which_judge_it_took(call, tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("question,answer\n1 + 1?,2\n2 + 2?,4\n")
    _, out, _ = call("sweep", "run", str(data), "-m", "claude-opus-5", "--dry-run")
    assert "read 'question' as input, 'answer' as target\n" in out
    assert "judge numeric: every target is a number; --judge takes another\n" in out
