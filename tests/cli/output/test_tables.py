"""Tables on terminals that are narrower than they are, and where nobody looks."""

import re

import pytest
from tests.tui.terminal import running

from pondero.gateway import hash_key

COMMANDS = [
    ("levels", "claude-sonnet-4-5"),
    ("levels", "claude-opus-5", "gpt-5.1", "gemini-2.5-pro"),
    ("plan", "claude-opus-5", "gpt-5.1", "--thinking", "low"),
    ("models", "--provider", "anthropic"),
    ("serve", "--check", "--offline"),
    ("serve", "--check"),
]
ROUTES = """
[[route]]
match = "opus"
to = ["anthropic:claude-opus-5", "bedrock:anthropic.claude-opus-5-v1:0"]
thinking = { default = "medium", floor = "low", cap = "high" }

[[key]]
name = "ci"
hash = "%s"
models = ["opus"]
"""
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


def shown(*arguments, environment, columns):
    """The lines that a command writes on a terminal."""
    with running(*arguments, environment=environment, columns=columns) as terminal:
        assert terminal.ended() == 0, terminal.text
        written = _STYLE.sub("", terminal.seen.decode())
        return [line.rstrip() for line in written.split("\r\n")]


def words(lines):
    return {word for line in lines for word in line.split() if "─" not in word}


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_on_a_narrow_terminal_no_word_is_cut_in_two(arguments, environment):
    wide = shown(*arguments, environment=environment, columns=500)
    for columns in (40, 60):
        lines = shown(*arguments, environment=environment, columns=columns)
        assert all(len(line) <= columns or len(line.split()) == 1 for line in lines)
        # A block has the name of its row in place of a heading over the first column.
        assert words(wide) - words(lines) <= {"asked", "model"}


def test_on_a_narrow_terminal_the_ways_to_find_a_model_are_broken_between_words(environment):
    lines = shown("models", environment=environment, columns=40)
    begin = lines.index("  pondero models WORD...")
    assert lines[begin + 1 : begin + 4] == [
        "      those that fit every word, the",
        "      best first",
        "  pondero models --provider P",
    ]


def test_on_a_narrow_terminal_a_row_is_a_block(environment):
    lines = shown("levels", "claude-sonnet-4-5", environment=environment, columns=40)
    begin = lines.index("low")
    assert lines[begin : begin + 5] == [
        "low",
        "  gets   low",
        "  depth  ━━━━",
        "  sends  budget_tokens 22,016,",
        "         max_tokens 26,112",
    ]


def test_routes_on_a_narrow_terminal_stand_under_their_names(environment, tmp_path):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "gateway.toml").write_text(ROUTES % hash_key("a-key"))
    lines = shown("serve", "--check", "--offline", environment=environment, columns=40)
    assert lines[lines.index("  opus") :] == [
        "  opus",
        "    anthropic:claude-opus-5, then",
        "    bedrock:anthropic.claude-opus-5-v1:0",
        "    thinking: default medium, at least",
        "    low, at most high",
        "  key ci: opus",
        "",
    ]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_pipe_gets_what_a_usual_terminal_shows(arguments, environment, call, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("COLUMNS", raising=False)
    code, out, _ = call(*arguments)
    assert code == 0
    usual = shown(*arguments, environment=environment, columns=80)
    assert [line.rstrip() for line in out.split("\n")] == usual
    monkeypatch.setenv("COLUMNS", "40")
    again = call(*arguments)[1]
    assert again == out if arguments[0] == "serve" else "──────" in again
