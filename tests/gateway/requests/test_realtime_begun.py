"""What a service makes without a request for an answer: texts of speech, and answers to speech."""

import asyncio
import itertools
import json
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from tests.gateway.endpoint_gateway import make_gateway_key, serving
from tests.gateway.endpoint_service import WAIT, serving_endpoints, until
from tests.gateway.socket_client import LIVE, count, opened, receive_until, rows
from websockets.exceptions import ConnectionClosed, InvalidStatus

from pondero.gateway.config.model import SpendBudget

BUDGET = 40_000
SMALL = 400
KEYS = (
    make_gateway_key("free"),
    make_gateway_key("large", budget=SpendBudget(tokens=BUDGET), endpoints=("realtime",)),
    make_gateway_key("small", budget=SpendBudget(tokens=SMALL), endpoints=("realtime",)),
)
COMMIT = '{"type": "input_audio_buffer.commit"}'
APPEND = '{"type": "input_audio_buffer.append", "audio": "AAAA"}'
CREATE = '{"type": "response.create"}'
TEXT = "conversation.item.input_audio_transcription"


def update(transcription: Any, *, beta: bool = False) -> str:
    session: dict[str, Any] = {"audio": {"input": {"transcription": transcription}}}
    if beta:
        session = {"input_audio_transcription": transcription}
    return json.dumps({"type": "session.update", "session": session})


class Listener:
    """A service that writes down speech and answers it word by word, and bills what it makes."""

    def __init__(self) -> None:
        self.is_on = False
        self.answers = False  # speech, by itself
        self.text = 1_000  # tokens of a transcription
        self.words = 50  # of an answer, one each hundredth of a second
        self.ends = True
        self.billed = 0
        self.began = 0
        self.cancelled = 0
        self._numbers = itertools.count()
        self._cancels: set[str] = set()

    async def __call__(self, message: Any, send: Any) -> None:
        event = json.loads(message)
        id = f"x{next(self._numbers)}"

        async def tell(**event: Any) -> None:
            await send({"type": "websocket.send", "text": json.dumps(event)})

        with suppress(Exception):
            await self._answer(event, id, tell)

    async def _answer(self, event: Any, id: str, tell: Any) -> None:
        match event["type"]:
            case "session.update":
                session = event["session"]
                named = session.get("input_audio_transcription")
                inner = session.get("audio", {}).get("input", {}).get("transcription", named)
                self.is_on = inner is not None
                await tell(type="session.updated", session=session)
            case "input_audio_buffer.commit" | "input_audio_buffer.append":
                if event["type"].endswith("commit") or self.is_on:
                    await tell(type="input_audio_buffer.committed", item_id=f"item_{id}")
                making = [self._write_down(f"item_{id}", tell)] if self.is_on else []
                making += [self._speak(f"resp_{id}", tell)] if self.answers else []
                await asyncio.gather(*making)
            case "response.create":
                await self._speak(f"resp_{id}", tell)
            case "response.cancel":
                self.cancelled += 1
                self._cancels.add(event["response_id"])
            case _:
                await tell(type="error", error={"event_id": event.get("event_id")})

    async def _write_down(self, item: str, tell: Any) -> None:
        self.billed += self.text
        await tell(type=f"{TEXT}.delta", item_id=item, delta="word")
        await asyncio.sleep(0.05)
        usage = {"type": "tokens", "input_tokens": self.text - 10, "output_tokens": 10}
        if self.ends:
            await tell(type=f"{TEXT}.completed", item_id=item, transcript="word", usage=usage)

    async def _speak(self, id: str, tell: Any) -> None:
        self.began += 1
        self.billed += 100
        await tell(type="response.created", response={"id": id})
        words = 0
        try:
            while words < self.words and id not in self._cancels:
                words += 1
                self.billed += 1
                await tell(type="response.output_text.delta", delta="word")
                await asyncio.sleep(0.01)
        finally:
            usage = {"input_tokens": 100, "output_tokens": words}
            await tell(type="response.done", response={"id": id, "usage": usage})


@pytest.fixture
def gateway() -> Iterator[Any]:
    with serving_endpoints() as service, serving(service, keys=KEYS) as found:
        service.speak = found.listener = Listener()
        yield found


def drain(client: Any) -> tuple[list[str], Any]:
    seen: list[str] = []
    try:
        while True:
            seen.append(json.loads(client.recv(WAIT))["type"])
    except ConnectionClosed as ended:
        return seen, ended.rcvd


# -- transcriptions --------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["large", "free"])
@pytest.mark.parametrize("seen", ["input_audio_buffer.committed", f"{TEXT}.delta", None])
@pytest.mark.parametrize("beta", [False, True])
def test_a_client_that_leaves_before_a_transcription_ends_is_counted_with_the_most(
    gateway, key, seen, beta
):
    gateway.listener.ends = False
    with opened(gateway, key) as client:
        client.send(update({"model": "gpt-4o-transcribe"}, beta=beta))
        receive_until(client, "session.updated")
        client.send(COMMIT)
        if seen is None:
            until(lambda: len(gateway.service.sockets[0]) == 2)
        else:
            receive_until(client, seen)
    (row,) = rows(gateway, 1)
    assert gateway.listener.billed <= row.usage.known_total
    assert row.estimated


def test_leaving_transcriptions_again_and_again_spends_the_budget(gateway):
    gateway.listener.ends = False

    def leave(number: int) -> None:
        with opened(gateway, "small") as client:
            client.send(update({"model": "gpt-4o-transcribe"}))
            client.send(COMMIT)
            receive_until(client, f"{TEXT}.delta")
        rows(gateway, number)

    with pytest.raises(InvalidStatus) as spent:
        list(map(leave, range(1, 9)))
    assert spent.value.response.status_code == 429
    assert gateway.listener.billed <= SMALL + 1_000


@pytest.mark.parametrize("key", ["large", "free"])
def test_a_whole_transcription_counts_as_reported(gateway, key):
    gateway.listener.text = 30
    with opened(gateway, key) as client:
        client.send(update({"model": "gpt-4o-transcribe"}))
        for _ in range(3):
            client.send(COMMIT)
            receive_until(client, f"{TEXT}.completed")
        client.send(CREATE)
        receive_until(client, "response.done")
    assert count(gateway, 1) == gateway.listener.billed == 3 * 30 + 150
    assert not gateway.seen[0].estimated


@pytest.mark.parametrize("key", ["large", "free"])
def test_speech_that_is_not_written_down_counts_nothing(gateway, key):
    with opened(gateway, key) as client:
        for setting in ({"model": "gpt-4o-transcribe"}, None):
            client.send(update(setting))
            receive_until(client, "session.updated")
        client.send(COMMIT)
        receive_until(client, "input_audio_buffer.committed")
        client.send(CREATE)
        receive_until(client, "response.done")
        client.send(COMMIT)
        receive_until(client, "input_audio_buffer.committed")
    assert count(gateway, 1) == gateway.listener.billed == 150
    assert not gateway.seen[0].estimated


def test_a_commit_that_is_rejected_counts_nothing(gateway):
    async def speak(message: Any, send: Any) -> None:
        event = json.loads(message)
        found = {"type": "error", "error": {"event_id": event.get("event_id")}}
        if event["type"] == "session.update":
            found = {"type": "session.updated", "session": event["session"]}
        await send({"type": "websocket.send", "text": json.dumps(found)})

    gateway.service.speak = speak
    with opened(gateway, "small") as client:
        client.send(update({"model": "gpt-4o-transcribe"}))
        for _ in range(3):
            client.send(COMMIT.replace("}", ', "event_id": "mine"}'))
            assert receive_until(client, "error")["error"]["event_id"] == "mine"
    (row,) = rows(gateway, 1)
    assert row.usage.known_total == 0
    assert not row.estimated


def test_transcriptions_in_a_row_exceed_a_budget_by_one_at_most(gateway):
    gateway.listener.text = 150
    with opened(gateway, "small") as client:
        client.send(update({"model": "gpt-4o-transcribe"}))
        for _ in range(10):
            client.send(COMMIT)
        _, closed = drain(client)
    assert closed.code == 1008
    assert gateway.listener.billed <= SMALL + 150
    assert count(gateway, 1) == gateway.listener.billed


def test_an_answer_to_speech_shares_what_its_transcription_holds(gateway):
    gateway.listener.text, gateway.listener.answers = 30, True
    with opened(gateway, "small") as client:
        client.send(update({"model": "gpt-4o-transcribe"}))
        receive_until(client, "session.updated")
        for _ in range(2):  # 180 tokens each
            client.send(APPEND)
            receive_until(client, "response.done")
        client.send(APPEND)
        _, closed = drain(client)
    assert closed.code == 1008
    assert gateway.listener.billed <= SMALL + 180
    assert count(gateway, 1) == gateway.listener.billed


# -- answers to speech -----------------------------------------------------------------------------


def test_answers_that_a_service_begins_on_many_sockets_go_on_for_one_alone(gateway):
    gateway.listener.answers, gateway.listener.words = True, 250
    with ExitStack() as stack:
        first, *others = [stack.enter_context(opened(gateway, "small")) for _ in range(8)]
        first.send(APPEND)
        receive_until(first, "response.created")
        for each in others:
            each.send(APPEND)
        ends = [drain(each)[1] for each in others]
        receive_until(first, "response.done")
    assert {each.code for each in ends} == {1008}
    assert gateway.listener.began == 8
    assert gateway.listener.cancelled == 7
    assert gateway.listener.billed < SMALL + 7 * 150
    assert count(gateway, 8) == gateway.listener.billed
    assert not any(each.estimated for each in gateway.seen)


def test_an_answer_to_speech_begins_if_something_is_left(gateway):
    gateway.listener.answers = True
    with opened(gateway, "small") as client:
        for _ in range(2):
            client.send(APPEND)
            receive_until(client, "response.done")
        client.send(APPEND)
        _, closed = drain(client)
    assert closed.code == 1008
    assert count(gateway, 1) == gateway.listener.billed <= SMALL + 150
    with pytest.raises(InvalidStatus, match="429"), opened(gateway, "small"):
        pass


def test_a_service_that_does_not_cancel_is_left_and_counted_with_the_most(gateway):
    async def speak(_: Any, send: Any) -> None:
        event = {"type": "response.created", "response": {"id": "r"}}
        await send({"type": "websocket.send", "text": json.dumps(event)})

    gateway.service.speak = speak
    with opened(gateway, "small") as first, opened(gateway, "small") as second:
        first.send(APPEND)
        receive_until(first, "response.created")
        second.send(APPEND)
        assert drain(second)[1].code == 1008
        until(lambda: len(gateway.service.ended) == 1)
    assert [each.estimated for each in rows(gateway, 2)] == [True, True]


def test_a_live_answer_to_speech_needs_room_too(gateway):
    turn = {"serverContent": {"modelTurn": {"parts": [{"text": "hi"}]}}}
    usage = {"promptTokenCount": 100, "responseTokenCount": 50}
    began = 0

    async def speak(message: Any, send: Any) -> None:
        nonlocal began
        if "setup" in message:
            await send({"type": "websocket.send", "text": '{"setupComplete": {}}'})
            return
        began += 1
        await send({"type": "websocket.send", "text": json.dumps(turn)})
        await asyncio.sleep(1)
        end = {"serverContent": {"turnComplete": True}, "usageMetadata": usage}
        with suppress(Exception):
            await send({"type": "websocket.send", "text": json.dumps(end)})

    gateway.service.speak = speak
    with ExitStack() as stack:
        sockets = [stack.enter_context(opened(gateway, "small", LIVE)) for _ in range(4)]
        for each in sockets:
            each.send(json.dumps({"setup": {"model": "models/gemini-live-x"}}))
            each.recv(WAIT)
        for each in sockets:
            each.send('{"realtimeInput": {"audio": {"mimeType": "audio/pcm", "data": "AAAA"}}}')
            each.recv(WAIT)
        for each in sockets[1:]:
            with pytest.raises(ConnectionClosed) as closed:
                each.recv(WAIT)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1008
        until(lambda: len(gateway.service.ended) == 3)
        assert "turnComplete" in sockets[0].recv(WAIT)
    assert began == 4
