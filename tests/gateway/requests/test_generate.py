"""Ollama's ``/api/generate``: the model's service gets a conversation, the client its own shape."""

import json
from typing import Any

import anyio
import pytest
from tests.gateway.asgi import Came, came

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext


class Watched:
    """The emulator, and what it was asked."""

    needs_key = False

    def __init__(self) -> None:
        self.requests: list[HttpRequest] = []
        self._emulator = Emulator()

    async def send(self, request: HttpRequest, timeouts: Any) -> Any:
        self.requests.append(request)
        return await self._emulator.send(request, timeouts)

    async def aclose(self) -> None:
        """Nothing is open."""


def generate(model: str, **fields: Any) -> tuple[Came, list[HttpRequest]]:
    service: Any = Watched()
    app = App(GatewayContext(GatewayConfig(open=frozenset({"ollama", "anthropic"})), service))
    body = json.dumps({"model": model, "prompt": "What is 17 * 23?", "system": "Be brief"} | fields)
    headers = {"content-type": "application/json", "host": "localhost"}
    request = HttpRequest("POST", "http://localhost/api/generate", headers, body.encode())
    return anyio.run(came, app, request), service.requests


@pytest.mark.parametrize("model", ["ollama:gpt-oss:20b", "anthropic:claude-opus-5"])
@pytest.mark.parametrize("stream", [False, True])
def test_the_prompt_arrives_and_the_answer_has_its_text_on_top(model, stream):
    answer, (arrived,) = generate(model, stream=stream)
    assert answer.status == 200, answer.body
    assert b"What is 17 * 23?" in arrived.body
    lines = [json.loads(line) for line in answer.body.splitlines()]
    assert "".join(line["response"] for line in lines)
    assert all("message" not in line for line in lines)


def test_the_own_server_is_asked_as_its_chat_is():
    _, (arrived,) = generate("ollama:gpt-oss:20b", stream=False, think="low")
    assert arrived.url.endswith("/api/chat")
    sent = json.loads(arrived.body)
    assert [turn["role"] for turn in sent["messages"]] == ["system", "user"]
    assert sent["think"] == "low"
    assert "prompt" not in sent


def test_what_a_chat_cannot_have_is_named():
    answer, _ = generate("ollama:gpt-oss:20b", stream=False, context=[1, 2, 3])
    assert "dropped_parameter:context" in answer.headers["x-pondero-adjustments"]
