"""Counts of a service that cannot be true are not believed: more is shown, as an estimate."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.gateway.asgi import came

from pondero.canon import HttpRequest, ResponseHead
from pondero.gateway.config.model import GatewayConfig, GatewayKey, GatewayRoute, SpendBudget
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.observability.receipt import Receipt
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

LONG = "word " * 4_000
CHAT, MESSAGES = "openai-chat:gpt-5.5", "anthropic:claude-opus-5"
GEMINI, RESPONSES = "google:gemini-3-flash-preview", "openai:gpt-5.5"


class CannedAnswer:
    """Answers every request with these bytes."""

    needs_key = False

    def __init__(self, body: bytes, kind: str) -> None:
        self.head = ResponseHead(200, {"content-type": kind})
        self._body = body

    async def send(self, request: HttpRequest, timeouts: object) -> "CannedAnswer":
        return self

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body

    async def aclose(self) -> None:
        """Nothing is open."""


def ask(model: str, body: bytes, *, stream: bool) -> Receipt:
    """Ask a model by Chat, whose service answers so; return the record of it."""
    receipts: list[Receipt] = []
    key = GatewayKey("ci", hash_key("the-key"), budget=SpendBudget(tokens=10**9))
    config = GatewayConfig(routes=(GatewayRoute(match="*", to=(model,)),), keys=(key,))
    kind = "text/event-stream" if stream else "application/json"
    gate = GatewayContext(config, CannedAnswer(body, kind), observers=[receipts.append])
    sent = {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        "max_completion_tokens": 9_000,
        "stream": stream,
    }
    headers = {"authorization": "Bearer the-key", "content-type": "application/json"}
    address = "http://gateway/v1/chat/completions"
    request = HttpRequest("POST", address, headers, json.dumps(sent).encode())
    assert asyncio.run(came(App(gate), request)).status == 200
    (receipt,) = receipts
    return receipt


def write(model: str, usage: dict[str, Any], text: str = "Hello") -> bytes:
    """Write a whole answer with these counts."""
    return json.dumps(
        {
            CHAT: {
                "id": "c",
                "object": "chat.completion",
                "choices": [
                    {
                        "index": 0,
                        "message": {"role": "assistant", "content": text},
                        "finish_reason": "stop",
                    }
                ],
                "usage": usage,
            },
            MESSAGES: {
                "id": "m",
                "type": "message",
                "role": "assistant",
                "model": "claude-opus-5",
                "content": [{"type": "text", "text": text}],
                "stop_reason": "end_turn",
                "usage": usage,
            },
            GEMINI: {
                "candidates": [
                    {
                        "content": {"role": "model", "parts": [{"text": text}]},
                        "finishReason": "STOP",
                    }
                ],
                "usageMetadata": usage,
            },
            RESPONSES: {
                "id": "r",
                "object": "response",
                "status": "completed",
                "model": "gpt-5.5",
                "output": [
                    {
                        "type": "message",
                        "id": "m",
                        "role": "assistant",
                        "status": "completed",
                        "content": [{"type": "output_text", "text": text, "annotations": []}],
                    }
                ],
                "usage": usage,
            },
        }[model]
    ).encode()


@pytest.mark.parametrize("count", [-5_000, 2**63, 10**30])
@pytest.mark.parametrize(
    ("model", "names"),
    [
        (CHAT, ("prompt_tokens", "completion_tokens")),
        (MESSAGES, ("input_tokens", "output_tokens")),
        (RESPONSES, ("input_tokens", "output_tokens")),
        (GEMINI, ("promptTokenCount", "candidatesTokenCount")),
    ],
)
def test_a_count_that_cannot_be_is_not_known(model, names, count):
    receipt = ask(model, write(model, {names[0]: 7, names[1]: count}), stream=False)
    assert receipt.estimated
    assert 5 <= receipt.usage.known_total < 20_000


@pytest.mark.parametrize(
    ("model", "usage"),
    [
        (CHAT, {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}),
        (MESSAGES, {"input_tokens": 0, "output_tokens": 0}),
        (RESPONSES, {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}),
        (GEMINI, {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}),
    ],
)
def test_a_count_is_no_less_than_the_text(model, usage):
    receipt = ask(model, write(model, usage, LONG), stream=False)
    assert receipt.estimated
    assert receipt.usage.known_total >= len(LONG) // 8


@pytest.mark.parametrize(
    ("model", "usage", "total"),
    [
        (GEMINI, {"promptTokenCount": 10, "totalTokenCount": 7_010}, 7_010),
        (GEMINI, {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 99}, 99),
        (RESPONSES, {"input_tokens": 5, "output_tokens": 9, "total_tokens": 9_000}, 9_000),
        (CHAT, {"prompt_tokens": 5, "completion_tokens": 9, "total_tokens": 9_000}, 9_000),
    ],
)
def test_tokens_that_only_the_total_has_count(model, usage, total):
    assert ask(model, write(model, usage), stream=False).usage.known_total == total


@pytest.mark.parametrize(
    ("model", "usage", "total"),
    [
        (
            CHAT,
            {
                "prompt_tokens": 5,
                "completion_tokens": 50,
                "total_tokens": 55,
                "completion_tokens_details": {"reasoning_tokens": 8_000},
            },
            8_005,
        ),
        (
            MESSAGES,
            {
                "input_tokens": 5,
                "output_tokens": 50,
                "output_tokens_details": {"thinking_tokens": 8_000},
            },
            8_005,
        ),
    ],
)
def test_more_thinking_than_output_counts(model, usage, total):
    receipt = ask(model, write(model, usage), stream=False)
    assert receipt.estimated
    assert receipt.usage.thinking == 8_000
    assert receipt.usage.known_total == receipt.usage.total == total


def test_the_total_is_the_sum_that_a_budget_counts():
    details = {"reasoning_tokens": 8_000}
    usage = {
        "input_tokens": 5,
        "output_tokens": 9,
        "output_tokens_details": details,
        "total_tokens": 14,
    }
    used = ask(RESPONSES, write(RESPONSES, usage), stream=False).usage
    assert used.total == used.known_total == 8_005


def test_a_prompt_without_tokens_is_estimated():
    receipt = ask(GEMINI, write(GEMINI, {"candidatesTokenCount": 9}), stream=False)
    assert receipt.estimated
    assert (receipt.usage.input or 0) > 0
    assert receipt.usage.output == 9


def test_a_total_alone_is_mostly_thinking():
    receipt = ask(GEMINI, write(GEMINI, {"totalTokenCount": 7_010}), stream=False)
    assert receipt.estimated
    assert receipt.usage.known_total == 7_010
    assert (receipt.usage.thinking or 0) > 6_900


def test_later_counts_of_gemini_that_are_lower_are_not_taken():
    first = {
        "promptTokenCount": 10,
        "candidatesTokenCount": 9_000,
        "thoughtsTokenCount": 5_000,
        "totalTokenCount": 14_010,
    }
    last = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    lines = [b"data: " + write(GEMINI, usage) for usage in (first, last)]
    receipt = ask(GEMINI, b"\n\n".join((*lines, b"")), stream=True)
    assert receipt.usage.known_total == 14_010


def test_later_counts_of_ollama_that_are_lower_are_not_taken():
    def line(**fields: Any) -> bytes:
        message = {"role": "assistant", "content": "Hello"}
        return json.dumps({"model": "m", "message": message, **fields}).encode() + b"\n"

    first = line(done=False, prompt_eval_count=10, eval_count=9_000)
    last = line(done=True, done_reason="stop", prompt_eval_count=10, eval_count=1)
    receipt = ask("ollama:qwen3", first + last, stream=True)
    assert receipt.usage.known_total == 9_010


def test_counts_that_come_before_the_text_are_not_the_last_word():
    def chunk(**fields: Any) -> bytes:
        return (
            b"data: "
            + json.dumps({"id": "c", "object": "chat.completion.chunk", **fields}).encode()
        )

    first = chunk(
        choices=[{"index": 0, "delta": {"content": "a"}}],
        usage={"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11},
    )
    text = chunk(choices=[{"index": 0, "delta": {"content": LONG}}])
    last = chunk(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}])
    receipt = ask(CHAT, b"\n\n".join((first, text, last, b"data: [DONE]", b"")), stream=True)
    assert receipt.estimated
    assert receipt.usage.known_total >= len(LONG) // 8
