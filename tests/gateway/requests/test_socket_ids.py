"""Messages of a socket name nothing of another key, and a key resumes its own sessions."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.gateway.endpoint_gateway import both, secret
from tests.gateway.endpoint_service import WAIT, Served, until
from tests.gateway.socket_client import LIVE, REALTIME, opened
from websockets.exceptions import ConnectionClosed

URI = "https://generativelanguage.googleapis.com/v1beta/files/ofplain"
STORE = "fileSearchStores/ofplain"


@pytest.fixture(scope="module")
def gateway() -> Iterator[Any]:
    with both() as found:
        yield found


@pytest.fixture(autouse=True)
def _fresh(gateway) -> None:
    made = {"file": {"name": "files/ofplain", "uri": URI}}, {"name": STORE}, {"id": "file-ofplain"}
    paths = "/upload/v1beta/files", "/v1beta/fileSearchStores", "/v1/vector_stores"
    headers = {"authorization": f"Bearer {secret('plain')}"}
    for path, thing in zip(paths, made, strict=True):
        data = json.dumps(thing).encode()
        gateway.service.answer = lambda _, data=data: Served(200, "application/json", data)
        assert httpx.post(f"{gateway.url}{path}", headers=headers, json={}).status_code == 200
    gateway.service.reset()


def set_up(**more: Any) -> str:
    return json.dumps({"setup": {"model": "models/gemini-live-x", **more}})


def say(*parts: Any) -> str:
    turn = {"role": "user", "parts": [*parts, {"text": "Hi"}]}
    return json.dumps({"clientContent": {"turns": [turn], "turnComplete": True}})


def update(**session: Any) -> str:
    return json.dumps({"type": "session.update", "session": {"type": "realtime", **session}})


def named(uri: str = URI) -> dict[str, Any]:
    return {"fileData": {"fileUri": uri, "mimeType": "text/plain"}}


PART = {"type": "input_file", "file_id": "file-ofplain"}
ITEM = {"type": "message", "role": "user", "content": [PART]}
THEFTS = {
    "a store": (LIVE, [set_up(tools=[{"fileSearch": {"fileSearchStoreNames": [STORE]}}])]),
    "a session": (LIVE, [set_up(sessionResumption={"handle": "handle-of-plain"})]),
    "a session in the other spelling": (
        LIVE,
        [set_up(session_resumption={"handle": "handle-of-plain"})],
    ),
    "a file": (LIVE, [set_up(), say(named())]),
    "a file with an escaped name": (
        LIVE,
        [set_up(), say(named()).replace("fileUri", "file\\u0055ri")],
    ),
    "a file that is named twice": (
        LIVE,
        [set_up(), say(named()).replace('"fileUri"', '"fileUri": "x", "fileUri"')],
    ),
    "turns that are there twice": (
        LIVE,
        [set_up(), say(named()).replace('"turnComplete"', '"turns": [], "turnComplete"')],
    ),
    "content that is there twice": (
        LIVE,
        [set_up(), say(named())[:-1] + ', "clientContent": {}}'],
    ),
    "an item that is there twice": (
        REALTIME,
        [json.dumps({"type": "conversation.item.create", "item": ITEM})[:-1] + ', "item": {}}'],
    ),
    "a file in another spelling": (
        LIVE,
        [set_up(), say(named(URI.replace("/files/", "/x/../files//")))],
    ),
    "a file of OpenAI": (
        REALTIME,
        [json.dumps({"type": "conversation.item.create", "item": ITEM})],
    ),
    "a prompt": (REALTIME, [update(prompt={"id": "pmpt_1"})]),
    "a prompt of one answer": (
        REALTIME,
        [json.dumps({"type": "response.create", "response": {"prompt": {"id": "pmpt_1"}}})],
    ),
}


@pytest.mark.parametrize("case", THEFTS)
def test_a_socket_names_nothing_that_another_key_made(gateway, case):
    path, messages = THEFTS[case]
    with opened(gateway, "second", path) as client:
        for each in messages[:-1]:
            client.send(each)
            client.recv(WAIT)
        client.send(messages[-1])
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(WAIT)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1008
    assert "not found" in closed.value.rcvd.reason or "twice" in closed.value.rcvd.reason
    arrived = [each for got in gateway.service.sockets for each in got]
    assert arrived == messages[:-1]


@pytest.mark.parametrize("case", THEFTS)
def test_a_key_with_account_state_names_all(gateway, case):
    path, messages = THEFTS[case]
    with opened(gateway, "account", path) as client:
        for each in messages:
            client.send(each)
        until(lambda: gateway.service.sockets and gateway.service.sockets[0] == messages)


@pytest.mark.parametrize("handle", [["handle-of-plain"], {"x": "handle-of-plain"}])
def test_a_handle_that_is_no_text_does_not_pass(gateway, handle):
    assert "not a text" in send_last(gateway, set_up(sessionResumption={"handle": handle}))
    assert gateway.service.sockets == []


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32-le"])
def test_a_message_in_another_encoding_does_not_pass(gateway, encoding):
    said = say(named()).encode(encoding)
    assert "UTF-8" in send_last(gateway, set_up(), said)
    assert gateway.service.sockets == [[set_up()]]


def test_a_session_is_set_up_once(gateway):
    assert "first message" in send_last(gateway, set_up(), set_up(model="models/other"))
    assert gateway.service.sockets == [[set_up()]]


def send_last(gateway: Any, *messages: str | bytes) -> str:
    """Send messages; return why the socket closed after the last one."""
    with opened(gateway, "second", LIVE) as client:
        for each in messages[:-1]:
            client.send(each)
            client.recv(WAIT)
        client.send(messages[-1])
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(WAIT)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1008
    return closed.value.rcvd.reason


TRANSCRIPTIONS = [
    {"audio": {"input": {"transcription": {"model": "gpt-4o-transcribe"}}}},
    {"input_audio_transcription": {"model": "gpt-4o-transcribe"}},
    {"model": "gpt-realtime-2"},
]


@pytest.mark.parametrize("session", TRANSCRIPTIONS)
@pytest.mark.parametrize("spelling", ["plain", "escaped", "twice"])
def test_a_message_names_only_models_of_its_key(gateway, session, spelling):
    message = update(**session)
    if spelling == "escaped":
        message = message.replace('"model"', '"m\\u006fdel"')
    if spelling == "twice":
        message = message[:-1] + ', "session": {}}'
    with opened(gateway, "models", REALTIME) as client:
        client.send(message)
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(WAIT)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1008
    assert gateway.service.sockets == [[]]
    with opened(gateway, "second", REALTIME) as client:
        client.send(update(**session))
        until(lambda: gateway.service.sockets[1:] == [[update(**session)]])


def test_a_message_names_a_model_that_its_key_may_use(gateway):
    message = update(model="gpt-realtime")
    with opened(gateway, "models", REALTIME) as client:
        client.send(message)
        until(lambda: gateway.service.sockets == [[message]])


def test_a_socket_names_what_its_key_made_and_what_was_made_elsewhere(gateway):
    with opened(gateway, "plain", LIVE) as client:
        sent = [
            set_up(tools=[{"fileSearch": {"fileSearchStoreNames": [STORE]}}]),
            say(named()),
            say(named("https://example.com/a.png")),
            say(named("files/elsewhere")),
            say({"text": URI}),
        ]
        for each in sent:
            client.send(each)
            client.recv(WAIT)
    assert gateway.service.sockets == [sent]


def test_a_session_is_resumed_by_its_key_alone(gateway):
    update = {"newHandle": "handle-own", "resumable": True}
    gateway.service.say[:] = [json.dumps({"sessionResumptionUpdate": update})]
    with opened(gateway, "plain", LIVE) as client:
        client.send(set_up(sessionResumption={}))
        assert json.loads(client.recv(WAIT)) == {"sessionResumptionUpdate": update}
    gateway.service.reset()
    again = set_up(sessionResumption={"handle": "handle-own"})
    with opened(gateway, "second", LIVE) as client:
        client.send(again)
        with pytest.raises(ConnectionClosed):
            client.recv(WAIT)
    assert gateway.service.sockets == []
    with opened(gateway, "plain", LIVE) as client:
        client.send(again)
        assert json.loads(client.recv(WAIT)) == {"setupComplete": {}}
    assert gateway.service.sockets == [[again]]
