"""``pondero sweep report``, ``export`` and ``demo``, and the plot of a run in a terminal."""

import builtins
import json
import os
import sys
from pathlib import Path

import pytest
from tests.sweep.reports import run_of, sweep_of

from pondero.cli.sweep.plot import Spot, print_plot, texts
from pondero.extras import install_hint
from pondero.sweep import list_runs
from pondero.sweep.results.table import draw_capital


@pytest.fixture(autouse=True)
def _own_folders(data_dir, config_dir):
    return data_dir


# -- report ----------------------------------------------------------------------------------------


def test_a_report_is_one_file_and_says_where_it_is(call, tmp_path):
    run_of(60).close()
    path = tmp_path / "new" / "report.html"
    code, out, err = call("sweep", "report", "last", "--html", str(path))
    assert code == 0
    assert out == ""
    assert str(path) in err
    html = path.read_text("utf-8")
    assert html.startswith("<!doctype html>")
    assert "anthropic:claude-opus-5/high stays" in html
    assert [each.name for each in path.parent.iterdir()] == ["report.html"]


def test_a_report_does_not_overwrite_unless_it_is_forced(call, tmp_path):
    run_of(30).close()
    path = tmp_path / "report.html"
    path.write_text("mine")
    code, _, err = call("sweep", "report", "last", "--html", str(path))
    assert (code, path.read_text()) == (2, "mine")
    assert "add --force" in err
    assert call("sweep", "report", "last", "--html", str(path), "--force")[0] == 0
    assert path.read_text("utf-8").startswith("<!doctype html>")


def test_a_report_of_no_run_is_refused_in_a_sentence(call, tmp_path):
    code, _, err = call("sweep", "report", "nowhere", "--html", str(tmp_path / "a.html"))
    assert code == 2
    assert "there is no run 'nowhere'" in err


def test_a_report_may_follow_another_judge(call, tmp_path):
    run_of(40).close()
    assert call("sweep", "judge", "last", "--judge", "regex:yes", "--yes")[0] == 0
    path = tmp_path / "a.html"
    assert call("sweep", "report", "last", "--html", str(path), "--judge", "regex:yes")[0] == 0
    assert "judged again" in path.read_text("utf-8")


# -- export ----------------------------------------------------------------------------------------


def test_an_export_writes_lines_and_logs(call, tmp_path):
    run_of(40).close()
    lines, logs = tmp_path / "a.jsonl", tmp_path / "logs"
    code, _, err = call("sweep", "export", "last", "--jsonl", str(lines), "--inspect", str(logs))
    assert code == 0
    written = [json.loads(line) for line in lines.read_text("utf-8").splitlines()]
    assert f"wrote {len(written)} answers to {lines}" in err
    assert len(list(logs.glob("*.json"))) == 3
    again = ("sweep", "export", "last", "--inspect", str(logs))
    assert call(*again)[0] == 2
    assert call(*again, "--force")[0] == 0
    assert len(list(logs.glob("*.json"))) == 3


def test_an_export_of_nothing_says_what_it_needs(call):
    code, _, err = call("sweep", "export", "last")
    assert code == 2
    assert "--labels FILE or --inspect FOLDER" in err


# -- demo ------------------------------------------------------------------------------------------


def test_the_demo_decides_what_can_be_decided_and_is_the_same_every_time(call, data_dir, tmp_path):
    path = tmp_path / "demo.html"
    code, out, err = call("sweep", "demo", "--html", str(path))
    assert code == 0
    head = [line[:11].strip() for line in out.partition("\n\n")[0].splitlines()]
    assert head == ["recommend", "saves", "reason", "measured"]
    assert "recommend  google:gemini-2.5-flash/low is enough\nsaves      52 % of the cost: " in out
    page = (Path(__file__).parents[3] / "docs" / "sweep.md").read_text("utf-8")
    assert out.startswith(page.partition("```text\n")[2].partition("```")[0])
    labels = {line[:11].strip() for line in out.splitlines()}
    assert {"capital", "given up", "same", "spent"} <= labels
    assert "high thinks as much as medium" in out
    assert "one arm" in err
    assert str(path) in err
    html = path.read_text("utf-8")
    assert "low is enough, and saves 52 % of the cost" in html
    assert "It says nothing about real models" in html

    first = json.loads(call("sweep", "show", "last", "--json")[1])
    second = json.loads(call("sweep", "demo", "--json")[1])
    assert (data_dir / "sweeps" / f"{second['run']}.html").exists()
    for told in (first, second):
        del told["run"]
        assert all(arm.pop("seconds") is not None for arm in told["arms"])
    assert first == second
    assert len(list_runs()) == 2


# -- the plot --------------------------------------------------------------------------------------


@pytest.fixture
def terminal(monkeypatch, capsys):
    """Print something as on a terminal of some width; return what was printed."""

    def printed(results, columns):
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(
            "shutil.get_terminal_size", lambda *_, **__: os.terminal_size((columns, 40))
        )
        print_plot(results)
        return capsys.readouterr()

    return printed


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_the_plot_fits_the_terminal_and_names_every_arm(terminal, columns):
    pytest.importorskip("plotext")
    out, err = terminal(sweep_of(120, levels="off,low,high,max"), columns)
    assert err == ""
    drawn = out.splitlines()[1:]
    assert max(map(len, drawn)) <= columns
    assert "\x1b" not in out
    for name in ("off", "low", "high", "max"):
        assert name in out
    assert "●" in out
    assert "100%" in out
    assert "$0" in out


def test_the_plot_of_two_models_has_letters_for_them(terminal):
    pytest.importorskip("plotext")
    told = sweep_of(60, models=("claude-opus-5", "gpt-5.5"), levels="off,high")
    out, _ = terminal(told, 100)
    assert out.splitlines()[-2:] == ["A anthropic:claude-opus-5", "B openai:gpt-5.5"]
    assert "A off" in out
    assert "B high" in out


def test_without_plotext_the_table_is_all_there_is(terminal, monkeypatch):
    real = builtins.__import__

    def missing(name, *rest):
        if name == "plotext":
            raise ImportError(name)
        return real(name, *rest)

    told = sweep_of(30)
    monkeypatch.setattr(builtins, "__import__", missing)
    out, err = terminal(told, 80)
    assert out == ""
    assert install_hint("tui") in err


def test_too_narrow_a_terminal_gets_a_word_instead(terminal):
    pytest.importorskip("plotext")
    out, err = terminal(sweep_of(30), 30)
    assert out == ""
    assert "a plot needs 40 columns" in err


def test_no_words_of_a_plot_lie_on_others():
    places = [
        Spot(column, row, [f"name {column}"], "●") for column in range(0, 60, 4) for row in (3, 4)
    ]
    cells = set()
    for column, row, words in texts(places, 70, 16):
        own = {(column + n, row) for n in range(len(words))}
        assert not own & cells
        assert column >= 0
        assert column + len(words) <= 70
        cells |= own


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_the_words_and_the_table_fit_every_terminal(width):
    told = sweep_of(120, levels="off,low,high")
    lines = told.table(width).splitlines()
    assert max(map(len, lines)) <= width
    assert lines[0].startswith("recommend  ")
    head = next(line for line in lines if line.startswith("arm "))
    assert head.split()[:1] == ["arm"]
    assert head.split()[-1] == "verdict"
    assert "cost" in head
    whole = " ".join(" ".join(lines).split())
    for _, words in told.findings():
        assert " ".join(words.split()) in whole


def test_the_capital_is_drawn_from_the_first_question_to_the_last():
    assert draw_capital([0.01, 1, 20], 3) == "▁▄█"
    assert draw_capital([20.5] * 100, 4) == "████"
    assert draw_capital([1, 2, 3], 40) == "▄▅▅"
