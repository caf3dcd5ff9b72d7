"""docs/python.md: its blocks run as printed, and its tables are what the code does."""

import re
import sys
from pathlib import Path

import pytest

import pondero
from pondero import errors
from pondero.client import default_client as shared_clients
from pondero.emulator import Emulator
from pondero.exchange import PATIENCE, Retry, Timeouts, is_fallback_error, shorten_retries

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "python.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def page(tmp_path, config_dir, monkeypatch):
    """A folder with what the page attaches, a server that it names, and services that answer."""
    (tmp_path / "chart.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 8)
    (tmp_path / "report.pdf").write_bytes(b"%PDF-1.7\n")
    (tmp_path / "notes.txt").write_text("Notes.")
    server = ROOT / "tests" / "client" / "mcp_server.py"
    (config_dir / "config.toml").write_text(
        f'[mcp.numbers]\ncommand = "{sys.executable}"\nargs = ["{server}"]\n'
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pondero.Client, "_make_http_transport", lambda _: Emulator())
    monkeypatch.setattr(pondero.AsyncClient, "_make_http_transport", lambda _: Emulator())
    monkeypatch.setattr(shared_clients, "_SHARED", {})
    monkeypatch.setattr(shared_clients, "_ASHARED", {})
    monkeypatch.setattr(shared_clients, "_close_at_exit", lambda client: client)
    for name in ("ANTHROPIC", "OPENAI", "GEMINI", "DEEPSEEK"):
        monkeypatch.setenv(f"{name}_API_KEY", f"sk-planted-{name}")


def test_every_block_runs_as_printed(page, capsys):
    names = {}
    assert len(BLOCKS) > 10
    for block in BLOCKS:
        exec(compile(block, "docs/python.md", "exec", dont_inherit=True), names)
    names["client"].close()
    printed = capsys.readouterr().out
    assert "391" in printed
    assert "messages[0].content[0].type must be one of" in printed
    assert "cannot read" in printed
    assert "multiply_two_numbers numbers False" in printed


def test_what_the_page_says_of_moving_on_is_so():
    rows = dict(re.findall(r"^\| ([^|]+) \| (yes|no) \|$", PAGE, re.MULTILINE))
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
    assert "three times at most" in PAGE
    assert shorten_retries(Retry()).attempts == 3
    assert f"longer than {PATIENCE:g} s" in PAGE


def test_the_numbers_are_the_defaults():
    usual = Timeouts()
    for number in (usual.connect, usual.first_byte, usual.between_bytes):
        assert f"({number:g})" in PAGE
    assert f"Retry(patience={Retry().patience:g})" in PAGE
    assert Retry().attempts == 4
