"""``pondero.sweep`` and ``pondero.asweep``: a sweep as one call, and what is done with its results."""

import asyncio
import json
import subprocess
import sys

import pytest

import pondero
from pondero.errors import BadParameter, UsageError
from pondero.exchange import Calibration
from pondero.sweep import SweepResults, iter_jsonl, render_report

ROWS = [{"id": str(n), "input": f"What is {n} * 23?", "target": str(n * 23)} for n in range(80)]
OPTIONS = {"levels": "low,max", "judge": "numeric", "offline": True, "past_gate": True}


@pytest.fixture(autouse=True)
def _own_folders(data_dir, config_dir):
    return data_dir


def test_a_sweep_is_one_call():
    seen = []
    results = pondero.sweep(ROWS, "claude-opus-5", progress=seen.append, **OPTIONS)
    assert isinstance(results, SweepResults)
    assert results.recommend().level == "max"
    assert results.table().startswith("recommend  anthropic:claude-opus-5/max stays")
    assert results.pareto()
    assert seen


def test_it_may_be_awaited_and_must_be_where_a_loop_runs():
    async def both():
        with pytest.raises(UsageError, match="asweep"):
            pondero.sweep(ROWS, "claude-opus-5", **OPTIONS)
        return await pondero.asweep(ROWS, ["claude-opus-5"], **OPTIONS)

    assert asyncio.run(both()).recommend().level == "max"


def test_a_run_can_be_gone_on_with():
    first = pondero.sweep(ROWS, "claude-opus-5", budget=0.2, max_tokens=600, **OPTIONS)
    assert first.recommend() is None
    assert first.state == "stopped"
    again = pondero.sweep(resume=first.run)
    assert again.state == "stopped"  # the cap was declared with the run
    assert again.spent >= first.spent


def test_an_unknown_option_is_named():
    with pytest.raises(BadParameter, match="unknown option 'level'"):
        pondero.sweep(ROWS, "claude-opus-5", level="low")


def test_what_is_recommended_can_be_adopted(config_dir):
    results = pondero.sweep(ROWS, "claude-opus-5", **OPTIONS)
    path = results.adopt("sums")
    assert path == config_dir / "calibrations" / "sums.json"
    told = json.loads(path.read_text())
    assert list(told) == list(Calibration.__struct_fields__)
    assert (told["model"], told["level"]) == ("anthropic:claude-opus-5", "max")
    assert (told["judge"], told["run"], told["n"]) == ("numeric", results.run, results.arms[1].n)
    with pytest.raises(BadParameter, match="invalid calibration name"):
        results.adopt("../escape")


def test_nothing_is_adopted_where_nothing_is_recommended():
    results = pondero.sweep(ROWS[:20], "claude-opus-5", **{**OPTIONS, "past_gate": False})
    assert (results.state, results.asked) == ("stopped", 0)  # known before anything is asked
    with pytest.raises(UsageError, match="20 questions are too few"):
        results.adopt("sums")


@pytest.mark.parametrize("first", ["pondero.asweep", "pondero.sweep.SweepResults", "pondero.sweep"])
def test_the_room_is_a_function_whatever_was_loaded_first(first):
    code = f"import pondero; {first}; import pondero.sweep; assert callable(pondero.sweep)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_half_of_a_surrogate_pair_is_asked_answered_and_kept(data_dir):
    half = "\ud83d"
    rows = [{"id": f"q{n}", "input": f"Say {half}. What is {n} * 3?", "target": str(n * 3)}
            for n in range(3)]  # fmt: skip
    asked = {"levels": "low,high", "judge": "numeric", "offline": True, "past_gate": True,
             "once": True}  # fmt: skip
    results = pondero.sweep(rows, "claude-opus-5", **asked)
    assert [arm.n for arm in results.arms] == [3, 3]
    assert half in results.rows[0].question.input
    again = pondero.sweep(resume=results.run)
    assert again.to_json() == results.to_json()
    render_report(results).encode()
    assert len([json.loads(line) for line in iter_jsonl(results)]) == 6
