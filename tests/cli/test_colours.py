"""Colours: on a terminal that wants them, and nowhere else."""

import os
import subprocess
import sys

import pytest

pty = pytest.importorskip("pty")

PROGRAM = "import sys; from pondero.cli.app import run; sys.exit(run(sys.argv[1:]))"


def on_a_terminal(*arguments, **variables):
    """What a command writes where somebody looks."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", **variables},
    )
    os.close(theirs)
    text = b""
    try:
        while piece := os.read(ours, 65536):
            text += piece
    except OSError:  # how a terminal ends
        pass
    os.close(ours)
    assert process.wait() == 0
    return text.decode()


@pytest.mark.parametrize(
    "arguments", [("doctor",), ("plan", "claude-opus-5/high"), ("models", "--provider", "cohere")]
)
def test_a_terminal_has_colours_unless_it_says_that_it_wants_none(arguments, data_dir):
    assert "\x1b[3" in on_a_terminal(*arguments)
    assert "\x1b[3" not in on_a_terminal(*arguments, NO_COLOR="1")


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", "claude-opus-5/high"),
        ("ask", "--offline", "opus/high", "--thinking", "--usage", "What is 17 * 23?"),
        ("threads", "list"),
        ("models", "opus"),
    ],
)
def test_a_dumb_terminal_gets_no_escape_at_all(arguments, data_dir, config_dir):
    on_a_terminal("ask", "--offline", "opus", "hello")
    for variables in ({"TERM": "dumb"}, {"TERM": "dumb", "COLORTERM": "truecolor"}):
        assert "\x1b" not in on_a_terminal(*arguments, **variables)
