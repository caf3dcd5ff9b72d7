"""Law of counting over thousands of mixed requests: no view shows less than the service served.

Streams whose client hangs up at every event, connections that break after every frame, retries,
fallbacks, errors, several answers, answers in the background, with and without a budget, many at
once. The judge is the service (``counting_service``); the views are asked as users ask them: the
admin API, the metrics page, and the rows of the ledger.
"""

import asyncio
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, MutableMapping
from contextvars import ContextVar
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import settings
from prometheus_client.parser import text_string_to_metric_families
from tests.gateway.asgi import came
from tests.gateway.counting_service import CountingService, Script, Served
from tests.gateway.test_counting import APIS, CI, FULL, PAIR, ROUTES, TARGETS, Asked, write

from pondero.canon import HttpRequest
from pondero.gateway.config.model import GatewayConfig, GatewayKey
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.ledger import Ledger
from pondero.gateway.observability.ledger_database import SqliteDatabase
from pondero.gateway.observability.metrics import Metrics
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.state import breakers

MODELS = (*TARGETS, "pair")
FREE = GatewayKey("free", hash_key("the-free-key"))
ADMIN = GatewayKey("admin", hash_key("the-admin-key"), admin=True)
EVENTS = range(15)
"""More than any of these answers has."""
STATUSES = (400, 429, 500, 503)
AT_ONCE = 50
BATCH = 450
_NUMBER = re.compile(rb"\(r(\d+)\)")
_now: ContextVar[int] = ContextVar("_now")


def _script(model: str, chance: Random, **more: Any) -> Script:
    thinking = 0 if model in FULL else chance.choice((0, 1, 700, 5000))
    return Script(thinking=thinking, **more)


def iter_hang_ups(chance: Random) -> Iterator[Asked]:
    """Yield a request for every event at which a client can leave; -1: before the answer."""
    for api, model, at in product(APIS, MODELS, (-1, *EVENTS)):
        yield Asked(api=api, model=model, leaves_at=at, scripts=(_script(model, chance),))


def iter_cuts(chance: Random) -> Iterator[Asked]:
    """Yield a request for every frame after which a connection can break, some again and again."""
    for api, model, at in product(APIS, MODELS, EVENTS):
        cut = _script(model, chance, cut=at, ends=chance.random() < 0.5)
        scripts = (cut,) * chance.choice((1, 1, 2, 4))
        stream = chance.random() < 0.8
        yield Asked(api=api, model=model, stream=stream, scripts=scripts)


def iter_errors(chance: Random) -> Iterator[Asked]:
    """Yield requests that fail before they succeed, or fail for good."""
    for api, model, status, times in product(APIS, MODELS, STATUSES, (1, 2, 5)):
        failing = (Script(status=status),) * times
        scripts = (*failing, _script(model, chance))
        yield Asked(api=api, model=model, stream=chance.random() < 0.5, scripts=scripts)


def iter_several(chance: Random) -> Iterator[Asked]:
    """Yield requests for several answers, and for answers in the background."""
    for api, model, count in product(("chat", "gemini"), MODELS, (1, 2, 3, 8)):
        for at in (None, 2, 6):
            script = _script(model, chance, cut=chance.choice((None, None, 3, 7)))
            streams = at is not None or chance.random() < 0.5
            yield Asked(
                api=api, model=model, answers=count, leaves_at=at, stream=streams, scripts=(script,)
            )
    for model, stream, key in product(MODELS, (False, True), ("the-key", "the-free-key")):
        more = {"background": True}
        script = _script(model, chance)
        yield Asked(
            api="responses", model=model, stream=stream, more=more, scripts=(script,), key=key
        )


def iter_mixed(chance: Random, count: int) -> Iterator[Asked]:
    """Yield requests of any kind."""
    for _ in range(count):
        model = chance.choice(MODELS)
        cut = chance.choice((None, None, *EVENTS))
        last = _script(model, chance, cut=cut, ends=chance.random() < 0.5)
        failing = tuple(
            Script(status=chance.choice(STATUSES)) for _ in range(chance.choice((0, 0, 1, 2)))
        )
        yield Asked(
            api=chance.choice(APIS),
            model=model,
            stream=chance.random() < 0.7,
            scripts=(*failing, *(last,) * chance.choice((1, 1, 2, 4))),
            leaves_at=chance.choice((None, None, None, *range(9))),
            most=chance.choice((None, 20, 6000)),
            options=chance.choice(("absent", None, {"include_usage": False})),
            answers=chance.choice((None, None, 1, 3)),
            key=chance.choice(("the-key", "the-key", "the-free-key")),
        )


class NumberedService(CountingService):
    """Serves many requests at once; each says its number."""

    def __init__(self) -> None:
        super().__init__()
        self.by_number: dict[int, list[Served]] = defaultdict(list)
        self.planned: dict[int, list[Script]] = {}

    async def send(self, request: HttpRequest, timeouts: object) -> Any:
        found = _NUMBER.search(request.body)
        assert found is not None, request.body
        number = int(found[1])
        self.scripts = self.planned[number]
        answer = await super().send(request, timeouts)
        self.by_number[number].append(self.served[-1])
        return answer


class Mixed:
    """A gateway in front of the service, and all that counts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.service = NumberedService()
        self.receipts: dict[int, Receipt] = {}
        self.asked: dict[int, Asked] = {}
        self.database = SqliteDatabase(folder / "gateway.db")
        self.ledger = Ledger(self.database, folder / "aside")
        self.metrics = Metrics()
        config = GatewayConfig(routes=(*ROUTES, PAIR), keys=(CI, FREE, ADMIN))
        observers = [self._note, self.metrics.note, self.ledger.note]
        self.gate = GatewayContext(config, self.service, observers=observers, ledger=self.database)
        self.gate.jitter = lambda: 0.0  # type: ignore[misc]  # no waits between tries
        self.app = App(self.gate)

    def _note(self, receipt: Receipt) -> None:
        if receipt.key != "admin":
            number = _now.get()
            assert number not in self.receipts, receipt  # one record for each request
            self.receipts[number] = receipt

    async def ask_all(self, several: Iterable[Asked]) -> None:
        room = asyncio.Semaphore(AT_ONCE)

        async def ask(number: int, asked: Asked) -> None:
            async with room:
                await self._ask(number, asked)

        async with asyncio.TaskGroup() as group:
            for number, asked in enumerate(several):
                group.create_task(ask(number, asked))

    async def _ask(self, number: int, asked: Asked) -> None:
        _now.set(number)
        self.asked[number] = asked
        self.service.planned[number] = list(asked.scripts)
        http = write(asked)
        body = http.body.replace(b"17 * 23", b"17 * 23 (r%d)" % number)
        waiting = [{"type": "http.request", "body": body, "more_body": False}]
        gone, pieces = asyncio.Event(), 0

        async def receive() -> dict[str, Any]:
            if waiting:
                return waiting.pop()
            if asked.leaves_at == -1:
                gone.set()
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: MutableMapping[str, Any]) -> None:
            nonlocal pieces
            if gone.is_set() or message["type"] == "http.response.start":
                return
            pieces += 1
            if asked.leaves_at is not None and pieces > asked.leaves_at:
                gone.set()
                await asyncio.sleep(0.12)  # the gateway looks every 0.05 s

        path, _, query = http.url.removeprefix("http://gateway").partition("?")
        scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(k.encode(), v.encode()) for k, v in http.headers.items()],
        }
        await self.app(scope, receive, send)

    async def show(self, path: str) -> Any:
        """Return what an administrator sees."""
        headers = {"authorization": "Bearer the-admin-key"}
        answer = await came(self.app, HttpRequest("GET", f"http://gateway{path}", headers, b""))
        assert answer.status == 200, answer
        return json.loads(answer.body)

    async def judge(self) -> None:
        """Compare every request in the ledger, and every sum of a view, with what was served."""
        await self.gate.state.wait_until_counted()
        self.ledger.close()
        self.gate.ledger = database = SqliteDatabase(self.folder / "gateway.db")
        rows = {id: (key, *counts) for id, key, *counts in database.rows(_ROWS)}
        shown: Counter[tuple[str, str]] = Counter()
        for number, asked in self.asked.items():
            key, tokens, thinking, estimated = rows.pop(self.receipts[number].id)
            served = self.service.by_number[number]
            told = (asked, self.receipts[number], served)
            self._judge(tokens, sum(each.total for each in served), estimated, told)
            self._judge(thinking, sum(each.thinking for each in served), estimated, told)
            shown[key, "tokens"] += tokens
            shown[key, "thinking_tokens"] += thinking
        assert not rows
        assert await self._read_budgets() == {
            (key, unit): count for (key, unit), count in shown.items() if key == "ci"
        }
        assert self._read_metrics() == {
            key: count for (key, unit), count in shown.items() if unit == "tokens" and count
        }
        await self._judge_console(
            sum(count for (_, unit), count in shown.items() if unit != "tokens")
        )
        database.close()

    @staticmethod
    def _judge(shown: int, served: int, estimated: int, told: Any) -> None:
        assert shown >= served if estimated else shown == served, (shown, served, told)

    async def _read_budgets(self) -> dict[tuple[str, str], int]:
        keys = (await self.show("/admin/keys"))["keys"]
        return {
            (key["name"], each["unit"]): each["taken"] for key in keys for each in key["bounds"]
        }

    def _read_metrics(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for family in text_string_to_metric_families(self.metrics.page().body.decode()):
            for sample in family.samples:
                if sample.name == "pondero_tokens_total" and sample.value:
                    found[sample.labels["key"]] += int(sample.value)
        return found

    async def _judge_console(self, thinking: int) -> None:
        figures = (await self.show("/admin/figures?span=hour"))["figures"]
        assert sum(each["thinking"] for each in figures["slices"]) == thinking
        by_id = {receipt.id: receipt for receipt in self.receipts.values()}
        listed = (await self.show("/admin/requests"))["requests"]
        assert listed
        for row in listed:
            receipt = by_id[row["id"]]
            assert row["estimated"] == receipt.estimated
            assert (row["thinking"], row["answer"]) == (
                receipt.usage.thinking,
                receipt.usage.output,
            )


_TOKENS = ("input", "cache_read", "cache_write", "output", "thinking")
_ROWS = (
    f"SELECT id, key, {' + '.join(f'coalesce({name}, 0)' for name in _TOKENS)}, "
    "coalesce(thinking, 0), estimated FROM pondero_receipts"
)


def test_no_view_shows_less_than_was_served(tmp_path_factory, monkeypatch):
    """Every event, frame and status once, and a mix of all; the quick profile takes every tenth."""
    monkeypatch.setattr(breakers, "FAILURES", 10**6)  # so that failing requests pause no model
    chance = Random(24)
    several = [*iter_hang_ups(chance), *iter_cuts(chance), *iter_errors(chance)]
    several += [*iter_several(chance), *iter_mixed(chance, 2_500)]
    chance.shuffle(several)
    several = several[:: 1 if settings().max_examples >= 100 else 10]
    ends: Counter[str] = Counter()
    for begin in range(0, len(several), BATCH):

        async def ask_all(asked: list[Asked]) -> None:
            mixed = Mixed(tmp_path_factory.mktemp("mixed"))
            await mixed.ask_all(asked)
            await mixed.judge()
            ends.update(receipt.end for receipt in mixed.receipts.values())
            ends["estimated"] += sum(each.estimated for each in mixed.receipts.values())
            ends["fallback"] += sum(each.tries > 1 for each in mixed.receipts.values())

        asyncio.run(ask_all(several[begin : begin + BATCH]))
    # It was a mix: nothing that was rejected early can hide what the law is about.
    assert (
        min(ends[each] for each in ("done", "left", "failed", "estimated", "fallback"))
        > len(several) // 20
    )
