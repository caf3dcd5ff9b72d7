"""Law: budget, ledger, metrics and console agree with the service that served, or show more.

The judge is the service itself (``counting_service``), which counts what leaves it. Whatever
shows more than it served says ``estimated``.
"""

import asyncio
import json
import operator
import re
from collections.abc import Callable, MutableMapping, Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace
from tests.gateway.counting_service import CountingService, Script, Served

from pondero.canon import HttpRequest, Usage
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    LevelRules,
    SpendBudget,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.ledger import Ledger, query_usage
from pondero.gateway.observability.ledger_database import SqliteDatabase
from pondero.gateway.observability.metrics import Metrics
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.observability.request_row import load_requests
from pondero.gateway.quotas.admission import USEFUL_ANSWER
from pondero.gateway.quotas.quota import BILLION, find_quotas
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.store import price_usage

TARGETS = {
    "chat": "openai-chat:gpt-5.5",
    "responses": "openai:gpt-5.5",
    "messages": "anthropic:claude-opus-5",
    "gemini": "google:gemini-2.5-flash",
    "interactions": "google-interactions:gemini-3-flash-preview",
    "ollama": "ollama:qwen3",
    "cohere": "cohere:command-a-reasoning-08-2025",
    "deepseek": "deepseek:deepseek-v4-pro",
}
"""A model behind each API dialect, and one on Chat that is always translated to.

The Gemini model is one that gives several answers.
"""
APIS = ("chat", "responses", "messages", "gemini", "interactions", "ollama", "cohere")
PRICED = ("chat", "responses", "messages", "gemini", "interactions", "deepseek")
FULL = ("ollama", "cohere", "deepseek")  # they show all their thinking, so the service has none
ROUTES = tuple(GatewayRoute(name, (target,), retries=2) for name, target in TARGETS.items())
PAIR = GatewayRoute("pair", (TARGETS["chat"], TARGETS["messages"]), retries=1)
BUDGET = SpendBudget(tokens=10**9, thinking_tokens=10**9, per="month")
CI = GatewayKey("ci", hash_key("the-key"), budget=BUDGET)
ERRORS = {"responses": 2}  # its services say "error", then "response.failed"
QUESTION = "What is 17 * 23? Think about it."


class Asked(Struct, frozen=True, kw_only=True):
    """One request of a client, and what happens to it."""

    api: str
    model: str
    stream: bool = True
    scripts: tuple[Script, ...] = ()
    leaves_at: int | None = None
    most: int | None = None
    options: Any = "absent"
    answers: int | None = None
    more: dict[str, Any] = {}
    key: str = "the-key"


def write(asked: Asked) -> HttpRequest:
    """Return the request as a client of this API writes it."""
    user = [{"role": "user", "content": QUESTION}]
    body: dict[str, Any] = {"model": asked.model, "stream": asked.stream, **asked.more}
    path = {
        "chat": "/v1/chat/completions",
        "responses": "/v1/responses",
        "messages": "/v1/messages",
        "ollama": "/api/chat",
        "cohere": "/v2/chat",
        "interactions": "/v1beta/interactions",
        "gemini": f"/v1beta/models/{asked.model}:"
        + ("streamGenerateContent?alt=sse" if asked.stream else "generateContent"),
    }[asked.api]
    if asked.api == "gemini":
        config = {"maxOutputTokens": asked.most, "candidateCount": asked.answers}
        body = {
            "contents": [{"role": "user", "parts": [{"text": QUESTION}]}],
            "generationConfig": {name: value for name, value in config.items() if value},
        }
    elif asked.api == "interactions":
        config = {"max_output_tokens": asked.most} if asked.most else {}
        body |= {"input": QUESTION, **({"generation_config": config} if config else {})}
    elif asked.api == "responses":
        body |= {"input": user, **({"max_output_tokens": asked.most} if asked.most else {})}
    elif asked.api == "ollama":
        body |= {"messages": user, "options": {"num_predict": asked.most} if asked.most else {}}
    else:
        body |= {"messages": user, **({"max_tokens": asked.most} if asked.most else {})}
    if asked.api == "messages":
        body.setdefault("max_tokens", 4000)
    if asked.api == "chat":
        body |= {"n": asked.answers} if asked.answers else {}
        body |= {"stream_options": asked.options} if asked.options != "absent" else {}
    headers = {"authorization": f"Bearer {asked.key}", "content-type": "application/json"}
    return HttpRequest("POST", f"http://gateway{path}", headers, json.dumps(body).encode())


class Came(Struct):
    """What a client got before it left."""

    status: int = 0
    headers: dict[str, str] = {}
    pieces: list[bytes] = []

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)


class Counted:
    """A gateway in front of the counting service, with everything that counts."""

    def __init__(
        self, tmp_path: Any, key: GatewayKey = CI, routes: Sequence[GatewayRoute] = ()
    ) -> None:
        self.service: CountingService = CountingService()
        self.pairs: list[tuple[Receipt, list[Served]]] = []
        self.running: list[asyncio.Future[None]] = []
        self.receipts: list[Receipt] = []
        self.metrics = Metrics()
        database = self.database = SqliteDatabase(tmp_path / "gateway.db")
        self.ledger = Ledger(database, tmp_path / "aside")
        config = GatewayConfig(routes=(*routes, *ROUTES, PAIR), keys=(key,))
        observers = [self.receipts.append, self.metrics.note, self.ledger.note]
        self.gate = GatewayContext(config, self.service, observers=observers, ledger=database)
        self.quotas = find_quotas(key, None)
        self.app = App(self.gate)

    async def ask(self, asked: Asked, gone: asyncio.Event | None = None) -> Came:
        """Send a request; the client leaves after some pieces, or when ``gone`` is set."""
        self.service.scripts[:] = asked.scripts
        http = write(asked)
        came = Came(pieces=[])
        waiting = [{"type": "http.request", "body": http.body, "more_body": False}]
        gone = gone or asyncio.Event()

        async def receive() -> dict[str, Any]:
            if waiting:
                return waiting.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: MutableMapping[str, Any]) -> None:
            if gone.is_set():
                return  # as servers do
            if message["type"] == "http.response.start":
                came.status = message["status"]
                came.headers = {k.decode(): v.decode() for k, v in message["headers"]}
                return
            came.pieces.append(message["body"])
            if asked.leaves_at is not None and len(came.pieces) > asked.leaves_at:
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
        before, rows = len(self.receipts), len(self.service.served)
        task = asyncio.ensure_future(self.app(scope, receive, send))
        self.running[:] = [task]
        await asyncio.wait([task])
        assert len(self.receipts) == before + 1, came
        assert came.status != 500, came
        self.pairs.append((self.receipts[-1], self.service.served[rows:]))
        return came

    async def taken(self) -> dict[str, int]:
        await self.gate.state.wait_until_counted()
        counts = await self.gate.state.current_use(self.quotas)
        return {quota.unit: count for quota, count in zip(self.quotas, counts, strict=True)}

    async def judge(self) -> None:
        """Compare all that was shown with what was served."""
        taken = await self.taken()
        for receipt, served in self.pairs:
            self._judge_one(receipt, served)
        shown = sum(each.usage.known_total for each in self.receipts)
        shown_thinking = sum(each.usage.thinking or 0 for each in self.receipts)
        assert taken["tokens"] == shown
        assert taken["thinking_tokens"] == shown_thinking
        if "money" in taken:
            cost = sum((each.cost or Decimal(0) for each in self.receipts), Decimal(0))
            assert abs(taken["money"] - cost * BILLION) <= len(self.receipts)
        self.ledger.close()
        self._judge_tables(shown, shown_thinking)

    def _judge_one(self, receipt: Receipt, served: Sequence[Served]) -> None:
        compare: Callable[[Any, Any], bool] = operator.ge if receipt.estimated else operator.eq
        told = (receipt, served)
        assert receipt.tries == len(served), told
        assert compare(receipt.usage.known_total, sum(row.total for row in served)), told
        assert compare(receipt.usage.thinking or 0, sum(row.thinking for row in served)), told
        prices = [price for row in served if (price := _price(row)) is not None]
        if prices:
            assert compare(receipt.cost, sum(prices)), told

    def _judge_tables(self, shown: int, thinking: int) -> None:
        page = self.metrics.page().body.decode()
        sums = re.findall(r"^pondero_tokens_total\{[^}]*\} (\S+)$", page, re.MULTILINE)
        assert sum(float(each) for each in sums) == shown
        rows = load_requests(self.receipts)
        assert sum((row.thinking or 0) for row in rows) == thinking
        assert [row.estimated for row in rows] == [each.estimated for each in self.receipts]


def _price(row: Served) -> Decimal | None:
    """Return what the service charges."""
    providers = {target.partition(":")[2]: target.partition(":")[0] for target in TARGETS.values()}
    usage = Usage(row.input, output=row.output, thinking=row.thinking)
    name = row.model.partition(":")[0]
    return price_usage(providers.get(name, ""), name, usage) if row.total else None


def exact(counted: Counted) -> None:
    assert not any(each.estimated for each in counted.receipts), counted.receipts


# -- the law -------------------------------------------------------------------------------------

thoughts = st.sampled_from([0, 1, 700, 5000])
cuts = st.none() | st.integers(0, 14)
options = st.sampled_from(["absent", None, {}, {"include_usage": False}, {"include_usage": True}])


@st.composite
def requests(draw: st.DrawFn, models: Sequence[str]) -> Asked:
    api = draw(st.sampled_from(APIS))
    model = draw(st.sampled_from(models))
    thinking = 0 if model in FULL else draw(thoughts)
    script = Script(thinking=thinking, cut=draw(cuts), ends=draw(st.booleans()))
    before = draw(st.lists(st.sampled_from([429, 500, 503]), max_size=2))
    failing = tuple(Script(status=status) for status in before)
    again = tuple(draw(st.lists(st.just(script), min_size=1, max_size=4)))
    return Asked(
        api=api,
        model=model,
        stream=draw(st.booleans()),
        scripts=(*failing, *again),
        leaves_at=draw(st.none() | st.none() | st.integers(0, 8)),
        most=draw(st.sampled_from([None, 20, 6000])),
        options=draw(options),
        answers=draw(st.sampled_from([None, None, 1, 3])),
    )


KEYS = {
    "tokens": (CI, [*TARGETS, "pair"]),
    "cost": (replace(CI, budget=replace(BUDGET, cost=10**6)), [*PRICED, "pair"]),
}


@pytest.mark.parametrize("unit", KEYS)
@settings(max_examples=30)
@given(data=st.data())
def test_nothing_shows_less_than_was_served(unit, data, tmp_path_factory):
    key, models = KEYS[unit]
    asked = data.draw(st.lists(requests(models), min_size=1, max_size=6))

    async def ask_all() -> None:
        counted = Counted(tmp_path_factory.mktemp("law"), key)
        counted.gate.jitter = lambda: 0.0  # type: ignore[misc]  # no waits between tries
        for each in asked:
            await counted.ask(each)
        await counted.judge()

    asyncio.run(ask_all())


# -- each promise by itself ----------------------------------------------------------------------


def run(counted: Counted, *asked: Asked) -> list[Came]:
    """Ask one after another, and judge."""

    async def ask_all() -> list[Came]:
        counted.gate.jitter = lambda: 0.0  # type: ignore[misc]  # no waits between tries
        came = [await counted.ask(each) for each in asked]
        await counted.judge()
        return came

    return asyncio.run(ask_all())


@pytest.mark.parametrize("model", ["chat", "deepseek"])
@pytest.mark.parametrize("options", ["absent", None, {}, {"include_usage": False}])
def test_a_chat_stream_is_counted_whatever_the_client_says_about_usage(tmp_path, options, model):
    counted = Counted(tmp_path)
    thinking = 0 if model in FULL else 5000
    (came,) = run(
        counted,
        Asked(api="chat", model=model, options=options, scripts=(Script(thinking=thinking),)),
    )

    exact(counted)
    assert counted.service.bodies[0]["stream_options"]["include_usage"] is True
    assert b'"prompt_tokens"' not in came.body  # it did not ask for them
    assert came.body.endswith(b"data: [DONE]\n\n")
    assert b"391" in came.body


def test_a_client_that_asks_for_usage_gets_it(tmp_path):
    counted = Counted(tmp_path)
    options = {"include_usage": True, "include_obfuscation": False}
    (came,) = run(counted, Asked(api="chat", model="chat", options=options))

    assert counted.service.bodies[0]["stream_options"] == options
    assert came.body.count(b'"prompt_tokens"') == 1


@pytest.mark.parametrize(
    ("api", "model"), [("chat", "chat"), ("responses", "responses"), ("chat", "responses")]
)
def test_a_client_that_leaves_before_the_counts_is_charged_what_was_served(tmp_path, api, model):
    """At every event: the gateway reads on if the end is in sight, else it charges the most."""
    counted = Counted(tmp_path)
    asked = [
        Asked(api=api, model=model, leaves_at=at, scripts=(Script(thinking=5000),))
        for at in range(12)
    ]
    run(counted, *asked)

    ends = {(each.end, each.estimated) for each in counted.receipts}
    assert ("left", True) in ends


class Slow(CountingService):
    """Waits before a frame that has these bytes, until ``go`` is set."""

    def __init__(self, before: bytes) -> None:
        super().__init__()
        self.before = before
        self.go = asyncio.Event()
        self.waits = asyncio.Event()

    async def send(self, request: HttpRequest, timeouts: object) -> Any:
        return _SlowAnswer(await super().send(request, timeouts), self)


class _SlowAnswer:
    def __init__(self, answer: Any, service: Slow) -> None:
        self.head = answer.head
        self.aclose = answer.aclose
        self._pieces = aiter(answer)
        self._service = service

    def __aiter__(self) -> "_SlowAnswer":
        return self

    async def __anext__(self) -> bytes:
        piece: bytes = await anext(self._pieces)
        if self._service.before in piece:
            self._service.waits.set()
            await self._service.go.wait()
        return piece


@pytest.mark.parametrize(
    ("api", "model", "before"),
    [
        ("chat", "chat", b'"prompt_tokens"'),
        ("messages", "chat", b'"prompt_tokens"'),
        ("responses", "responses", b"response.completed"),
        ("chat", "responses", b"response.completed"),
        ("messages", "messages", b"message_stop"),
    ],
)
def test_a_client_that_leaves_after_the_last_text_is_read_on_for_its_counts(
    tmp_path, api, model, before
):
    counted = Counted(tmp_path)

    async def ask() -> None:
        counted.service = slow = Slow(before)
        counted.gate.transport = slow
        gone = asyncio.Event()
        asking = asyncio.ensure_future(counted.ask(Asked(api=api, model=model), gone))
        await slow.waits.wait()
        gone.set()
        await asyncio.sleep(0.15)  # the gateway looks every 0.05 s
        assert not asking.done()  # it reads on
        slow.go.set()
        await asking
        await counted.judge()

    asyncio.run(ask())
    (receipt,) = counted.receipts
    assert (receipt.end, receipt.estimated) == ("left", False)


def test_upstream_is_closed_at_once_if_a_client_leaves_in_the_middle(tmp_path):
    counted = Counted(tmp_path)

    async def ask() -> None:
        counted.service = slow = Slow(b"times")
        counted.gate.transport = slow
        gone = asyncio.Event()
        asking = asyncio.ensure_future(counted.ask(Asked(api="chat", model="chat"), gone))
        await slow.waits.wait()
        gone.set()
        await asking
        assert slow.served[0].closed
        await counted.judge()

    asyncio.run(ask())
    assert [(each.end, each.estimated) for each in counted.receipts] == [("left", True)]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("model", ["chat", "messages", "gemini", "interactions"])
def test_a_stream_that_the_end_of_the_gateway_cuts_ends_in_an_error(tmp_path, api, model):
    counted = Counted(tmp_path)

    async def ask() -> Came:
        counted.service = slow = Slow(b"times")
        counted.gate.transport = slow
        asking = asyncio.ensure_future(counted.ask(Asked(api=api, model=model)))
        await slow.waits.wait()
        counted.running[0].cancel()  # as the server does when its time to drain is over
        came = await asking
        await counted.judge()
        return came

    came = asyncio.run(ask())
    (receipt,) = counted.receipts
    assert (receipt.end, receipt.reason, receipt.estimated) == (
        "failed",
        "the gateway stops; ask again",
        True,
    )
    assert receipt.status >= 500
    assert came.body.count(b"the gateway stops") == ERRORS.get(api, 1)
    assert came.pieces[-1] == b""  # the response is complete


def test_background_is_rejected_where_it_could_not_be_counted(tmp_path):
    counted = Counted(tmp_path)
    counted.gate.kept = None  # without a store, the service would work on it unseen
    asked = Asked(api="responses", model="responses", stream=False, more={"background": True})
    (came,) = run(counted, asked)

    assert came.status == 400
    assert "background" in json.loads(came.body)["error"]["message"]
    assert not counted.service.served
    assert counted.receipts[0].end == "refused"


def test_background_without_a_budget_is_recorded_as_an_estimate(tmp_path):
    counted = Counted(tmp_path, GatewayKey("ci", hash_key("the-key")))
    counted.gate.kept = None
    asked = Asked(api="responses", model="responses", stream=False, more={"background": True})
    asked = replace(asked, scripts=(Script(thinking=7000),))
    asyncio.run(counted.ask(asked))

    (receipt,) = counted.receipts
    assert receipt.estimated
    assert receipt.usage.known_total >= counted.service.served[0].total


@pytest.mark.parametrize("model", ["chat", "gemini"])
@pytest.mark.parametrize("api", ["chat", "gemini"])
def test_several_answers_are_reserved(tmp_path, api, model):
    """With a budget for two answers, eight are not asked for at their full length."""
    counted = Counted(tmp_path, replace(CI, budget=SpendBudget(tokens=20_000, per="day")))
    asked = Asked(api=api, model=model, answers=8, most=8000, stream=False)
    asked = replace(asked, scripts=(Script(thinking=8000),))
    (came,) = asyncio.run(_ask(counted, asked))

    assert came.status == 200
    assert counted.service.served[0].total <= 20_000
    assert "budget_max_tokens" in came.headers["x-pondero-adjustments"]


async def _ask(counted: Counted, *asked: Asked) -> list[Came]:
    return [await counted.ask(each) for each in asked]


@pytest.mark.parametrize("api", ["chat", "responses", "messages", "gemini"])
def test_a_broken_stream_fails_once_with_a_reason(tmp_path, api):
    counted = Counted(tmp_path)
    (came,) = run(counted, Asked(api=api, model=api, scripts=(Script(thinking=900, cut=5),)))

    (receipt,) = counted.receipts
    assert (receipt.end, receipt.reason, receipt.estimated) == (
        "failed",
        "Truncated of the service",
        True,
    )
    assert came.body.count(b"broke off its answer") == ERRORS.get(api, 1)


@pytest.mark.parametrize(
    ("api", "event"),
    [
        ("messages", {"type": "error", "error": {"type": "api_error", "message": "it broke"}}),
        ("gemini", {"error": {"code": 500, "message": "it broke", "status": "INTERNAL"}}),
        ("chat", {"error": {"message": "it broke", "type": "server_error", "code": "x"}}),
    ],
)
def test_an_error_event_of_the_service_passes_once(tmp_path, api, event):
    counted = Counted(tmp_path)

    class Failing(CountingService):
        async def send(self, request: HttpRequest, timeouts: object) -> Any:
            answer = await super().send(request, timeouts)
            frames = [next(answer._frames) for _ in range(4)]
            frames[-1] += b"data: " + json.dumps(event).encode() + b"\n\n"
            answer._frames = iter(frames)
            return answer

    counted.gate.transport = Failing()
    (came,) = asyncio.run(_ask(counted, Asked(api=api, model=api)))

    assert came.body.count(b"it broke") == 1
    assert counted.receipts[0].end == "failed"


def test_every_try_is_recorded_and_counted(tmp_path):
    counted = Counted(tmp_path)
    cut = Script(thinking=700, cut=1)
    scripts = (Script(status=429), Script(status=500), cut, Script(thinking=50))
    (came,) = run(counted, Asked(api="messages", model="pair", scripts=scripts))

    assert came.status == 200
    (receipt,) = counted.receipts
    assert receipt.tries == 4
    assert receipt.estimated
    assert receipt.end == "done"


def test_stats_show_answers_that_did_not_end_well(tmp_path):
    counted = Counted(tmp_path)
    run(counted, Asked(api="chat", model="chat", scripts=(Script(thinking=900, cut=5),)))
    counted.database = SqliteDatabase(tmp_path / "gateway.db")

    (total,) = query_usage(counted.database)
    assert (total.input or 0) + (total.output or 0) + (total.thinking or 0) == counted.receipts[
        0
    ].usage.known_total
    counted.database.close()


# -- a small budget ------------------------------------------------------------------------------


@pytest.mark.parametrize("api", ["chat", "responses", "messages", "gemini"])
@pytest.mark.parametrize("model", ["chat", "responses", "messages", "gemini"])
def test_a_small_budget_lowers_the_output_limit_and_says_so(tmp_path, api, model):
    budget = 0.05 if model == "gemini" else 0.5  # its tokens cost a tenth
    counted = Counted(tmp_path, replace(CI, budget=SpendBudget(cost=budget, per="day")))
    most = 100_000 if api == "messages" else None
    script = Script(thinking=10**6)
    (came,) = asyncio.run(_ask(counted, Asked(api=api, model=model, most=most, scripts=(script,))))

    assert came.status == 200
    assert "budget_max_tokens" in came.headers["x-pondero-adjustments"]
    assert "budget_max_tokens" in counted.receipts[0].adjustments
    row = counted.service.served[0]
    assert row.thinking > USEFUL_ANSWER
    provider, _, name = TARGETS[model].partition(":")
    price = price_usage(provider, name, Usage(row.input, output=row.output, thinking=row.thinking))
    assert price is not None
    assert price <= budget


def test_a_budget_without_room_for_a_useful_answer_rejects(tmp_path):
    counted = Counted(tmp_path, replace(CI, budget=SpendBudget(cost=0.02, per="day")))
    (came,) = asyncio.run(_ask(counted, Asked(api="chat", model="chat")))

    assert came.status == 429
    assert not counted.service.served
    assert asyncio.run(counted.taken()) == {"money": 0}


def test_thinking_stays_below_a_lowered_limit(tmp_path):
    key = replace(CI, budget=SpendBudget(tokens=6000), thinking=LevelRules(force="high"))
    route = GatewayRoute("old", ("anthropic:claude-sonnet-4-5",))
    counted = Counted(tmp_path, key, [route])
    for api in ("messages", "chat"):
        asyncio.run(_ask(counted, Asked(api=api, model="old", most=64_000)))
        body = counted.service.bodies[-1]
        assert 1024 < body["max_tokens"] < 6000
        assert body["thinking"]["budget_tokens"] < body["max_tokens"]


def test_two_output_limits_become_the_one_that_was_reserved(tmp_path):
    counted = Counted(tmp_path)
    more = {"max_completion_tokens": 50, "max_tokens": 90_000}
    run(counted, Asked(api="chat", model="chat", more=more, scripts=(Script(thinking=10**6),)))

    assert counted.service.served[0].thinking <= 50
    exact(counted)
