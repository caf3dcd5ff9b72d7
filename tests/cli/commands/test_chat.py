"""``pondero chat``, where there is no terminal to draw on."""

import os
import subprocess
import sys

from pondero.cli.app import run
from pondero.extras import install_hint


def test_in_a_pipe_it_says_what_works_there(capsys):
    assert run(["chat", "--offline"]) == 2
    assert capsys.readouterr().err == (
        "pondero: a chat needs a terminal; use 'pondero chat --plain' or 'pondero ask'\n"
    )


def test_without_textual_it_names_the_extra(capsys, monkeypatch):
    monkeypatch.setattr("pondero.cli.commands.chat._check_terminal", lambda: None)
    monkeypatch.setitem(sys.modules, "textual", None)
    assert run(["chat", "--offline"]) == 2
    said = capsys.readouterr().err
    assert install_hint("tui") in said
    assert "'pondero chat --plain' needs nothing" in said


def test_a_plain_chat_needs_no_extra(tmp_path):
    without = "import sys; sys.modules['textual'] = None; from pondero.cli import main; main()"
    env = {
        **os.environ,
        "PONDERO_DATA_DIR": str(tmp_path / "data"),
        "PONDERO_CONFIG_DIR": str(tmp_path / "config"),
    }
    ran = subprocess.run(
        [sys.executable, "-c", without, "chat", "--offline", "--plain", "claude-opus-5/low"],
        input="What is 17 * 23?\n/compare medium high\n\n/quit\n",
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "17 * 23 = 391" in ran.stdout
    assert "2. medium:" in ran.stdout


def test_its_help_has_examples(capsys):
    assert run(["chat", "--help"]) == 0
    said = capsys.readouterr().out
    assert "pondero chat --resume" in said
    assert "--offline" in said
