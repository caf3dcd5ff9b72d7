"""``pondero sweep`` and dollars: what it says before it spends them, and how a budget ends it."""

import asyncio
import json
import re
from decimal import Decimal

import pytest
from tests.cli.sweep.conftest import sums
from tests.sweep.runs import Scripted, answered, begun

from pondero.cli.sweep import run_loop as module
from pondero.sweep import Run, list_runs, make_engine, make_judge
from pondero.sweep.spec import spec_of


@pytest.fixture(autouse=True)
def _own_folders(data_dir, config_dir):
    return data_dir


def test_a_budget_that_ends_in_the_pilot_is_no_verdict_of_the_gate(call, questions):
    code, out, err = call(
        *("sweep", "run", questions(60), "-m", "gemini-2.5-flash", "--levels", "low,high"),
        *("--judge", "numeric", "--offline", "--margin", "15", "--budget", "0.17"),
    )
    (run,) = list_runs()
    assert code == 1
    assert "--budget stops at $0.17, in the middle of the pilot if all answers are that long" in err
    assert f"raise --budget: pondero sweep resume {run.run} --budget USD" in err
    told = f"not decided yet: --budget is used up; 'pondero sweep resume {run.run} --budget USD'"
    assert f"undecided  {told} raises it" in out
    assert "the reference, is right in" not in out + err
    assert "the chance that" not in out + err
    assert "more questions are needed" not in out
    code, out, _ = call("sweep", "decide-now", "last")
    assert code == 3  # these answers are all now, and the gate judges them
    assert "the reference, is right in 100 %" in out


def test_a_pilot_that_fits_is_not_said_to_stop(call, questions):
    _, out, _ = call(*sums(questions, "--budget", "500", "--dry-run", "--max-tokens", "100"))
    assert "--budget stops at $500.00; what" in out


def test_a_budget_is_said_to_be_for_all_of_the_run(call, questions):
    words = ("--levels", "low,high", "--offline", "--max-tokens", "300", "--margin", "10")
    _, out, _ = call(*sums(questions, *words, "--dry-run"))
    assert "--budget is" not in out
    _, out, _ = call(*sums(questions, *words, "--dry-run", "--budget", "0.05"))
    assert "--budget is what you are willing to spend in all: the bets are sized for it" in out
    _, _, err = call(*sums(questions, *words, "--continue", "--budget", "0.05"))
    assert "name all that you are willing to spend on this run: the next bets are sized for" in err


def test_a_forecast_within_a_budget_says_so(call, questions):
    words = ("--levels", "low,high", "--offline", "--max-tokens", "300", "--margin", "10")
    _, _, err = call(*sums(questions, *words, "--continue", "--budget", "0.5"))
    assert "the chance that what --budget $0.50 still pays for shows it to be enough" in err
    _, _, err = call(*sums(questions, *words, "--continue"))
    assert "the chance that the pool shows it to be enough" in err


def test_an_engine_without_a_key_is_free():
    assert make_engine(spec_of(models=("claude-opus-5",), offline=True)).begin("a run")
    assert not make_engine(spec_of(models=("claude-opus-5",))).begin("a run")


def test_a_budget_that_lost_requests_have_used_up_says_how_to_go_on(call, capsys):
    with begun(40, offline=False, budget=5, max_tokens=1000, margin=0.15) as run:
        name = run.facts.run
        for number in range(47):
            run.lose(f"key {number}", Decimal("0.1061"))
        engine = Scripted(lambda ask: answered(ask, right=True))
        judge = make_judge("numeric")
        assert not asyncio.run(
            module._run(run, engine, judge, module._Gate(asks=False, shown=False))
        )
    err = capsys.readouterr().err
    assert "$4.9867 of the $5.00 of --budget are spent" in err
    assert "$4.99 of it is reserved for 47 lost requests" in err
    assert f"'pondero sweep release {name}'" in err
    assert f"pondero sweep resume {name} --budget USD" in err
    _, out, _ = call("sweep", "show", name)
    assert f"'pondero sweep resume {name} --budget USD' raises it" in out
    call("sweep", "release", name)
    _, out, _ = call("sweep", "show", name)
    assert f"not decided yet; 'pondero sweep resume {name}' continues" in out


def test_with_one_test_at_the_end_fewer_levels_raise_the_chance(call, questions):
    def dry(levels):
        return call(*sums(questions, "--dry-run", "--once", "--margin", "15", "--levels", levels))[
            1
        ]

    alone, shared = dry("low,high"), dry("off,low,medium,high")
    assert "fewer --levels" not in alone
    chance = re.search(r"worse is (\d+ %)", alone)[1]
    assert f"fewer --levels raise it: 3 share it, and one alone has {chance}" in shared
    assert chance not in shared.partition("fewer --levels")[0]


def test_a_dry_run_has_an_example_of_what_shorter_answers_cost(call, questions):
    _, out, _ = call(*sums(questions, "--dry-run", "--levels", "low,high"))
    # 80 answers of 1,000 tokens at $25 a million, and a prompt of some 5 tokens at $5
    assert "at 1,000 tokens an answer, thinking included: about $2.00 if every question" in out
    _, out, _ = call(*sums(questions, "--dry-run", "--levels", "low,high", "--max-tokens", "500"))
    assert "at 1,000 tokens" not in out


def test_a_cap_that_is_reached_stops_the_run_and_says_so(call, questions):
    code, out, err = call(
        *sums(questions, "--offline", "--levels", "low,high", "--budget", "0.05", "--json"),
        *("--max-tokens", "300", "--continue", "--margin", "10"),
    )
    told = json.loads(out)
    assert code == 1
    assert "of the $0.05 of --budget are spent" in err
    assert told["recommended"] is None
    assert "not decided yet" in told["why"]
    with Run.open(told["run"]) as run:
        assert Decimal(0) < run.spent <= Decimal("0.05")
    code, _, err = call("sweep", "resume", told["run"], "--budget", "0.001", "--yes")
    assert code == 2
    assert "--budget 0.001 is less than the $0.0" in err
    assert "name what you are willing to spend in all" in err
    with Run.open(told["run"]) as run:
        assert run.facts.spec.budget == 0.05
