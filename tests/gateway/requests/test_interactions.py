"""Interactions at the gateway: what no rule, budget or other API can take has an end there."""

import json
from typing import Any

import anyio
import pytest
from tests.gateway.asgi import Came, came
from tests.gateway.canned import Canned

from pondero.canon import HttpRequest
from pondero.gateway.config.model import GatewayConfig, GatewayKey, GatewayRoute, SpendBudget
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.quotas.quota import find_quotas
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

MODEL, PICTURES = "gemini-3-flash-preview", "gemini-2.5-flash-image"
SAID = {"type": "model_output", "content": [{"type": "text", "text": "391"}]}
ANSWER: dict[str, Any] = {
    "id": "v1_first",
    "object": "interaction",
    "model": MODEL,
    "status": "completed",
    "steps": [SAID],
    "usage": {"total_input_tokens": 12, "total_output_tokens": 3, "total_tokens": 15},
}
QUEUED = {"id": "v1_queued", "object": "interaction", "status": "queued", "steps": []}
BUDGET = SpendBudget(tokens=10**7, thinking_tokens=10**7, per="month")


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.setenv("GEMINI_API_KEY", "a-providers-key-0123456789")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-providers-key-0123456789")


class World:
    """A gateway in front of a service with one answer; ``reserved``: while it is asked."""

    def __init__(self, answer: Any = ANSWER, *, to: str = "", **key: Any) -> None:
        self.service = Canned([json.dumps(answer).encode()], content_type="application/json")
        self.service.before = self._note_reserved
        self.key = GatewayKey("k", hash_key("kk"), **key)
        self.receipts: list[Receipt] = []
        self.reserved: list[list[int]] = []
        route = GatewayRoute(match="*", to=(to or f"google-interactions:{MODEL}",), retries=0)
        config = GatewayConfig(routes=(route,), keys=(self.key,))
        self.context = GatewayContext(config, self.service, observers=[self.receipts.append])

    async def _note_reserved(self) -> None:
        quotas = find_quotas(self.key, None)
        self.reserved.append([*await self.context.state.current_use(quotas)])

    async def ask(self, **fields: Any) -> Came:
        body = {"model": MODEL, "input": "Hi", **fields}
        text = json.dumps({name: value for name, value in body.items() if value != "absent"})
        headers = {"content-type": "application/json", "authorization": "Bearer kk"}
        url = "http://gate/v1beta/interactions"
        return await came(App(self.context), HttpRequest("POST", url, headers, text.encode()))

    def sent(self) -> dict[str, Any]:
        return dict(json.loads(self.service.requests[-1]))


@pytest.mark.parametrize(
    ("named", "status"),
    [({"agent": "deep-research", "model": "absent"}, 404), ({"agent": "deep-research"}, 400)],
    ids=["alone", "beside a model"],
)
def test_an_agent_reaches_no_service(named, status):
    """No rule can limit how much it thinks, and which models it asks."""

    async def run() -> None:
        world = World()
        answer = await world.ask(**named)
        assert answer.status == status, answer.body
        assert world.service.requests == []

    anyio.run(run)


@pytest.mark.parametrize("more", [{"background": True}, {"service_tier": "deferred"}])
def test_an_answer_that_is_fetched_later_is_rejected_under_a_budget(more):
    async def run() -> None:
        world = World(QUEUED, budget=BUDGET)
        answer = await world.ask(**more)
        assert answer.status == 400, answer.body
        assert next(iter(more)).encode() in answer.body
        assert world.service.requests == []

    anyio.run(run)


@pytest.mark.parametrize("more", [{"background": True}, {"service_tier": "deferred"}])
def test_an_answer_that_is_fetched_later_counts_all_that_it_may_have(more):
    async def run() -> None:
        world = World(QUEUED, to=f"google-interactions:{PICTURES}")
        most = {"generation_config": {"max_output_tokens": 700}}
        answer = await world.ask(model=PICTURES, **most, **more)
        assert answer.status == 200, answer.body
        (receipt,) = world.receipts
        assert receipt.estimated
        assert (receipt.usage.output or 0) + (receipt.usage.thinking or 0) >= 700

    anyio.run(run)


def test_another_tier_is_no_background():
    async def run() -> None:
        world = World(budget=BUDGET)
        answer = await world.ask(service_tier="flex")
        assert answer.status == 200, answer.body

    anyio.run(run)


def test_what_the_service_s_tools_read_is_part_of_a_stored_answer():
    """The next request by its id has it in its prompt."""
    read = 50_000

    async def run() -> None:
        usage = {**ANSWER["usage"], "total_tool_use_tokens": read, "total_tokens": 15 + read}
        world = World({**ANSWER, "usage": usage}, budget=BUDGET)
        await world.ask(tools=[{"type": "url_context"}])
        await world.ask(previous_interaction_id="v1_first", generation_config={})
        (before, _), (later, _) = world.reserved[0], world.reserved[1]
        taken = 15 + read
        assert before >= 65_536
        assert later - taken >= read + 65_536

    anyio.run(run)


def test_a_long_answer_is_continued_with_its_token():
    async def run() -> None:
        token = {"status": "requires_continuation", "continuation_token": "go-on"}
        world = World({**ANSWER, **token})
        await world.ask()
        hop = {"previous_interaction_id": "v1_first", "continuation_token": "go-on"}
        answer = await world.ask(input="absent", **hop)
        assert answer.status == 200, answer.body
        assert world.sent() == {"model": MODEL, **hop}

    anyio.run(run)


def test_a_rewritten_request_in_the_background_is_stored():
    """The service rejects it otherwise."""

    async def run() -> None:
        world = World()
        odd = {"type": "function", "name": "not a name!", "parameters": {"type": "object"}}
        answer = await world.ask(model="other", background=True, tools=[odd])
        assert answer.status == 200, answer.body
        assert world.sent()["tools"][0]["name"] != odd["name"]
        assert world.sent()["store"] is True

    anyio.run(run)
