"""What other systems lack or do differently, as far as it can be shown on this one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pondero
from pondero.cli import app as cli
from pondero.cli.commands.chat import _is_dumb
from pondero.errors import BadParameter, StoreError
from pondero.gateway.launch.clients import _mirror
from pondero.gateway.server.workers import Workers
from pondero.store import split_command
from pondero.store.files import write_atomic

# Takes away what Windows has not, then imports every module of ours.
WITHOUT_POSIX = """
import os, pkgutil, signal, socket, sys, importlib
import asyncio, multiprocessing, subprocess  # the standard library has asked for itself by now
for name in sys.argv[1:]:
    try: importlib.import_module(name)  # and so have other people's packages
    except ImportError: pass
GONE = {"fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty", "uvloop"}
class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in GONE:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
for name in GONE: sys.modules.pop(name, None)
sys.meta_path.insert(0, Gone())
for name in ("fork", "forkpty", "geteuid", "getuid", "killpg", "openpty", "setsid", "uname", "wait", "waitpid", "sched_getaffinity"):
    delattr(os, name) if hasattr(os, name) else None
for name in ("SIGHUP", "SIGQUIT", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGWINCH", "SIGPIPE", "SIGALRM"):
    delattr(signal, name) if hasattr(signal, name) else None
for name in ("AF_UNIX", "SO_REUSEPORT"):
    delattr(socket, name) if hasattr(socket, name) else None
sys.platform = "win32"  # os.name would make paths that cannot be on this system
import pondero
found = [each.name for each in pkgutil.walk_packages(pondero.__path__, "pondero.")]
for name in found:
    if name.endswith("__main__") or name == "pondero.tui._screen.driver":  # the app asks for POSIX first
        continue
    importlib.import_module(name)
print(len(found))
"""
THEIRS = ("textual.app", "rich.console", "click", "aiohttp", "uvicorn", "starlette.applications",
          "httpx2", "redis.asyncio", "psycopg", "prometheus_client", "botocore.session", "keyring",
          "genai_prices", "mcp", "opentelemetry.trace", "plotext", "pytest", "ray")  # fmt: skip


def test_every_module_can_be_imported_where_posix_is_not():
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WITHOUT_POSIX, *THEIRS],
        env={**os.environ, "PYTHONPATH": str(Path(pondero.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert int(run.stdout) > 400


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
@pytest.mark.parametrize("command", ["demo", "doctor", "levels claude-opus-5"])
def test_a_character_that_an_encoding_lacks_stops_nothing(command, encoding, tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "pondero", *command.split()],
        env={
            **os.environ,
            "PYTHONPATH": str(Path(pondero.__file__).parents[1]),
            "PYTHONIOENCODING": encoding,
            "PONDERO_DATA_DIR": str(tmp_path),
        },
        capture_output=True,
        check=False,
    )
    assert b"UnicodeEncodeError" not in run.stderr
    assert run.stdout.decode(encoding, "replace")  # click writes UTF-8 where ASCII is all there is


def test_a_pipe_on_windows_gets_utf_8(tmp_path, monkeypatch):
    monkeypatch.setattr(cli.os, "name", "nt")
    monkeypatch.delenv("PYTHONIOENCODING", raising=False)
    with (tmp_path / "out").open("w", encoding="cp1252") as stream:
        cli._take_every_character(stream)
        stream.write("✓ →")
    assert (tmp_path / "out").read_bytes() == "✓ →".encode()


def test_an_encoding_that_was_asked_for_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(cli.os, "name", "nt")
    monkeypatch.setenv("PYTHONIOENCODING", "cp1252")
    with (tmp_path / "out").open("w", encoding="cp1252") as stream:
        cli._take_every_character(stream)
        stream.write("é →")
    assert (tmp_path / "out").read_bytes() == b"\xe9 ?"


@pytest.mark.parametrize(("system", "fits"), [("nt", True), ("posix", False)])
def test_a_terminal_without_term_is_one_on_windows_only(monkeypatch, system, fits):
    monkeypatch.delenv("TERM", raising=False)
    monkeypatch.setattr("pondero.cli.commands.chat.os.name", system)
    assert _is_dumb() is not fits  # a chat is plain there


def test_several_workers_are_refused_in_words_where_there_is_no_fork(monkeypatch):
    monkeypatch.delattr(os, "fork", raising=False)
    with pytest.raises(BadParameter, match="fork"):
        Workers(2, lambda: None, lambda _: None, lambda: None, patience=1)


def test_files_have_the_same_line_ends_everywhere(tmp_path, monkeypatch):
    opened = []
    real = os.fdopen

    def seen(*given, **named):
        opened.append(named["newline"])
        return real(*given, **named)

    monkeypatch.setattr("pondero.store.files.os.fdopen", seen)
    write_atomic(tmp_path / "a.toml", "one\ntwo\n")
    assert opened == ["\n"]
    assert (tmp_path / "a.toml").read_bytes() == b"one\ntwo\n"


def test_no_text_file_is_opened_in_the_system_s_own_encoding():
    """Windows would read and write cp1252; -X warn_default_encoding names each place."""
    script = (
        "from pondero.cli.app import run\n"
        "for words in (['plan', 'gpt-5/high'], ['models'], ['doctor'], ['levels', 'gpt-5'],\n"
        "              ['ask', '--offline', '-m', 'gpt-5', 'hello'], ['threads', 'list'], ['demo']):\n"
        "    run(words)\n"
    )
    run = subprocess.run(
        [
            sys.executable,
            "-X",
            "warn_default_encoding",
            "-W",
            "error::EncodingWarning",
            "-c",
            script,
        ],
        env={**os.environ, "PYTHONPATH": str(Path(pondero.__file__).parents[1])},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "EncodingWarning" not in run.stderr, run.stderr[-2000:]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (r"C:\tools\server.exe --port 8", [r"C:\tools\server.exe", "--port", "8"]),
        (r'"C:\Program Files\s.exe" -x', [r"C:\Program Files\s.exe", "-x"]),
        (r'python -c "print(1)" it', ["python", "-c", "print(1)", "it"]),
        (r'a"b c"d', ["ab cd"]),
        ("", []),
    ],
)
def test_a_command_line_of_windows_keeps_its_backslashes(line, words):
    assert split_command(line, windows=True) == words


@given(st.lists(st.text(st.sampled_from("abc\\ :-'"), min_size=1), max_size=4))
def test_words_of_windows_come_back_whole(words):
    assert split_command(" ".join(f'"{word}"' for word in words), windows=True) == words


def test_an_open_quote_is_an_error_everywhere():
    for windows in (True, False):
        with pytest.raises(ValueError, match="quotation"):
            split_command('a "b', windows=windows)


def test_a_file_that_is_read_elsewhere_is_replaced_a_little_later(tmp_path, monkeypatch):
    busy, real = [1, 2], Path.replace

    def replace(self, target):
        if busy:
            busy.pop()
            raise PermissionError(13, "in use")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(StoreError, match="in use"):
        write_atomic(tmp_path / "a", "one")
    busy[:] = [1, 2]
    monkeypatch.setattr("pondero.store.files.sleep", lambda _: None)
    monkeypatch.setattr("pondero.store.files.os.name", "nt")
    write_atomic(tmp_path / "a", "one")
    monkeypatch.undo()
    assert (tmp_path / "a").read_text() == "one"


def test_where_no_links_can_be_made_files_are_copied(tmp_path, monkeypatch):
    def refuse(*_given, **_named):
        raise OSError(1314, "a required privilege is not held by the client")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    home = tmp_path / "home"
    (home / "inner").mkdir(parents=True)
    (home / "inner" / "a").write_text("one")
    (home / "b").write_text("two")
    _mirror(home, tmp_path / "here", {})
    assert (tmp_path / "here" / "inner" / "a").read_text() == "one"
    assert (tmp_path / "here" / "b").read_text() == "two"


def test_powershell_completes_names(tmp_path):
    def completed(*words, typed=""):
        run = subprocess.run(
            [sys.executable, "-m", "pondero"],
            env={
                **os.environ,
                "PYTHONPATH": str(Path(pondero.__file__).parents[1]),
                "_PONDERO_COMPLETE": "powershell_complete",
                "COMP_WORDS": "\n".join(words),
                "COMP_WORD": typed,
            },
            capture_output=True,
            text=True,
            check=True,
        )
        return run.stdout.splitlines()

    assert "plain,plan" in completed("pondero", "pl", typed="pl")
    assert "plain,opus" in completed("pondero", "plan", "opu", typed="opu")
    assert "plain,--json" in completed("pondero", "plan", "--js", typed="--js")
    script = subprocess.run(
        [sys.executable, "-m", "pondero", "completion", "powershell"],
        env={**os.environ, "PYTHONPATH": str(Path(pondero.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "Register-ArgumentCompleter -Native -CommandName pondero" in script
    assert "_PONDERO_COMPLETE" in script
