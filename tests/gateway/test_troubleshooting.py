"""The page on troubleshooting has the gateway's rejections, as the gateway writes them."""

import asyncio
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.gateway.asgi import came

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.config.model import (
    Deployment,
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    LevelRules,
    RateLimitRule,
    SpendBudget,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

PAGE = (Path(__file__).parents[2] / "docs" / "troubleshooting.md").read_text("utf-8")
SECTION = PAGE.partition("## What the gateway says\n")[2].partition("\n## ")[0]
ROWS = dict(re.findall(r"^\| `(.+?)` \| (\d{3}) \|", SECTION, re.MULTILINE))


def make_key(name: str, **rules: object) -> GatewayKey:
    return GatewayKey(name, hash_key(name), **rules)  # type: ignore[arg-type]  # any rule


KEYS = (
    make_key("ci"),
    make_key("blocked", blocked=True),
    make_key("old", expires=datetime(2020, 1, 31, tzinfo=UTC)),
    make_key("narrow", models=("gpt-*",)),
    make_key("capped", thinking=LevelRules(cap="low")),
    make_key("slow", limit=RateLimitRule(requests=1)),
    make_key("poor", budget=SpendBudget(tokens=1_500)),
    make_key("spent", budget=SpendBudget(tokens=2_500)),
    make_key("dollars", budget=SpendBudget(cost=5)),
)
ROUTES = (
    GatewayRoute(match="opus", to=("anthropic:claude-opus-5",), retries=0),
    GatewayRoute(match="odd", to=("anthropic:claude-nobody-knows-1",), retries=0),
    GatewayRoute(match="stranger", to=("groq:nobody-knows",), retries=0),
    GatewayRoute(match="full", to=("eu:claude-opus-5",), retries=0),
)
EU = Deployment("eu", "anthropic", limit=RateLimitRule(requests=1))


class Sent(NamedTuple):
    """A request whose last try is rejected with the text of a row."""

    key: str = "ci"
    model: str = "opus"
    text: str = "hello"
    most: int = 9_000
    tries: int = 1
    is_routed: bool = True
    needs_key: bool = False


CASES = {
    "the request has no gateway key": Sent(key=""),
    "unknown gateway key;": Sent(key="wrong"),
    "is blocked": Sent(key="blocked"),
    "expired at": Sent(key="old"),
    "this key may not use": Sent(key="narrow"),
    "that could be limited": Sent(key="capped", model="stranger"),
    "no price is known": Sent(key="dollars", model="odd"),
    "this gateway serves": Sent(model="zzz"),
    "which has no key here": Sent(model="gpt-5.5", is_routed=False),
    "the gateway has no key for": Sent(needs_key=True),
    "per {period}; there is room again": Sent(key="slow", tries=2),
    "and has {left} left": Sent(key="spent", most=1_024, tries=9),
    "this request alone": Sent(key="poor", text="word " * 600),
    "the prompt alone": Sent(key="poor", text="word " * 9_000),
    "has no room for this request now": Sent(model="full", tries=2),
}


class KeyedEmulator(Emulator):
    """An emulator that, like the services, is not asked without a key."""

    needs_key = True


def find_row(words: str) -> str:
    (row,) = (text for text in ROWS if words in text)
    return row


def send(case: Sent) -> tuple[int, str]:
    """Return the status of the last try, and its body."""
    config = GatewayConfig(routes=ROUTES, keys=KEYS, deployments=(EU,))
    network = (KeyedEmulator if case.needs_key else Emulator)(any_model=True)
    if not case.is_routed:
        config = GatewayConfig(open=frozenset({"anthropic"}), keys=KEYS)
    gateway = GatewayContext(config, network)
    body = {
        "model": case.model,
        "messages": [{"role": "user", "content": case.text}],
        "max_tokens": case.most,
    }
    headers = {"x-api-key": case.key} if case.key else {}
    raw = json.dumps(body).encode()
    headers |= {"host": "127.0.0.1:8787", "content-length": str(len(raw))}
    http = HttpRequest("POST", "http://g/v1/messages", headers, raw)

    async def run() -> tuple[int, str]:
        for _ in range(case.tries - 1):
            await came(App(gateway), http)
        answer = await came(App(gateway), http)
        return answer.status, json.loads(answer.body)["error"]["message"]

    return asyncio.run(run())


@pytest.mark.parametrize("words", CASES)
def test_a_rejection_of_the_gateway_is_on_the_page_with_its_status(words, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    row = find_row(words)
    status, message = send(CASES[words])
    pattern = ".+".join(map(re.escape, re.split(r"\{[^}]*\}", row)))
    assert re.search(pattern, message)
    assert status == int(ROWS[row])


def test_every_row_of_the_page_is_checked():
    assert {find_row(words) for words in CASES} == set(ROWS)
