"""A cassette in place of a service: playing what was recorded."""

import json

import anyio
import pytest
from tests.transport.scripted import TIMEOUTS, AsyncScripted, Scripted, ask, ok

from pondero.canon import HttpRequest, ResponseHead
from pondero.errors import (
    BadParameter,
    CassetteError,
    Timeout,
    TransportError,
    Truncated,
    Unreachable,
)
from pondero.vcr import AsyncCassette, Cassette


@pytest.fixture(autouse=True)
def _playing(monkeypatch):
    monkeypatch.delenv("VCR_RECORD", raising=False)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cassettes" / "case.jsonl"


def record(path, *exchanges, **options):
    """Record these exchanges: pairs of a request and what is answered."""
    with Cassette(path, Scripted(*(b for _, b in exchanges)), record=True, **options) as cassette:
        for request, _ in exchanges:
            try:
                list(cassette.send(request, TIMEOUTS))
            except TransportError:
                continue


def play(cassette, request):
    answer = cassette.send(request, TIMEOUTS)
    return answer.head, list(answer)


def body(**values):
    return json.dumps(values).encode()


def test_what_was_recorded_is_played_piece_by_piece(path):
    record(
        path, (ask(), ok(b"data: 1\n\n", b"data: \xff", b"\n\n", content_type="text/event-stream"))
    )
    cassette = Cassette(path)
    assert play(cassette, ask()) == (
        ResponseHead(200, {"content-type": "text/event-stream"}),
        [b"data: 1\n\n", b"data: \xff", b"\n\n"],
    )
    cassette.assert_played()


def test_headers_that_describe_other_bytes_are_not_kept(path):
    answer = ok(b"{}", content_encoding="gzip", content_length="99", x_request_id="req_1")
    record(path, (ask(), answer))
    assert play(Cassette(path), ask())[0].headers == {"x-request-id": "req_1"}


def test_several_exchanges_are_each_played_once_to_the_request_they_fit(path):
    first, second = ask(body(q=1)), ask(body(q=2))
    record(path, (first, ok(b"one")), (second, ok(b"two")), (first, ok(b"three")))
    cassette = Cassette(path)
    assert play(cassette, second)[1] == [b"two"]
    assert play(cassette, first)[1] == [b"one"]
    assert play(cassette, first)[1] == [b"three"]
    with pytest.raises(
        CassetteError, match=r"nothing for POST .*: all its 3 exchanges were played"
    ):
        play(cassette, first)


def test_requests_that_all_match_are_answered_in_the_order_of_the_file(path):
    record(path, (ask(b"1"), ok(b"one")), (ask(b"2"), ok(b"two")))
    cassette = Cassette(path, match=())
    assert [play(cassette, ask(b"any"))[1] for _ in range(2)] == [[b"one"], [b"two"]]


def test_a_request_that_does_not_match_fails_with_what_is_different(path):
    asked = body(
        model="m", max_tokens=100, messages=[{"role": "user", "content": "What is 2 + 2?"}]
    )
    record(path, (ask(b"other"), ok()), (ask(asked), ok(b"4")))
    sent = body(model="m", stream=True, messages=[{"role": "user", "content": "What is 2 + 3?"}])
    with pytest.raises(CassetteError) as caught:
        play(Cassette(path), ask(sent))
    assert (
        str(caught.value)
        == f"""\
{path} has no exchange for POST https://api.test/v1/messages
the nearest of 2 left is exchange 2, line 4: POST https://api.test/v1/messages
  body.max_tokens
    expected  100
    actual    (nothing)
  body.messages[0].content
    expected  "What is 2 + 2?"
    actual    "What is 2 + 3?"
  body.stream
    expected  (nothing)
    actual    true
If the request is right, record again with VCR_RECORD=1."""
    )


def test_a_difference_never_shows_a_key(path):
    record(path, (ask(body(q=1)), ok()))
    sent = HttpRequest(
        "POST",
        "https://api.test/v1/messages?key=k3y-of-the-house",
        {"x-api-key": "k3y-of-the-garden"},
        body(note="open-sesame", echo="k3y-of-the-garden", again="k3y-of-the-house"),
    )
    with pytest.raises(CassetteError) as caught:
        play(Cassette(path, secrets=["open-sesame"]), sent)
    assert str(caught.value).count("REDACTED") == 4
    assert "k3y" not in str(caught.value)
    assert "sesame" not in str(caught.value)


def test_what_was_not_played_can_be_asserted(path):
    record(path, (ask(body(q=1)), ok(b"one")), (ask(body(q=2)), ok(b"two")))
    cassette = Cassette(path)
    play(cassette, ask(body(q=1)))
    assert [each.body for each in cassette.left] == [b"two"]
    with pytest.raises(
        CassetteError, match=r"1 of 2 exchanges in .* not played\n  exchange 2, line 4"
    ):
        cassette.assert_played()


def test_a_cassette_can_be_rewound(path):
    record(path, (ask(), ok(b"one")))
    cassette = Cassette(path)
    for _ in range(2):
        assert play(cassette, ask())[1] == [b"one"]
        cassette.rewind()


def test_a_missing_cassette_is_an_error_of_the_first_request_only(path):
    cassette = Cassette(path)
    with pytest.raises(
        CassetteError, match=r"there is no cassette .*; record it by .*VCR_RECORD=1"
    ):
        cassette.send(ask(), TIMEOUTS)
    cassette.close()


def test_playing_never_asks_the_service(path):
    record(path, (ask(), ok(b"one")))
    service = Scripted()
    with Cassette(path, service) as cassette:
        play(cassette, ask())
    assert service.sent == []
    assert service.closed


def test_a_stream_that_failed_fails_again_after_what_came(path):
    record(path, (ask(), ok(b"data: 1\n\n", Timeout("nothing for 300 seconds"))))
    answer = Cassette(path).send(ask(), TIMEOUTS)
    pieces = iter(answer)
    assert next(pieces) == b"data: 1\n\n"
    with pytest.raises(Timeout) as caught:
        next(pieces)
    assert str(caught.value) == "nothing for 300 seconds"
    assert f"recorded in {path}, line 1" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (Unreachable("no such host"), Unreachable),
        (Truncated("cut"), Truncated),
        (OSError("broken pipe"), TransportError),
    ],
)
def test_an_answer_that_never_began_fails_again(path, error, again):
    with Cassette(path, Scripted(error), record=True) as cassette, pytest.raises(type(error)):
        cassette.send(ask(), TIMEOUTS)
    with pytest.raises(again, match=str(error)):
        Cassette(path).send(ask(), TIMEOUTS)


def test_a_stream_its_reader_closed_ends_where_it_was_closed(path):
    with Cassette(path, Scripted(ok(b"one", b"two", b"three")), record=True) as cassette:
        answer = cassette.send(ask(), TIMEOUTS)
        for piece in answer:
            if piece == b"two":
                break
        answer.close()
    assert '{"_end":{"closed":true}}' in path.read_text()
    assert play(Cassette(path), ask())[1] == [b"one", b"two"]


def test_a_request_given_up_before_an_answer_is_unreachable_when_played(path):
    cassette = Cassette(path, Scripted(KeyboardInterrupt()), record=True)
    with cassette, pytest.raises(KeyboardInterrupt):
        cassette.send(ask(), TIMEOUTS)
    with pytest.raises(Unreachable, match="cancelled by its caller"):
        Cassette(path).send(ask(), TIMEOUTS)


def test_a_closed_answer_gives_nothing_more(path):
    record(path, (ask(), ok(b"one", b"two")))
    answer = Cassette(path).send(ask(), TIMEOUTS)
    assert next(iter(answer)) == b"one"
    answer.close()
    answer.close()
    assert list(answer) == []


def test_words_that_say_nothing_about_a_request_are_refused(path):
    with pytest.raises(BadParameter, match=r"invalid match='bodies'; use method host path query"):
        Cassette(path, match=["bodies"])


def test_a_cassette_says_what_it_is(path):
    assert repr(Cassette(path)) == f"<Cassette playing {str(path)!r}>"
    assert repr(AsyncCassette(path, record=True)) == f"<AsyncCassette recording {str(path)!r}>"


# -- asyncio ---------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_the_same_file_is_recorded_and_played_with_asyncio(path):
    service = AsyncScripted(ok(b"one", b"two"), ok(b"x", Timeout("late")), Unreachable("gone"))
    asked = [ask(body(q=n)) for n in range(3)]
    async with AsyncCassette(path, service, record=True) as cassette:
        await _all(cassette, asked)
    assert service.script.closed
    played = AsyncCassette(path)
    assert await _all(played, asked) == [[b"one", b"two"], [b"x", "late"], ["gone"]]
    played.assert_played()
    assert play(Cassette(path), asked[0])[1] == [b"one", b"two"]


async def _all(cassette, requests):
    found = []
    for request in requests:
        got = []
        try:
            answer = await cassette.send(request, TIMEOUTS)
            async for piece in answer:
                got.append(piece)  # noqa: PERF401 - what came before an error counts
            await answer.aclose()
        except TransportError as error:
            got.append(str(error))
        found.append(got)
    return found


@pytest.mark.anyio
async def test_a_cancelled_stream_records_what_came(path):
    class Slow(AsyncScripted):
        async def send(self, request, timeouts):
            answer = await super().send(request, timeouts)
            return Stuck(answer)

    class Stuck:
        def __init__(self, answer):
            self.head = answer.head

        async def __aiter__(self):
            yield b"one"
            scope.cancel()
            await anyio.sleep_forever()

        async def aclose(self):
            pass

    async with AsyncCassette(path, Slow(ok()), record=True) as cassette:
        answer = await cassette.send(ask(), TIMEOUTS)
        with anyio.CancelScope() as scope:
            async for _ in answer:
                pass
        await answer.aclose()
    assert '{"_body":"one"}\n{"_end":{"closed":true}}' in path.read_text()


@pytest.mark.anyio
async def test_other_tasks_run_between_the_pieces_of_a_played_stream(path):
    record(path, (ask(), ok(b"one", b"two", b"three")))
    seen = []

    async def read(cassette):
        async for piece in await cassette.send(ask(), TIMEOUTS):
            seen.append(piece)  # noqa: PERF401 - each as it comes

    async with anyio.create_task_group() as group:
        group.start_soon(read, AsyncCassette(path))
        group.start_soon(read, AsyncCassette(path))
    assert seen == [b"one", b"one", b"two", b"two", b"three", b"three"]


@pytest.fixture
def anyio_backend():
    return "asyncio"
