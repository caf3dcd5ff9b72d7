"""The README: short, in its order, and every line of it that can be run is run."""

import io
import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest

import pondero
from pondero.cli.app import run
from pondero.client import load_catalog
from pondero.emulator import Emulator

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
ELSEWHERE = {
    "make demo": ("tests/test_package.py", '(["demo"]'),
    "python3 -m venv": ("tests/test_package.py", "venv.create("),
    "pip install": ("tests/test_package.py", "def fresh("),
    "pondero launch claude": ("tests/cli/gateway/test_launch.py", '"claude"'),
    "pondero chat": ("tests/tui/test_program.py", '"chat"'),
}
"""How lines begin that need another program, an index or a screen, and what tests stand for them."""

NEEDS = {"chat": "tui", "serve": "gateway", "launch": "gateway", "emulate": "server"}
"""Which extra a verb needs; tests/test_package.py tries each without it."""


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


LINES = [line for block in blocks("sh") for line in block.splitlines()]
RUN_HERE = [line for line in LINES if not line.startswith(tuple(ELSEWHERE))]


@pytest.fixture
def offline(monkeypatch, tmp_path, config_dir, data_dir):
    """Whatever is asked, the emulator answers, and what is kept is this test's alone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setattr(pondero.Client, "_make_http_transport", lambda _: Emulator())
    monkeypatch.setattr(pondero.AsyncClient, "_make_http_transport", lambda _: Emulator())
    for name in ("ANTHROPIC", "OPENAI"):
        monkeypatch.setenv(f"{name}_API_KEY", f"sk-planted-{name}")


def test_it_is_short_and_its_parts_stand_in_their_order():
    assert len(README.splitlines()) < 150
    said = ["Install", "Try it", "In your code", "In your tools", "In your terminal"]
    assert re.findall(r"^## (.*)$", README, re.MULTILINE) == [*said, "Documentation"]
    parts = ["**One dial", "<!-- ladder -->", "**A level is a share", "$ pondero plan "]
    parts += ["](docs/pictures/session.svg)", "## Install", "make demo"]
    places = [README.index(part) for part in parts]
    assert places == sorted(places)
    terminal = README.partition("## In your terminal")[2].partition("\n## ")[0]
    assert len(re.findall(r"^!\[", terminal, re.MULTILINE)) == 2


def test_it_names_no_address_that_is_a_stand_in():
    assert ".example" not in README
    assert "git clone" not in README


def test_a_figure_of_the_bench_has_its_date():
    page = (ROOT / "docs" / "guides" / "transport.md").read_text("utf-8")
    assert "make bench" in page
    for text in (README, page):
        for paragraph in text.split("\n\n"):
            assert "make bench" not in paragraph or re.search(r"\b2026-\d\d-\d\d\b", paragraph)


@pytest.mark.parametrize("block", blocks("python"))
def test_python_runs_as_printed_and_its_comments_are_true(block, offline, capsys):
    exec(compile(block, "README.md", "exec", dont_inherit=True), {})
    printed = capsys.readouterr().out
    said = re.findall(r"print\(.*\)  # ([\d({\[].*)$", block, re.MULTILINE)
    assert len(said) == 3
    for each in said:
        assert each in printed


@pytest.mark.parametrize("block", blocks("console"))
def test_a_command_prints_what_is_printed(block, offline, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    command, _, shown = block.removeprefix("$ ").partition("\n")
    assert run(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("line", [line for line in RUN_HERE if not line.startswith("export ")])
def test_a_command_line_works(line, offline, capsys):
    program, *words = shlex.split(line, comments=True)
    assert program in ("pondero", ".venv/bin/pondero")
    assert run(words) == 0
    assert capsys.readouterr().out


def test_a_line_that_sets_a_key_names_the_variable_that_is_missed():
    (name,) = (line.split("=")[0].split()[1] for line in RUN_HERE if line.startswith("export "))
    with pondero.Client() as client, pytest.raises(pondero.MissingKey, match=name):
        client.ask("claude-opus-5/high", "Is 3,599 prime?")


@pytest.mark.parametrize("start", ELSEWHERE)
def test_a_line_that_is_not_run_here_is_in_the_readme_and_its_tests_are_there(start):
    assert [line for line in LINES if line.startswith(start)]
    file, word = ELSEWHERE[start]
    assert word in (ROOT / file).read_text("utf-8")


def test_a_block_of_commands_is_no_choice_between_them():
    """A reader pastes a whole block; one way to install is enough here."""
    for block in blocks("sh"):
        assert not re.search(r"\bor:", block)
        assert "uv " not in block  # not everyone has it
    assert "uv tool install" in (ROOT / "docs/start/install.md").read_text("utf-8")


@pytest.mark.parametrize("page", sorted((ROOT / "docs/start").glob("*.md")))
def test_the_quickstarts_are_linked_where_a_reader_looks_for_them(page):
    if page.read_text("utf-8").startswith("# Quickstart"):
        assert f"(docs/start/{page.name})" in README


@pytest.mark.parametrize(
    ("page", "start"),
    [("gateway", "gateway"), ("gateway", "agent"), ("emulator", "tests"), ("sweep", "evaluation")],
)
def test_a_reference_page_begins_with_a_link_to_its_quickstart(page, start):
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    assert f"(start/{start}.md)" in text.partition("```")[0]


def test_the_extras_that_are_installed_are_there():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = {each for line in LINES for each in re.findall(r"'\.\[(.*?)\]'", line)}
    assert named == {"tui,gateway,server,prices"}
    extras = set(named.pop().split(","))
    assert extras <= set(project["optional-dependencies"])
    verbs = set(re.findall(r"\bpondero ([a-z]+)\b", README))
    assert {"chat", "serve", "emulate"} <= verbs
    assert {NEEDS[verb] for verb in verbs & set(NEEDS)} <= extras


def test_from_the_clone_to_the_first_answer_there_are_two_commands():
    first, *_ = blocks("sh")
    demo, ask = first.splitlines()
    assert demo.startswith("make demo")
    assert shlex.split(ask)[:3] == [".venv/bin/pondero", "ask", "--offline"]


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/guides/levels.md"])
def test_the_figures_of_fixed_budgets_are_those_that_are_sent(page):
    text = (ROOT / page).read_text("utf-8")
    assert "budgets=fixed" in text
    sent = [
        pondero.plan("claude-sonnet-4-5", level, policy={"budgets": "fixed"}).budget
        for level in ("low", "medium", "high")
    ]
    low, medium, high = (f"{each:,}" for each in sent)
    assert re.search(rf"{low}, {medium} and {high}\s+tokens", text)


def test_a_level_is_a_share_of_the_range_where_an_api_takes_numbers():
    """The sentence next to the table, by the model of the table that takes numbers and has room."""
    allowed = load_catalog().entry("gemini-2.5-pro").capability.budget
    shares = [
        pondero.plan("gemini-2.5-pro", level).budget / allowed.max
        for level in ("low", "medium", "high")
    ]
    assert [round(3 * share, 1) for share in shares] == [1, 2, 3]
    assert pondero.plan("gemini-2.5-pro", 8_000).budget == 8_000
