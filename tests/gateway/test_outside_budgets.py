"""What a service charges or asks outside of the fields that a budget reads first."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace
from tests.gateway.asgi import Came, came

from pondero.canon import HttpRequest, ResponseHead, Usage
from pondero.errors import Unreachable
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    LevelRules,
    SpendBudget,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.store import price_usage

KEY = GatewayKey("ci", hash_key("the-key"))
BUDGET = replace(KEY, budget=SpendBudget(tokens=10**9, thinking_tokens=10**9))
USER = [{"role": "user", "content": "Hi"}]
PATHS = {
    "messages": "/v1/messages",
    "chat": "/v1/chat/completions",
    "gemini": "/v1beta/models/google:gemini-3-flash-preview:streamGenerateContent?alt=sse",
}


class Canned:
    """A service with one answer; ``cut``: it breaks off after its pieces."""

    needs_key = False

    def __init__(self, *pieces: bytes, stream: bool = False, cut: bool = False) -> None:
        self.bodies: list[dict[str, Any]] = []
        self._answer = (pieces, stream, cut)

    async def send(self, request: HttpRequest, timeouts: object) -> "_Canned":
        self.bodies.append(json.loads(request.body))
        return _Canned(*self._answer)

    async def aclose(self) -> None:
        """Nothing is open."""


class _Canned:
    def __init__(self, pieces: tuple[bytes, ...], stream: bool, cut: bool) -> None:
        kind = "text/event-stream" if stream else "application/json"
        self.head = ResponseHead(200, {"content-type": kind})
        self._pieces, self._cut = pieces, cut

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece
        if self._cut:
            raise Unreachable("the connection broke")

    async def aclose(self) -> None:
        """Nothing is open."""


def ask(
    service: Canned, api: str, body: dict[str, Any], key: GatewayKey = BUDGET
) -> tuple[Came, list[Receipt]]:
    receipts: list[Receipt] = []
    named = body.get("model", "google:gemini-3-flash-preview")
    routes = (GatewayRoute(match="*", to=(named,), retries=2),)
    config = GatewayConfig(routes=routes, keys=(key,))
    app = App(GatewayContext(config, service, observers=[receipts.append]))
    headers = {"authorization": "Bearer the-key", "content-type": "application/json"}
    data = json.dumps(body).encode()
    http = HttpRequest("POST", f"http://gateway{PATHS[api]}", headers, data)
    return asyncio.run(came(app, http)), receipts


def message(text: str = "Hello.", **usage: Any) -> bytes:
    return json.dumps(
        {
            "id": "msg_01",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5",
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 4, **usage},
        }
    ).encode()


def completion(text: str, tokens: int) -> bytes:
    answer = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 10, "completion_tokens": tokens, "total_tokens": 10 + tokens}
    return json.dumps(
        {
            "id": "c1",
            "object": "chat.completion",
            "created": 1,
            "model": "deepseek-v4-pro",
            "choices": [{"index": 0, "message": answer, "finish_reason": "stop"}],
            "usage": usage,
        }
    ).encode()


ASKED = {"model": "anthropic:claude-opus-5", "max_tokens": 2000, "messages": USER}
INSTEAD = [{"model": "claude-opus-4-8", "max_tokens": 100_000, "thinking": {"type": "adaptive"}}]


@pytest.mark.parametrize(
    "key",
    [BUDGET, replace(KEY, thinking=LevelRules(cap="low")), replace(KEY, models=("anthropic:*",))],
)
def test_a_service_asks_no_other_model_for_a_key_with_rules(key):
    service = Canned(message())
    answer, _ = ask(service, "messages", {**ASKED, "fallbacks": INSTEAD}, key)
    assert "fallbacks" not in service.bodies[0]
    assert "dropped_parameter:fallbacks" in answer.headers["x-pondero-adjustments"]


def test_without_rules_a_service_may_ask_other_models():
    service = Canned(message())
    ask(service, "messages", {**ASKED, "fallbacks": INSTEAD}, KEY)
    assert service.bodies[0]["fallbacks"] == INSTEAD


def test_compaction_and_advisors_count_beside_the_totals():
    iterations = [
        {"type": "message", "input_tokens": 10, "output_tokens": 4},
        {"type": "advisor_message", "input_tokens": 8_230, "output_tokens": 16_120},
        {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500},
    ]
    _, (receipt,) = ask(Canned(message(iterations=iterations)), "messages", ASKED)
    assert (receipt.usage.input, receipt.usage.output) == (188_240, 19_624)


def test_the_input_of_tries_that_broke_off_counts():
    opening = json.loads(message())
    opening |= {"content": [], "stop_reason": None}
    opening["usage"] = {"input_tokens": 50_000, "output_tokens": 1}
    event = {"type": "message_start", "message": opening}
    data = f"event: message_start\ndata: {json.dumps(event)}\n\n".encode()
    service = Canned(data, stream=True, cut=True)
    _, (receipt,) = ask(service, "messages", {**ASKED, "stream": True})
    assert len(service.bodies) == receipt.tries == 3
    assert (receipt.usage.input or 0) >= 150_000
    assert receipt.estimated


def test_the_results_of_a_search_count_if_the_stream_is_cut():
    """The opening says only what the first pass read; each search reads the window again."""
    opening = json.loads(message())
    opening |= {"content": [], "stop_reason": None}
    event = {"type": "message_start", "message": opening}
    data = f"event: message_start\ndata: {json.dumps(event)}\n\n".encode()
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 1}
    body = {**ASKED, "stream": True, "tools": [search]}
    service = Canned(data, stream=True, cut=True)
    _, (receipt,) = ask(service, "messages", body)
    assert (receipt.usage.input or 0) >= len(service.bodies) * 1_000_000
    assert receipt.estimated


def test_an_advisor_costs_its_own_price():
    advice = {"type": "advisor_message", "model": "claude-opus-5"}
    advice |= {"input_tokens": 1_000_000, "output_tokens": 0}
    asked = {**ASKED, "model": "anthropic:claude-haiku-4-5"}
    _, (plain,) = ask(Canned(message()), "messages", asked)
    _, (advised,) = ask(Canned(message(iterations=[advice])), "messages", asked)
    price = price_usage("anthropic", "claude-opus-5", Usage(1_000_000, output=0))
    assert advised.cost == plain.cost + price


def test_the_input_that_gemini_reports_with_its_first_chunk_counts_if_it_is_cut():
    chunk = {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}, "index": 0}],
        "usageMetadata": {"promptTokenCount": 900_000, "totalTokenCount": 900_000},
    }
    service = Canned(f"data: {json.dumps(chunk)}\n\n".encode(), stream=True, cut=True)
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    _, (receipt,) = ask(service, "gemini", body)
    assert (receipt.usage.input or 0) >= 900_000


def test_text_that_the_service_has_stored_reserves_the_window_of_the_model():
    small = replace(KEY, budget=SpendBudget(tokens=20_000), account_state=True)
    body = {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "generationConfig": {"maxOutputTokens": 2000},
    }
    service = Canned(b"")
    answer, _ = ask(service, "gemini", {**body, "cached\u0043ontent": "cachedContents/a"}, small)
    assert (answer.status, service.bodies) == (429, [])


@pytest.mark.parametrize(
    ("text", "tokens", "thinking"), [("hello", 9_000, 9_000), ("word " * 300, 400, None)]
)
def test_tokens_that_no_text_accounts_for_count_as_thinking(text, tokens, thinking):
    body = {"model": "deepseek:deepseek-v4-pro", "messages": USER}
    _, (receipt,) = ask(Canned(completion(text, tokens)), "chat", body)
    assert (receipt.usage.thinking, receipt.estimated) == (thinking, thinking is not None)
    assert receipt.usage.known_total == 10 + tokens


def test_a_name_that_switches_thinking_on_obeys_a_cap():
    key = replace(KEY, thinking=LevelRules(cap="off"))
    body = {"model": "openrouter:anthropic/claude-opus-4.5:thinking", "messages": USER}
    service = Canned(completion("Hi", 3))
    ask(service, "chat", body, key)
    assert service.bodies[0]["reasoning"] == {"effort": "none"}
