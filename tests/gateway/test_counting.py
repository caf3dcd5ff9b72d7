"""Law: budget, ledger, metrics and console agree with the service that served, or show more.

The judge is the service itself (``counting_service``), which counts what leaves it. Whatever
shows more than it served says ``estimated``.
"""

import asyncio
import json
import operator
import re
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from tests.gateway.counting_service import CountingService, Script

from pondero.canon import HttpRequest
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    SpendBudget,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.figures import load_requests
from pondero.gateway.observability.ledger import Ledger
from pondero.gateway.observability.ledger_database import SqliteDatabase
from pondero.gateway.observability.metrics import Metrics
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.quotas.quota import BILLION, find_quotas
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

TARGETS = {
    "chat": "openai-chat:gpt-5.5",
    "responses": "openai:gpt-5.5",
    "messages": "anthropic:claude-opus-5",
    "gemini": "google:gemini-3-flash-preview",
    "ollama": "ollama:qwen3",
    "cohere": "cohere:command-a-reasoning-08-2025",
    "deepseek": "deepseek:deepseek-v4-pro",
}
"""A model behind each API dialect, and one on Chat that is always translated to."""
PRICED = ("chat", "responses", "messages", "gemini", "deepseek")
FULL = ("ollama", "cohere", "deepseek")  # they show all their thinking, so the service has none
ROUTES = tuple(GatewayRoute(name, (target,), retries=2) for name, target in TARGETS.items())
PAIR = GatewayRoute("pair", (TARGETS["chat"], TARGETS["messages"]), retries=1)
BUDGET = SpendBudget(tokens=10**9, thinking_tokens=10**9, per="month")
CI = GatewayKey("ci", hash_key("the-key"), budget=BUDGET)
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
        "gemini": f"/v1beta/models/{asked.model}:"
        + ("streamGenerateContent?alt=sse" if asked.stream else "generateContent"),
    }[asked.api]
    if asked.api == "gemini":
        config = {"maxOutputTokens": asked.most, "candidateCount": asked.answers}
        body = {
            "contents": [{"role": "user", "parts": [{"text": QUESTION}]}],
            "generationConfig": {name: value for name, value in config.items() if value},
        }
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
    headers = {"authorization": "Bearer the-key", "content-type": "application/json"}
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
        self.service = CountingService()
        self.receipts: list[Receipt] = []
        self.metrics = Metrics()
        database = self.database = SqliteDatabase(tmp_path / "gateway.db")
        self.ledger = Ledger(database, tmp_path / "aside")
        config = GatewayConfig(routes=(*routes, *ROUTES, PAIR), keys=(key,))
        observers = [self.receipts.append, self.metrics.note, self.ledger.note]
        self.gate = GatewayContext(config, self.service, observers=observers, ledger=database)
        self.quotas = find_quotas(key, None)
        self.app = App(self.gate)

    async def ask(self, asked: Asked) -> Came:
        """Send a request; the client leaves after some pieces, or reads to the end."""
        self.service.scripts[:] = asked.scripts
        http = write(asked)
        came = Came(pieces=[])
        waiting = [{"type": "http.request", "body": http.body, "more_body": False}]
        gone = asyncio.Event()

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
        before = len(self.receipts)
        task = asyncio.ensure_future(self.app(scope, receive, send))
        await asyncio.wait([task])
        assert len(self.receipts) == before + 1, came
        assert came.status != 500, came
        return came

    async def taken(self) -> dict[str, int]:
        await self.gate.state.wait_until_counted()
        counts = await self.gate.state.current_use(self.quotas)
        return {quota.unit: count for quota, count in zip(self.quotas, counts, strict=True)}

    async def judge(self) -> None:
        """Compare all that was shown with what was served."""
        served, taken = self.service.served, await self.taken()
        tokens = sum(row.total for row in served)
        thinking = sum(row.thinking for row in served)
        shown = sum(each.usage.known_total for each in self.receipts)
        shown_thinking = sum(each.usage.thinking or 0 for each in self.receipts)
        estimated = any(each.estimated for each in self.receipts)
        compare: Callable[[int, int], bool] = operator.ge if estimated else operator.eq
        assert compare(shown, tokens), (shown, tokens, self.receipts)
        assert compare(shown_thinking, thinking), (shown_thinking, thinking)
        assert taken["tokens"] == shown
        assert taken["thinking_tokens"] == shown_thinking
        assert sum(each.tries for each in self.receipts) == len(served)
        if "money" in taken:
            cost = sum((each.cost or 0) for each in self.receipts)
            assert abs(taken["money"] - cost * BILLION) <= len(served)
        self.ledger.close()
        self._judge_tables(shown, shown_thinking)

    def _judge_tables(self, shown: int, thinking: int) -> None:
        page = self.metrics.page().body.decode()
        sums = re.findall(r"^pondero_tokens_total\{[^}]*\} (\S+)$", page, re.MULTILINE)
        assert sum(float(each) for each in sums) == shown
        rows = load_requests(self.receipts)
        assert sum((row.thinking or 0) for row in rows) == thinking
        assert [row.estimated for row in rows] == [each.estimated for each in self.receipts]


def exact(counted: Counted) -> None:
    assert not any(each.estimated for each in counted.receipts), counted.receipts


# -- the law -------------------------------------------------------------------------------------

thoughts = st.sampled_from([0, 1, 700, 5000])
cuts = st.none() | st.integers(0, 14)
options = st.sampled_from(["absent", None, {}, {"include_usage": False}, {"include_usage": True}])


@st.composite
def requests(draw: st.DrawFn) -> Asked:
    api = draw(st.sampled_from(["chat", "responses", "messages", "gemini", "ollama", "cohere"]))
    model = draw(st.sampled_from([*TARGETS, "pair"]))
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


@settings(max_examples=max(settings.default.max_examples, 30))  # type: ignore[union-attr]  # set by conftest
@given(asked=st.lists(requests(), min_size=1, max_size=6))
def test_nothing_shows_less_than_was_served(asked, tmp_path_factory):
    async def run() -> None:
        counted = Counted(tmp_path_factory.mktemp("law"))
        counted.gate.jitter = lambda: 0.0  # type: ignore[misc]  # no waits between tries
        for each in asked:
            await counted.ask(each)
        await counted.judge()

    asyncio.run(run())
