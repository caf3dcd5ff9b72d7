"""docs/python.md and its guides: the blocks run as printed, and the tables are what the code does."""

import ast
import re
import sys
from pathlib import Path

import pytest

import pondero
from pondero import errors
from pondero.client import default_client as shared_clients
from pondero.emulator import Emulator, run_emulator_in_thread
from pondero.exchange import PATIENCE, Retry, Timeouts, is_fallback_error, shorten_retries

ROOT = Path(__file__).parents[2]
PRINTED = {
    "python.md": ("391", "[Line(", "note: "),
    "guides/change-the-level.md": ("low {'effort': 'high'}", "['cache_kept']", "LevelUpdate"),
    "guides/conversations.md": ("messages[0].content[0].type must be one of", "cannot read"),
    "guides/failures.md": ("claude-opus-5",),
    "guides/tools.md": ("sunny", "multiply_two_numbers numbers False"),
    "guides/transport.md": ("https://api.anthropic.com/v1/messages high",),
    "guides/typing.md": (),
    "guides/values.md": ("output_prompted an object may have any keys",),
}
"""Pages whose blocks continue each other, and some of what they print."""
PROGRAMS = {path.stem for path in (ROOT / "examples").iterdir()}
# The server is a part of the agent, and the invoice is what one program reads.
PROGRAMS -= {"README", "elsewhere", "invoice", "notes_server"}
FAILURES = (ROOT / "docs" / "guides" / "failures.md").read_text("utf-8")


@pytest.fixture(scope="module")
def service():
    with run_emulator_in_thread(Emulator()) as address:
        yield address


@pytest.fixture
def page(service, tmp_path, config_dir, monkeypatch):
    """A folder with what the pages attach, a server that they name, and services that answer."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"{service}/v1")  # their SDK asks it at an address
    (tmp_path / "chart.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 8)
    (tmp_path / "report.pdf").write_bytes(b"%PDF-1.7\n")
    (tmp_path / "notes.txt").write_text("Notes.")
    server = ROOT / "tests" / "client" / "mcp_server.py"
    (config_dir / "config.toml").write_text(
        f'[mcp.numbers]\ncommand = "{sys.executable}"\nargs = ["{server}"]\n'
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("builtins.input", lambda _: "always")
    monkeypatch.setattr(pondero.Client, "_make_http_transport", lambda _: Emulator())
    monkeypatch.setattr(pondero.AsyncClient, "_make_http_transport", lambda _: Emulator())
    monkeypatch.setattr(shared_clients, "_SHARED", {})
    monkeypatch.setattr(shared_clients, "_ASHARED", {})
    monkeypatch.setattr(shared_clients, "_close_at_exit", lambda client: client)
    for name in ("ANTHROPIC", "OPENAI", "GEMINI", "DEEPSEEK"):
        monkeypatch.setenv(f"{name}_API_KEY", f"sk-planted-{name}")


def read_blocks(text):
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", PRINTED)
def test_every_block_runs_as_printed(name, page, capsys):
    names = {"__name__": "page"}
    blocks = read_blocks((ROOT / "docs" / name).read_text("utf-8"))
    assert len(blocks) > 1
    for block in blocks:
        exec(compile(block, name, "exec", dont_inherit=True), names)
    for check in [value for key, value in names.items() if key.startswith("test_")]:
        check()
    names["client"].close()
    printed = capsys.readouterr().out
    for each in PRINTED[name]:
        assert each in printed
    for said in re.findall(r"print\(.*\)  # (True|False)$", "".join(blocks), re.MULTILINE):
        assert said in printed.splitlines()


def test_the_page_runs_without_a_key_a_network_and_settings(
    service, tmp_path, config_dir, monkeypatch, capsys
):
    """But for the block of another SDK, which says what it needs."""
    monkeypatch.chdir(tmp_path)
    asked: list[object] = []
    for kind in (pondero.Client, pondero.AsyncClient):
        monkeypatch.setattr(kind, "_make_http_transport", asked.append)
    names: dict[str, object] = {"__name__": "page"}
    for block in read_blocks((ROOT / "docs" / "python.md").read_text("utf-8")):
        with monkeypatch.context() as patch:
            if "import openai" in block:
                patch.setenv("OPENAI_BASE_URL", f"{service}/v1")
                patch.setenv("OPENAI_API_KEY", "any")
            exec(compile(block, "python.md", "exec", dont_inherit=True), names)
        printed = capsys.readouterr().out
        for shown in re.findall(r"^ *print\(.*\)  # (.*)$", block, re.MULTILINE):
            assert shown in printed or shown in EXPLAINED
    names["client"].close()
    assert asked == []


EXPLAINED = {"what this model may read, and what was withheld"}
"""Comments of the page that explain a value, and are not the value."""


def test_each_program_has_a_part_of_the_page_that_shows_its_own_lines():
    """Bodies in the first block of a part are the program's; what is not indented is the page's."""
    shown = set()
    for part in (ROOT / "docs" / "python.md").read_text("utf-8").split("\n## ")[1:]:
        if link := re.search(
            r"^From \[\w+(?:\.py)?\]\(\.\./(examples/[\w.]+)\)", part, re.MULTILINE
        ):
            path = ROOT / link[1]
            files = path.glob("*.py") if path.is_dir() else [path]
            program = {line.strip() for file in files for line in file.read_text().splitlines()}
            body = list(iter_body_lines(read_blocks(part)[0]))
            assert body, path
            assert [line for line in body if line not in program] == []
            shown.add(path.stem)
    assert shown == PROGRAMS


def iter_body_lines(block):
    lines = block.splitlines()
    for node in ast.parse(block).body:
        if body := getattr(node, "body", None):
            yield from (line.strip() for line in lines[body[0].lineno - 1 : node.end_lineno])


def test_what_the_page_says_of_moving_on_is_so():
    rows = dict(re.findall(r"^\| ([^|]+) \| (yes|no) \|$", FAILURES, re.MULTILINE))
    said = {
        "overloaded": errors.Overloaded,
        "rate limit": errors.RateLimited,
        "no key": errors.MissingKey,
        "the conversation is too long": errors.ContextTooLong,
        "refused by": errors.Refused,
        "any other request": errors.BadRequest,
    }
    for start, kind in said.items():
        (answer,) = (each for row, each in rows.items() if row.startswith(start))
        assert is_fallback_error(kind("x")) is (answer == "yes"), start
    assert len(rows) == len(said) + 1
    assert "three times at most" in FAILURES
    assert shorten_retries(Retry()).attempts == 3
    assert f"longer than {PATIENCE:g} s" in FAILURES.replace("\n", " ")


def test_the_numbers_are_the_defaults():
    usual = Timeouts()
    for number in (usual.connect, usual.first_byte, usual.between_bytes):
        assert f"({number:g})" in FAILURES
    assert f"Retry(patience={Retry().patience:g})" in FAILURES
    assert Retry().attempts == 4
