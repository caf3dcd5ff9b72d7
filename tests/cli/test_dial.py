"""The command line as somebody meets it."""

import json
import os
import subprocess
import sys

import pytest

import pondero
from pondero.cli.app import run


@pytest.fixture
def cli(capsys):
    def call(*arguments):
        code = run(list(arguments))
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_plan_shows_asked_sent_why_and_the_exact_json(cli):
    code, out, err = cli("plan", "claude-sonnet-4-5/high", "--temperature", "0.2")
    assert (code, err) == (0, "")
    for words in ("asked   high", "sent    high, 59,904 tokens", "why     64,000 would leave"):
        assert words in out
    shown = out.partition("json    ")[2]
    assert json.loads(shown) == pondero.plan("claude-sonnet-4-5", "high").fields


def test_plan_json_is_the_librarys_plan(cli):
    code, out, _ = cli(
        "plan", "claude-sonnet-4-5", "--thinking", "8k", "--max-tokens", "9000", "--tools",
        "--tool-choice", "none", "--top-p", "0.9", "--top-k", "4",
        "--policy", "show=none", "--policy", "answer_room=100", "--json",
    )  # fmt: skip
    made = pondero.plan(
        "claude-sonnet-4-5", "8k", max_tokens=9000, tools=True, tool_choice="none", top_p=0.9,
        top_k=4, policy={"show": "none", "answer_room": 100},
    )  # fmt: skip
    assert (code, json.loads(out)) == (0, made.to_json())


def test_plan_takes_native_fields_as_json(cli):
    _, out, _ = cli("plan", "claude-opus-5", "--thinking", '{"thinking":{"type":"x"}}', "--json")
    assert json.loads(out)["fields"] == {"thinking": {"type": "x"}}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("plan", "claude-sonet-4-5"), "did you mean 'claude-sonnet-4-5'"),
        (("plan", "claude-opus-5/hihg"), "did you mean 'high'"),
        (("plan", "claude-opus-5", "--thinking", ""), "use off minimal"),
        (("plan", "claude-opus-5", "--thinking", "-5"), "unknown level '-5'"),
        (("plan", "claude-opus-5", "--thinking", "{nope"), "is not JSON"),
        (("plan", "gpt-5", "--temperature", "nan"), "temperature"),
        (("plan", "gpt-5", "--max-tokens", "0"), "max_tokens=0"),
        (("plan", "gpt-5", "--policy", "of=least"), "did you mean 'off'"),
        (("plan", "gpt-5", "--policy", "off"), "write off=VALUE"),
        (("plan", "gpt-5", "--polcy", "x"), "--policy"),
        (
            ("plan", "gpt-5", "--thinking", "off", "--policy", "unsupported=strict"),
            "cannot_disable",
        ),
        (("models", "--provider", "gogle"), "did you mean 'google'"),
        (("levels", "nope"), "unknown model 'nope'"),
        (("plan",), "Missing argument"),
        (("paln",), "No such command"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(cli, arguments, says):
    code, out, err = cli(*arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert "Traceback" not in err


def test_levels_is_a_table_of_the_whole_ladder(cli):
    code, out, _ = cli("levels", "claude-opus-5")
    assert code == 0
    for level in ("off", "minimal", "low", "medium", "high", "xhigh", "max"):
        assert f"\n  {level} " in out
    assert "type disabled" in out
    assert "* minimal: this model has low medium high xhigh max" in out


def test_levels_json_has_a_plan_for_each(cli):
    _, out, _ = cli("levels", "gemini-2.5-pro", "--json")
    made = json.loads(out)
    assert list(made) == ["model", "dialect", "family", "levels"]
    assert [row["asked"] for row in made["levels"]][:3] == ["off", "minimal", "low"]


def test_models_lists_what_is_known(cli):
    code, out, _ = cli("models", "--provider", "google")
    assert code == 0
    assert "gemini-2.5-pro" in out
    assert "claude" not in out


def test_a_provider_that_takes_any_name_says_so(cli):
    code, out, err = cli("models", "--provider", "compatible")
    assert (code, out) == (0, "")
    assert "it takes any, compatible:NAME" in err


def test_models_json_is_stable(cli):
    _, out, _ = cli("models", "--json")
    rows = json.loads(out)["models"]
    assert len(rows) == len(pondero.models())
    assert {"id", "provider", "model", "dialect", "family", "thinks", "levels", "off",
            "default", "budget", "shown", "max_output", "context", "source", "checked"} == set(rows[0])  # fmt: skip


def test_demo_needs_nothing_and_fits_80_columns(cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = cli("demo")
    assert code == 0
    assert "Every difference has a reason" in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("command", [(), ("plan",), ("levels",), ("models",), ("demo",)])
def test_every_command_has_help(cli, command):
    code, out, _ = cli(*command, "--help")
    assert code == 0
    assert "Usage: pondero" in out


def test_the_version_is_the_packages(cli):
    assert cli("--version")[1] == f"pondero {pondero.__version__}\n"


def _pondero(*arguments, **env):
    command = [sys.executable, "-c", "from pondero.cli import main; main()", *arguments]
    return subprocess.run(
        command, check=False, capture_output=True, text=True, env={**os.environ, **env}
    )


def test_colour_is_for_terminals_only():
    assert "\x1b" not in _pondero("plan", "gpt-5/low").stdout
    assert "\x1b" not in _pondero("levels", "gpt-5").stdout


def test_a_reader_that_goes_away_is_no_error():
    command = f"{sys.executable} -c 'from pondero.cli import main; main()' models | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_narrow_terminal_is_survived():
    done = _pondero("levels", "claude-sonnet-4-5", COLUMNS="40")
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 40
