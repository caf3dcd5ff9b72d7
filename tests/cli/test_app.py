"""The command line as somebody meets it: its help, version and colours, and how it ends."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

import pondero
from pondero.cli.app import app


def test_demo_needs_nothing_and_fits_80_columns(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = call("demo")
    assert code == 0
    assert "Every difference has a reason" in out
    assert max(map(len, out.splitlines())) <= 80


def test_the_demo_ends_with_commands_that_work(call, data_dir, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    _, _, after = call("demo")[1].partition("Next")
    lines = [line.strip().removeprefix("$ ") for line in after.splitlines() if "$ " in line]
    commands = [shlex.split(line, comments=True) for line in lines]
    assert [words[1] for words in commands] == ["ask", "plan", "doctor"]
    assert all(words[0] == "pondero" for words in commands)
    for words in commands[:2]:
        assert call(*words[1:])[0] == 0
    assert "docs/index.md" in after


def test_the_demo_names_the_program_as_its_reader_can_start_it(call, monkeypatch, tmp_path):
    """After 'make demo', pondero is in .venv and not on the PATH."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / ".venv/bin/pondero"), "demo"])
    monkeypatch.setattr("shutil.which", lambda _: None)
    after = call("demo")[1].partition("Next")[2]
    assert f"$ {Path('.venv/bin/pondero')} ask --offline" in after
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert "$ pondero ask --offline" in call("demo")[1].partition("Next")[2]


@pytest.mark.parametrize("command", ["", *app.list_commands(click.Context(app))])
def test_every_command_has_help(call, command):
    code, out, _ = call(*command.split(), "--help")
    assert code == 0
    assert "Usage: pondero" in out


def test_the_version_is_the_packages(call):
    assert call("--version")[1] == f"pondero {pondero.__version__}\n"


def _pondero(*arguments, **env):
    command = [sys.executable, "-c", "from pondero.cli import main; main()", *arguments]
    return subprocess.run(
        command, check=False, capture_output=True, text=True, env={**os.environ, **env}
    )


def test_colour_is_for_terminals_only():
    assert "\x1b" not in _pondero("plan", "gpt-5/low").stdout
    assert "\x1b" not in _pondero("levels", "gpt-5").stdout


def test_a_reader_that_goes_away_is_no_error():
    command = f"{sys.executable} -c 'from pondero.cli import main; main()' models | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "arguments",
    [("plan", "gpt-5/low"), ("models",), ("ask", "--offline", "--no-save", "gpt-5/low", "2 + 2?")],
)
def test_a_full_disk_behind_stdout_is_one_line(arguments):
    command = [sys.executable, "-c", "from pondero.cli import main; main()", *arguments]
    env = {
        **os.environ,
        "PYTHONUNBUFFERED": "",
    }  # what waits in the buffer is written at exit again
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command, check=False, stdout=full, stderr=subprocess.PIPE, text=True, env=env
        )
    said = "pondero: cannot write to standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, said)


def test_a_narrow_terminal_is_survived():
    done = _pondero("levels", "claude-sonnet-4-5", COLUMNS="40")
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 40


def test_the_package_is_a_program_too():
    made = subprocess.run(
        [sys.executable, "-m", "pondero", "--version"], capture_output=True, text=True, check=True
    )
    assert made.stdout == f"pondero {pondero.__version__}\n"
