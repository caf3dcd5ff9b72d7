"""Responses over a WebSocket: one conversation over one socket, on any upstream."""

import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import openai
import pytest
from tests.gateway.stored_world import BACKS, CALL, KEYS, TOOL, make_keys, results
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from pondero.emulator import Emulator
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    RateLimitRule,
    ResponsesConfig,
    ServerConfig,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.server import response_socket
from pondero.gateway.server.run import run_gateway_in_thread

SOME = ["claude", "gemini", "deepseek", "openai"]
UNSTORED: dict[str, Any] = {  # as Codex asks
    "reasoning": {"effort": "high"},
    "store": False,
    "include": ["reasoning.encrypted_content"],
}


class Served:
    """A running gateway in front of the emulator."""

    def __init__(self, url: str, emulator: Emulator, rows: list[Receipt]) -> None:
        self.url = url
        self.emulator = emulator
        self.rows = rows

    def wait_for_rows(self, count: int) -> list[Receipt]:
        """Return the records, which are written after the answers."""
        until = time.monotonic() + 60
        while len(self.rows) < count and time.monotonic() < until:
            time.sleep(0.01)
        return self.rows

    @contextmanager
    def open(self, key: str = "any") -> Iterator[ClientConnection]:
        address = self.url.replace("http", "ws") + "/v1/responses"
        headers = {"Authorization": f"Bearer {key}"}
        with connect(address, additional_headers=headers, max_size=None) as socket:
            yield socket


ROUTES = tuple(GatewayRoute(match=name, to=(to,), retries=0) for name, to in BACKS.items())


@contextmanager
def serve(
    emulator: Emulator | None = None, routes: tuple[GatewayRoute, ...] = ROUTES, **more: Any
) -> Iterator[Served]:
    emulator, rows = emulator or Emulator(), list[Receipt]()
    config = GatewayConfig(server=ServerConfig(port=0), routes=routes, **more)
    with run_gateway_in_thread(config, transport=emulator, observers=(rows.append,)) as url:
        yield Served(url, emulator, rows)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serve(keys=make_keys()) as found:
        yield found


def ask(socket: ClientConnection, model: str, given: Any, **more: Any) -> list[Any]:
    """Send a request and return the events of its answer."""
    request = {"type": "response.create", "model": model, "input": given, "tools": [TOOL], **more}
    socket.send(json.dumps(request))
    events: list[Any] = []
    ends = ("response.completed", "response.incomplete", "response.failed", "error")
    while not events or events[-1]["type"] not in ends:
        events.append(json.loads(socket.recv(timeout=60)))
    return events


@pytest.mark.parametrize("back", SOME)
def test_a_tool_loop_goes_over_one_socket_and_nothing_of_it_is_stored(served, back):
    served.rows.clear()
    served.emulator.reset()
    with served.open(KEYS["mine"]) as socket:
        first = ask(socket, back, CALL, **UNSTORED)
        answer = first[-1]["response"]
        assert first[0]["type"] == "response.created"
        before = {"previous_response_id": answer["id"]}
        second = ask(socket, back, results(answer), **before, **UNSTORED)
        assert second[-1]["type"] == "response.completed"
        assert "The grey owl." in json.dumps(second[-1]["response"]["output"])
        sent = json.dumps(served.emulator.log.entries[-1].body)
        assert "What is in it?" in sent
    assert [row.end for row in served.wait_for_rows(2)] == ["done", "done"]
    assert all(row.usage.known_total for row in served.rows)
    client = openai.OpenAI(base_url=f"{served.url}/v1", api_key=KEYS["mine"], max_retries=0)
    with client, pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(model=back, input="Go on.", previous_response_id=answer["id"])
    assert caught.value.code == "previous_response_not_found"


@pytest.mark.parametrize("back", SOME)
def test_the_bytes_are_those_of_the_whole_history_over_http(served, back):
    served.emulator.reset()
    with served.open(KEYS["mine"]) as socket:
        answer = ask(socket, back, CALL, **UNSTORED)[-1]["response"]
        before = {"previous_response_id": answer["id"]}
        ask(socket, back, results(answer), **before, **UNSTORED)
    by_socket = served.emulator.log.entries[-1].body
    whole = [{"type": "message", "role": "user", "content": CALL}, *answer["output"]]
    client = openai.OpenAI(base_url=f"{served.url}/v1", api_key=KEYS["mine"], max_retries=0)
    with client:
        more: Any = {"tools": [TOOL], "input": [*whole, *results(answer)], **UNSTORED}
        for _ in client.responses.create(model=back, stream=True, **more):
            pass
    assert by_socket == served.emulator.log.entries[-1].body


@pytest.mark.parametrize("back", [*SOME, "gpt-6"])
@pytest.mark.parametrize("include", [None, [], ["file_search_call.results"]])
@pytest.mark.parametrize("level", [None, "high"])
def test_an_answer_that_is_not_stored_is_continued_without_asking_for_signatures(
    served, back, include, level
):
    served.emulator.reset()
    more: dict[str, Any] = {"store": False}
    if include is not None:
        more["include"] = include if back == "openai" else []
    if level is not None:
        more["reasoning"] = {"effort": level}
    with served.open(KEYS["mine"]) as socket:
        answer = ask(socket, back, CALL, **more)[-1]["response"]
        for given in (results(answer), "And then?"):
            more["previous_response_id"] = answer["id"]
            events = ask(socket, back, given, **more)
            assert events[-1]["type"] == "response.completed", events[-1]
            answer = events[-1]["response"]
    sent = json.dumps(served.emulator.log.entries[-1].body)
    assert "What is in it?" in sent


def test_a_model_that_does_not_think_is_not_asked_for_signatures():
    routes = (GatewayRoute(match="plain", to=("openai:gpt-4.1",), retries=0),)
    with serve(routes=routes) as served, served.open() as socket:
        first = ask(socket, "plain", "Hello?", store=False)[-1]
        assert first["type"] == "response.completed"
        before = {"previous_response_id": first["response"]["id"]}
        assert ask(socket, "plain", "Hm?", store=False, **before)[-1]["type"] == first["type"]
        assert all("include" not in each.body for each in served.emulator.log.entries)


class CarriageEmulator(Emulator):
    """An emulator whose lines end with CR and LF, in pieces of any size."""

    async def send(self, request: Any, timeouts: Any = None) -> Any:  # type: ignore[override]  # awaited alone
        return _CarriageAnswer(await super().send(request))


class _CarriageAnswer:
    def __init__(self, answer: Any) -> None:
        self.head = answer.head
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for data in self._answer:
            changed = data.replace(b"\n", b"\r\n")
            for at in range(0, len(changed), 7):
                yield changed[at : at + 7]

    async def aclose(self) -> None:
        await self._answer.aclose()


@pytest.mark.parametrize("back", SOME)
def test_a_service_with_other_line_ends_is_heard_over_the_socket(back):
    with serve(emulator=CarriageEmulator()) as served, served.open() as socket:
        first = ask(socket, back, CALL)
        assert [first[0]["type"], first[-1]["type"]] == ["response.created", "response.completed"]
        before = {"previous_response_id": first[-1]["response"]["id"]}
        second = ask(socket, back, results(first[-1]["response"]), **before)
        assert second[-1]["type"] == "response.completed"


def test_answers_have_the_time_at_which_they_were_made(served, monkeypatch):
    # Another test may have set the clock ahead, which ids never go back behind.
    monkeypatch.setattr("pondero.gateway.observability.receipt._latest", [0])
    began = int(time.time()) - 1
    with served.open(KEYS["mine"]) as socket:
        for back in ("claude", "gemini"):
            for event in ask(socket, back, "Hello?"):
                if "response" in event:
                    assert began <= event["response"]["created_at"] <= time.time()
            assert began <= event["response"]["completed_at"] <= time.time()


def test_a_stored_answer_of_a_socket_is_continued_over_http(served):
    with served.open(KEYS["mine"]) as socket:
        answer = ask(socket, "claude", "My name is Ann.")[-1]["response"]
    client = openai.OpenAI(base_url=f"{served.url}/v1", api_key=KEYS["mine"], max_retries=0)
    with client:
        before = answer["id"]
        client.responses.create(model="gemini", input="Who am I?", previous_response_id=before)
    assert "My name is Ann." in json.dumps(served.emulator.log.entries[-1].body)


def test_a_request_that_asks_for_no_answer_can_be_continued(served):
    served.rows.clear()
    served.emulator.reset()
    with served.open(KEYS["mine"]) as socket:
        warm = ask(socket, "claude", "My name is Ann.", generate=False, store=False)
        assert [event["type"] for event in warm] == ["response.created", "response.completed"]
        assert not served.emulator.log.entries
        before = {"previous_response_id": warm[-1]["response"]["id"], "store": False}
        ask(socket, "claude", "Who am I?", **before)
    assert "My name is Ann." in json.dumps(served.emulator.log.entries[-1].body)
    first, second = served.wait_for_rows(2)
    assert (first.usage.known_total, first.end) == (0, "done")
    assert second.usage.known_total > 0


def test_input_without_an_answer_counts_as_a_request():
    rule = RateLimitRule(requests=1, per="hour")
    keys = (GatewayKey(name="once", hash=hash_key("pnd_once"), limit=rule),)
    with serve(keys=keys) as served, served.open("pnd_once") as socket:
        warm = ask(socket, "claude", "My name is Ann.", generate=False)
        assert warm[-1]["type"] == "response.completed"
        again = ask(socket, "claude", "My name is Ann.", generate=False)
        assert (again[-1]["type"], again[-1]["status"]) == ("error", 429)
        assert not served.emulator.log.entries


WRONG: dict[str, tuple[str, int, str | None]] = {
    "no JSON": ("{", 400, None),
    "another type": ('{"type": "response.cancel"}', 400, "invalid_value"),
    "unknown answer": (
        '{"type": "response.create", "model": "claude", "previous_response_id": "resp_1"}',
        400,
        "previous_response_not_found",
    ),
    "unknown model": ('{"type": "response.create", "model": "nothing", "input": "x"}', 404, None),
    "a lane": (
        '{"type": "response.create", "model": "claude", "input": "x", "stream_id": "a"}',
        400,
        "unsupported_parameter",
    ),
}


@pytest.mark.parametrize(("message", "status", "code"), WRONG.values(), ids=WRONG)
def test_an_error_is_an_event_and_the_socket_stays_open(served, message, status, code):
    served.rows.clear()
    with served.open(KEYS["mine"]) as socket:
        socket.send(message)
        event = json.loads(socket.recv(timeout=60))
        assert (event["type"], event["status"]) == ("error", status)
        assert event["error"]["message"]
        assert code in (None, event["error"]["code"])
        assert ask(socket, "claude", "Hello?")[-1]["type"] == "response.completed"
    assert [row.end for row in served.wait_for_rows(2)] == ["refused", "done"]


def test_a_wrong_key_opens_no_socket(served):
    with pytest.raises(InvalidStatus) as caught, served.open("pnd_wrong"):
        pass
    assert caught.value.response.status_code == 401


def test_another_keys_answers_are_unknown_on_a_socket(served):
    with served.open(KEYS["mine"]) as socket:
        mine = ask(socket, "claude", "Hello?")[-1]["response"]["id"]
    with served.open(KEYS["other"]) as socket:
        event = ask(socket, "claude", "Go on.", previous_response_id=mine)[-1]
    assert event["error"]["code"] == "previous_response_not_found"


def test_limits_of_a_key_hold_for_each_message():
    keys = (GatewayKey("mine", hash_key(KEYS["mine"]), limit=RateLimitRule(requests=2)),)
    with serve(keys=keys) as served, served.open(KEYS["mine"]) as socket:
        ends = [ask(socket, "claude", "Hello?")[-1] for _ in range(3)]
        assert [end["type"] for end in ends] == ["response.completed"] * 2 + ["error"]
        assert ends[-1]["status"] == 429


def test_without_a_store_a_socket_still_continues_its_own_answers():
    with serve(responses=ResponsesConfig(store="off")) as served, served.open() as socket:
        answer = ask(socket, "claude", "My name is Ann.")[-1]["response"]
        ask(socket, "claude", "Who am I?", previous_response_id=answer["id"])
        assert "My name is Ann." in json.dumps(served.emulator.log.entries[-1].body)


def test_a_socket_ends_after_an_hour(monkeypatch):
    monkeypatch.setattr(response_socket, "HOUR", -1.0)
    with serve() as served, served.open() as socket:
        event = ask(socket, "claude", "Hello?")[-1]
        assert event["error"]["code"] == "websocket_connection_limit_reached"
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=60)


@pytest.mark.filterwarnings("ignore:connect\\(\\) must be used:DeprecationWarning")
def test_the_sdk_of_the_vendor_talks_over_the_socket(served):
    client = openai.OpenAI(base_url=f"{served.url}/v1", api_key=KEYS["mine"], max_retries=0)
    with client, client.responses.connect() as connection:
        connection.response.create(model="claude", input="What is 2+2?", store=False)
        for event in connection:
            if event.type == "response.completed":
                break
        connection.response.create(
            model="claude", input="And?", store=False, previous_response_id=event.response.id
        )
        for event in connection:
            if event.type == "response.completed":
                break
        assert event.response.output_text
