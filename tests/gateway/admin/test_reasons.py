"""Every request that is not answered has its reason in the console."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest
from tests.gateway.asgi import came

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.errors import ServerFailed, Unreachable
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    RateLimitRule,
    ServerConfig,
    SpendBudget,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.request_row import RequestRow, load_requests
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext
from pondero.gateway.state.redis_link import SharedStateLost

BODY = {"model": "opus", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 9_000}
KEYS = (
    GatewayKey("ci", hash_key("ci")),
    GatewayKey("blocked", hash_key("blocked"), blocked=True),
    GatewayKey("old", hash_key("old"), expires=datetime(2020, 1, 31, tzinfo=UTC)),
    GatewayKey("narrow", hash_key("narrow"), models=("gpt-*",)),
    GatewayKey("slow", hash_key("slow"), limit=RateLimitRule(requests=1)),
    GatewayKey("modest", hash_key("modest"), budget=SpendBudget(cost=0.1)),
    GatewayKey("poor", hash_key("poor"), budget=SpendBudget(cost=0.000_1)),
)


class Sent(NamedTuple):
    """A request that is rejected with a status, and words of its reason."""

    status: int
    words: str
    key: str = "ci"
    body: object = BODY
    path: str = "/v1/messages"
    method: str = "POST"
    headers: Any = ()


CASES = {
    "no such key": Sent(401, "unknown gateway key", key="wrong"),
    "blocked key": Sent(401, "is blocked", key="blocked"),
    "expired key": Sent(401, "expired at", key="old"),
    "model not allowed": Sent(403, "may not use", key="narrow"),
    "unknown model": Sent(404, "unknown model", body={**BODY, "model": "nope"}),
    "unknown path": Sent(404, "serves no GET", path="/v1/nothing", method="GET"),
    "too large": Sent(413, "may have 4,000 bytes", body="x" * 5_000),
    "budget": Sent(429, "key poor may take", key="poor"),
    "no JSON": Sent(400, "", body=b"{"),
    "wrong field": Sent(400, "", body={**BODY, "messages": "hello"}),
    "wrong level": Sent(400, "level", headers={"x-pondero-thinking": "hihg"}),
    "WebSocket": Sent(426, "WebSocket", method="GET", headers={"upgrade": "websocket"}),
}


def make_gateway() -> GatewayContext:
    routes = (GatewayRoute(match="opus", to=("anthropic:claude-opus-5",), retries=0),)
    config = GatewayConfig(ServerConfig(max_body=4_000), routes, keys=KEYS)
    return GatewayContext(config, Emulator(any_model=True))


def send(gateway: GatewayContext, case: Sent) -> int:
    body = case.body if isinstance(case.body, bytes) else json.dumps(case.body).encode()
    headers = {
        "host": "127.0.0.1:8787",
        "x-api-key": case.key,
        "content-length": f"{len(body)}",
        **dict(case.headers),
    }
    http = HttpRequest(case.method, f"http://g{case.path}", headers, body)
    return asyncio.run(came(App(gateway), http)).status


def find_row(gateway: GatewayContext) -> RequestRow:
    (row,) = load_requests(gateway.feed.latest())
    return row


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_rejection_has_a_reason(case):
    gateway = make_gateway()

    assert send(gateway, case) == case.status

    row = find_row(gateway)
    assert (row.status, row.end) == (case.status, "refused")
    assert case.words in (row.reason or "")
    assert len(row.reason or "") > 5


@pytest.mark.parametrize("key", ["wrong", "blocked", "old"])
def test_both_apis_of_openai_give_a_wrong_key_the_same_code(key):
    paths = {"/v1/models": "GET", "/v1/chat/completions": "POST", "/v1/responses": "POST"}
    headers = {"host": "127.0.0.1:8787", "authorization": f"Bearer {key}"}
    for path, method in paths.items():
        http = HttpRequest(method, f"http://g{path}", headers, b"")
        answer = asyncio.run(came(App(make_gateway()), http))
        assert (answer.status, json.loads(answer.body)["error"]["code"]) == (
            401,
            "invalid_api_key",
        ), path


def test_a_reason_is_a_whole_sentence():
    gateway = make_gateway()
    tools = [{"type": "web_search_20250305", "name": "web_search"}]
    send(gateway, Sent(429, "", key="modest", body={**BODY, "tools": tools}))

    reason = find_row(gateway).reason or ""
    assert len(reason) > 200
    assert reason.endswith("with fewer max_uses")


def test_a_request_over_a_rate_limit_has_a_reason():
    gateway = make_gateway()

    assert [send(gateway, Sent(429, "", key="slow")) for _ in range(2)] == [200, 429]

    row = load_requests(gateway.feed.latest())[0]
    assert (row.status, row.end) == (429, "refused")
    assert "key slow" in (row.reason or "")


def fail(error: Exception) -> Callable[..., object]:
    async def raises(*_: object) -> object:
        raise error

    return raises


def test_a_request_while_the_state_is_lost_has_a_reason(monkeypatch):
    gateway = make_gateway()
    monkeypatch.setattr(gateway.keys, "all", fail(SharedStateLost("the keys are away", status=503)))

    assert send(gateway, Sent(503, "")) >= 500

    row = find_row(gateway)
    assert row.end == "refused"
    assert "the keys are away" in (row.reason or "")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (Unreachable("10.0.0.7 port 443: no route"), "could not be reached"),
        (ServerFailed("secret words", status=500, body=b'{"error": "secret words"}'), "status 500"),
        (RuntimeError("secret words"), "RuntimeError"),
    ],
)
def test_a_failure_has_a_reason_without_the_words_of_a_service(monkeypatch, error, words):
    gateway = make_gateway()
    monkeypatch.setattr(gateway.transport, "send", fail(error))

    assert send(gateway, Sent(500, "")) >= 500

    row = find_row(gateway)
    assert row.end == "failed"
    assert words in (row.reason or "")
    assert "secret" not in (row.reason or "")
    assert "10.0.0.7" not in (row.reason or "")
