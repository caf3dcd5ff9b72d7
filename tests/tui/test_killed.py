"""A chat that is killed loses nothing that was finished."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = 50


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """What was found after each of fifty kills at random moments, all on one file."""
    folder = tmp_path_factory.mktemp("killed")
    paths = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    program = Path(__file__).with_name("killing.py")
    run = subprocess.run(
        [sys.executable, str(program), str(folder / "threads.db"), str(KILLS), "1"],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "TERM": "xterm-256color", **paths},
    )
    return json.loads(run.stdout)


def test_every_one_of_them_was_killed(killed):
    assert [each["killed"] for each in killed] == [True] * KILLS


def test_every_finished_turn_is_there_and_no_half_one(killed):
    for each in killed:
        assert each["messages"] >= 2 * each["turns"]
        assert each["messages"] % 2 == 0
    assert any(each["turns"] for each in killed)


def test_the_file_is_sound_and_was_never_put_aside(killed):
    assert {each["check"] for each in killed} == {"ok"}
    assert {each["notice"] for each in killed} == {None}


def test_every_thread_goes_on_and_the_strict_emulator_takes_it(killed):
    assert {each["answer"] for each in killed} == {"2 * 3 = 6"}
