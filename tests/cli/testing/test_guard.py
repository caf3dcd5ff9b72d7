"""``pondero guard``: what people and programs read, and how it ends."""

import io
import json
import sys
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from tests.contract.guards.tapes import changed, in_loop
from tests.hazards.talking import calling, chat_with

from pondero.cassettes.file_format import dump
from pondero.cli.app import run
from pondero.emulator import Emulator


def _drop_thinking(body):
    body["messages"][1]["content"].pop(0)


@pytest.fixture
def fine(tmp_path):
    path = tmp_path / "fine.jsonl"
    path.write_bytes(dump(in_loop("claude-opus-5/high")))
    return str(path)


@pytest.fixture
def trapped(tmp_path):
    path = tmp_path / "trapped.jsonl"
    path.write_bytes(dump(changed(in_loop("claude-sonnet-4-5/high"), _drop_thinking)))
    return str(path)


@pytest.fixture
def losing(tmp_path):
    path = tmp_path / "losing.jsonl"
    path.write_bytes(dump(changed(in_loop("claude-opus-5/high"), _drop_thinking)))
    return str(path)


def _shown(capsys, folder):
    return capsys.readouterr().out.replace(f"{folder}/", "")


def test_a_file_without_traps_says_what_is_fine(fine, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["guard", fine]) == 0
    assert _shown(capsys, tmp_path) == snapshot("""\
fine.jsonl
  a cassette: 3 exchanges (anthropic), 2 with a past, 3 signatures sent back
  unchanged

  no problem, nothing lost
""")


def test_what_cannot_be_judged_is_not_called_fine(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    path = tmp_path / "unknown.jsonl"
    path.write_text('{"request": {"url": "https://example.org/v9/talk", "body": {"say": "hi"}}}\n')
    assert run(["guard", str(path)]) == 0
    assert _shown(capsys, tmp_path) == snapshot("""\
unknown.jsonl
  lines: no exchanges, 0 with a past, no signatures sent back unchanged, 1
  passed over: with no model, or on no wire we know

  nothing to judge: no exchange with a model on a wire we know
""")


def test_a_trap_is_told_with_its_place_its_end_and_its_cure(trapped, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["guard", trapped]) == 1
    assert _shown(capsys, tmp_path) == snapshot("""\
trapped.jsonl
  a cassette: 3 exchanges (anthropic), 2 with a past, 2 signatures sent back
  unchanged

  ✗ thinking_missing  exchange 3, line 21 · claude-sonnet-4-5
    messages[1].content[0]
    what  the open tool loop begins with tool_use; the answer of exchange 1
          began with thinking
    then  400 Expected `thinking` or `redacted_thinking`, but found `tool_use`.
          When `thinking` is enabled, a final `assistant` message must start
          with a thinking block
    cure  send the answer's thinking blocks back first, unchanged
    the service took it all the same: 200

  1 problem, no losses
""")


def test_a_loss_is_told_and_counts_only_when_asked_for(losing, capsys):
    assert run(["guard", losing]) == 0
    assert "! thinking_lost" in capsys.readouterr().out
    assert run(["guard", "--strict", losing]) == 1


def test_several_files_end_as_the_worst_of_them(fine, trapped, capsys):
    assert run(["guard", fine, trapped]) == 1
    out = capsys.readouterr().out
    assert out.index("fine.jsonl") < out.index("trapped.jsonl")


def test_no_line_is_wider_than_eighty_columns(fine, trapped, losing, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    run(["guard", fine, trapped, losing])
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines if not line.startswith("/")) <= 80


def test_the_keys_of_the_json_are_stable(trapped, capsys):
    assert run(["guard", "--json", trapped]) == 1
    told = json.loads(capsys.readouterr().out)
    assert sorted(told) == ["errors", "files", "losses", "problems"]
    (file,) = told["files"]
    assert sorted(file) == snapshot(
        [
            "dialects",
            "errors",
            "exchanges",
            "explained",
            "findings",
            "kind",
            "lines",
            "name",
            "seals",
            "with_past",
        ]
    )
    assert sorted(file["findings"][0]) == snapshot(
        [
            "code",
            "cure",
            "dialect",
            "exchange",
            "line",
            "model",
            "path",
            "refused",
            "status",
            "then",
            "what",
        ]
    )
    assert (told["problems"], told["losses"], told["errors"]) == (1, 0, [])


def test_a_saved_chat_is_read(tmp_path, capsys):
    chat = chat_with(Emulator(script=calling(1)), "gpt-6-sol/high")
    chat.send("Is it fine?")
    path = tmp_path / "chat.json"
    path.write_text(chat.to_json())
    assert run(["guard", str(path)]) == 0
    assert "a saved chat of 4 messages" in capsys.readouterr().out


def test_standard_input_is_a_file_too(fine, capsys, monkeypatch):
    data = io.BytesIO(Path(fine).read_bytes())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))
    assert run(["guard", "-"]) == 0
    assert capsys.readouterr().out.startswith("stdin\n")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "there is no file"),
        (b"", "this is empty"),
        (b"hello", "unknown kind of file"),
        (b'{"pondero_thread":1,"thread":{}}\n{"turn"', "exported thread"),
    ],
)
def test_a_file_that_cannot_be_judged_is_one_line_and_the_others_are_read(
    content, words, fine, tmp_path, capsys
):
    path = tmp_path / "other"
    if content is not None:
        path.write_bytes(content)
    assert run(["guard", str(path), fine]) == 2
    told = capsys.readouterr()
    assert words in told.err
    assert str(path) in told.err
    assert told.err.count("\n") == 1
    assert "no problem, nothing lost" in told.out


def test_a_folder_is_no_file(tmp_path, capsys):
    assert run(["guard", str(tmp_path)]) == 2
    assert "is a folder" in capsys.readouterr().err


def test_an_error_is_in_the_json_too(tmp_path, capsys):
    assert run(["guard", "--json", str(tmp_path / "none")]) == 2
    (error,) = json.loads(capsys.readouterr().out)["errors"]
    assert sorted(error) == ["error", "name"]


def test_no_file_at_all_is_wrong_usage(capsys):
    assert run(["guard"]) == 2
    assert "missing argument" in capsys.readouterr().err


def test_a_key_in_the_place_of_a_file_is_not_printed(call):
    key = "sk-" + "proj-SHAPESEC0123456789abcdefghij"
    for more in ((), ("--json",)):
        code, out, err = call("guard", key, *more)
        assert code == 2
        assert key not in out + err
        assert "REDACTED" in out + err
