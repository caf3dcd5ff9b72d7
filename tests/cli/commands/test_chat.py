"""``pondero chat``, where there is no terminal to draw on."""

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
    assert install_hint("tui") in capsys.readouterr().err


def test_its_help_has_examples(capsys):
    assert run(["chat", "--help"]) == 0
    said = capsys.readouterr().out
    assert "pondero chat --resume" in said
    assert "--offline" in said
