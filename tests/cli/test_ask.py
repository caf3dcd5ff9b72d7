"""``pondero ask``: the answer on stdout, everything else on stderr."""

import io
import json
import sys

import pytest

from pondero.cli.app import run

SUM = "What is 17 * 23?"


@pytest.fixture
def ask(capsys, monkeypatch):
    def call(*arguments, stdin=""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        code = run(["ask", *arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_the_answer_is_all_that_stdout_says(ask):
    assert ask("--offline", "claude-opus-5/low", SUM) == (0, "17 * 23 = 391\n", "")


def test_the_question_may_be_piped_in_or_stand_beside_what_is_piped(ask):
    assert "391" in ask("--offline", "gpt-5.1/low", stdin=SUM)[1]
    assert "391" in ask("--offline", "gpt-5.1/low", "-", stdin=SUM)[1]
    code, out, _ = ask("--offline", "gpt-5.1/low", "--json", "What is 5 * 5?", stdin="some notes")
    assert (code, "25" in out) == (0, True)


def test_thinking_goes_to_stderr_where_it_is_asked_for(ask):
    code, out, err = ask("--offline", "claude-opus-5/high", "--thinking", SUM)
    assert (code, out) == (0, "17 * 23 = 391\n")
    assert "The question is" in err
    assert ask("--offline", "claude-opus-5/high", "--no-thinking", SUM)[2] == ""


def test_json_is_events_one_a_line_without_seals(ask):
    code, out, _ = ask("--offline", "claude-opus-5/high", "--json", SUM)
    events = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert events[0]["type"] == "started"
    assert events[-1]["type"] == "finished"
    assert events[-1]["verdict"] == "as_planned"
    assert all("seal" not in event.get("part", {}) for event in events)


def test_every_adjustment_is_said_on_stderr(ask):
    code, out, err = ask("--offline", "gemini-3-pro-preview/off", SUM)
    assert (code, "391" in out) == (0, True)
    assert "cannot_disable" in err


def test_a_policy_system_prompt_and_cap_go_along(ask):
    code, _, err = ask(
        "--offline", "gemini-3-pro-preview/off", SUM, "--policy", "unsupported=strict", "--system", "x", "--max-tokens", "900"
    )  # fmt: skip
    assert code == 2
    assert "cannot do exactly this" in err


def test_files_are_asked_about(ask, tmp_path):
    text, picture, odd = tmp_path / "a.txt", tmp_path / "b.png", tmp_path / "c.bin"
    text.write_text(SUM)
    picture.write_bytes(b"\x89PNG\r\n\x1a\n")
    odd.write_bytes(b"\xff\xfe\x00")
    assert "391" in ask("--offline", "gpt-5.1/low", "-f", str(text))[1]
    assert ask("--offline", "gpt-5.1/low", "-f", str(picture), "What is 5 * 5?")[0] == 0
    code, _, err = ask("--offline", "gpt-5.1/low", "-f", str(odd), "x")
    assert (code, "no text, image or PDF" in err) == (2, True)


def test_without_a_key_it_says_which_variable_and_that_offline_works(ask):
    code, out, err = ask("gpt-5.1/low", SUM)
    assert (code, out) == (2, "")
    assert "OPENAI_API_KEY" in err
    assert "--offline" in err


def test_without_a_question_it_is_a_usage_error(ask):
    code, _, err = ask("--offline", "gpt-5.1/low")
    assert (code, "no question" in err) == (2, True)


def test_a_cassette_is_recorded_and_played(ask, tmp_path, monkeypatch):
    tape = tmp_path / "sum.jsonl"
    monkeypatch.setenv("VCR_RECORD", "1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key-at-all-1234")
    assert "391" in ask("--offline", "gpt-5.1/low", "--cassette", str(tape), SUM)[1]
    assert "sk-not-a-key" not in tape.read_text()
    monkeypatch.delenv("VCR_RECORD")
    monkeypatch.delenv("OPENAI_API_KEY")
    assert "391" in ask("gpt-5.1/low", "--cassette", str(tape), SUM)[1]


def test_output_that_all_went_into_thinking_is_a_failure_with_advice(ask):
    code, _, err = ask("--offline", "claude-opus-5/high", "--max-tokens", "3", SUM)
    assert (code, "--max-tokens" in err) == (1, True)
