"""What a shell is offered while a command is typed."""

import os
import pty
import re
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


def test_a_policy_is_offered_with_its_values():
    assert offered("plan", "gpt-5", "--policy", "of") == ["off=least", "off=floor", "off=omit"]
    assert offered("ask", "--policy", "off=f") == ["off=floor"]
    assert {"unsupported=warn", "answer_room=4096"} <= set(offered("doctor", "--policy", ""))


def test_fish_splits_type_and_value_at_the_first_comma_alone(call):
    assert 'string split --max 1 "," $completion' in call("completion", "fish")[1]


@pytest.fixture
def typed_into_bash(call, tmp_path):
    """Return what a real bash has on its line after these keys; Tab is a key."""
    script = tmp_path / "completion.bash"
    script.write_text(call("completion", "bash")[1])
    program = tmp_path / "pondero"
    program.write_text(f"#!{sys.executable}\nfrom pondero.cli import main\nmain()\n")
    program.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"

    def typed(keys):
        terminal, theirs = pty.openpty()
        bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc", "-i"],
            env={**os.environ, "PATH": path, "PS1": "$ ", "INPUTRC": "/dev/null", "TERM": "dumb"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        lines = (f"source {script}", "stty cols 300", f"{keys}\x01echo SAID: \x05 :END:", "exit")
        os.write(terminal, "\r".join((*lines, "")).encode())
        said = b""
        while True:
            try:
                said += os.read(terminal, 65_536)
            except OSError:  # what Linux says at the end of a terminal
                break
        bash.wait()
        os.close(terminal)
        return re.findall(rb"^SAID: (.*?) :END:", said, re.MULTILINE)[-1].decode()

    return typed


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ("pondero plan claude-opus-5/xh\t", "pondero plan claude-opus-5/xhigh"),
        ("pondero plan openai:gpt-5.1/hi\t", "pondero plan openai:gpt-5.1/high"),
        ("pondero plan --policy off=fl\t", "pondero plan --policy off=floor"),
        (
            "pondero plan gpt-5 --policy unsupported=s\t",
            "pondero plan gpt-5 --policy unsupported=strict",
        ),
        ("pondero comp\t", "pondero completion"),
    ],
)
def test_bash_itself_completes_words_with_a_colon_or_an_equals_sign(typed_into_bash, keys, line):
    assert " ".join(typed_into_bash(f"{keys}").split()) == line


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_keeps_its_own_word_breaks(call):
    script = call("completion", "bash")[1]
    show = 'printf %s "$COMP_WORDBREAKS"'
    bash = ["bash", "--norc", "-ic"]
    before, after = (
        subprocess.run([*bash, text], capture_output=True, text=True, check=True).stdout
        for text in (show, f"{script}\n{show}")
    )
    assert ":" in before
    assert after == before
