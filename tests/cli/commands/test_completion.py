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
from pondero.client import complete, levels, model_levels


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
    assert model_levels(model)
    for level in model_levels(model):
        assert plans[level].level == level
    assert ("off" in model_levels(model)) is (plans["off"].level == "off")


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
    assert call("completion", "tcsh")[0] == 2


def test_a_policy_is_offered_with_its_values():
    assert offered("plan", "gpt-5", "--policy", "of") == ["off=least", "off=floor", "off=omit"]
    assert offered("ask", "--policy", "off=f") == ["off=floor"]
    assert {"unsupported=warn", "answer_room=4096"} <= set(offered("doctor", "--policy", ""))


def test_fish_splits_type_and_value_at_the_first_comma_alone(call):
    assert 'string split --max 1 "," $completion' in call("completion", "fish")[1]


@pytest.fixture
def folder(call, tmp_path):
    """Return a folder with a pondero that runs this source, and the script of every shell."""
    for shell in ("bash", "zsh", "fish"):
        (tmp_path / f"completion.{shell}").write_text(call("completion", shell)[1])
    program = tmp_path / "pondero"
    program.write_text(f"#!{sys.executable}\nfrom pondero.cli import main\nmain()\n")
    program.chmod(0o755)
    return tmp_path


# How each is started without its user's settings, and what it is told before the script.
SHELLS = {
    "bash": (["bash", "--noprofile", "--norc", "-i"], ":"),
    "zsh": (["zsh", "-f", "-i"], "autoload -Uz compinit; compinit -u -D"),
}


def typed(shell, keys, folder):
    """Return what a real shell has on its line after these keys; Tab is a key."""
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    command, before = SHELLS[shell]
    path = f"{folder}:{os.environ['PATH']}"
    terminal, theirs = pty.openpty()
    process = subprocess.Popen(
        command,
        env={**os.environ, "PATH": path, "PS1": "$ ", "INPUTRC": "/dev/null", "TERM": "dumb"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    ready = f"{before}; source {folder}/completion.{shell}; stty cols 300"
    lines = (ready, f"{keys}\x01echo SAID: \x05 :END:", "exit")
    os.write(terminal, "\r".join((*lines, "")).encode())
    said = b""
    while True:
        try:
            said += os.read(terminal, 65_536)
        except OSError:  # what Linux says at the end of a terminal
            break
    process.wait()
    os.close(terminal)
    line = re.findall(rb"^SAID: (.*?) :END:", said, re.MULTILINE)[-1].decode()
    return " ".join(line.split())


# What is on the line, and what Tab makes of it: colons and equals signs are hard for a shell.
LINES = [
    ("pondero plan claude-opus-5/xh", "pondero plan claude-opus-5/xhigh"),
    ("pondero plan openai:gpt-5.1/hi", "pondero plan openai:gpt-5.1/high"),
    ("pondero plan --policy off=fl", "pondero plan --policy off=floor"),
    ("pondero plan gpt-5 --policy unsupported=s", "pondero plan gpt-5 --policy unsupported=strict"),
    ("pondero comp", "pondero completion"),
    ("pondero keys set anth", "pondero keys set anthropic"),
]


@pytest.mark.parametrize(("begun", "line"), LINES[:-1])
def test_bash_itself_completes_words_with_a_colon_or_an_equals_sign(folder, begun, line):
    assert typed("bash", f"{begun}\t", folder) == line


@pytest.mark.parametrize(("begun", "line"), LINES[1:3] + LINES[-1:])
def test_zsh_itself_completes_models_policies_and_what_has_a_description(folder, begun, line):
    assert typed("zsh", f"{begun}\t", folder) == line


def test_fish_itself_is_offered_the_words_and_their_descriptions_whole(call, folder, data_dir):
    if shutil.which("fish") is None:
        pytest.skip("there is no fish here")
    assert call("ask", "--offline", "claude-opus-5", "Hello, world, twice.")[0] == 0
    asks = [f"complete -C '{begun}'" for begun, _ in LINES] + [
        "complete -C 'pondero threads show '"
    ]
    fish = ["fish", "--no-config", "-c", "; ".join((f"source {folder}/completion.fish", *asks))]
    ran = subprocess.run(
        fish,
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    offers = [offer.split("\t") for offer in ran.stdout.splitlines()]
    words = [words[0] for words in offers]
    assert words[: len(LINES) - 1] == [line.split()[-1] for _, line in LINES[:-1]]
    assert "anthropic" in words
    assert "Hello, world, twice." in {words[-1] for words in offers}


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
