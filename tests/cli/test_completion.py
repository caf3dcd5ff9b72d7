"""What a shell is offered while a command is typed."""

import os
import shutil
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete

from pondero.cli.app import app
from pondero.client import complete, levels, levels_of


def offered(*words):
    """What stands after these words for the last of them."""
    found = ShellComplete(app, {}, "pondero", "_X").get_completions(list(words[:-1]), words[-1])
    return [item.value for item in found]


def test_a_model_is_offered_by_its_beginning_and_with_the_levels_it_has():
    assert "claude-opus-5" in complete("claude-op")
    assert all(name.startswith("claude-op") for name in complete("claude-op"))
    assert complete("claude-opus-5/") == tuple(
        f"claude-opus-5/{level}" for level in ("off", "low", "medium", "high", "xhigh", "max")
    )
    assert complete("claude-opus-5/m") == ("claude-opus-5/medium", "claude-opus-5/max")
    assert complete("gpt-4o/") == ()
    assert complete("no-such-model/") == ()


def test_a_provider_is_offered_and_then_its_models():
    assert "openrouter:" in complete("openr")
    assert "openrouter:anthropic/claude-opus-5" in complete("openrouter:anthropic/claude-op")
    assert "openrouter:anthropic/claude-opus-5/max" in complete(
        "openrouter:anthropic/claude-opus-5/"
    )
    assert "google:gemini-3-flash-preview" in complete("google:gem")


@pytest.mark.parametrize(
    "model", ["claude-opus-5", "gpt-5.1", "gemini-3-pro-preview", "gemini-2.5-flash", "grok-3-mini"]
)
def test_a_level_that_is_offered_is_one_the_model_has(model):
    plans = {plan.asked: plan for plan in levels(model)}
    assert levels_of(model)
    for level in levels_of(model):
        assert plans[level].level == level
    assert ("off" in levels_of(model)) is (plans["off"].level == "off")


def test_commands_offer_models_threads_providers_and_settings(call, data_dir):
    assert "threads" in offered("thr")
    for command in ("plan", "levels", "ask"):
        assert "claude-opus-5/high" in offered(command, "claude-opus-5/h")
    assert offered("ask", "claude-opus-5", "cl") == []
    assert "groq" in offered("keys", "set", "gr")
    assert offered("config", "set", "policy.u") == ["policy.unsupported", "policy.unknown"]
    call("ask", "--offline", "claude-opus-5/high", "What is 17 * 23?")
    last, id = offered("threads", "show", "")
    assert (last, len(id)) == ("last", 6)
    assert offered("doctor", id[:3]) == [id]
    assert "claude-opus-5/high" in offered("chat", "claude-opus-5/h")
    assert offered("chat", "--resume", id[:3]) == [id]


def test_no_thread_is_offered_where_there_can_be_none(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PONDERO_DATA_DIR", str(tmp_path / "file"))
    assert offered("threads", "show", "") == []


@pytest.mark.parametrize(
    ("shell", "word"),
    [("bash", "complete -o"), ("zsh", "#compdef pondero"), ("fish", "complete --no-files")],
)
def test_each_shell_has_a_script(call, shell, word):
    code, out, err = call("completion", shell)
    assert (code, err) == (0, "")
    assert word in out
    assert f"_PONDERO_COMPLETE={shell}_complete" in out
    assert call("completion", "powershell")[0] == 2


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("typed", "last"),
    [("claude-opus-5/m", "claude-opus-5/max"), ("openai:gpt-5.1/h", "openai:gpt-5.1/high")],
)
def test_bash_itself_completes_a_level(call, tmp_path, typed, last):
    script = tmp_path / "completion.bash"
    script.write_text(call("completion", "bash")[1])
    program = tmp_path / "pondero"
    program.write_text(f"#!{sys.executable}\nfrom pondero.cli import main\nmain()\n")
    program.chmod(0o755)
    asked = f"""
        source {script}
        COMP_WORDS=(pondero plan '{typed}') COMP_CWORD=2
        _pondero_completion {program}
        echo "${{COMPREPLY[@]: -1}}"
    """
    made = subprocess.run(
        ["bash", "-c", asked], capture_output=True, text=True, check=True, env=os.environ
    )
    assert made.stdout.strip() == last
