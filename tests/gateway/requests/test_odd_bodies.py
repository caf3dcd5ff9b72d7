"""Bodies that are odd, but JSON: limits below nothing, and a request inside another product's."""

import json
from typing import Any

import anyio
import pytest
from tests.gateway.asgi import Came, came
from tests.gateway.recorder import Recorder

from pondero.canon import HttpRequest
from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayKey, GatewayRoute, LevelRules
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

USER = {"role": "user", "content": "Hi"}
GEMINI = "google:gemini-3-flash-preview"
CONTENTS = [{"role": "user", "parts": [{"text": "Hi"}]}]
BLOCKS = [{"role": "user", "content": [{"text": "Hi"}]}]
LIMITS = {
    "chat": ("/v1/chat/completions", {"messages": [USER], "max_completion_tokens": -1}),
    "chat, older": ("/v1/chat/completions", {"messages": [USER], "max_tokens": -5}),
    "responses": ("/v1/responses", {"input": "Hi", "max_output_tokens": -1}),
    "gemini": (
        "/v1beta/models/m:generateContent",
        {"contents": CONTENTS, "generationConfig": {"maxOutputTokens": -1}},
    ),
    "cohere": ("/v2/chat", {"messages": [USER], "max_tokens": -1}),
    "bedrock": ("/model/m/converse", {"messages": BLOCKS, "inferenceConfig": {"maxTokens": -1}}),
    "interactions": (
        "/v1beta/interactions",
        {"input": "Hi", "generation_config": {"max_output_tokens": -1}},
    ),
}
MODELS = [
    *("openai-chat:gpt-5.5", "anthropic:claude-opus-5", "anthropic:claude-sonnet-4-5"),
    *("google:gemini-2.5-flash", "openai:gpt-5.5", "google-interactions:gemini-3-flash-preview"),
]


def ask(path: str, body: dict[str, Any], model: str, service: Any, **of_route: Any) -> Came:
    route = GatewayRoute(match="*", to=(model,), retries=0, **of_route)
    app = App(GatewayContext(GatewayConfig(routes=(route,)), service))
    headers = {"content-type": "application/json", "x-api-key": "k"}
    data = json.dumps({"model": "m", **body}).encode()
    return anyio.run(came, app, HttpRequest("POST", f"http://gate{path}", headers, data))


@pytest.mark.parametrize("client", LIMITS)
@pytest.mark.parametrize("model", MODELS)
def test_a_limit_below_nothing_is_the_clients_error(client, model):
    path, body = LIMITS[client]
    recorder = Recorder()
    answer = ask(path, body, model, recorder)
    assert answer.status == 400, answer.body
    assert recorder.bodies == []


MARK = {"cache_control": {"type": "ephemeral"}}
COMPUTER = {"type": "computer_call", "id": "c", "call_id": "d", "action": "click"}
PARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "a text without its text": ("/v1/messages", {"type": "text", **MARK}),
    "a mark that is a text": ("/v1/messages", {"type": "image", "cache_control": "5m"}),
    "an action that is a text": ("/v1/responses", COMPUTER),
}


@pytest.mark.parametrize("model", ["anthropic:claude-opus-5", "openai:gpt-5.5", GEMINI])
@pytest.mark.parametrize("name", PARTS)
def test_a_part_without_what_it_needs_is_the_services_to_reject(name, model):
    path, part = PARTS[name]
    messages = {"max_tokens": 9_000, "messages": [USER, {"role": "user", "content": [part]}]}
    body = messages if path == "/v1/messages" else {"input": [USER, part]}

    assert ask(path, body, model, Emulator()).status in (200, 400)


INNER = {
    "contents": CONTENTS,
    "session_id": "s",
    "generationConfig": {"thinkingConfig": {"thinkingLevel": "HIGH"}},
}
WRAPPED = {"model": "gemini-3-flash-preview", "project": "p", "request": INNER}


@pytest.mark.parametrize("rules", [LevelRules(), LevelRules(cap="low")])
def test_a_wrapped_request_arrives_alone_and_its_answer_is_wrapped(rules):
    emulator = Emulator()
    path = "/v1internal:generateContent"
    answer = ask(path, WRAPPED, GEMINI, emulator, thinking=rules)
    assert answer.status == 200, answer.body
    assert json.loads(answer.body)["response"]["candidates"]
    got = emulator.log.entries[-1].body
    assert "request" not in got
    assert "session_id" not in got
    level = got["generationConfig"]["thinkingConfig"]["thinkingLevel"]
    assert level.lower() == ("low" if rules.cap else "high")


def test_what_a_wrapped_request_names_is_looked_at():
    cached = {"contents": CONTENTS, "cachedContent": "cachedContents/secret"}
    recorder = Recorder()
    keys = (GatewayKey("k", hash_key("kk")),)
    route = GatewayRoute(match="*", to=(GEMINI,), retries=0)
    app = App(GatewayContext(GatewayConfig(routes=(route,), keys=keys), recorder))
    headers = {"content-type": "application/json", "authorization": "Bearer kk"}
    data = json.dumps({**WRAPPED, "request": cached}).encode()
    http = HttpRequest("POST", "http://gate/v1internal:generateContent", headers, data)
    answer = anyio.run(came, app, http)
    assert answer.status == 403, answer.body
    assert recorder.bodies == []
