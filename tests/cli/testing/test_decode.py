"""``pondero decode``: paste a raw answer, see what is in it."""

import io
import json
import sys

import pytest

from pondero.cli.app import run

_CHUNKS = [
    {"choices": [{"index": 0, "delta": {"role": "assistant", "reasoning_content": "17 * 23"}}]},
    {"choices": [{"index": 0, "delta": {"content": "391"}}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}},
]
_STREAM = "".join(f"data: {json.dumps(c)}\n\n" for c in _CHUNKS) + "data: [DONE]\n\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "answer.txt"
    path.write_text(_STREAM)
    return str(path)


def test_a_stream_is_shown_to_people(file, capsys):
    assert run(["decode", file]) == 0
    out = capsys.readouterr().out
    for line in (
        "dialect   openai_chat",
        "thinking  17 * 23",
        "text      391",
        "finish    stop (stop)",
    ):
        assert line in out


def test_json_has_the_stable_keys(file, capsys):
    assert run(["decode", "--dialect", "openai_chat", "--stream", "--json", file]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["text"], found["thinking"]) == ("391", ["17 * 23"])


def test_it_reads_standard_input(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(_STREAM.encode())))
    assert run(["decode", "-", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["text"] == "391"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["no-such-file"], "No such file"), (["--dialect", "klingon", "-"], "unknown dialect"), ([], "missing argument")],
)  # fmt: skip
def test_bad_input_is_one_clear_line(arguments, says, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{}")))
    assert run(["decode", *arguments]) == 2
    assert says in capsys.readouterr().err
