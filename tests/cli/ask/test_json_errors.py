"""``ask --json`` and ``--json-lines``: a failure is JSON too, also before anything is sent."""

import json

import pytest

from pondero.cli.ask.result import AskResult
from pondero.cli.ask.thread import AskStart
from pondero.client import load_catalog

SUM = "What is 17 * 23?"
KEYS = list(AskResult(start=AskStart("m")).to_json())
EARLY = {
    "a misspelt model": (["claude-opsu-5/high", SUM], "UnknownModel", "claude-opsu-5"),
    "one named with -m": (["-m", "claude-opsu-5/high", SUM], "UnknownModel", "claude-opsu-5"),
    "a misspelt level": (["claude-opus-5/hihg", SUM], "BadThinking", "hihg"),
    "a schema": (["gpt-5.1", "--schema", "{bad", SUM], "BadParameter", "not a JSON schema"),
    "a setting": (["gpt-5.1", "-o", "temperature", "warm", SUM], "BadParameter", "a number"),
    "no question": (["gpt-5.1"], "UsageError", "there is no question"),
    "a template": (["gpt-5.1", "--template", "none", SUM], "BadConfig", "none"),
    "a variable": (["gpt-5.1", "-p", "a", "b", SUM], "UsageError", "--template"),
    "a tool": (["gpt-5.1", "--tool", "nowhere:none", SUM], "BadParameter", "nowhere"),
    "a server": (["gpt-5.1", "--mcp", "nowhere", SUM], "BadParameter", "nowhere"),
    "a thread": (["-c", "-m", "gpt-5.1", SUM], "UnknownThread", ""),
    "a policy": (["gpt-5.1", "--policy", "budgets=odd", SUM], "BadPolicy", "odd"),
    "an attachment": (["gpt-5.1", "-a", "none.png", SUM], "BadParameter", "none.png"),
    "a number": (["gpt-5.1", "--max-tokens", "-1", SUM], "BadParameter", "-1"),
}
"""What fails before a request is sent: the arguments, the type of the error, a word of it."""


@pytest.fixture
def ask(call, data_dir, config_dir, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: call("ask", "--offline", *arguments)


@pytest.mark.parametrize(("arguments", "kind", "said"), EARLY.values(), ids=EARLY)
def test_what_fails_before_it_is_sent_is_the_same_object(ask, arguments, kind, said):
    code, out, err = ask("--json", *arguments)
    answer = json.loads(out)
    assert (code, [key for key in answer if key != "value"]) == (2, KEYS)
    assert (answer["error"]["type"], answer["text"], answer["version"]) == (kind, None, 1)
    assert said in answer["error"]["message"]
    assert answer["error"]["message"] in err  # a person reads it there


@pytest.mark.parametrize(("arguments", "kind", "said"), EARLY.values(), ids=EARLY)
def test_what_fails_before_it_is_sent_is_a_line_too(ask, arguments, kind, said):
    code, out, _ = ask("--json-lines", *arguments)
    (line,) = map(json.loads, out.splitlines())
    assert (code, line["type"], line["error"]["type"]) == (2, "error", kind)
    assert said in line["error"]["message"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["-m", "claude-opus-5", "-m", "gpt-5.1", "-o", "temperature", "warm"],
        ["gpt-5.1", "--levels", "low,hihg"],
        ["gpt-5.1", "--levels", "low,high", "--policy", "budgets=odd"],
    ],
)
def test_several_models_are_a_list_also_if_none_is_asked(ask, arguments):
    code, out, _ = ask("--json", *arguments, SUM)
    answers = json.loads(out)
    assert (code, isinstance(answers, list)) == (2, True)
    assert [answer["error"]["type"] for answer in answers] != []
    code, out, _ = ask("--json-lines", *arguments, SUM)
    assert {json.loads(line)["type"] for line in out.splitlines()} == {"error"}


def test_without_json_a_failure_leaves_standard_output_empty(ask):
    for arguments, _, _ in EARLY.values():
        assert ask(*arguments)[:2] == (2, "")


def test_the_model_is_null_until_it_is_known(ask):
    assert json.loads(ask("--json", "claude-opus-5/hihg", SUM)[1])["model"] is None
    assert json.loads(ask("--json", "claude-opsu-5/high", SUM)[1])["model"] == "claude-opsu-5"
    found = json.loads(ask("--json", "gpt-5.1", "--policy", "budgets=odd", SUM)[1])
    assert found["model"] == "openai:gpt-5.1"


def test_settings_that_cannot_be_read_are_an_error_in_json(ask, config_dir):
    (config_dir / "config.toml").write_text("model = 7\n", "utf-8")
    code, out, _ = ask("--json", SUM)
    assert (code, json.loads(out)["error"]["type"]) == (2, "BadConfig")


def test_a_catalog_that_cannot_be_read_is_an_error_in_json(ask, config_dir):
    (config_dir / "models.toml").write_text("[[families\n", "utf-8")
    load_catalog.cache_clear()
    try:
        code, out, _ = ask("--json", "gpt-5.1", SUM)
    finally:
        load_catalog.cache_clear()
    assert (code, json.loads(out)["error"]["type"]) == (2, "BadCatalog")


def test_a_secret_in_a_wrong_option_is_redacted(ask):
    secret = "sk-ant-api03-" + "x1Y2" * 20
    _, out, err = ask("--json", "gpt-5.1", "--schema", f"{{{secret}", SUM)
    assert secret not in out + err


@pytest.mark.parametrize(
    "arguments", [["--nope"], ["--max-tokens", "many"], ["--max-steps", "0"], ["--json-lines"]]
)
def test_options_that_cannot_be_read_are_text_alone(ask, arguments):
    code, out, err = ask("--json", "gpt-5.1", *arguments, SUM)
    assert (code, out, arguments[0] in err) == (2, "", True)
