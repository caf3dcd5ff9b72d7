"""The access log: a line of JSON a request, wherever its file went meanwhile."""

import json
import os
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields, replace

from pondero.canon import Usage, dump_json
from pondero.gateway.observability import access_log
from pondero.gateway.observability.access_log import AccessLog, format_line
from pondero.gateway.observability.receipt import Receipt, redact_receipt
from pondero.gateway.observability.request_row import RequestRow
from pondero.store import SecretRedactor

RECEIPT = Receipt(
    id="a1",
    at=1763164800.25,
    key="ci",
    front="chat",
    said="opus",
    provider="north",
    model="m1",
    asked="high",
    sent="medium",
    why="cap",
    usage=Usage(10, output=2, thinking=7),
    seconds=1.23456,
    cost=Decimal("0.00012"),
    trace="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
)


def test_a_line_says_what_is_known_and_nothing_else():
    assert json.loads(format_line(RECEIPT)) == {
        "time": "2025-11-15T00:00:00.250+00:00",
        "id": "a1",
        "key": "ci",
        "client_api": "chat",
        "requested_model": "opus",
        "model": "north:m1",
        "path": "none",
        "asked": "high",
        "sent": "medium",
        "why": "cap",
        "status": 200,
        "end": "done",
        "tries": 0,
        "stream": False,
        "seconds": 1.2346,
        "cost": "0.00012",
        "estimated": False,
        "offline": False,
        "tokens": {"input": 10, "output": 2, "thinking": 7},
    }


def test_a_line_has_a_reason_as_a_whole_sentence_but_no_more_of_other_texts():
    line = json.loads(format_line(replace(RECEIPT, reason="r" * 390, said="s" * 390)))
    assert line["reason"] == "r" * 390
    assert len(line["requested_model"]) < 390


def test_the_page_lists_the_fields_of_a_line_by_the_names_of_the_admin_api():
    unknown = [each for each in fields(Receipt) if getattr(RECEIPT, each.name) is None]
    known = {each.name: 0.5 if each.type == float | None else "x" for each in unknown}
    full = replace(RECEIPT, adjustments=("cap",), **known)
    line = json.loads(format_line(full))
    page = (Path(__file__).parents[3] / "docs" / "gateway.md").read_text("utf-8")
    listed = page[page.index("**The access log**") : page.index("**`GET /metrics`**")]
    assert [name for name in line if f"`{name}`" not in listed] == []
    assert set(line) - set(RequestRow.__struct_fields__) == {"time", "tokens"}


@given(st.text(), st.text())
def test_a_request_is_one_line_whatever_a_client_calls_things(said, key):
    line = format_line(Receipt(id="a", at=0.0, key=key, front="chat", said=said))
    assert len(line.splitlines()) == 1 or "\n" not in line
    assert json.loads(line)["id"] == "a"


def test_requests_with_the_same_texts_have_their_own_numbers():
    first = replace(RECEIPT, id="b2", at=1763164801.9996, first=0.5, cost=None)
    second = replace(RECEIPT, usage=Usage(), seconds=2.0, first_try=0.25, units="pages=2")
    whole = json.loads(format_line(RECEIPT))
    added = {"id": "b2", "time": "2025-11-15T00:00:01.999+00:00", "first": 0.5}
    assert json.loads(format_line(first)) == {
        name: value for name, value in (whole | added).items() if name != "cost"
    }
    added = {"seconds": 2.0, "first_try": 0.25, "units": "pages=2"}
    assert json.loads(format_line(second)) == {
        name: value for name, value in (whole | added).items() if name != "tokens"
    }
    assert json.loads(format_line(RECEIPT)) == whole


def test_a_file_that_is_moved_away_is_begun_again(tmp_path):
    path = tmp_path / "access.log"
    for _ in range(2):
        log = AccessLog(str(path))
        log.note(RECEIPT)
        log.note(RECEIPT)
        log.close()
        assert [json.loads(line)["id"] for line in path.read_text().splitlines()] == ["a1", "a1"]
        assert path.stat().st_mode & 0o777 == 0o600
        path.rename(tmp_path / "access.log.1")


def test_a_key_of_this_process_is_in_no_line(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")
    log = AccessLog(str(tmp_path / "access.log"))
    log.note(Receipt(id="a", at=0.0, key="me", front="chat", said="sk-planted-0123456789abcdef"))
    log.close()
    assert json.loads((tmp_path / "access.log").read_text())["requested_model"] == "REDACTED"


def test_a_log_that_cannot_be_written_is_told_once(tmp_path, caplog):
    path = tmp_path / "nowhere" / "access.log"
    log = AccessLog(str(path))
    for _ in range(2):
        log.note(RECEIPT)
        log._write()
    assert caplog.text.count("cannot be written") == 1
    path.parent.mkdir()
    log.close()
    assert [json.loads(line)["id"] for line in path.read_text().splitlines()] == ["a1", "a1"]


@pytest.mark.parametrize("room", range(1, 400, 7))
def test_lines_that_a_full_disk_cut_are_written_again_whole(tmp_path, monkeypatch, room):
    """The writes of a full disk: some bytes, then none, then room again."""
    path = tmp_path / "access.log"
    log = AccessLog(str(path))
    write, left = os.write, [room]

    def full(file: int, data: bytes) -> int:
        if not left[0]:
            raise OSError(28, "No space left on device")
        wrote = write(file, data[: left[0]])
        left[0] -= wrote
        return wrote

    log.close()  # its thread must not write meanwhile
    with monkeypatch.context() as patch:
        patch.setattr(access_log.os, "write", full)
        for _ in range(3):
            log.note(RECEIPT)
        log._write()
        log._write()
    other = AccessLog(str(path))  # of another worker, which finds room first
    other.note(RECEIPT)
    other.close()
    log._write()
    whole = format_line(RECEIPT)
    assert [line for line in path.read_text().splitlines() if line == whole] == [whole] * 4


TEXTS = [
    field.name
    for field in fields(Receipt)
    if "str" in str(field.type) and field.name not in ("id", "adjustments")  # those are ours
]


@pytest.mark.parametrize("name", TEXTS)
def test_no_text_of_a_record_keeps_a_secret(name, monkeypatch):
    secret = "sk-planted-0123456789abcdef"
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    quoting = replace(RECEIPT, **{name: f"x {secret}"})
    redactor = SecretRedactor()
    for _ in range(2):  # the second time, all other texts are known
        clean = redact_receipt(quoting, redactor)
        assert secret not in dump_json(clean)
        assert replace(clean, **{name: getattr(RECEIPT, name)}) == RECEIPT
    assert redact_receipt(RECEIPT, redactor) == RECEIPT
