"""What goes wrong on demand, seen through every wire's own caller side."""

import asyncio

import pytest
from tests.emulator.talking import MODELS, decoded, encoded, talk

import pondero
from pondero.canon import HttpRequest
from pondero.emulator import AsyncFaultyTransport, Emulator, Fault, FaultyTransport, ScriptedTurn
from pondero.errors import (
    AuthFailed,
    BadParameter,
    BadRequest,
    NotFound,
    Overloaded,
    PermissionDenied,
    PonderoError,
    RateLimited,
    ServerFailed,
    ServiceError,
    Timeout,
    Truncated,
    Unreachable,
    WireError,
)
from pondero.exchange import Timeouts

each_wire = pytest.mark.parametrize("model", MODELS)
each_way = pytest.mark.parametrize("stream", [True, False])
QUESTION = "Why do owls say “hoo”? ≈ 👍"


def failing(model, fault, *, stream=True):
    with pytest.raises(PonderoError) as caught:
        talk(Emulator(faults=[fault]), model, "low", QUESTION, stream=stream)
    return caught.value


def body(model, *faults, stream=True, **options):
    answer = Emulator(faults=faults, **options).send(encoded(model, "low", QUESTION, stream=stream))
    return list(answer)


@each_wire
@each_way
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, BadRequest),
        (401, AuthFailed),
        (403, PermissionDenied),
        (404, NotFound),
        (429, RateLimited),
        (500, ServerFailed),
        (503, Overloaded),
        (529, (Overloaded, ServerFailed)),  # a status of one service only
    ],
)
def test_every_status_comes_in_the_words_of_the_service(model, stream, status, kind):
    error = failing(model, status, stream=stream)
    assert isinstance(error, ServiceError)
    assert isinstance(error, kind)
    assert error.status == status


@each_wire
def test_a_rate_limit_says_when_to_come_back(model):
    assert failing(model, "429 2.5").retry_after == pytest.approx(2.5, abs=0.5)


@each_wire
def test_an_error_after_all_was_well_is_the_same_error(model):
    error = failing(model, Fault(kind="error_event", status=503, message="Overloaded"))
    assert isinstance(error, Overloaded)


@each_wire
@each_way
def test_a_missing_end_is_noticed(model, stream):
    assert isinstance(failing(model, "no_end", stream=stream), WireError)


@each_wire
def test_a_stream_cut_anywhere_is_noticed_and_nothing_else_breaks(model):
    whole = b"".join(body(model))
    uncut = talk(Emulator(), model, "low", QUESTION)
    for at in range(0, len(whole), 41):
        emulator = Emulator(faults=[Fault(kind="cut", at=at)])
        try:
            got = talk(emulator, model, "low", QUESTION)
        except Truncated:
            continue
        assert got.message == uncut.message  # only what comes after the end was lost
    assert len(whole) > 41


@each_wire
@each_way
@pytest.mark.parametrize("kind", ["trickle", "split"])
def test_how_the_bytes_are_cut_changes_nothing(model, stream, kind):
    pieces = body(model, kind, stream=stream)
    assert b"".join(pieces) == b"".join(body(model, stream=stream))
    assert len(pieces) > len(body(model, stream=stream))
    got = talk(Emulator(faults=[kind]), model, "low", QUESTION, stream=stream)
    assert got == talk(Emulator(), model, "low", QUESTION, stream=stream)


@each_wire
def test_split_pieces_end_inside_of_characters(model):
    def is_text(piece):
        try:
            piece.decode()
        except UnicodeDecodeError:
            return False
        return True

    assert not all(map(is_text, body(model, "split")))


@each_wire
@each_way
def test_a_page_and_nothing_at_all_are_survived(model, stream):
    assert failing(model, "html", stream=stream).status == 502
    assert failing(model, Fault(kind="empty", status=503), stream=stream).status == 503
    assert isinstance(failing(model, "empty", stream=stream), WireError)


@each_wire
def test_a_refused_connection_and_a_silent_one_are_transport_errors(model):
    assert isinstance(failing(model, "refused"), Unreachable)
    assert isinstance(failing(model, "hang"), Timeout)
    assert isinstance(failing(model, "hang 100"), Timeout)
    assert isinstance(failing(model, "broken 100"), Unreachable)


@each_wire
def test_a_slow_answer_waits_between_pieces_by_the_sleep_it_was_given(model):
    waits = []
    fault = Fault(kind="slow", seconds=0.25)
    pieces = body(model, fault, sleep=waits.append)
    assert waits == [0.25] * len(pieces)
    assert b"".join(pieces) == b"".join(body(model))


def test_a_pause_longer_than_the_caller_waits_is_its_timeout():
    fault = Fault(kind="slow", seconds=10)
    emulator = Emulator(faults=[fault], sleep=lambda _: None)
    answer = emulator.send(encoded(MODELS[0], "low", QUESTION), Timeouts(between_bytes=5))
    with pytest.raises(Timeout, match="5 s"):
        list(answer)


def test_faults_befall_one_exchange_each_and_none_is_none():
    emulator = Emulator(faults=[529, None, "refused"])
    request = encoded(MODELS[0], "low", QUESTION)
    assert emulator.send(request).head.status == 529
    assert emulator.send(request).head.status == 200
    with pytest.raises(Unreachable):
        emulator.send(request)
    assert emulator.send(request).head.status == 200
    assert [entry.fault for entry in emulator.log.entries] == ["status", None, "refused", None]


def test_a_turn_can_have_a_fault_beside_its_answer():
    emulator = Emulator(script=[ScriptedTurn(text="Halfway there", fault=Fault(kind="no_end"))])
    answer = emulator.send(encoded(MODELS[0], "low", QUESTION))
    data = b"".join(answer)
    assert b"Halfway" in data
    with pytest.raises(Truncated):
        decoded(MODELS[0], answer.head, data)


@each_wire
def test_a_question_can_ask_for_a_fault(model):
    with pytest.raises(Overloaded):
        talk(Emulator(), model, "low", "[emulator: fault 503] hello")


def test_a_question_that_asks_for_no_known_fault_is_told_so():
    with pytest.raises(BadRequest, match="unknown fault 'nonsense'"):
        talk(Emulator(), MODELS[0], "low", "[emulator: fault nonsense] hello")


def test_a_client_can_retry_without_waiting_or_not_at_all(monkeypatch):
    waited = []
    monkeypatch.setattr("pondero.transport.shell.sleep", waited.append)
    asked = ("claude-opus-5/low", "What is 17 * 23?")
    with pondero.Client(transport=Emulator(faults=[529, "429 0.01", "hang"])) as client:
        client.ask(*asked)
    first, second, third = waited
    assert first <= 0.5
    assert second == 0.01
    assert third <= 2.0
    retry = pondero.Retry(waits=False)
    with pondero.Client(transport=Emulator(faults=[529, 429]), retry=retry) as client:
        client.ask(*asked)
    assert len(waited) == 3
    retry = pondero.Retry(attempts=1)
    with (
        pondero.Client(transport=Emulator(faults=[529]), retry=retry) as client,
        pytest.raises(Overloaded),
    ):
        client.ask(*asked)


def test_faults_have_short_names():
    assert Fault.parse("429 2.5") == Fault(kind="status", status=429, retry_after=2.5)
    assert Fault.parse(529) == Fault(kind="status", status=529)
    assert Fault.parse("cut 120") == Fault(kind="cut", at=120)
    assert Fault.parse("slow 0.5") == Fault(kind="slow", seconds=0.5)


@pytest.mark.parametrize("word", ["", "nonsense", "cut x", "429 soon", "-1"])
def test_an_unknown_fault_is_refused_with_the_words_there_are(word):
    with pytest.raises(BadParameter, match="error_event"):
        Fault.parse(word)


@pytest.mark.parametrize("kind", ["429", "bogus", 429, ""])
def test_a_fault_of_an_unknown_kind_is_refused(kind):
    with pytest.raises(BadParameter, match="error_event"):
        Fault(kind=kind)


def test_a_status_as_the_kind_is_told_its_field():
    with pytest.raises(BadParameter, match=r"Fault\(kind='status', status=429\)"):
        Fault(kind="429")


@pytest.mark.parametrize("status", [12, 200, 302, 600, "200 1"])
def test_a_status_that_is_no_error_is_refused(status):
    with pytest.raises(BadParameter, match="400 to 599"):
        Emulator(faults=[status])


@pytest.mark.parametrize("word", ["429 -1", "cut -5", "slow -1", "429 nan", "slow inf"])
def test_a_negative_or_endless_amount_is_refused(word):
    with pytest.raises(BadParameter, match="0 or more"):
        Fault.parse(word)


@pytest.mark.parametrize("faults", ["529", 529, Fault(kind="status", status=529)])
def test_faults_are_a_list(faults):
    with pytest.raises(BadParameter, match=r"faults=\["):
        Emulator(faults=faults)
    with pytest.raises(BadParameter, match=r"faults=\["):
        FaultyTransport(Emulator(), faults)


# -- around any other transport ----------------------------------------------------------------


def test_a_faulty_transport_damages_what_another_brings():
    request = encoded(MODELS[0], "low", QUESTION)
    sound = b"".join(Emulator().send(request))
    faults = ["529", "cut 100", "trickle", "refused", "hang", "hang 10", None]
    transport = FaultyTransport(Emulator(), faults)
    assert transport.send(request, Timeouts()).head.status == 529
    assert b"".join(transport.send(request, Timeouts())) == sound[:100]
    assert list(transport.send(request, Timeouts())) == [bytes([byte]) for byte in sound]
    with pytest.raises(Unreachable):
        transport.send(request, Timeouts())
    with pytest.raises(Timeout):
        transport.send(request, Timeouts())
    hung = transport.send(request, Timeouts())
    with pytest.raises(Timeout):
        list(hung)
    hung.close()
    assert b"".join(transport.send(request, Timeouts())) == sound
    transport.close()


def test_a_faulty_transport_does_the_same_for_asyncio():
    request = encoded(MODELS[0], "low", QUESTION)
    sound = b"".join(Emulator().send(request))
    transport = AsyncFaultyTransport(Emulator(), ["529", "cut 100", "broken 10", None])

    async def read(request: HttpRequest) -> tuple[int, bytes]:
        answer = await transport.send(request, Timeouts())
        try:
            return answer.head.status, b"".join([piece async for piece in answer])
        finally:
            await answer.aclose()

    async def main():
        assert (await read(request))[0] == 529
        assert await read(request) == (200, sound[:100])
        with pytest.raises(Unreachable):
            await read(request)
        assert await read(request) == (200, sound)
        await transport.aclose()

    asyncio.run(main())


def test_a_fault_of_events_needs_an_emulator():
    with pytest.raises(BadParameter, match="Emulator"):
        FaultyTransport(Emulator(), ["no_end"])
