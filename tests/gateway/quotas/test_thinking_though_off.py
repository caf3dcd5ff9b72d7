"""Whatever may think although its level is off reserves thinking tokens, and all else none."""

import json
from typing import Any

import anyio
import pytest
from tests.gateway.asgi import came
from tests.gateway.recorder import Recorder

from pondero.canon import HttpRequest
from pondero.gateway.config.model import GatewayConfig, GatewayKey, GatewayRoute, SpendBudget
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.quotas.quota import find_quotas
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

MOST = 3_000
USER = {"role": "user", "content": "Hi"}
SEARCH, LOOK = {"type": "web_search"}, {"type": "function", "name": "look", "parameters": {}}
CHAT = ("/v1/chat/completions", {"messages": [USER], "max_tokens": MOST})
RESPONSES = ("/v1/responses", {"input": [USER], "max_output_tokens": MOST})
MESSAGES = ("/v1/messages", {"messages": [USER], "max_tokens": MOST})
NONE: dict[str, Any] = {"reasoning": {"effort": "none"}}
TOOL = {"name": "look", "input_schema": {"type": "object"}}
BETWEEN: dict[str, Any] = {"thinking": {"type": "between_tools"}}
OFF: dict[str, Any] = {"thinking": {"type": "disabled"}}


def find_reserved(to: str, client: tuple[str, dict[str, Any]], more: dict[str, Any]) -> int:
    """Return the thinking tokens that are reserved while the service is asked."""
    key = GatewayKey("k", hash_key("kk"), budget=SpendBudget(thinking_tokens=10**9))
    recorder, seen = Recorder(), []
    send = recorder.send
    route = GatewayRoute(match="*", to=(to,), retries=0)
    context = GatewayContext(GatewayConfig(routes=(route,), keys=(key,)), recorder)

    async def watch(request: HttpRequest, timeouts: Any) -> Any:
        seen.extend(await context.state.current_use(find_quotas(key, None)))
        return await send(request, timeouts)

    recorder.send = watch  # type: ignore[method-assign]  # it sees the budget, too
    path, usual = client
    body = json.dumps({"model": to.partition(":")[2], **usual, **more}).encode()
    headers = {"content-type": "application/json", "authorization": "Bearer kk"}
    http = HttpRequest("POST", f"http://gate{path}", headers, body)
    answer = anyio.run(came, App(context), http)
    assert len(seen) == 1, answer.body
    return int(seen[0])


@pytest.mark.parametrize(
    ("to", "client", "more"),
    [
        ("vllm:somebodys-own", CHAT, {"reasoning_effort": "none"}),
        ("ollama:somebodys-own", CHAT, {"reasoning_effort": "none"}),
        ("openrouter:somebodys/own", CHAT, NONE),
        ("openai:gpt-5.5", RESPONSES, {**NONE, "tools": [SEARCH]}),
        ("anthropic:claude-sonnet-5-5", MESSAGES, {**BETWEEN, "tools": [TOOL]}),
    ],
)
def test_what_may_think_all_the_same_reserves_it(to, client, more):
    assert find_reserved(to, client, more) == MOST


@pytest.mark.parametrize(
    ("to", "client", "more"),
    [
        ("vllm:qwen3", CHAT, {"reasoning_effort": "none"}),
        ("vllm:llama-3.3-70b", CHAT, {}),
        ("openrouter:anthropic/claude-opus-5", CHAT, NONE),
        ("openai:gpt-5.5", RESPONSES, {**NONE, "tools": [LOOK]}),
        ("openai:gpt-4o", RESPONSES, {"tools": [SEARCH]}),
        ("anthropic:claude-sonnet-5-5", MESSAGES, BETWEEN),
        ("anthropic:claude-opus-5", MESSAGES, {**OFF, "tools": [TOOL]}),
    ],
)
def test_off_that_is_off_reserves_nothing(to, client, more):
    assert find_reserved(to, client, more) == 0
