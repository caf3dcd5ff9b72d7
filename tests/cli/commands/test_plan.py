"""``plan`` and ``levels`` as somebody meets them."""

import json
import re

import pytest

import pondero
from pondero.cli.app import run
from pondero.client import dial
from pondero.store import config
from pondero.thinking import LEVELS


@pytest.fixture
def cli(capsys):
    def call(*arguments):
        code = run(list(arguments))
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def policy_file(config_dir):
    """Write config.toml; each text is read as by a new process."""

    def write(text):
        (config_dir / "config.toml").write_text(text)
        for cached in (dial.load_policy, config._report_unknown):
            cached.cache_clear()

    yield write
    dial.load_policy.cache_clear()


def test_plan_shows_asked_sent_why_and_the_exact_json(cli):
    code, out, err = cli("plan", "claude-sonnet-4-5/high", "--temperature", "0.2")
    assert (code, err) == (0, "")
    for words in ("asked   high", "sent    high, 59,904 tokens", "why     high is 64,000 tokens"):
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
            "openai:gpt-5 cannot switch thinking off; its minimum is minimal",
        ),
        (("models", "--provider", "gogle"), "did you mean 'google'"),
        (("levels", "nope"), "unknown model 'nope'"),
        (("plan",), "no model is named, none is set"),
        (("paln",), "no such command"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(cli, arguments, says):
    code, out, err = cli(*arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert err.startswith("pondero: ")
    assert err.count("\n") == 1


def test_levels_is_a_table_of_the_whole_ladder(cli):
    code, out, _ = cli("levels", "claude-opus-5")
    assert code == 0
    for level in ("off", "minimal", "low", "medium", "high", "xhigh", "max"):
        assert f"\n  {level} " in out
    assert "type disabled" in out
    assert "* minimal: this model has off low medium high xhigh max" in out


def test_levels_json_has_a_plan_for_each(cli):
    _, out, _ = cli("levels", "gemini-2.5-pro", "--json")
    made = json.loads(out)
    assert list(made) == ["model", "dialect", "family", "asked", "levels"]
    assert [row["asked"] for row in made["levels"]][:3] == ["off", "minimal", "low"]


def test_without_a_model_and_a_level_plan_shows_what_ask_would_send(cli, config_dir, monkeypatch):
    (config_dir / "config.toml").write_text('model = "gpt-5.5"\nthinking = "low"\n')
    assert json.loads(cli("plan", "--json")[1])["fields"]["reasoning"]["effort"] == "low"
    assert json.loads(cli("plan", "gpt-5.5/high", "--json")[1])["level"] == "high"
    monkeypatch.setenv("PONDERO_MODEL", "claude-opus-5")
    assert json.loads(cli("plan", "--json")[1])["model"] == "anthropic:claude-opus-5"
    code, out, _ = cli("levels")
    assert (code, out.splitlines()[0]) == (
        0,
        "anthropic:claude-opus-5  thinks by default, at high; you ask for low",
    )


def test_plan_takes_model_level_and_options_of_a_template(cli, config_dir):
    (config_dir / "templates").mkdir()
    (config_dir / "templates" / "short.toml").write_text(
        'prompt = "x"\nmodel = "gpt-5.1"\nthinking = "low"\n[options]\nmax_tokens = 900\nstop = "."\n'
    )
    made = json.loads(cli("plan", "-t", "short", "--json")[1])
    assert (made["model"], made["level"]) == ("openai:gpt-5.1", "low")
    assert made["fields"]["max_output_tokens"] == 900


def test_a_policy_of_the_command_line_changes_the_settings_policy_by_that_choice(cli, policy_file):
    policy_file('[policy]\nbudgets = "fixed"\nshow = "none"\n')
    made = json.loads(cli("plan", "gemini-2.5-flash/high", "--policy", "off=floor", "--json")[1])
    assert made["fields"] == {"generationConfig": {"thinkingConfig": {"thinkingBudget": 24_576}}}


@pytest.mark.filterwarnings("always::pondero.errors.PonderoWarning")  # as outside of pytest
def test_an_unknown_setting_is_one_line_wherever_the_file_is_read(call, policy_file):
    for command in (("plan", "gpt-5.5"), ("levels", "gpt-5.5"), ("ask", "gpt-5.5", "hi there")):
        policy_file('thinking_level = "high"\n')
        offline = ("--offline", "--no-save", "--no-thinking") if command[0] == "ask" else ()
        code, _, err = call(*command, *offline)
        assert code == 0
        assert re.findall("config.toml:.*", err) == [
            "config.toml:1: ignored: unknown setting 'thinking_level'; did you mean 'thinking'?"
        ]


def test_the_library_warns_once_of_an_unknown_setting(policy_file):
    policy_file('thinking_level = "high"\n')
    with pytest.warns(pondero.PonderoWarning, match="did you mean 'thinking'"):
        pondero.plan("gpt-5.5")
    pondero.Client().close()  # a second warning would be an error here


@pytest.mark.parametrize(
    ("model", "cap", "why"),
    [
        ("claude-opus-5/high", 300, "about 2,048 tokens at high (inferred), so max_tokens 300"),
        ("moonshot:kimi-k2.5/high", 200, "about 1,024 tokens (inferred), so max_tokens 200"),
        ("gpt-5/medium", 800, "about 864 tokens at medium (recorded exchanges, the median of 18"),
        ("gpt-5", 800, "about 864 tokens at medium (recorded exchanges"),
        ("gpt-5/high", 1_700, "about 1,728 tokens at high (inferred from medium)"),
    ],
)
def test_a_cap_below_what_the_model_usually_thinks_is_reported(cli, model, cap, why):
    _, out, _ = cli("plan", model, "--max-tokens", str(cap), "--json")
    *_, note = json.loads(out)["adjustments"]
    assert (note["code"], note["asked"], note["got"]) == ("answer_room", cap, cap)
    assert why in note["why"]
    enough = json.loads(cli("plan", model, "--max-tokens", "3000", "--json")[1])
    assert "answer_room" not in [each["code"] for each in enough["adjustments"]]


@pytest.mark.parametrize(
    ("model", "cap"), [("claude-opus-5/off", 100), ("gpt-5.2", 100), ("gpt-4o", 50)]
)
def test_a_cap_is_no_problem_where_the_model_does_not_think(cli, model, cap):
    _, out, _ = cli("plan", model, "--max-tokens", str(cap), "--json")
    assert "answer_room" not in [each["code"] for each in json.loads(out)["adjustments"]]


def test_a_name_with_a_makers_path_says_who_answers(cli, call):
    _, out, _ = cli("plan", "openai/gpt-5.5", "--json")
    assert [
        (note["code"], note["got"], note["why"]) for note in json.loads(out)["adjustments"]
    ] == [
        (
            "model_spelt",
            "openrouter:openai/gpt-5.5",
            "OpenRouter answers to this name; for openai itself use openai:gpt-5.5",
        )
    ]
    named = json.loads(cli("plan", "openrouter:openai/gpt-5.5", "--json")[1])
    assert named["adjustments"] == []
    _, _, err = call("ask", "--offline", "--no-save", "openai/gpt-5.5", "hi there")
    assert "OpenRouter answers to this name" in err


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


@pytest.mark.parametrize(
    ("command", "example"), [("plan", "pondero plan opus/high"), ("levels", "pondero levels opus")]
)
def test_without_a_model_it_names_this_command_and_no_other(cli, config_dir, command, example):
    code, out, err = cli(command)
    assert (code, out) == (2, "")
    assert f"name one, as in '{example}'" in err
    assert "pondero ask" not in err


def test_a_level_apart_from_its_model_is_told_where_to_go(cli):
    code, out, err = cli("plan", "opus", "high")
    assert (code, out) == (2, "")
    assert "'high' is a level; write it after a slash: opus/high" in err


def test_what_holds_for_every_level_names_none(cli):
    lines = [line.strip() for line in cli("levels", "opus")[1].splitlines()]
    (meaning,) = (line for line in lines if "the newest claude-opus" in line)
    assert meaning.startswith("* opus is ")
    assert any(line.startswith("* off: ") for line in lines)


def test_two_levels_of_one_model_say_a_reason_once(cli):
    assert cli("plan", "opus/high", "opus/low")[1].count("(model_short)") == 1
