"""What a sweep says before it begins, and its lines while it runs."""

import json
import re
import sys

import pytest
from tests.sweep.runs import begun

from pondero.cli.sweep.summary import _lines, progress_lines
from pondero.sweep import ArmProgress


def test_a_line_for_each_arm_says_how_far_it_is():
    tallies = [
        ArmProgress("m/low", wanted=40, settled=10, thinking=1_234, costs=[0.01] * 10),
        ArmProgress("m/high", wanted=40, settled=40, thinking=9_999, costs=[0.5], failed=2),
        ArmProgress("m/max"),
    ]
    assert _lines(tallies, 10.0).splitlines() == [
        "m/low  ━━━━──────────── 10/40  1,234 thinking  $0.1000  30 s at most",
        "m/high ━━━━━━━━━━━━━━━━ 40/40  9,999 thinking  $0.5000  2 failed",
    ]
    assert _lines(tallies, 10.0, 60).splitlines()[0].endswith("10/40  $0.1000  30 s at most")
    assert _lines(tallies, 10.0, 44).startswith("low  ━━────── 10/40  $0.1000")


@pytest.mark.parametrize("columns", [80, 100])
def test_a_line_fits_the_terminal(columns):
    name = "google:gemini-2.5-flash/medium"
    tally = ArmProgress(name, wanted=6_000, settled=1_200, thinking=1_234_567, costs=[12.3456])
    (line,) = _lines([tally], 100.0, columns).splitlines()
    assert len(line) < columns
    assert name in line


def test_what_is_said_meanwhile_has_a_line_of_its_own(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    with progress_lines(shown=True) as lines:
        lines([ArmProgress("m/low", wanted=40, settled=10)])
        lines.say("finishing 16 in flight")
    assert "\nfinishing 16 in flight" in re.sub(
        r"\x1b\[[0-9;?]*[a-zA-Z]|\r", "\n", capsys.readouterr().err
    )


def test_without_a_terminal_a_line_for_all_arms_says_how_far_it_is(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    low = ArmProgress("m/low", wanted=40, settled=10, costs=[0.5], failed=2)
    high = ArmProgress("m/high", wanted=40, settled=12, costs=[1.25])
    for shown, said in ((True, "22 of 80 answers after 0 s, 2 failed, $1.7500\n"), (False, "")):
        with progress_lines(shown=shown) as lines:
            lines.report([low, high])
        assert capsys.readouterr().err == said


def test_a_piped_sweep_that_waits_says_so(tmp_path, call, monkeypatch):
    monkeypatch.setattr("pondero.cli.sweep.run_loop._REPORTED", 0.01)
    rows = [{"input": f"What is {n} * 23?", "target": str(n * 23)} for n in range(120)]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = ("sweep", "run", str(tmp_path / "data.jsonl"), "-m", "claude-opus-5", "--judge")
    _, _, err = call(*words, "numeric", "--offline", "--levels", "low,high", "--yes")
    assert re.search(r"^\d+ of \d+ answers after \d+ s", err, re.MULTILINE), err


def test_the_time_left_of_a_resumed_run_is_told_by_its_own_pace():
    (line,) = _lines([ArmProgress("m/low", wanted=40, settled=30, kept=28)], 10.0).splitlines()
    assert line.endswith("50 s at most")
    assert "at most" not in _lines([ArmProgress("m/low", wanted=40, settled=30, kept=30)], 10.0)


def test_the_pilot_of_clusters_has_whole_clusters(tmp_path, call):
    rows = [{"input": f"What is {n} * 23?", "target": str(n * 23), "metadata": {"page": n // 3}}
            for n in range(240)]  # fmt: skip
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = ("sweep", "run", str(tmp_path / "data.jsonl"), "-m", "claude-opus-5", "--judge")
    out = call(*words, "numeric", "--cluster", "page", "--dry-run")[1]
    assert "the pilot of 60 questions" in out


def test_the_list_of_runs_has_columns(call, data_dir):
    for model in ("claude-opus-5", "gemini-2.5-flash-lite-preview-09-2025"):
        with begun(4, models=(model,)):
            pass
    _, out, _ = call("sweep", "list")
    places = {line.index("  4") for line in out.splitlines()}
    assert len(out.splitlines()) == 2
    assert len(places) == 1
