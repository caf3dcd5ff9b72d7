"""What sockets count: never less than the service served, however and whenever a client leaves."""

import asyncio
import itertools
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.gateway.endpoint_gateway import make_gateway_key, secret, serving
from tests.gateway.endpoint_service import KEY, WAIT, auntil, serving_endpoints, until
from tests.gateway.socket_client import LIVE, count, opened, receive_until, rows
from websockets.exceptions import ConnectionClosed, InvalidStatus

from pondero.asgi import bind
from pondero.gateway.config.model import RateLimitRule, SpendBudget
from pondero.gateway.config.secrets import hash_key

BUDGET = 40_000
SMALL = 400
KEYS = (
    make_gateway_key("free"),
    make_gateway_key("stored", account_state=True),
    make_gateway_key("large", budget=SpendBudget(tokens=BUDGET), endpoints=("realtime",)),
    make_gateway_key("small", budget=SpendBudget(tokens=SMALL), endpoints=("realtime",)),
    make_gateway_key("money", budget=SpendBudget(cost=0.01), endpoints=("realtime",)),
    make_gateway_key(
        "rate", limit=RateLimitRule(tokens=SMALL, per="hour"), endpoints=("realtime",)
    ),
)
CREATE = json.dumps({"type": "response.create", "response": {"conversation": "none"}})


class Speaker:
    """A service that answers several requests at once, and bills all that it has begun."""

    def __init__(self) -> None:
        self.output = 50
        self.prompt = 100
        self.seconds = 0.05  # of an answer
        self.ends = True
        self.is_held = False
        self.reports = True
        self.began = 0
        self.open = 0
        self.most_open = 0
        self._numbers = itertools.count()

    @property
    def billed(self) -> int:
        return self.began * (self.prompt + self.output)

    async def __call__(self, message: Any, send: Any) -> None:
        event = json.loads(message)

        async def tell(**event: Any) -> None:
            with suppress(Exception):
                await send({"type": "websocket.send", "text": json.dumps(event)})

        if event.get("type") != "response.create":
            await tell(type="error", error={"message": "no", "event_id": event.get("event_id")})
            return
        if event.get("response", {}).get("voice") == "wrong":
            await tell(type="error", error={"message": "no", "event_id": event.get("event_id")})
            return
        id = f"resp_{next(self._numbers)}"
        self.began += 1
        self.open += 1
        self.most_open = max(self.open, self.most_open)
        await tell(type="response.created", response={"id": id})
        await tell(type="response.output_text.delta", delta="word " * self.output)
        await asyncio.sleep(self.seconds)
        await auntil(lambda: not self.is_held)
        self.open -= 1
        usage = {"input_tokens": self.prompt, "output_tokens": self.output}
        if self.ends:
            told = usage if self.reports else None
            await tell(type="response.done", response={"id": id, "usage": told})


@pytest.fixture
def gateway() -> Iterator[Any]:
    with serving_endpoints() as service, serving(service, keys=KEYS) as found:
        service.speak = found.speaker = Speaker()
        yield found


def drain(client: Any) -> ConnectionClosed:
    try:
        while True:
            client.recv(WAIT)
    except ConnectionClosed as ended:
        return ended


@pytest.mark.parametrize("key", ["large", "free"])
@pytest.mark.parametrize("lost", [False, True])
def test_a_client_that_leaves_before_the_end_is_counted_with_the_most(gateway, key, lost):
    gateway.speaker.output, gateway.speaker.ends = 1_000, False
    for _ in range(4):
        with opened(gateway, key) as client:
            client.send(CREATE)
            receive_until(client, "response.output_text.delta")
            if lost:
                client.socket.close()
    assert gateway.speaker.billed <= count(gateway, 4)
    assert all(each.estimated for each in gateway.seen)


def test_leaving_again_and_again_spends_the_budget(gateway):
    gateway.speaker.output, gateway.speaker.ends = 4_000, False

    def leave(number: int) -> None:
        with opened(gateway, "large") as client:
            client.send(CREATE)
            receive_until(client, "response.output_text.delta")
        rows(gateway, number)

    with pytest.raises(InvalidStatus) as spent:
        list(map(leave, range(1, 20)))
    assert spent.value.response.status_code == 429
    assert gateway.speaker.billed <= BUDGET + 4_100


@pytest.mark.parametrize("key", ["small", "rate"])
@pytest.mark.parametrize("between", [None, "odd", "same id"])
def test_requests_in_a_row_exceed_a_budget_by_one_answer_at_most(gateway, key, between):
    create = json.dumps({**json.loads(CREATE), "event_id": "mine"}) if between else CREATE
    with opened(gateway, key) as client:
        for _ in range(20):
            if between is not None:
                client.send(json.dumps({"type": "x", **({"event_id": "mine"} if between else {})}))
            client.send(create)
        ended = drain(client)
    assert ended.rcvd is not None
    assert ended.rcvd.code == 1008
    assert gateway.speaker.most_open == 1
    assert gateway.speaker.billed <= SMALL + 150
    assert count(gateway, 1) == gateway.speaker.billed
    assert (gateway.seen[0].end, gateway.seen[0].estimated) == ("failed", False)
    with pytest.raises(InvalidStatus, match="429"), opened(gateway, key):
        pass


def test_many_sockets_at_once_exceed_a_budget_by_one_answer_at_most(gateway):
    gateway.speaker.seconds = 0.3

    def ask(_: int) -> None:
        with suppress(ConnectionClosed, InvalidStatus), opened(gateway, "small") as client:
            for _ in range(5):
                client.send(CREATE)
                receive_until(client, "response.done")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(8)))
    until(lambda: len(gateway.seen) == 8)
    assert gateway.speaker.most_open == 1  # it holds all that is left
    assert 0 < gateway.speaker.billed <= SMALL + 150
    assert count(gateway, 8) == gateway.speaker.billed


def test_answers_at_once_pass_at_once_without_a_quota(gateway):
    gateway.speaker.seconds = 0.3
    with opened(gateway, "free") as client:
        for _ in range(5):
            client.send(CREATE)
        for _ in range(5):
            receive_until(client, "response.done")
    assert gateway.speaker.most_open == 5
    assert count(gateway, 1) == gateway.speaker.billed
    assert not gateway.seen[0].estimated
    assert gateway.service.sockets[0] == [CREATE] * 5


@pytest.mark.parametrize("id", [None, "mine"])
def test_a_rejected_request_counts_nothing_and_its_error_has_the_clients_id(gateway, id):
    wrong: dict[str, Any] = {"type": "response.create", "response": {"voice": "wrong"}}
    with opened(gateway, "small") as client:
        for _ in range(3):
            client.send(json.dumps({**wrong, **({"event_id": id} if id else {})}))
            assert receive_until(client, "error")["error"]["event_id"] == id
        client.send(CREATE)
        receive_until(client, "response.done")
    assert count(gateway, 1) == gateway.speaker.billed == 150
    assert not gateway.seen[0].estimated


def test_a_request_in_another_spelling_is_one_too(gateway):
    escaped = CREATE.replace("response.create", "response\\u002ecreate")
    lone = json.dumps({**json.loads(CREATE), "metadata": {"a": "\ud800"}})
    with opened(gateway, "small") as client:
        for _ in range(10):
            client.send(escaped)
            client.send(lone)
        drain(client)
    assert gateway.speaker.billed <= SMALL + 150


@pytest.mark.parametrize(
    "types", [("response.create", "input_audio_buffer.clear"), ("x", "response.create")]
)
def test_a_message_with_two_types_ends_a_socket_with_a_budget(gateway, types):
    with opened(gateway, "large") as client:
        client.send(f'{{"type": "{types[0]}", "type": "{types[1]}"}}')
        ended = drain(client)
    assert ended.rcvd is not None
    assert ended.rcvd.code == 1008
    assert gateway.service.sockets == [[]]


def test_an_answer_without_counts_is_estimated(gateway):
    gateway.speaker.reports = False
    with opened(gateway, "large") as client:
        client.send(CREATE)
        receive_until(client, "response.done")
    assert count(gateway, 1) >= gateway.speaker.output
    assert gateway.seen[0].estimated


def test_a_picture_or_a_stored_prompt_may_be_the_whole_window(gateway):
    gateway.speaker.ends = False
    with opened(gateway, "stored") as client:  # others may not name a stored prompt
        client.send(json.dumps({"type": "session.update", "session": {"prompt": {"id": "p"}}}))
        client.send(CREATE)
        receive_until(client, "response.output_text.delta")
    assert rows(gateway, 1)[0].usage.input == 32_000


def test_an_answer_that_the_service_began_by_itself_is_counted_too(gateway):
    async def speak(_: Any, send: Any) -> None:
        event = {"type": "response.created", "response": {"id": "r"}}
        await send({"type": "websocket.send", "text": json.dumps(event)})

    gateway.service.speak = speak
    with opened(gateway, "free") as client:
        client.send('{"type": "input_audio_buffer.append", "audio": "AAAA"}')
        receive_until(client, "response.created")
    (row,) = rows(gateway, 1)
    assert (row.estimated, row.usage.output) == (True, 4_096)


def test_a_live_turn_that_is_left_counts_as_the_most_and_a_whole_one_as_reported(gateway):
    gateway.service.speak = None
    turn = {"turns": [{"role": "user", "parts": [{"text": "hi"}]}], "turnComplete": True}
    setup = json.dumps({"setup": {"model": "models/gemini-live-x"}})
    with opened(gateway, "free", LIVE) as client:
        client.send(setup)
        client.recv(WAIT)
        client.send(json.dumps({"clientContent": turn}))
        client.recv(WAIT)
    (whole,) = rows(gateway, 1)
    assert (whole.usage.known_total, whole.estimated) == (8, False)

    async def speak(message: Any, send: Any) -> None:
        part = {"serverContent": {"modelTurn": {"parts": [{"text": "hi"}]}}}
        event = part if b"turns" in message.encode() else {"setupComplete": {}}
        await send({"type": "websocket.send", "text": json.dumps(event)})

    gateway.service.speak = speak
    with opened(gateway, "free", LIVE) as client:
        client.send(setup)
        client.recv(WAIT)
        client.send(json.dumps({"clientContent": turn}))
        client.recv(WAIT)
    left = rows(gateway, 2)[1]
    assert left.usage.output == 65_536
    assert left.estimated


def test_one_live_turn_answers_all_that_was_said_before_it(gateway):
    turn = {"turns": [{"role": "user", "parts": [{"text": "hi"}]}], "turnComplete": True}
    said = 0

    async def speak(message: Any, send: Any) -> None:
        nonlocal said
        said += "clientContent" in message
        event: dict[str, Any] = {"setupComplete": {}}
        if said == 3:
            said = 0
            usage = {"promptTokenCount": 5, "responseTokenCount": 3}
            event = {"serverContent": {"turnComplete": True}, "usageMetadata": usage}
        elif "clientContent" in message:
            return
        await send({"type": "websocket.send", "text": json.dumps(event)})

    gateway.service.speak = speak
    with opened(gateway, "small", LIVE) as client:
        client.send(json.dumps({"setup": {"model": "models/gemini-live-x"}}))
        client.recv(WAIT)
        for _ in range(4):
            for _ in range(3):
                client.send(json.dumps({"clientContent": turn}))
            client.recv(WAIT)
    assert count(gateway, 1) == 4 * 8
    assert not gateway.seen[0].estimated


def test_a_cost_budget_needs_a_price_for_the_model(gateway):
    with pytest.raises(InvalidStatus) as unknown, opened(gateway, "money", "/v1/realtime?model=x"):
        pass
    assert unknown.value.response.status_code == 403
    assert b"no price" in unknown.value.response.body
    with opened(gateway, "money") as client:
        client.send(CREATE)
        receive_until(client, "response.done")
    assert rows(gateway, 2)[1].cost > 0


# -- a process of its own --------------------------------------------------------------------------

MAIN = "from pondero.cli import main; main()"


@contextmanager
def process(folder: Path, port: int) -> Iterator[Any]:
    environment = {**os.environ, "TEST_PROVIDER_KEY": KEY, "PONDERO_DATA_DIR": str(folder)}
    serve = [sys.executable, "-c", MAIN, "serve", "--config", str(folder / "gateway.toml")]
    with (folder / "out").open("ab") as out:
        running = subprocess.Popen(serve, env=environment, stdout=out, stderr=out, cwd=folder)
    running.environment = environment  # type: ignore[attr-defined]  # for other commands
    try:
        until(lambda: _is_ready(running, port, folder))
        yield running
    finally:
        running.kill()
        running.wait()


def _is_ready(running: Any, port: int, folder: Path) -> bool:
    assert running.poll() is None, (folder / "out").read_text()
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Any]:
    with serving_endpoints() as service, bind("127.0.0.1", 0) as held:
        service.speak = Speaker()
        port = held.getsockname()[1]
        held.close()
        (tmp_path / "gateway.toml").write_text(
            f'[server]\nport = {port}\nlog = "off"\n'
            f'[provider.openai]\nurl = "{service.url}/openai/v1"\nkey = "env:TEST_PROVIDER_KEY"\n'
            '[[route]]\nmatch = "gpt-realtime"\nto = "openai:gpt-realtime"\n'
            f'[[key]]\nname = "ci"\nhash = "{hash_key(secret("ci"))}"\n'
            'budget = { tokens = 1000000, per = "month" }\nendpoints = ["realtime"]\n'
        )
        yield SimpleNamespace(
            folder=tmp_path, port=port, url=f"http://127.0.0.1:{port}", service=service
        )


def test_a_killed_process_leaves_what_its_sockets_reported(place):
    speaker = place.service.speak
    with process(place.folder, place.port) as running:
        client = opened(place, "ci").__enter__()
        for _ in range(4):
            client.send(CREATE)
            receive_until(client, "response.done")
        speaker.ends = False
        client.send(CREATE)
        receive_until(client, "response.output_text.delta")
        running.send_signal(signal.SIGKILL)
        running.wait()
        with suppress(ConnectionClosed):
            client.close()
    with process(place.folder, place.port):
        ledger = place.folder / "gateway.db"
        read = "SELECT sum(input + coalesce(cache_read, 0) + output), min(estimated) FROM pondero_receipts"

        def find() -> Any:
            with sqlite3.connect(ledger) as database:
                return database.execute(read).fetchone()

        until(lambda: find()[0] is not None)
        counted, estimated = find()
    assert speaker.billed <= counted
    assert estimated == 1


def block(place: Any, running: Any) -> None:
    command = [sys.executable, "-c", MAIN, "keys", "block", "ci"]
    command += ["--config", str(place.folder / "gateway.toml")]
    subprocess.run(command, env=running.environment, check=True, capture_output=True)


def test_a_request_that_waits_when_its_key_is_blocked_is_not_sent(place):
    speaker = place.service.speak
    speaker.is_held = True
    with process(place.folder, place.port) as running, opened(place, "ci") as client:
        client.send(CREATE)
        receive_until(client, "response.output_text.delta")
        client.send(CREATE)  # it waits for the end of the first
        block(place, running)
        speaker.is_held = False
        ended = drain(client)
    assert ended.rcvd is not None
    assert ended.rcvd.code == 1008
    assert "blocked" in ended.rcvd.reason
    assert speaker.began == 1


def test_a_blocked_key_ends_an_open_socket(place):
    with process(place.folder, place.port) as running, opened(place, "ci") as client:
        client.send(CREATE)
        receive_until(client, "response.done")
        block(place, running)
        asked = 0
        with suppress(ConnectionClosed):
            for asked in range(50):  # noqa: B007 - how many were answered
                client.send(CREATE)
                receive_until(client, "response.done")
        ended = drain(client)
    assert asked < 49
    assert ended.rcvd is not None
    assert ended.rcvd.code == 1008
    assert "blocked" in ended.rcvd.reason
