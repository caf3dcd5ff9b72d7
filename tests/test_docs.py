"""The documentation says what the program does."""

import ast
import re
import runpy
import socket
from pathlib import Path

import click
import pytest
from pytest_socket import SocketConnectBlockedError

from pondero.cli.app import app
from pondero.thinking import CODES
from pondero.tui.state import COMMANDS

_ROOT = Path(__file__).parent.parent
_GENERATE = runpy.run_path(str(_ROOT / "docs" / "generate.py"))
# What services call thinking. A field's name has an underscore, a dot or a capital inside; and a
# model may well have thought.
_VENDORS_WORD = re.compile(
    r"(?<![\w.])(?:reasoning|thoughts|(?:an?|the|no|last|this|each|every) thought)(?![\w.])",
    re.IGNORECASE,
)


@pytest.mark.parametrize("name", _GENERATE["FILES"])
def test_tables_are_what_the_catalog_says(name):
    text = (_ROOT / name).read_text("utf-8")
    assert _GENERATE["generated"](text) == text, "run make docs"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_slash_command_is_documented(name):
    assert f"`/{name}" in (_ROOT / "docs" / "chat.md").read_text("utf-8")


def test_every_page_stands_once_in_the_menu_of_the_site():
    menu = (_ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    listed = re.findall(r"^ +- (?:.+: )?(\S+\.md)$", menu, re.MULTILINE)
    pages = [path.relative_to(_ROOT / "docs") for path in (_ROOT / "docs").rglob("*.md")]
    made = ["contributing.md", "changelog.md"]  # of files outside docs/
    assert sorted(listed) == sorted([*made, *(path.as_posix() for path in pages)])


def test_every_code_is_documented():
    text = (_ROOT / "docs" / "adjustments.md").read_text("utf-8")
    assert all(f"| `{code}` |" in text for code in CODES)


def test_every_contradiction_has_its_decision():
    text = (_ROOT / "docs" / "decisions.md").read_text("utf-8")
    assert re.findall(r"^\| (X\d\d) ", text, re.MULTILINE) == [f"X{n:02}" for n in range(1, 64)]


def test_one_target_runs_all_tests_of_thinking_and_the_usual_check_has_it():
    makefile = (_ROOT / "Makefile").read_text("utf-8")
    targets = dict(re.findall(r"^([a-z-]+):(.*(?:\n\t.*)*)", makefile, re.MULTILINE))
    needs = {name: text.partition("##")[0].split() for name, text in targets.items()}
    runs = {name: text.split("\n\t")[1:] for name, text in targets.items()}  # whole lines
    suite = "$(BIN)/pytest -n 4 --inline-snapshot=disable"
    assert runs["test-thinking"] == [
        f"{suite} tests/thinking",
        "$(BIN)/pondero contract --scenario 'thinking_*'",
        "$(BIN)/pondero contract --scenario 'thinking_*' --cassettes tests/cassettes",
    ]
    assert "contract" in needs["test"]
    assert runs["test"] == [f"{suite} || {{ test $$? = 1 && $(ALONE); }}"]
    assert runs["contract"] == [
        "$(if $(VCR_RECORD),,$(BIN)/pondero contract)",
        "$(BIN)/pondero contract --cassettes tests/cassettes",
    ]
    unheard = re.compile(r"^\.IGNORE|^MAKEFLAGS|^SHELL|^\.SHELLFLAGS", re.MULTILINE)
    assert unheard.findall(makefile) == []  # a failure ends the run


def test_a_test_that_reaches_for_the_network_fails():
    with pytest.raises((SocketConnectBlockedError, UserWarning), match=r"192\.0\.2\.1"):
        socket.create_connection(("192.0.2.1", 9), timeout=0.1)


def _helps(command, context):
    yield command.get_help(context)
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        found = command.get_command(context, name)
        yield from _helps(found, click.Context(found, info_name=name, parent=context))


def test_the_word_is_thinking_in_everything_the_command_line_says_of_itself():
    text = " ".join(_helps(app, click.Context(app, info_name="pondero")))
    assert len(text) > 5_000
    assert _VENDORS_WORD.findall(text) == []


def test_the_word_is_thinking_in_everything_else_that_is_said_to_people():
    """A dialect quotes its service, the gateway names fields; all other sentences keep our word."""
    said = [
        (file, each)
        for file in sorted((_ROOT / "src" / "pondero").rglob("*.py"))
        if not {"dialects", "gateway"} & set(file.parts)
        for each in _sentences(ast.parse(file.read_text("utf-8")))
    ]
    assert len(said) > 1_000
    assert [(file.name, each) for file, each in said if _VENDORS_WORD.search(each)] == []


def _sentences(tree):
    """Yield the strings of several words that are no docstrings."""
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in docs else None
        if isinstance(text, str) and " " in text:
            yield text


@pytest.mark.parametrize(
    "path",
    [
        _ROOT / "README.md",
        *sorted((_ROOT / "docs").rglob("*.md")),
        *sorted((_ROOT / "examples").rglob("*.py")),
    ],
    ids=lambda path: path.name,
)
def test_no_page_installs_from_an_index_that_does_not_have_it(path):
    """Until there is a release, `pip install pondero` finds nothing: pages install a checkout."""
    text = path.read_text("utf-8")
    assert re.findall(r"pip install (?:-\S+ )*'?pondero\b.*", text) == []
