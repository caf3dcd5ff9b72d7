"""A batch is at its service once, whatever becomes of the request that makes it."""

import json
import os
import signal
import subprocess
import sys

import pytest
from tests.batch.services import MODELS, SERVICES, Made

from pondero import Client, Retry
from pondero.batch import BatchFile, list_batches
from pondero.errors import BadRequest, ServerFailed, Unreachable, UsageError

ASKS = [{"id": f"q{n}", "prompt": f"What is {n} * 23?"} for n in range(5)]
QUICK = Retry(attempts=3, waits=False)
NAMED = [name for name in SERVICES if name not in ("anthropic", "openrouter")]


def client(service):
    return Client(transport=service, retry=QUICK)


def sent(name, **options):
    service = SERVICES[name](**options)
    return service, client(service).batch(ASKS, MODELS[name], "low")


@pytest.mark.parametrize("word", ["lost", "lost 500", "hang", "garbled"])
@pytest.mark.parametrize("name", NAMED)
def test_a_batch_that_was_made_though_no_answer_came_is_found_by_its_name(name, word):
    service, batch = sent(name, on_create=[word])
    assert len(service.creates) == len(service.made) == 1
    assert {answer.ending for answer in batch.wait().values()} == {"answered"}


@pytest.mark.parametrize("word", ["cut", "500"])
@pytest.mark.parametrize("name", SERVICES)
def test_a_batch_that_was_not_made_is_looked_for_first_and_then_made(name, word):
    service, batch = sent(name, on_create=[word])
    assert len(service.creates) == 2
    assert len(service.made) == 1
    first, second = (n for n, each in enumerate(service.requests) if each in service.creates)
    looks = service.requests[first + 1 : second]
    assert len(looks) >= 3  # it may be listed a little later than it is made
    assert {request.method for request in looks} == {"GET"}
    assert {answer.ending for answer in batch.wait().values()} == {"answered"}


@pytest.mark.parametrize("name", NAMED)
def test_a_batch_that_is_listed_late_is_found(name):
    service = SERVICES[name](on_create=["lost"])
    service.unlisted = 2
    client(service).batch(ASKS, MODELS[name], "low")
    assert len(service.made) == len(service.creates) == 1


@pytest.mark.parametrize("name", ["openai", "google", "xai"])
def test_the_list_is_read_page_by_page(name):
    service = SERVICES[name](on_create=[""] * 6 + ["lost"])
    for _ in range(6):
        client(service).batch(ASKS[:1], MODELS[name], "low")
    service.listed = lambda: list(service.made.values())  # ours is on the last page
    client(service).batch(ASKS, MODELS[name], "low")
    assert len(service.made) == len(service.creates) == 7


@pytest.mark.parametrize("name", ["anthropic", "openrouter"])
def test_where_nothing_has_a_name_the_results_tell_which_batch_is_ours(name):
    service, batch = sent(name, on_create=["lost"], after=3)
    assert batch.state == "unsure"
    assert "batch_1 may be it" in batch.lots[0].note
    assert {answer.ending for answer in batch.wait().values()} == {"answered"}
    assert len(service.made) == len(service.creates) == 1
    assert batch.lots[0].remote == "batch_1"


@pytest.mark.parametrize("name", ["anthropic", "openrouter"])
def test_a_batch_of_somebody_else_is_not_taken_for_ours(name):
    service = SERVICES[name](on_create=["cut"], after=50)
    body = json.loads(client(service).prepare(MODELS[name], "a", stream=False).request.body)
    asks = [(f"theirs-{n}", body) for n in range(5)]
    service.made["batch_9"] = Made(
        "batch_9", asks, endpoint="/v1/chat/completions", input_file_id=""
    )
    batch = client(service).batch(ASKS, MODELS[name], "low")
    assert batch.state == "unsure"  # it has as many asks, and may be ours
    assert len(service.creates) == 1
    service.after = 0
    assert {answer.ending for answer in batch.wait().values()} == {"answered"}
    assert len(service.creates) == 2
    assert batch.lots[0].remote != "batch_9"


def test_a_refusal_is_raised_and_nothing_is_at_the_service():
    service = SERVICES["anthropic"](on_create=["400"])
    with pytest.raises(BadRequest) as told:
        client(service).batch(ASKS, MODELS["anthropic"])
    assert "0 of its 5 requests are at the service" in told.value.__notes__[0]
    (left,) = list_batches()
    assert left.state == "unsent"
    assert client(service).open_batch(left.id).look() == "running"  # goes on


def test_too_many_requests_is_tried_again():
    service, _ = sent("anthropic", on_create=["429", "429"])
    assert len(service.creates) == 3
    assert len(service.made) == 1


def test_a_service_that_stays_broken_leaves_a_batch_to_go_on_with():
    service = SERVICES["openai"](on_create=["500"] * 3)
    with pytest.raises(ServerFailed):
        client(service).batch(ASKS, MODELS["openai"])
    assert service.made == {}
    (left,) = list_batches()
    assert len(client(service).open_batch(left.id).wait()) == 5


def test_where_not_even_the_list_can_be_read_nothing_is_sent_again():
    service = SERVICES["openai"](on_create=["lost"])

    def silent(*_):
        raise Unreachable("nobody there")

    service.routes = tuple(
        (method, path, silent if handle is type(service).list_all else handle)
        for method, path, handle in service.routes
    )
    with pytest.raises(Unreachable):
        client(service).batch(ASKS, MODELS["openai"])
    (left,) = list_batches()
    assert left.state == "unsure"
    service.routes = type(service).routes
    assert len(client(service).open_batch(left.id).wait()) == 5
    assert len(service.creates) == 1


@pytest.mark.parametrize("words", [["lost"], ["cut"], ["", "lost"], ["lost", "cut", "lost"]])
def test_asks_are_added_once_whatever_becomes_of_the_requests_that_add_them(words):
    service = SERVICES["xai"]()
    service.on_add, service.page = words, 100
    asks = [{"id": f"q{n}", "prompt": f"What is {n} * 23?"} for n in range(220)]
    batch = client(service).batch(asks, MODELS["xai"], "low")
    (made,) = service.made.values()
    ids = [id for id, _ in made.asks]
    assert len(ids) == len(set(ids)) == 220
    assert len(batch.wait()) == 220


def test_two_processes_do_not_talk_about_one_batch_at_once():
    service, batch = sent("openai")
    other = client(service).open_batch(batch.id)
    with BatchFile.open(batch.id).hold_lock(), pytest.raises(UsageError, match="another process"):
        other.look()


def test_a_batch_that_the_service_has_forgotten_ends_with_its_reason():
    service, batch = sent("openai")
    service.made.clear()
    answers = batch.wait()
    assert {answer.ending for answer in answers.values()} == {"lost"}
    assert "no longer knows the batch batch_1" in str(answers["q0"].error)


def test_a_batch_that_was_never_sent_can_be_cancelled():
    service = SERVICES["openai"](on_create=["400"])
    with pytest.raises(BadRequest):
        client(service).batch(ASKS, MODELS["openai"])
    (left,) = list_batches()
    assert client(service).open_batch(left.id).cancel() == "ended"
    assert service.made == {}


def test_no_key_is_on_disk(data_dir, monkeypatch):
    key = "not-a-real-key-0123456789"
    service = SERVICES["anthropic"]()
    Client(transport=service, keys={"anthropic": key}).batch(ASKS, MODELS["anthropic"]).wait()
    assert service.requests[0].headers["x-api-key"] == key
    for path in data_dir.rglob("*"):
        assert path.is_dir() or key.encode() not in path.read_bytes()


# -- killed ----------------------------------------------------------------------------------------

KILLED = """
import json, os, signal, sys
from tests.batch.services import MODELS, SERVICES
from tests.batch.test_submission import ASKS, client

name, log, deadly = sys.argv[1], sys.argv[2], int(sys.argv[3])
service = SERVICES[name]()
sending = service.send

def send(request, timeouts=None):
    # The service lives on: what it has is in a file that every process shares.
    service.revive(log)
    try:
        return sending(request, timeouts)
    finally:
        service.keep(log)
        if len(service.requests) == deadly:
            os.kill(os.getpid(), signal.SIGKILL)

service.send = send
client(service).batch(ASKS, MODELS[name], "low")
print("sent", flush=True)
"""


@pytest.mark.parametrize(("name", "deadly"), [("openai", 1), ("openai", 2), ("xai", 1), ("xai", 3)])
def test_killed_after_any_request_the_next_process_sends_nothing_twice(
    name, deadly, tmp_path, data_dir
):
    log = tmp_path / "service.json"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PONDERO_DATA_DIR": str(data_dir)}
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, name, str(log), str(deadly)],
        env=env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    service = SERVICES[name]()
    service.revive(log)
    (left,) = list_batches()
    answers = client(service).open_batch(left.id).wait()
    assert {answer.ending for answer in answers.values()} == {"answered"}
    assert len(service.made) == 1
    (made,) = service.made.values()
    assert len(made.asks) == len({id for id, _ in made.asks}) == 5
