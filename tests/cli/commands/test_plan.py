"""``plan`` and ``levels`` as somebody meets them."""

import json

import pytest

import pondero
from pondero.cli.app import run
from pondero.thinking import LEVELS


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


SEVERAL = ("claude-sonnet-4-5", "gpt-5.1", "gemini-2.5-pro")


def test_plans_of_several_models_stand_side_by_side(cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    code, out, err = cli("plan", *SEVERAL, "--thinking", "medium")
    assert (code, err) == (0, "")
    lines = {name: line for line in out.splitlines() for name in SEVERAL if f":{name} " in line}
    assert set(lines) == set(SEVERAL)
    for name in SEVERAL:
        made = pondero.plan(name, "medium")
        assert f" {made.level}" in lines[name]
        assert made.budget is None or f"{made.budget:,}" in lines[name]


def test_plans_side_by_side_say_why_one_differs(cli):
    _, out, _ = cli("plan", "gemini-3-pro-preview/off", "claude-opus-5/off")
    assert "* google:gemini-3-pro-preview: this model does not support disabling" in " ".join(
        out.split()
    )


def test_ladders_of_several_models_stand_side_by_side(cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    code, out, err = cli("levels", *SEVERAL)
    assert (code, err) == (0, "")
    head, *lines = (line.split() for line in out.splitlines() if line.strip())
    assert head == ["asked", *(pondero.plan(name).model for name in SEVERAL)]
    rows = {line[0]: line for line in lines}
    for level in LEVELS:
        for name in SEVERAL:
            made = pondero.plan(name, level)
            assert (made.level or "-") in rows[level]
            assert made.budget is None or f"{made.budget:,}" in rows[level]


def test_several_models_as_json_are_what_each_is_alone(cli):
    for command, key in (("plan", "plans"), ("levels", "models")):
        alone = [json.loads(cli(command, name, "--json")[1]) for name in SEVERAL]
        assert json.loads(cli(command, *SEVERAL, "--json")[1]) == {key: alone}


def test_one_unknown_name_among_several_is_an_error(cli):
    code, out, err = cli("levels", "gpt-5.1", "claude-sonet-4-5")
    assert (code, out) == (2, "")
    assert "did you mean 'claude-sonnet-4-5'" in err
