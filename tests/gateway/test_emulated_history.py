"""A client's history that the emulator answered, at a gateway that now asks real services."""

import json

import anyio
import pytest
from tests.gateway.asgi import came
from tests.laws.test_emulated_origin import list_opaque

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayRoute
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

ASK = 'What is in it? [emulator: call read_note {"name": "owl"}]'
ENABLED, ADAPTIVE = {"type": "enabled", "budget_tokens": 4000}, {"type": "adaptive"}
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}
BACKS = {
    "openai:gpt-5.5": "OPENAI_API_KEY",
    "anthropic:claude-opus-5": "ANTHROPIC_API_KEY",
    "anthropic:claude-sonnet-4-5": "ANTHROPIC_API_KEY",
    "google:gemini-3-flash-preview": "GEMINI_API_KEY",
}


class Responses:
    """A client of the Responses API that keeps no state at the service."""

    path = "/v1/responses"

    def first(self, name):
        return {
            "model": name,
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "input": [{"role": "user", "content": ASK}],
            "tools": [{"type": "function", "name": "read_note", "parameters": SCHEMA}],
            "reasoning": {"effort": "high"},
        }

    def second(self, name, answer):
        (call,) = (item for item in answer["output"] if item["type"] == "function_call")
        result = {"type": "function_call_output", "call_id": call["call_id"], "output": "An owl."}
        first = self.first(name)
        return {**first, "input": [*first["input"], *answer["output"], result]}


class Messages:
    """A client of the Messages API."""

    path = "/v1/messages"

    def first(self, name):
        return {
            "model": name,
            "max_tokens": 9000,
            "messages": [{"role": "user", "content": ASK}],
            "tools": [{"name": "read_note", "input_schema": SCHEMA}],
            "thinking": ADAPTIVE if name.endswith("5") and "opus" in name else ENABLED,
        }

    def second(self, name, answer):
        (call,) = (block for block in answer["content"] if block["type"] == "tool_use")
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": "An owl."}
        first = self.first(name)
        turns = [
            {"role": "assistant", "content": answer["content"]},
            {"role": "user", "content": [result]},
        ]
        return {**first, "messages": [*first["messages"], *turns]}


class Service:
    """A transport to real services, which an emulator stands for."""

    needs_key = True

    def __init__(self):
        self.bodies = []
        self._emulator = Emulator()

    async def send(self, request, timeouts):
        self.bodies.append(request.body.decode())
        return await self._emulator.send(request, timeouts)

    async def aclose(self):
        """Do nothing."""


class Offline(Emulator):
    """An emulator that keeps the opaque texts of its answers."""

    def __init__(self):
        super().__init__()
        self.opaque = set()

    async def send(self, request, timeouts):
        answer = await super().send(request, timeouts)
        body = b"".join([piece async for piece in answer])
        self.opaque |= list_opaque(json.loads(body))
        return await super().send(request, timeouts)


def post(app, client, body):
    request = HttpRequest("POST", f"http://here{client.path}", {}, json.dumps(body).encode())
    answer = anyio.run(came, app, request)
    assert answer.status == 200, answer.body
    return json.loads(answer.body), answer


@pytest.mark.parametrize("model", BACKS)
@pytest.mark.parametrize("client", [Responses(), Messages()], ids=["responses", "messages"])
@pytest.mark.parametrize("restarted", [True, False])
@pytest.mark.parametrize("own", [True, False])
def test_what_the_emulator_signed_does_not_reach_a_service(
    client, model, restarted, own, monkeypatch
):
    name = model.partition(":")[2] if own else "m"
    monkeypatch.setenv(BACKS[model], "sk-test-0123456789")
    config = GatewayConfig(routes=(GatewayRoute(match="*", to=(model,), retries=0),))
    offline, service = Offline(), Service()
    context = GatewayContext(config, offline)
    first, _ = post(App(context), client, client.first(name))
    assert offline.opaque
    if restarted:
        context = GatewayContext(config, service)
    else:
        context.transport = service
    _, answer = post(App(context), client, client.second(name, first))
    (body,) = service.bodies
    assert not [text for text in offline.opaque if text in body]
    if not restarted:
        assert answer.headers["x-pondero-adjustments"].count("emulated_thread") == 1


def test_what_a_service_signed_passes_on_unchanged(monkeypatch):
    """The mark is the emulator's alone: a gateway does not look into any other signature."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-0123456789")
    config = GatewayConfig(routes=(GatewayRoute(match="*", to=("anthropic:claude-opus-5",)),))
    service = Service()
    client = Messages()
    answer = {
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "RWFzeSBhcyBwaWU="},
            {"type": "tool_use", "id": "toolu_1", "name": "read_note", "input": {"name": "owl"}},
        ]
    }
    data = json.dumps(client.second("claude-opus-5", answer)).encode()
    url = f"http://here{client.path}"
    anyio.run(came, App(GatewayContext(config, service)), HttpRequest("POST", url, {}, data))
    assert "RWFzeSBhcyBwaWU=" in service.bodies[0]
