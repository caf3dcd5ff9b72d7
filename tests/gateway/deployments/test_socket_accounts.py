"""Realtime sockets with several accounts: who opens one, who is paused, and what a limit allows."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from tests.gateway.endpoint_service import WAIT, until
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
from websockets.sync.server import serve

from pondero.asgi import bind
from pondero.gateway.config.model import (
    Deployment,
    GatewayConfig,
    GatewayRoute,
    RateLimitRule,
    ServerConfig,
)
from pondero.gateway.server.run import run_gateway_in_thread
from pondero.transport import FastTransport

MODEL = "gpt-realtime"


class Voices:
    """A service with a path for each account, which counts what it is asked for."""

    def __init__(self) -> None:
        self.opened: Counter[str] = Counter()
        self.answers: Counter[str] = Counter()
        self.statuses: dict[str, int] = {}
        self.url = ""

    def process(self, connection: Any, request: Any) -> Any:
        name = request.path.split("/")[1]
        self.opened[name] += 1
        if name in self.statuses:
            return connection.respond(HTTPStatus(self.statuses[name]), '{"error":{"message":"no"}}')
        return None

    def speak(self, socket: Any) -> None:
        name = socket.request.path.split("/")[1]
        try:
            for message in socket:
                if json.loads(message).get("type") == "response.create":
                    self.answers[name] += 1
                    self._answer(socket, f"resp_{self.answers[name]}")
        except ConnectionClosed:
            return

    def _answer(self, socket: Any, id: str) -> None:
        usage = {"total_tokens": 500, "input_tokens": 300, "output_tokens": 200}
        response = {"object": "realtime.response", "id": id, "output": []}
        begun = {"type": "response.created", "response": {**response, "status": "in_progress"}}
        done = {**response, "status": "completed", "usage": usage}
        for event in (begun, {"type": "response.done", "response": done}):
            socket.send(json.dumps({"event_id": "e", **event}))


@contextmanager
def open_gateway(limit: RateLimitRule | None = None, **fields: Any) -> Iterator[SimpleNamespace]:
    voices = Voices()
    with (
        serve(voices.speak, "127.0.0.1", 0, process_request=voices.process) as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        Thread(target=server.serve_forever, daemon=True).start()
        voices.url = f"http://127.0.0.1:{server.socket.getsockname()[1]}"
        urls = {name: f"{voices.url}/{name}" for name in ("north", "south")} | fields.pop(
            "urls", {}
        )
        for name in urls:
            patch.setenv(f"KEY_{name.upper()}", f"key-of-{name}")
        config = GatewayConfig(
            ServerConfig(port=0, ledger="off", log="off"),
            (GatewayRoute(MODEL, tuple(f"{name}:{MODEL}" for name in urls), **fields),),
            deployments=tuple(
                Deployment(name, "openai", f"env:KEY_{name.upper()}", url, limit=limit)
                for name, url in urls.items()
            ),
        )
        seen: list[Any] = []
        with run_gateway_in_thread(
            config, transport=FastTransport(), observers=(seen.append,)
        ) as url:
            yield SimpleNamespace(url=url, seen=seen, voices=voices)
        server.shutdown()


def open_socket(gateway: SimpleNamespace) -> Any:
    url = f"ws{gateway.url.removeprefix('http')}/v1/realtime?model={MODEL}"
    return connect(url, proxy=None, open_timeout=WAIT)


def ask(socket: Any) -> None:
    socket.send(json.dumps({"type": "response.create"}))
    while json.loads(socket.recv(WAIT))["type"] != "response.done":
        pass


@pytest.mark.parametrize("death", ["refused", 401, 402, 403, 404, 429, 500, 503])
def test_a_socket_that_one_account_does_not_open_is_opened_by_the_next(death):
    gone = bind("127.0.0.1", 0)
    urls = {"north": f"http://127.0.0.1:{gone.getsockname()[1]}"} if death == "refused" else {}
    gone.close()
    with open_gateway(balance="order", urls=urls) as gateway:
        if death != "refused":
            gateway.voices.statuses["north"] = death
        for _ in range(3):
            with open_socket(gateway) as socket:
                ask(socket)
        assert gateway.voices.answers == {"south": 3}
        until(lambda: len(gateway.seen) == 3)
        assert {(each.deployment, each.status) for each in gateway.seen} == {("south", 101)}
        if death in (401, 402, 429):  # it is paused
            assert gateway.voices.opened["north"] == 1


def test_if_no_account_opens_a_socket_the_client_gets_the_last_error():
    with open_gateway(balance="order") as gateway:
        gateway.voices.statuses = {"north": 503, "south": 403}
        with pytest.raises(InvalidStatus) as caught:
            open_socket(gateway)
        assert caught.value.response.status_code == 403
        assert gateway.voices.opened == {"north": 1, "south": 1}


def test_requests_for_sockets_that_a_service_rejects_count_too():
    """Their reservation was given back, so a service that failed was asked without a limit."""
    with open_gateway(RateLimitRule(requests=2)) as gateway:
        gateway.voices.statuses = {"north": 404, "south": 404}
        statuses = []
        for _ in range(4):
            with pytest.raises(InvalidStatus) as caught:
                open_socket(gateway)
            statuses.append(caught.value.response.status_code)
        assert gateway.voices.opened == {"north": 2, "south": 2}
        assert statuses[-1] == 429


def test_answers_of_sockets_keep_the_limit_of_requests():
    """The opening and each request for an answer count."""
    with open_gateway(RateLimitRule(requests=4)) as gateway:
        answers = talk_until_closed(gateway)
        assert answers == 3
        with open_socket(gateway) as socket:  # the other account
            ask(socket)
        assert sorted(gateway.voices.answers.values()) == [1, 3]


def test_answers_of_sockets_exceed_the_limit_of_tokens_by_one_answer_at_most():
    with open_gateway(RateLimitRule(tokens=1800)) as gateway:
        answers = [talk_until_closed(gateway) for _ in range(2)]
        assert sum(answers) == gateway.voices.answers.total()
        assert max(gateway.voices.answers.values()) == 4  # 2000 tokens
        with pytest.raises(InvalidStatus) as caught:  # neither account has anything left
            open_socket(gateway)
        assert caught.value.response.status_code == 429
        assert 1 <= float(caught.value.response.headers["retry-after"]) <= 62


def talk_until_closed(gateway: SimpleNamespace) -> int:
    """Return how many answers a socket got before the gateway closed it."""
    with open_socket(gateway) as socket:
        for number in range(10):
            try:
                ask(socket)
            except ConnectionClosed:
                assert socket.close_code == 1008
                return number
    return 10
