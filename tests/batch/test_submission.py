"""A batch is at its service once, whatever becomes of the request that makes it."""

import json
import time
from contextlib import suppress

import pytest
from tests.batch.services import MODELS, SERVICES, Made

from pondero import Client, Retry
from pondero.batch import BatchFile, collection, list_batches
from pondero.errors import (
    BadRequest,
    NotFound,
    ServerFailed,
    ServiceError,
    Unreachable,
    UsageError,
)

ASKS = [{"id": f"q{n}", "prompt": f"What is {n} * 23?"} for n in range(5)]
MANY = [{"id": f"q{n}", "prompt": f"What is {n} * 23?"} for n in range(220)]
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
def test_a_batch_that_may_have_been_made_is_sent_again_only_if_the_user_says_so(name, word):
    service = SERVICES[name](on_create=[word])
    with pytest.raises((Unreachable, ServerFailed)) as told:
        client(service).batch(ASKS, MODELS[name], "low")
    assert "--send-again" in told.value.__notes__[0]
    first = service.requests.index(service.creates[0])
    looks = service.requests[first + 1 :]
    assert len(looks) >= 3  # it may be listed a little later than it is made
    assert {request.method for request in looks} == {"GET"}
    batch = only_batch(service)
    assert batch.look() == "unsure"
    with pytest.raises(ServiceError, match="it is not known whether the service accepted it"):
        batch.wait()  # not for ever
    assert len(service.creates) == 1
    batch.send(again=True)
    assert len(service.creates) == 2
    assert len(service.made) == 1
    assert {answer.ending for answer in batch.wait().values()} == {"answered"}


@pytest.mark.parametrize("name", SERVICES)
def test_what_never_left_this_machine_is_simply_sent_later(name):
    service = SERVICES[name](on_create=["no network"])
    with pytest.raises(Unreachable):
        client(service).batch(ASKS, MODELS[name], "low")
    batch = only_batch(service)
    assert batch.state == "unsent"
    assert {answer.ending for answer in batch.wait().values()} == {"answered"}
    assert len(service.made) == 1


@pytest.mark.parametrize("name", SERVICES)
def test_an_unsure_batch_can_be_given_up_and_is_then_lost(name):
    service = SERVICES[name](on_create=["cut"])
    with pytest.raises(Unreachable):
        client(service).batch(ASKS, MODELS[name], "low")
    batch = only_batch(service)
    assert batch.cancel() == "unsure"  # nobody knows what could be cancelled
    assert batch.give_up() == "ended"
    assert {answer.ending for answer in batch.answers.values()} == {"lost"}
    assert len(service.creates) == 1


def only_batch(service):
    (left,) = list_batches()
    return client(service).open_batch(left.id)


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("late", [2, 12])
def test_a_batch_that_is_listed_late_is_found(name, late):
    service = SERVICES[name](on_create=["lost"])
    service.unlisted = late
    with suppress(Unreachable):
        client(service).batch(ASKS, MODELS[name], "low")
    assert {answer.ending for answer in only_batch(service).wait().values()} == {"answered"}
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
    with pytest.raises(ServiceError, match="batch_9 is not it"):
        batch.wait()
    assert len(service.creates) == 1
    assert {answer.ending for answer in batch.send(again=True).wait().values()} == {"answered"}
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
    batch = only_batch(service)
    for _ in range(2):
        with pytest.raises(ServerFailed):
            batch.send(again=True)
    assert len(batch.send(again=True).wait()) == 5
    assert len(service.creates) == 4


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
    with suppress(Unreachable):
        client(service).batch(MANY, MODELS["xai"], "low")
    batch = only_batch(service)
    while batch.state == "unsure":
        adds = len(service.adds)
        assert batch.look() == "unsure"
        assert len(service.adds) == adds  # only on request
        with suppress(Unreachable):
            batch.send(again=True)
    (made,) = service.made.values()
    ids = [id for id, _ in made.asks]
    assert len(ids) == len(set(ids)) == 220
    assert len(batch.wait()) == 220


@pytest.mark.parametrize("lag", [1, 3, 8])
def test_a_count_that_lags_sends_nothing_twice_and_ends_nothing_early(lag):
    service = SERVICES["xai"](after=0)
    service.page, service.count_lags = 100, lag
    batch = client(service).batch(MANY, MODELS["xai"], "low")
    assert {answer.ending for answer in batch.wait().values()} == {"answered"}
    (made,) = service.made.values()
    assert len(made.asks) == 220
    assert len(service.adds) == 3


def test_a_part_that_may_be_there_can_be_given_up_and_the_rest_is_collected():
    service = SERVICES["xai"]()
    service.on_add, service.page = ["", "cut"], 100
    with pytest.raises(Unreachable):
        client(service).batch(MANY, MODELS["xai"], "low")
    batch = only_batch(service)
    batch.give_up()
    endings = [answer.ending for answer in batch.wait().values()]
    assert endings == ["answered"] * 100 + ["lost"] * 100 + ["cancelled"] * 20


def test_two_processes_do_not_talk_about_one_batch_at_once():
    service, batch = sent("openai")
    other = client(service).open_batch(batch.id)
    with BatchFile.open(batch.id).hold_lock(), pytest.raises(UsageError, match="another process"):
        other.look()


@pytest.mark.parametrize("name", SERVICES)
def test_a_404_is_no_loss_until_the_user_gives_up_and_then_another_look_is_allowed(name):
    service, batch = sent(name, after=0)
    made, service.made = service.made, {}
    assert batch.look() == "running"
    assert "the service does not know" in batch.lots[0].note
    with pytest.raises(NotFound, match="until you give it up"):
        batch.wait()  # not for ever
    assert batch.state == "running"
    assert batch.give_up() == "ended"
    assert {answer.ending for answer in batch.answers.values()} == {"lost"}
    assert batch.look() == "ended"
    service.made = made
    assert {answer.ending for answer in batch.wait().values()} == {"answered"}
    assert len(service.creates) == 1


def test_a_batch_that_is_older_than_the_service_keeps_any_is_lost(monkeypatch):
    service, batch = sent("anthropic")
    service.made.clear()
    later = time.time() + 30 * 86_400
    monkeypatch.setattr(collection, "time", lambda: later)
    assert batch.look() == "ended"
    assert {answer.ending for answer in batch.answers.values()} == {"lost"}


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
