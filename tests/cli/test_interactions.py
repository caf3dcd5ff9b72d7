"""Probe, sweep and batch by Google's newer API: the same verbs, and no batches."""

import json

import pytest

from pondero.cli.app import run
from pondero.client import Client
from pondero.emulator import Emulator
from pondero.errors import Unsupported

MODEL = "google-interactions:gemini-3-flash-preview"
pytestmark = pytest.mark.usefixtures("config_dir", "data_dir")


def test_a_probe_finds_the_dial_live_and_that_off_does_not_exist(capsys):
    assert run(["probe", MODEL, "--offline", "--yes", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["verdict"] == "live"
    assert told["off"] == "cannot"


def test_a_sweep_compares_levels(tmp_path, capsys):
    rows = [{"input": f"What is {n} * 23?", "target": str(n * 23)} for n in range(1, 7)]
    data = tmp_path / "questions.jsonl"
    data.write_text("\n".join(map(json.dumps, rows)))
    words = ["--levels", "low,high", "--judge", "numeric", "--margin", "40"]
    words += ["--offline", "--yes", "--continue"]
    assert run(["sweep", "run", str(data), "-m", MODEL, *words]) == 0
    shown = capsys.readouterr().out
    assert f"{MODEL}/low" in shown
    assert "6 questions" in shown


def test_there_are_no_batches():
    with pytest.raises(Unsupported, match=r"these have one: .*google"):
        Client(transport=Emulator()).batch(["a"], MODEL)
