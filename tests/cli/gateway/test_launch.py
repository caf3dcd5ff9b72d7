"""``pondero launch``: a client and its gateway begin and end together; nothing of the user's moves.

Stand-ins take the clients' places: programs of the same name that do what the test needs. Which
settings the clients themselves obey was tried with them; clients.toml says in which versions.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pondero.extras import install_hint
from pondero.gateway import load_clients

MAIN = "from pondero.cli import main; main()"
ASKS = """\
import json, os, sys, urllib.request
url = os.environ["ANTHROPIC_BASE_URL"]
body = {
    "model": os.environ["ANTHROPIC_MODEL"],
    "max_tokens": 9000,
    "messages": [{"role": "user", "content": "What is 17 * 23?"}],
}
headers = {
    "authorization": "Bearer " + os.environ["ANTHROPIC_AUTH_TOKEN"],
    "anthropic-version": "2023-06-01",
    "content-type": "application/json",
}
asked = urllib.request.Request(url + "/v1/messages", json.dumps(body).encode(), headers)
with urllib.request.urlopen(asked) as answer:
    said = json.load(answer)
    dial = answer.headers["x-pondero-thinking"]
print(json.dumps({"url": url, "arguments": sys.argv[1:], "answer": said, "dial": dial}))
sys.exit(7)
"""
WAITS = """\
import signal, sys, time
def end(number, frame):
    print("told", number, flush=True)
    sys.exit(5)
signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
time.sleep(60)
"""
OWNS = """\
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
DIES = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"


TALKS = """\
import signal, sys, time
def end(number, frame):
    print("interrupted", flush=True)
    sys.exit(3)
signal.signal(signal.SIGINT, end)
print("terminal", sys.stdin.isatty(), sys.stdout.isatty(), flush=True)
print("said", input(), flush=True)
time.sleep(60)
"""


@pytest.fixture
def launched(tmp_path):
    """Return a function that launches a stand-in with a home of its own."""
    home, programs = tmp_path / "home", tmp_path / "programs"
    (home / ".claude").mkdir(parents=True)
    (home / ".claude" / "settings.json").write_text('{"model": "haiku"}')
    programs.mkdir()

    def launched(script: str, *arguments: str, client: str = "claude", terminal=None):
        program = programs / client
        program.write_text(f"#!{sys.executable}\n{script}")
        program.chmod(0o755)
        env = {**os.environ, "HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}"}
        command = [sys.executable, "-c", MAIN, "launch", client, "--offline", *arguments]
        if terminal is not None:
            owned = [sys.executable, "-c", OWNS, *command[1:]]
            streams = {"stdin": terminal, "stdout": terminal, "stderr": terminal}
            return subprocess.Popen(owned, env=env, start_new_session=True, **streams)
        return subprocess.Popen(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    return launched


def everything_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_client_asks_its_own_gateway_and_the_exit_code_is_its_own(launched, tmp_path):
    before = everything_of(tmp_path / "home")
    started = launched(ASKS, "-m", "gemini-3-flash-preview/low", "--", "-p", "Hello")
    out, err = started.communicate(timeout=60)

    assert (started.returncode, err) == (7, "")
    said = json.loads(out)
    assert said["arguments"][-2:] == ["-p", "Hello"]
    assert said["answer"]["model"] == "gemini-3-flash-preview"
    assert said["answer"]["content"][-1]["text"] == "17 * 23 = 391"
    assert "sent=low" in said["dial"]
    assert everything_of(tmp_path / "home") == before, "the home is as it was, byte for byte"
    folder = Path(said["arguments"][said["arguments"].index("--settings") + 1]).parent
    assert not folder.exists(), "the private folder is gone"
    where = urlsplit(said["url"])
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((where.hostname, where.port), timeout=5)


def test_what_a_client_asked_is_in_the_ledger(launched, call, data_dir):
    started = launched(ASKS, "-m", "gemini-3-flash-preview/low", "--", "-p", "Hello")
    started.communicate(timeout=60)
    code, out, _ = call("stats", "--only", "gateway", "--offline", "--by", "key", "--json")
    (row,) = json.loads(out)["rows"]
    assert (code, row["key"], row["replies"]) == (0, "launch", 1)


def test_a_session_of_a_client_with_a_private_home_is_kept(launched, tmp_path):
    writes = """\
import os, pathlib
folder = pathlib.Path(os.environ["GEMINI_CLI_HOME"], ".gemini", "tmp")
folder.mkdir()
(folder / "session.json").write_text("kept")
"""
    started = launched(writes, "-m", "gpt-5.5", client="gemini")
    _, err = started.communicate(timeout=60)
    assert (started.returncode, err) == (0, "")
    assert (tmp_path / "home/.gemini/tmp/session.json").read_text() == "kept"


def test_nobody_else_is_let_in(launched):
    started = launched(ASKS.replace('"Bearer " +', '"Bearer x" +'), "-m", "gpt-5.5")
    _, err = started.communicate(timeout=60)

    assert started.returncode == 1
    assert "HTTP Error 401" in err


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_signals_reach_the_client_which_decides(launched):
    started = launched(WAITS)
    assert started.stdout.readline() == "ready\n"
    started.send_signal(signal.SIGINT)  # a terminal sends it to both; this one is the client's
    started.send_signal(signal.SIGTERM)
    out, err = started.communicate(timeout=60)

    assert (started.returncode, out, err) == (5, f"told {signal.SIGTERM:d}\n", "")


@pytest.mark.skipif(sys.platform == "win32", reason="terminals")
def test_the_terminal_is_the_clients_and_so_is_ctrl_c(launched):
    ours, theirs = os.openpty()
    with os.fdopen(ours, "r+b", buffering=0) as keyboard:
        started = launched(TALKS, terminal=theirs)
        os.close(theirs)

        def shown(until: bytes) -> bytes:
            seen = b""
            while until not in seen:
                seen += keyboard.read(1024)
            return seen

        assert b"terminal True True" in shown(b"\n")
        keyboard.write(b"hello\n")
        shown(b"said hello")
        keyboard.write(b"\x03")
        shown(b"interrupted")
        assert started.wait(timeout=60) == 3


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_client_that_was_killed_is_told_as_a_shell_tells_it(launched):
    started = launched(DIES)
    started.communicate(timeout=60)

    assert started.returncode == 128 + signal.SIGKILL


@pytest.mark.parametrize("name", load_clients())
def test_a_missing_client_gets_the_line_that_installs_it(call, monkeypatch, tmp_path, name):
    monkeypatch.setenv("PATH", str(tmp_path))
    code, out, err = call("launch", name, "-m", "gpt-5.5", "--offline")

    assert (code, out) == (2, "")
    assert f"install it with: {load_clients()[name].install}" in err


@pytest.mark.skipif(sys.platform == "win32", reason="a script is the client")
def test_a_missing_key_is_told_with_the_way_without_one(call, monkeypatch, tmp_path):
    client = tmp_path / "claude"
    client.write_text("#!/bin/sh\n")
    client.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    code, _, err = call("launch", "claude", "-m", "gemini-3-flash-preview/high")
    assert code == 2
    assert "set GEMINI_API_KEY" in err
    assert "(launch --offline needs no network and no key)" in err


def test_a_missing_client_and_a_missing_key_are_said_at_once(call, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    code, _, err = call("launch", "claude", "-m", "gemini-3-flash-preview/high")
    assert code == 2
    assert "install it with: npm install -g @anthropic-ai/claude-code" in err
    assert "set GEMINI_API_KEY" in err


def test_a_missing_client_and_a_missing_extra_are_said_at_once(call, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delitem(sys.modules, "pondero.gateway.observability.metrics", raising=False)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    code, _, err = call("launch", "claude", "-m", "gpt-5.5", "--offline")
    assert code == 2
    assert "install it with: npm install -g @anthropic-ai/claude-code" in err
    assert f"and then: a gateway needs prometheus_client; {install_hint('gateway')}" in err


def test_an_option_of_the_client_before_the_dashes_is_told_where_it_goes(call):
    code, _, err = call("launch", "claude", "--offline", "-p", "Hello")
    assert code == 2
    assert "no such option '-p'; arguments for the client go after --: -- -p" in err
    assert "did you mean" in call("launch", "claude", "--offlin")[2]


RETRIES = """\
import os, urllib.error, urllib.request
for _ in range(3):
    headers = {"authorization": "Bearer " + os.environ["ANTHROPIC_AUTH_TOKEN"],
        "anthropic-version": "2023-06-01", "content-type": "application/json"}
    body = b'{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}'
    try:
        urllib.request.urlopen(urllib.request.Request(
            os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", body, headers))
    except urllib.error.HTTPError:
        pass
"""


def launch_online(tmp_path, script, *arguments, **environment):
    program = tmp_path / "claude"
    program.write_text(f"#!{sys.executable}\n{script}")
    program.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    env = {**os.environ, "HOME": str(tmp_path), "PATH": path, **environment}
    return subprocess.run(
        [sys.executable, "-c", MAIN, "launch", "claude", *arguments],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def nowhere():
    """An address of this machine at which nothing listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{held.getsockname()[1]}"


@pytest.mark.skipif(sys.platform == "win32", reason="a script is the client")
def test_a_local_server_that_does_not_answer_is_said_before_the_client_starts(tmp_path, nowhere):
    started = tmp_path / "started"
    script = f"open({str(started)!r}, 'w').close()"
    ran = launch_online(tmp_path, script, "-m", "ollama:qwen3", OLLAMA_HOST=nowhere)
    assert ran.returncode == 4
    assert f"Ollama does not answer at http://{nowhere}: start it with 'ollama serve'" in ran.stderr
    assert not started.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="a script is the client")
def test_an_error_that_comes_again_is_counted_and_not_printed_again(tmp_path, nowhere):
    config = tmp_path / "gateway.toml"
    config.write_text(f'[provider.anthropic]\nurl = "http://{nowhere}"\nkey = "env:THEIR_KEY"\n')
    arguments = ("-m", "claude-opus-5", "--config", str(config))
    ran = launch_online(tmp_path, RETRIES, *arguments, THEIR_KEY="planted")
    first, again, *rest = ran.stderr.splitlines()
    assert first.startswith("pondero: cannot reach ")
    assert again == (
        "pondero: the same error again; the client keeps retrying, and Ctrl+C stops it"
    )
    assert rest == [f"{first} (repeated 3 times)"]


def test_without_a_client_all_are_listed(call):
    code, _, err = call("launch")
    assert (code, err.count("\n")) == (2, 1)
    assert all(name in err for name in load_clients())


def test_an_unknown_client_or_model_is_one_line_with_a_guess(call, launched):
    code, _, err = call("launch", "cluade")
    assert (code, err.count("\n")) == (2, 1)
    assert "did you mean 'claude'?" in err

    started = launched(ASKS, "-m", "gemini-3-flsah-preview")
    _, err = started.communicate(timeout=60)
    assert started.returncode == 2
    assert "did you mean 'gemini-3-flash-preview'" in err


def test_a_client_without_a_model_of_its_own_is_asked_for_one(launched):
    started = launched(ASKS, client="opencode")
    _, err = started.communicate(timeout=60)

    assert started.returncode == 2
    assert "say which with -m MODEL" in err


def test_the_clients_are_completed(call):
    from click.shell_completion import ShellComplete

    from pondero.cli.app import app

    offered = ShellComplete(app, {}, "pondero", "_X").get_completions(["launch"], "c")
    assert [each.value for each in offered] == ["claude", "codex"]
