"""Every answer that came is kept, whatever else the service says, and no wait is endless."""

import asyncio
import gzip
import json
import sqlite3
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from tests.batch.services import MODELS, SERVICES, Answer, Files, Jobs, Messages, Operations

from pondero import AsyncClient, Client, Retry
from pondero.batch import Patience, list_batches
from pondero.errors import (
    AuthFailed,
    BadRequest,
    Malformed,
    Overloaded,
    ServerFailed,
)
from pondero.framing import MAX_FRAME, OversizedAnswer

ASKS = [{"id": f"q{n}", "prompt": f"What is {n} * 23?"} for n in range(5)]
QUICK = Retry(attempts=2, waits=False)


def begin(service, name, **options):
    return Client(transport=service, retry=QUICK).batch(ASKS, MODELS[name], "low", **options)


def endings(batch):
    return [answer.ending for answer in batch.wait().values()]


class Damaged(Files):
    """Its files are damaged as often as ``times`` says: by name, what becomes of their text."""

    def __init__(self, damage, times=99, **options):
        super().__init__(after=0, **options)
        self.damage, self.times, self.fetched = damage, times, Counter()
        own = {Files.content: Damaged.content}
        self.routes = tuple((method, path, own.get(do, do)) for method, path, do in Files.routes)

    def content(self, request, query, id):
        self.fetched[id] += 1
        if id not in self.damage or self.fetched[id] > self.times:
            return super().content(request, query, id)
        return self.damage[id](self.files[id])


def gone(_text):
    return Answer(404, {"error": {"message": "no such file", "type": "not_found"}})


def drop_line(text):
    return Answer(200, b"\n".join(text.splitlines()[1:]))


def spoil_line(text):
    first, *rest = text.splitlines()
    return Answer(200, b"\n".join([first[:40], *rest]))


def spoil_bytes(text):
    return Answer(200, b"\xff\xfe not JSON\n" + text)


def test_a_404_on_the_file_of_errors_costs_no_answer():
    service = Damaged({"err": gone}, ends=lambda n: "expired" if n == 2 else "answered")
    batch = begin(service, "openai")
    assert batch.look() == "running"
    assert Counter(a.ending for a in batch.answers.values()) == {"answered": 4}
    assert endings(batch) == ["answered"] * 2 + ["lost"] + ["answered"] * 2
    assert service.fetched["err"] == 3


@pytest.mark.parametrize("damage", [drop_line, spoil_line, spoil_bytes, gone])
@pytest.mark.parametrize("times", [1, 2, 3, 99])
def test_results_that_came_damaged_are_kept_fetched_again_and_then_lost(damage, times):
    service = Damaged({"out": damage}, times)
    batch = begin(service, "openai")
    found = []
    while batch.state != "ended":
        if len(found) > 5:
            batch.give_up()
        batch.look()
        found.append(Counter(answer.ending for answer in batch.answers.values())["answered"])
    whole = damage is spoil_bytes  # has every line, and one more
    least = 0 if damage is gone else 5 if whole else 4
    assert found[0] == least
    assert found == sorted(found)
    most = 99 if damage is gone else 3  # fetches; a file that is not there may come later
    assert found[-1] == (least if times >= most else 5)
    lost = sum(answer.ending == "lost" for answer in batch.answers.values())
    assert lost == 5 - found[-1]


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_results_with_one_id_the_answer_wins(order):
    class Twice(Damaged):
        def _results(self, made):
            out, err = super()._results(made)
            wrong = [self.line(id, 500, {"error": {"message": "odd"}}) for id, _ in made.asks]
            lines = [*out.splitlines(), *(json.dumps(each).encode() for each in wrong)]
            return b"\n".join(lines[::order]), err

    assert endings(begin(Twice({}), "openai")) == ["answered"] * 5


def test_lines_that_a_service_counted_as_answered_are_lost_and_not_called_unbilled():
    service = Messages(after=0, ends=lambda n: "absent" if n < 2 else "answered")
    batch = begin(service, "anthropic")
    answers = batch.wait()
    assert [answer.ending for answer in answers.values()] == ["lost"] * 2 + ["answered"] * 3
    assert "not billed" not in str(answers["q0"].error)


def test_lines_that_a_service_counted_as_expired_are_expired():
    class Silent(Messages):
        def outcomes(self, made):
            return [each for each in super().outcomes(made) if each[1] != "expired"]

    service = Silent(after=0, ends=lambda n: "expired" if n < 2 else "answered")
    assert endings(begin(service, "anthropic")) == ["expired"] * 2 + ["answered"] * 3


# -- waits -----------------------------------------------------------------------------------------


def test_an_operation_that_is_done_with_an_error_and_without_a_state_is_an_end():
    class Bare(Operations):
        def shown(self, made):
            error = {"code": 8, "message": "the quota is used up"}
            return {"name": made.id, "metadata": {"displayName": made.said["name"]}, "done": True,
                    "error": error}  # fmt: skip

    batch = begin(Bare(), "google")
    assert endings(batch) == ["failed"] * 5
    assert "the quota is used up" in str(batch.answers["q0"].error)


ODD = {
    "openai": lambda shown: shown | {"status": "archived"},
    "anthropic": lambda shown: shown | {"processing_status": "paused"},
    "mistral": lambda shown: shown | {"status": "SLEEPING"},
    "google": lambda shown: shown | {"metadata": shown["metadata"] | {"state": "JOB_STATE_ODD"}},
}


@pytest.mark.parametrize("name", ODD)
def test_an_unknown_state_is_reported_and_no_wait_for_it_is_endless(name):
    service = SERVICES[name](after=9_999)
    known = service.shown
    service.shown = lambda made: ODD[name](known(made))
    batch = begin(service, name)
    assert batch.look() == "running"
    assert "the service reports the unknown state" in batch.lots[0].note
    with pytest.raises(Malformed, match="unknown state"):
        batch.wait()
    service.shown, service.after = known, 0
    assert endings(batch) == ["answered"] * 5
    assert len(service.creates) == 1


def waited(seconds, error, *, whole=True):
    """How long a wait goes on that was well for some seconds and then meets an error."""
    patience = Patience()
    patience.check(None, None)
    patience.add(seconds)
    for minute in range(10_000):
        try:
            patience.check(error, error if whole else None)
        except type(error):
            return minute * 60.0
        patience.add(60.0)
    return None


def test_the_patience_of_a_wait_grows_with_it():
    night = 8 * 3_600.0
    error = Overloaded("no", status=503)
    assert waited(0.0, error) == pytest.approx(600, abs=61)
    assert waited(night, error) == pytest.approx(night / 2, abs=61)
    assert waited(night, error, whole=False) is None  # other chunks go on well
    assert waited(night, AuthFailed("no", status=401)) == 0
    assert waited(night, OversizedAnswer("no")) == 0


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_that_fails_for_a_while_ends_no_wait(name):
    service = SERVICES[name](after=0)
    batch = begin(service, name)
    working, failures = service.send, iter(range(16))

    def send(request, timeouts=None):
        if next(failures, None) is not None:
            return Answer(503, {"error": {"message": "busy", "type": "overloaded_error"}})
        return working(request, timeouts)

    service.send = send
    assert endings(batch) == ["answered"] * 5


def test_a_service_that_fails_for_good_ends_a_wait_and_nothing_is_lost():
    service = Files()
    batch = begin(service, "openai")
    working = service.send
    service.send = lambda *_: Answer(500, {"error": {"message": "broken"}})
    with pytest.raises(ServerFailed) as told:
        batch.wait()
    assert f"pondero batch collect {batch.id}" in told.value.__notes__[-1]
    service.send = working
    assert endings(batch) == ["answered"] * 5


# -- sizes -----------------------------------------------------------------------------------------


class Bomb(Answer):
    """An answer that grows while it is read; ``read`` is how far it came."""

    def __init__(self):
        super().__init__(200, b"")
        self.read = 0

    def __iter__(self):
        piece = gzip.decompress(gzip.compress(b" " * (8 << 20)))
        for _ in range(1_000):
            self.read += len(piece)
            yield piece

    async def __aiter__(self):
        for piece in self:
            yield piece


@pytest.mark.parametrize("twin", [False, True])
def test_results_are_read_no_further_than_the_limit_of_live_answers(twin):
    bomb = Bomb()
    batch = begin(Damaged({"out": lambda _: bomb}), "openai")
    service = batch._transport
    if twin:
        other = AsyncClient(transport=service, retry=QUICK).open_batch(batch.id)
        asyncio.run(other.look())
    else:
        batch.look()
    assert MAX_FRAME < bomb.read <= MAX_FRAME + (8 << 20)
    assert batch.state == "running"
    assert "a body of more than 67,108,864 bytes" in batch.lots[0].note


# -- as live ---------------------------------------------------------------------------------------


class Sum(msgspec.Struct):
    result: int


def test_the_type_given_as_output_is_the_type_of_the_values():
    service = Messages(after=0)
    service.answer = lambda body: {
        "id": "m", "type": "message", "role": "assistant", "model": body["model"],
        "content": [{"type": "text", "text": '{"result": 46}'}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip
    client = Client(transport=service)
    batch = client.batch([{"id": "q", "prompt": "2 * 23"}], "claude-opus-5", output=Sum)
    assert batch.wait()["q"].reply.value == Sum(46)
    assert client.open_batch(batch.id, output=Sum).wait()["q"].reply.value == Sum(46)
    assert client.open_batch(batch.id).answers["q"].reply.value == {"result": 46}


@pytest.mark.parametrize("kept", [(), (0,), (1, 3)])
def test_inline_answers_without_a_key_are_those_of_the_requests_in_their_order(kept):
    class Keyless(Operations):
        def shown(self, made):
            shown = super().shown(made)
            rows = shown.get("response", {}).get("inlinedResponses", {}).get("inlinedResponses", [])
            for at, row in enumerate(rows):
                if at not in kept:
                    del row["metadata"]
            return shown

    answers = begin(Keyless(backwards=False, after=0), "google").wait()
    assert [a.text.rsplit(" ", 1)[-1] for a in answers.values()] == ["0", "23", "46", "69", "92"]


@pytest.mark.parametrize("name", SERVICES)
def test_cancelling_a_batch_that_has_ended_fetches_its_answers(name):
    service = SERVICES[name](after=0)
    batch = begin(service, name)
    service.cancel = None
    service.routes = tuple(
        (method, path, too_late if method == "POST" and "cancel" in path else handle)
        for method, path, handle in service.routes
    )
    assert batch.cancel() == "ended"
    assert {answer.ending for answer in batch.answers.values()} == {"answered"}


def too_late(*_):
    return Answer(400, {"error": {"message": "it has ended", "type": "invalid_request_error"}})


def test_a_cancel_that_is_rejected_for_another_reason_is_raised():
    service = Files(after=9)
    batch = begin(service, "openai")
    service.routes = (("POST", r"/v1/batches/(\w+)/cancel", too_late), *service.routes)
    with pytest.raises(BadRequest, match="it has ended"):
        batch.cancel()
    assert batch.state == "running"


@pytest.mark.parametrize("id", ["../../v1/other", "a b?c=d#e", "x%2F..", ".."])
@pytest.mark.parametrize("kind", [Files, Jobs])
def test_the_id_of_a_file_is_one_part_of_a_path(kind, id):
    service = kind(after=0)
    service.inlines = False
    known = service.shown
    name = "output_file_id" if kind is Files else "output_file"

    def shown(made):
        found = known(made)
        return found | ({name: id} if name in found else {})

    service.shown = shown
    batch = begin(service, "openai" if kind is Files else "mistral")
    if id == "..":
        with pytest.raises(Malformed, match=r"the id '\.\.', which no address can have"):
            batch.look()
    else:
        batch.look()
    asked = [each.url for each in service.requests if "/files/" in each.url]
    for url in asked:
        path = url.partition("/v1/")[2]
        assert path.count("/") == 2, url
        assert not {"?", "#"} & set(path)
        assert ".." not in path.split("/")


# -- on disk ---------------------------------------------------------------------------------------

EARLIER = Path(__file__).parent / "earlier"


@pytest.fixture
def earlier(data_dir):
    """The batches that an earlier version left on the disk, by the end of their ids."""
    folder = data_dir / "batches"
    folder.mkdir(parents=True)
    for path in EARLIER.glob("*.sql"):
        with sqlite3.connect(folder / f"{path.stem}.db") as database:
            database.executescript(path.read_text())
        database.close()
    return {each.id.partition("-")[2].rstrip("0"): each.id for each in list_batches()}


def test_batches_of_an_earlier_version_are_read_and_go_on(earlier):
    states = {each.id.partition("-")[2].rstrip("0"): each.state for each in list_batches()}
    assert states == {"running": "running", "adding": "unsent", "lost": "ended", "unsure": "unsure"}
    for word, name in (("running", "openai"), ("lost", "openai")):
        service = SERVICES[name](after=0)
        client = Client(transport=service, retry=QUICK)
        made = client.batch(ASKS[:2], MODELS[name], "low")
        ids = [f"{earlier[word]}-{n:06}" for n in range(2)]
        (there,) = service.made.values()
        there.asks = [(id, body) for id, (_, body) in zip(ids, there.asks, strict=True)]
        assert there.id == client.open_batch(earlier[word]).lots[0].remote
        answers = client.open_batch(earlier[word]).wait()
        assert [answer.ending for answer in answers.values()] == ["answered"] * 2, word
        made.close()


def test_a_chunk_that_an_earlier_version_filled_in_part_is_unsure(earlier):
    service = SERVICES["xai"]()
    service.create([], name="theirs")
    batch = Client(transport=service, retry=QUICK).open_batch(earlier["adding"])
    assert batch.look() == "unsure"
    assert service.adds == []
    assert [a.ending for a in batch.send(again=True).wait().values()] == ["answered"] * 2
    assert len(service.adds) == 1
