"""A run that began with the wrong judge continues with another one."""

import json
from decimal import Decimal

import pytest
from tests.sweep.runs import Scripted, answered

from pondero.sweep import Run, change_judge, find_run
from pondero.sweep.api import ENGINES
from pondero.sweep.run.store import StoredGrade

CRASHING = "def grade(answer, question):\n    return question['target'] in answer\n"
BRITTLE = "def grade(answer, question):\n    return not answer.startswith('it') or 1 / 0\n"


@pytest.fixture(autouse=True)
def _own_folders(data_dir, config_dir, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "myjudge.py").write_text(CRASHING)
    (tmp_path / "brittle.py").write_text(BRITTLE)


@pytest.fixture
def written_answers(monkeypatch):
    made = Scripted(
        lambda ask: answered(ask, ask.position % 7 > 0, cost=("0.001", "0.004")[ask.arm])
    )
    monkeypatch.setitem(ENGINES, "live", lambda _: made)
    return made


@pytest.fixture
def start(call, questions, written_answers):
    def started(judge, *more):
        words = ("-m", "claude-opus-5", "--levels", "low,high", "--offline", "--continue")
        if "--stop" in more:
            words, more = words[:-1], ()
        return call("sweep", "run", questions(200), *words, "--judge", judge, *more)

    return started


def test_a_run_that_the_gate_stopped_continues_with_another_judge(call, start, written_answers):
    code, out, _ = start("exact", "--stop")
    assert code == 3
    assert "resume " in out
    assert "--judge KIND' grades the same answers with another judge, and continues" in out
    asked = len(written_answers.asked)
    code, out, _ = call("sweep", "judge", "last", "--judge", "numeric")
    run = find_run("last")
    assert f"not decided yet; 'pondero sweep resume {run} --judge numeric' continues" in out
    code, out, err = call("sweep", "resume", "last", "--judge", "numeric")
    assert code == 0, err
    assert "recommend  anthropic:claude-opus-5/low is enough" in out
    assert len(written_answers.asked) == len(set(written_answers.asked)) > asked
    with Run.open(run) as found:
        assert found.facts.spec.judge == "numeric"
    code, out, _ = call("sweep", "show", "last", "--json")
    assert json.loads(out)["recommended"] == "anthropic:claude-opus-5/low"


def test_after_the_pilot_the_judge_stays_since_its_grades_were_bet_on(call, start):
    assert start("exact")[0] == 3
    code, _, err = call("sweep", "resume", "last", "--judge", "numeric")
    assert code == 2
    assert "has answers after its pilot, and its bets are by the grades of 'exact'" in err
    assert "begin a new run with --judge numeric" in err
    with Run.open(find_run("last")) as found:
        assert found.facts.spec.judge == "exact"
    _, out, _ = call("sweep", "judge", "last", "--judge", "numeric")
    assert "--judge numeric' continues" not in out


def test_a_judge_that_does_not_fit_leaves_the_run_as_it_is(call, start):
    start("exact", "--stop")
    for judge, says in (
        ("nonsense", "unknown judge"),
        ("model:gpt-5.5", "the emulator cannot judge"),
    ):
        code, _, err = call("sweep", "resume", "last", "--judge", judge)
        assert (code, says in err) == (2, True)
    with Run.open(find_run("last")) as found:
        assert found.facts.spec.judge == "exact"


def test_what_the_former_judge_cost_stays_spent(call, start):
    start("exact", "--stop")
    with Run.open(find_run("last")) as found:
        before = found.spent
        found.grade(StoredGrade("q1", "a key", "exact", 0.0, cost="0.25"))
        change_judge(found, "numeric")
        assert found.spent == before + Decimal("0.25")
        change_judge(found, "exact")
        assert found.spent == before + Decimal("0.25")


def test_the_judge_that_graded_is_the_one_that_is_blamed(call, start):
    start("python:myjudge:grade")
    for words in (("judge", "last"), ("show", "last")):
        _, out, _ = call("sweep", *words, "--judge", "exact")
        assert "the judge 'exact' or the data does not fit" in out
        assert "'python:myjudge:grade' or the data" not in out
        assert "judges that accept one of these: includes, numeric" in out


def test_nothing_is_measured_if_no_answer_of_the_reference_has_a_grade(call, start):
    code, out, _ = start("python:brittle:grade", "--stop")
    assert code == 3
    assert "undecided  low  nothing was measured: the reference has no graded answer" in out
    assert "-100.0" not in out
    assert "given up" not in out
    (low, _) = json.loads(call("sweep", "show", "last", "--json")[1])["arms"]
    assert (low["verdict"], low["difference"]) == ("undecided", None)
