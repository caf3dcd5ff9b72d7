"""What tests of commands share: a call, with what it said and how it ended."""

import io
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
