"""``pondero batch``: what it says before it sends, what it prints, and how it goes on."""

import json

import pytest
from tests.batch.services import SERVICES

from pondero.cli.commands import batch as module
from pondero.client import Client
from pondero.client.batches import BatchSession


@pytest.fixture(autouse=True)
def _own_folders(data_dir, config_dir):
    return data_dir


@pytest.fixture
def asks(tmp_path):
    path = tmp_path / "asks.jsonl"
    rows = [{"id": f"q{n}", "prompt": f"What is {n} * 23?", "max_tokens": 2000} for n in range(5)]
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


@pytest.fixture
def service(monkeypatch):
    """A service that lives on between two calls of the command."""
    found = SERVICES["anthropic"]()
    monkeypatch.setattr(type(found), "needs_key", True)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k-not-a-real-one")
    monkeypatch.setattr(BatchSession, "pause", lambda _self, _seconds: 0.0)
    monkeypatch.setattr(module, "_client", lambda *, offline: Client(transport=found))
    return found


def run(asks, *more, model="claude-opus-5"):
    return ("batch", "run", asks, "-m", model, *more)


def test_a_dry_run_says_the_price_and_what_each_level_becomes_and_sends_nothing(call, asks):
    code, out, _ = call(*run(asks, "--thinking", "minimal", "--dry-run"))
    assert code == 0
    assert "5 requests at low" in out
    assert "(level_raised)" in out or "minimal" in out
    assert "as a batch" in out
    told = json.loads(call(*run(asks, "--thinking", "minimal", "--dry-run", "--json"))[1])
    assert told["price"]["batch"] * 2 == pytest.approx(told["price"]["live"])
    assert told["asks"] == 5
    assert told["adjustments"][0]["asked"] == "minimal"
    assert json.loads(call("batch", "list", "--json")[1]) == {"batches": []}


def test_nothing_is_sent_without_a_yes(call, asks, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k-not-a-real-one")
    code, _, err = call(*run(asks))
    assert code == 2
    assert "no terminal to ask on: send 5 requests? Add --yes" in err
    assert json.loads(call("batch", "list", "--json")[1]) == {"batches": []}


@pytest.mark.parametrize(
    "model",
    ["claude-opus-5", "gpt-5.5", "gemini-3-flash-preview", "mistral:mistral-small-latest",
     "groq:openai/gpt-oss-120b", "xai:grok-4.3", "openrouter:openai/gpt-5.5"],
)  # fmt: skip
def test_offline_every_provider_answers_by_id(call, asks, model):
    code, out, err = call(*run(asks, "--thinking", "low", "--offline", model=model))
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0, err
    assert [row["id"] for row in rows] == [f"q{n}" for n in range(5)]
    assert all(str(n * 23) in row["text"] for n, row in enumerate(rows))
    assert "ended: 5 answered" in err
    assert "nothing is paid" in err
    assert "$" not in err


def test_answers_go_to_a_file_and_json_has_the_whole(call, asks, tmp_path):
    out = tmp_path / "answers.jsonl"
    code, text, _ = call(*run(asks, "--offline", "--output", str(out), "--json"))
    told = json.loads(text)
    assert code == 0
    assert [json.loads(line) for line in out.read_text().splitlines()] == told["answers"]
    assert told["state"] == "ended"
    assert told["cost"] is None  # nothing was billed
    code, _, err = call(*run(asks, "--offline", "--output", str(out)))
    assert code == 2
    assert "--force" in err


def test_left_at_the_service_it_is_collected_by_another_call(call, asks, service, monkeypatch):
    service.after = 2
    code, out, err = call(*run(asks, "--yes", "--no-wait"))
    assert (code, out) == (0, "")
    assert "running: no answers yet" in err
    id = json.loads(call("batch", "list", "--json")[1])["batches"][0]["id"]
    assert f"{id}  running  0 of 5 requests" in call("batch", "show", id)[1]
    code, out, _ = call("batch", "collect", "last")
    assert code == 0
    assert len(out.splitlines()) == 5
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    assert call("batch", "collect", id)[1] == out  # what has ended needs no service and no key
    assert len(service.creates) == 1


def test_the_questions_of_a_sweep_are_requests_and_their_targets_are_not_sent(call, tmp_path):
    path = tmp_path / "questions.jsonl"
    row = {"id": "q1", "input": "What is 2 * 3?", "target": "6", "metadata": {"kind": "easy"}}
    path.write_text(json.dumps(row))
    code, out, err = call(*run(str(path), "--offline"))
    assert (code, "2 * 3 = 6" in out) == (0, True)
    assert "ignored target and metadata, which a sweep reads and a batch does not send" in err


def test_offline_the_price_of_the_service_is_said_and_nothing_is_paid(call, asks):
    code, out, _ = call(*run(asks, "--offline", "--dry-run", "--max-tokens", "1000"))
    assert code == 0
    assert "offline: the emulator answers, and nothing is paid\n" in out
    assert "the service would charge at most $0." in out


def test_an_offline_batch_that_was_cut_off_cannot_be_collected(call, asks, service, monkeypatch):
    monkeypatch.setattr(type(service), "needs_key", False)
    call(*run(asks, "--yes", "--no-wait"))
    code, _, err = call("batch", "collect", "last")
    assert code == 2
    assert "was with the emulator of a process that has ended" in err


def test_cancel_says_what_is_left(call, asks, service):
    service.after = 9
    assert call(*run(asks, "--yes", "--no-wait"))[0] == 0
    code, out, _ = call("batch", "cancel", "last")
    assert code == 0
    assert "ended: 5 cancelled" in out


def test_an_ask_may_hold_what_ends_lines_elsewhere(call, tmp_path):
    path = tmp_path / "asks.jsonl"
    path.write_text('{"id": "a", "prompt": "What is\\u2028 2 + 2?"}\n'.replace("\\u2028", "\u2028"))
    code, out, _ = call(*run(str(path), "--offline"))
    assert code == 0
    assert '"id":"a","ending":"answered"' in out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "asks.jsonl:1: invalid JSON"),
        ("3", "a request is a text or an object, not '3'"),
        ('\n{"prompt": "x", "sistem": "y"}', "asks.jsonl:2: unknown field 'sistem'"),
        ('{"prompt": "x", "stream": true}', "asks.jsonl:1: a batch has no option 'stream'"),
    ],
)
def test_a_line_that_is_no_ask_is_named(call, tmp_path, text, words):
    (tmp_path / "asks.jsonl").write_text(text)
    code, _, err = call(*run(str(tmp_path / "asks.jsonl"), "--offline"))
    assert code == 2
    assert words in err


@pytest.mark.parametrize("where", ["nowhere/out.jsonl", "."])
def test_an_output_that_cannot_be_written_is_refused_before_anything_is_sent(
    call, asks, service, tmp_path, where
):
    code, _, err = call(*run(asks, "--yes", "--output", str(tmp_path / where)))
    assert code == 2
    assert "folder" in err
    assert service.requests == []
    assert json.loads(call("batch", "list", "--json")[1]) == {"batches": []}


def test_run_without_waiting_takes_no_output(call, asks, service, tmp_path):
    out = tmp_path / "out.jsonl"
    code, _, err = call(*run(asks, "--yes", "--no-wait", "--output", str(out)))
    assert (code, service.requests, out.exists()) == (2, [], False)
    assert "give --output to 'batch collect'" in err


def test_collect_without_waiting_writes_no_file_before_the_batch_has_ended(
    call, asks, service, tmp_path
):
    service.after = 2
    call(*run(asks, "--yes", "--no-wait"))
    out = tmp_path / "out.jsonl"
    code, _, err = call("batch", "collect", "last", "--no-wait", "--output", str(out))
    assert code == 1
    assert not out.exists()
    assert "is not written before the batch has ended" in err
    code, _, _ = call("batch", "collect", "last", "--no-wait", "--output", str(out))
    assert code == 0
    assert len(out.read_text().splitlines()) == 5
    assert len(service.creates) == 1


def test_what_may_be_at_the_service_is_sent_again_on_request(call, asks, service):
    service.on_create = ["cut"]
    code, _, err = call(*run(asks, "--yes", "--no-wait"))
    assert code != 0
    assert "--send-again" in err
    code, _, err = call("batch", "collect", "last", "--no-wait")
    assert (code, len(service.creates)) == (1, 1)
    assert "it is not known whether the service accepted it" in err
    code, out, _ = call("batch", "collect", "last", "--send-again")
    assert (code, len(out.splitlines()), len(service.creates)) == (0, 5, 2)
    assert call("batch", "collect", "last", "--send-again", "--give-up")[0] == 2


def test_what_the_service_does_not_know_is_lost_on_request_and_looked_for_again(
    call, asks, service
):
    service.after = 1
    call(*run(asks, "--yes", "--no-wait"))
    made, service.made = service.made, {}
    code, _, err = call("batch", "collect", "last", "--no-wait")
    assert (code, "running: no answers yet" in err) == (1, True)
    assert "ended: 5 lost" in call("batch", "collect", "last", "--give-up")[2]
    service.made = made
    assert call("batch", "collect", "last")[0] == 0
    assert len(service.creates) == 1
