"""The documentation says what the program does."""

import io
import re
import runpy
import shlex
import socket
import sys
from pathlib import Path

import click
import pytest
from pytest_socket import SocketConnectBlockedError

from pondero.cli.app import app, run
from pondero.thinking import CODES
from pondero.tui.state import COMMANDS

_ROOT = Path(__file__).parent.parent
_GENERATE = runpy.run_path(str(_ROOT / "docs" / "generate.py"))
_README = (_ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("name", _GENERATE["FILES"])
def test_tables_are_what_the_catalog_says(name):
    text = (_ROOT / name).read_text("utf-8")
    assert _GENERATE["generated"](text) == text, "run make docs"


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", _README, re.DOTALL))
def test_the_readmes_python_runs_as_printed(block):
    exec(compile(block, "README.md", "exec"), {})


@pytest.mark.parametrize("block", re.findall(r"```console\n\$ (.*?)```", _README, re.DOTALL))
def test_the_readmes_commands_print_what_is_printed(block, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    command, _, shown = block.partition("\n")
    assert run(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize(
    "command",
    re.findall(r"^pondero (?:ask|plan|levels|models|demo)[^\n|]*$", _README, re.MULTILINE),
)
def test_the_readmes_command_lines_work(command, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    assert run(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().out


def test_every_comment_about_a_value_in_the_readme_is_true():
    import pondero

    plan = pondero.plan("claude-sonnet-4-5", "high", temperature=0.2)
    for name in ("fields", "dropped", "will_think"):
        assert re.search(rf"plan\.{name} +# {re.escape(str(getattr(plan, name)))}\n", _README)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_slash_command_is_documented(name):
    assert f"`/{name}" in (_ROOT / "docs" / "chat.md").read_text("utf-8")


def test_every_code_is_documented():
    text = (_ROOT / "docs" / "adjustments.md").read_text("utf-8")
    assert all(f"| `{code}` |" in text for code in CODES)


def test_every_contradiction_has_its_decision():
    text = (_ROOT / "docs" / "decisions.md").read_text("utf-8")
    assert re.findall(r"^\| (X\d\d) ", text, re.MULTILINE) == [f"X{n:02}" for n in range(1, 64)]


def test_one_target_runs_all_tests_of_thinking_and_the_usual_check_has_it():
    targets = dict(
        re.findall(
            r"^([a-z-]+):(.*(?:\n\t.*)*)", (_ROOT / "Makefile").read_text("utf-8"), re.MULTILINE
        )
    )
    assert "tests/thinking" in targets["test-thinking"]
    assert "--scenario 'thinking_*'" in targets["test-thinking"]
    assert "contract" in targets["test"].splitlines()[0]


def test_a_test_that_reaches_for_the_network_fails():
    with pytest.raises((SocketConnectBlockedError, UserWarning), match=r"192\.0\.2\.1"):
        socket.create_connection(("192.0.2.1", 9), timeout=0.1)


def _helps(command, context):
    yield command.get_help(context)
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        found = command.get_command(context, name)
        yield from _helps(found, click.Context(found, info_name=name, parent=context))


def test_the_word_is_thinking_in_everything_the_command_line_says_of_itself():
    """Vendors' words stand for vendors' fields only, which are written with an underscore or dot."""
    text = " ".join(_helps(app, click.Context(app, info_name="pondero")))
    assert len(text) > 5_000
    assert re.findall(r"(?<![\w.])(?:reasoning|thoughts?|cogitation)(?![\w.])", text) == []
