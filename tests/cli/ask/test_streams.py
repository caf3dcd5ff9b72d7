"""``pondero ask`` and its streams: what is piped in, closed or without a size."""

import os
import subprocess
import sys

import pytest

from pondero.client import attachment, decode_text
from pondero.store import is_new_notice

PROGRAM = [sys.executable, "-m", "pondero"]
SUM = "What is 17 * 23?"


def shell(line, environment, **more):
    named = {**environment, "PONDERO": " ".join(PROGRAM)}
    return subprocess.run(
        ["sh", "-c", line], env=named, capture_output=True, text=True, check=False, **more
    )


@pytest.mark.skipif(os.name != "posix", reason="a shell of Unix")
@pytest.mark.parametrize("verb", ['ask --offline opus "hi"', "plan opus", "models"])
def test_a_closed_output_is_one_clear_line(environment, verb):
    made = shell(f"$PONDERO {verb} </dev/null >&-", environment)
    assert made.returncode == 1
    assert made.stderr == "pondero: standard output is closed; use >/dev/null to discard it\n"


@pytest.mark.skipif(os.name != "posix", reason="a shell of Unix")
def test_closed_errors_are_lost_and_nothing_else_is(environment):
    made = shell(f'$PONDERO ask --offline opus "{SUM}" </dev/null 2>&-', environment)
    assert (made.returncode, made.stdout) == (0, "17 * 23 = 391\n")
    assert shell("$PONDERO plan no-such-model-x 2>&-", environment).returncode == 2


@pytest.mark.skipif(os.name != "posix", reason="a shell of Unix")
def test_a_loop_keeps_its_lines_without_standard_input(environment):
    loop = f'while read -r line; do $PONDERO ask --offline {{}} opus "{SUM}"; done'
    lines = "one\ntwo\n"
    made = shell(loop.format("--no-stdin"), environment, input=lines)
    assert made.stdout == "17 * 23 = 391\n" * 2
    assert shell(loop.format(""), environment, input=lines).stdout.count("\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="a shell of Unix")
def test_a_loop_over_a_file_is_told_that_its_lines_were_read(environment, tmp_path):
    (tmp_path / "lines").write_text("one\ntwo\nthree\n")
    loop = f'while read -r line; do $PONDERO ask --offline {{}} opus "{SUM}"; done < lines'
    told = "2 lines of standard input went into the question; --no-stdin leaves them alone\n"
    assert told in shell(loop.format(""), environment, cwd=tmp_path).stderr
    assert (
        "standard input" not in shell(loop.format("--no-stdin"), environment, cwd=tmp_path).stderr
    )
    for fed in (
        f'cat lines | $PONDERO ask --offline opus "{SUM}"',
        "$PONDERO ask --offline opus < lines",
    ):
        assert "standard input" not in shell(fed, environment, cwd=tmp_path).stderr


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what the shell reads")
def test_a_loop_over_a_pipe_is_told_that_its_lines_were_read(environment, tmp_path):
    (tmp_path / "lines").write_text("one\ntwo\nthree\n")
    loop = f'cat lines | while read -r line; do $PONDERO ask --offline opus "{SUM}"; done'
    told = "2 lines of standard input went into the question; --no-stdin leaves them alone\n"
    assert told in shell(loop, environment, cwd=tmp_path).stderr


@pytest.mark.skipif(os.name != "posix", reason="a shell of Unix")
def test_a_wait_for_standard_input_is_told(environment):
    made = shell(f'sleep 4 | $PONDERO ask --offline opus "{SUM}"', environment)
    assert made.stdout == "17 * 23 = 391\n"
    assert "waiting for standard input to end; --no-stdin asks without it" in made.stderr
    made = shell(f'sleep 0 | $PONDERO ask --offline opus "{SUM}"', environment)
    assert "waiting" not in made.stderr


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252"])
def test_texts_are_read_by_one_rule_piped_in_or_attached(call, data_dir, tmp_path, encoding):
    words = "Was heißt «Straße» auf Französisch: la rue, été?"
    data = words.encode(encoding)
    assert decode_text(data) == words
    code, out, _ = call("ask", "--offline", "--json", "opus", stdin=data)
    assert code == 0
    assert "Straße" in out
    file = tmp_path / "notes.txt"
    file.write_bytes(data)
    assert "Straße" in attachment(file).text


@pytest.mark.parametrize("data", [b"\x00\x01", b"\xff\xd8\xff\xe0 no text\x01", bytes(range(256))])
def test_bytes_that_are_no_text_are_none(call, data_dir, data):
    assert decode_text(data) is None
    code, _, err = call("ask", "--offline", "opus", stdin=data)
    assert code == 2
    assert "is not text" in err


def test_a_file_that_its_name_calls_a_medium_is_no_old_text():
    assert attachment(b"\xe4\xf6\xfc sound", name="x.mp3").media_type == "audio/mpeg"


def test_that_a_model_is_not_in_the_catalog_is_told_once(call, data_dir):
    asked = ("ask", "--offline", "claude-opus-9/low", SUM)
    assert "not in the catalog" in call(*asked)[2]
    assert "not in the catalog" not in call(*asked)[2]
    assert "not in the catalog" in call("ask", "--offline", "claude-opus-8/low", SUM)[2]
    assert "unknown_model" in call("ask", "--offline", "--json", "claude-opus-9", SUM)[1]
    assert "not in the catalog" in call("plan", "claude-opus-9")[1]


def test_notices_are_given_where_nothing_can_be_written(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("PONDERO_DATA_DIR", str(tmp_path / "file" / "below"))
    assert is_new_notice("a")
    assert is_new_notice("a")
