"""Receipts of answered requests reach their observers together; nothing shows that they waited."""

import asyncio
import json
from functools import partial

from msgspec.structs import replace
from tests.gateway.asgi import came
from tests.gateway.observability.test_metrics import RECEIPT

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayRoute
from pondero.gateway.observability.metrics import Metrics
from pondero.gateway.observability.observers import Observers
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.observability.receipt_batch import ReceiptBatch
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

LONG = 60.0  # seconds: no test waits for it


def receipts(count: int) -> list[Receipt]:
    return [replace(RECEIPT, id=str(number)) for number in range(count)]


def test_receipts_that_come_together_are_told_together_and_in_order():
    async def add() -> None:
        told: asyncio.Queue[list[Receipt]] = asyncio.Queue()
        batch = ReceiptBatch(lambda some: told.put_nowait(list(some)))
        batch.wait = 0.001
        for receipt in receipts(3):
            batch.add(partial(replace, receipt))
        assert told.empty()
        assert await told.get() == receipts(3)
        batch.add(partial(replace, RECEIPT))
        assert await told.get() == [RECEIPT]

    asyncio.run(add())


def test_no_more_receipts_wait_than_a_kill_may_turn_into_estimates():
    told: list[int] = []

    async def add() -> None:
        batch = ReceiptBatch(lambda some: told.append(len(some)))
        batch.wait = LONG
        for receipt in receipts(130):
            batch.add(partial(replace, receipt))
        batch.flush()
        batch.flush()

    asyncio.run(add())
    assert told == [64, 64, 2]


def test_a_receipt_that_cannot_be_made_is_logged_and_fails_no_other(caplog):
    told: list[Receipt] = []

    def fail() -> Receipt:
        raise ZeroDivisionError

    async def add() -> None:
        batch = ReceiptBatch(told.extend)
        batch.wait = LONG
        batch.add(lambda: RECEIPT)
        batch.add(fail)
        batch.add(lambda: RECEIPT)
        batch.flush()

    asyncio.run(add())
    assert told == [RECEIPT, RECEIPT]
    assert "could not be recorded" in caplog.text


def test_without_a_server_no_receipt_waits():
    told: list[Receipt] = []
    ReceiptBatch(told.extend).add(lambda: RECEIPT)
    assert told == [RECEIPT]


def _post(model: str) -> HttpRequest:
    body = {"model": model, "messages": [{"role": "user", "content": "hello"}]}
    return HttpRequest("POST", "http://x/v1/chat/completions", {}, json.dumps(body).encode())


def _get(path: str) -> HttpRequest:
    return HttpRequest("GET", f"http://x{path}", {"host": "127.0.0.1"}, b"")


class _World:
    """A gateway whose receipts wait for longer than any test."""

    def __init__(self) -> None:
        self.told: list[Receipt] = []
        metrics = Metrics()
        config = GatewayConfig(routes=(GatewayRoute(match="gpt-*", to=("openai:gpt-5.5",)),))
        observers = (self.told.append, metrics.note)
        gateway = GatewayContext(config, Emulator(), observers=observers)
        gateway.receipts.wait = LONG
        self.app = App(gateway, Observers(metrics=metrics))


def test_an_answer_waits_and_a_rejection_does_not():
    world = _World()

    async def ask() -> None:
        assert (await came(world.app, _post("gpt-5.5"))).status == 200
        assert world.told == []
        assert (await came(world.app, _post("no-such-model"))).status == 404
        assert [receipt.status for receipt in world.told] == [404]

    asyncio.run(ask())


def test_metrics_and_console_have_every_answer_that_a_client_has():
    for path in ("/metrics", "/admin/requests"):
        world = _World()

        async def ask(world: _World = world, path: str = path) -> None:
            await came(world.app, _post("gpt-5.5"))
            page = await came(world.app, _get(path))
            assert page.status == 200
            assert [receipt.status for receipt in world.told] == [200]
            assert b"gpt-5.5" in page.body

        asyncio.run(ask())


def test_the_end_of_the_server_loses_no_receipt():
    world = _World()

    async def run() -> None:
        events: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        sent: list[str] = []

        async def send(message: dict) -> None:
            sent.append(message["type"])

        events.put_nowait({"type": "lifespan.startup"})
        server = asyncio.ensure_future(world.app({"type": "lifespan"}, events.get, send))
        await came(world.app, _post("gpt-5.5"))
        assert world.told == []
        events.put_nowait({"type": "lifespan.shutdown"})
        await server
        assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]

    asyncio.run(run())
    assert [receipt.status for receipt in world.told] == [200]
