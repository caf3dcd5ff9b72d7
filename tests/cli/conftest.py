"""What tests of commands share: a call, with what it said and how it ended."""

import io
import os
import sys

import pytest

from pondero.cli.app import run


@pytest.fixture
def call(capsys, monkeypatch):
    def called(*arguments, stdin="", tty=False):
        typed = io.TextIOWrapper(io.BytesIO(stdin.encode() if isinstance(stdin, str) else stdin))
        typed.isatty = lambda: tty
        monkeypatch.setattr(sys, "stdin", typed)
        code = run(list(arguments))
        out, err = capsys.readouterr()
        return code, out, err

    return called


@pytest.fixture
def environment(tmp_path):
    """The surroundings of a program on a terminal: folders of its own, and no key."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PONDERO_CONFIG_DIR": str(tmp_path / "config"),
        "PONDERO_DATA_DIR": str(tmp_path / "data"),
    }
