"""Rules hold for the models that they are about: nothing makes a service ask another one.

The adversary takes the places from the vendors' own types (every field that names a model) and,
for OpenRouter, which has no types here, from its pages. The judge looks for one name in the bytes
that arrived.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.asgi import Came, came
from tests.gateway.canned import Canned
from tests.gateway.grammar import put, walk
from tests.gateway.recorder import Recorder

from pondero.canon import HttpRequest
from pondero.gateway.config.model import (
    GatewayConfig,
    GatewayKey,
    GatewayRoute,
    LevelRules,
    SpendBudget,
)
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

OTHER = "somebody/other-model"
LOW = LevelRules(cap="low")
RULED = {"thinking": LOW}
USER = {"role": "user", "content": "Hi"}
CLIENTS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "messages": (
        "/v1/messages",
        {"max_tokens": 9000, "messages": [USER]},
        ["anthropic:claude-opus-5", "anthropic:claude-haiku-4-5"],
    ),
    "responses": ("/v1/responses", {"input": [USER]}, ["openai:gpt-5.5", "openai:gpt-6-sol"]),
    "chat": (
        "/v1/chat/completions",
        {"messages": [USER]},
        ["openrouter:openai/gpt-5.5", "openai-chat:gpt-5.5", "openrouter:anthropic/claude-opus-5"],
    ),
    "gemini": (
        "/v1beta/models/{}:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
        ["vertex:gemini-2.5-flash", "vertex:gemini-3-flash-preview"],
    ),
}
# OpenRouter's pages: server tools, plugins, model routing (2026-11-16); Groq: compound.
CHAT = [
    *(
        (f"tools[].parameters.{name}", {"tools[]": f"openrouter:{tool}"})
        for tool in ("advisor", "fusion", "subagent", "a_later_one")
        for name in ("model", "models", "analysis_models")
    ),
    *((f"plugins[].{name}", {}) for name in ("model", "analysis_models")),
    *((name, {}) for name in ("models", "fallbacks", "preset", "compound_custom.models.answering")),
]
# Names of the model itself, of one that only judges or draws, and of what an answer reports.
HARMLESS = {"model", "moderation.model", "input[].svg_usage.model"}
REPORTS = ("from.model", "to.model")
# Google's words for a model or a kind of model; a rank service is no language model.
PICKS = {"model_name", "model_routing_preference", "feature_selection_preference"}
RANK_SERVICE = "rank_service.model_name"


@cache
def places_of(client: str) -> list[tuple[str, dict[str, str]]]:
    """Return every place of a request that can name a further model."""
    from anthropic.types.beta.message_create_params import MessageCreateParamsBase
    from openai.types.responses.response_create_params import ResponseCreateParamsBase

    if client == "chat":
        return CHAT
    if client == "gemini":
        return [*_find_gemini_places()]
    kind = {"messages": MessageCreateParamsBase, "responses": ResponseCreateParamsBase}[client]
    found = {
        (path, *sorted(tags.items())): (path, tags)
        for path, tags in walk(kind, {"model", "models"}.__contains__)
        if path not in HARMLESS and not path.endswith(REPORTS)
    }
    # A drawing model does not think; the one that writes an SVG does.
    drawn = {("tools[].model"), ("input[].tools[].model")} if client == "responses" else set()
    return [place for place in found.values() if place[0] not in drawn]


def _find_gemini_places() -> Iterator[tuple[str, dict[str, str]]]:
    from google.genai.types import GenerateContentConfigDict

    for path, _ in walk(GenerateContentConfigDict, PICKS.__contains__):
        if path.endswith(RANK_SERVICE):
            continue
        snake = path if path.startswith("tools") else f"generation_config.{path}"
        yield snake, {}
        yield re.sub(r"_([a-z])", lambda found: found[1].upper(), snake), {}


def test_the_types_have_the_places_that_we_know():
    picked = {path for path, _ in places_of("gemini")}
    assert "generationConfig.routingConfig.manualMode.modelName" in picked
    assert "generation_config.model_selection_config.feature_selection_preference" in picked
    assert any("llmRanker" in path for path in picked)
    named = {path for path, _ in places_of("messages")}
    assert {"tools[].model", "fallbacks[].model"} <= named
    assert "messages[].content[].tool.definition.model" in named
    assert {path for path, _ in places_of("responses")} == {
        "tools[].svg.model",
        "input[].tools[].svg.model",
    }


def ask(
    client: str, model: str, body: dict[str, Any] | str, service: Any = None, **of_key: Any
) -> tuple[Came, bytes]:
    """Return the answer, and the bytes that reached the service."""
    path, _, _ = CLIENTS[client]
    recorder: Any = service or Recorder()
    key = GatewayKey("k", hash_key("kk"), **of_key)
    route = GatewayRoute(match="*", to=(model,), retries=0)
    app = App(GatewayContext(GatewayConfig(routes=(route,), keys=(key,)), recorder))
    headers = {"content-type": "application/json", "authorization": "Bearer kk"}
    data = body if isinstance(body, str) else json.dumps(body)
    url = f"http://gate{path.format(model.partition(':')[2])}"
    answer = anyio.run(came, app, HttpRequest("POST", url, headers, data.encode()))
    assert answer.status != 500, answer.body
    return answer, b"".join(recorder.requests if service else recorder.bodies)


def start(client: str, model: str) -> dict[str, Any]:
    name = model.partition(":")[2]
    return {"model": name, **json.loads(json.dumps(CLIENTS[client][1]))}


def spell(body: dict[str, Any], how: str) -> str:
    """Return a body's bytes; names and words in escapes, or types twice."""
    text = json.dumps(body)
    if how == "escapes":
        for word in ("advisor", "fusion", "svg", "model", "plugins", "image_gen"):
            text = text.replace(f'"{word}', f'"\\u{ord(word[0]):04x}{word[1:]}')
            text = text.replace(f":{word}", f":\\u{ord(word[0]):04x}{word[1:]}")
    return text


@pytest.mark.parametrize("client", CLIENTS)
def test_no_single_place_names_another_model(client):
    arrived = 0
    for model in CLIENTS[client][2]:
        for path, tags in places_of(client):
            body = start(client, model)
            put(body, path, OTHER, tags)
            for of_key in ({"thinking": LOW}, {"models": ("*",)}):
                _, data = ask(client, model, body, **of_key)
                assert OTHER.encode() not in data, (path, data)
                arrived += bool(data)
    assert arrived > len(places_of(client)), arrived


@st.composite
def attacks(draw: st.DrawFn) -> tuple[str, str, str]:
    client = draw(st.sampled_from(sorted(CLIENTS)))
    model = draw(st.sampled_from(CLIENTS[client][2]))
    body = start(client, model)
    for _ in range(draw(st.integers(1, 3))):
        path, tags = draw(st.sampled_from(places_of(client)))
        put(body, path, draw(st.sampled_from([OTHER, [OTHER]])), tags)
    text = spell(body, draw(st.sampled_from(["plain", "escapes"])))
    if draw(st.booleans()):  # a second type, of which each server reads the one it likes
        text = text.replace('"type": "advisor_20260301"', '"type": "advisor_20260301", "type": "x"')
    return client, model, text


@given(attacks())
def test_nothing_names_another_model(attack):
    client, model, text = attack
    _, data = ask(client, model, text, thinking=LOW)
    assert OTHER.encode() not in data


def test_what_is_left_out_is_reported_and_the_rest_stays():
    advisor = {"type": "advisor_20260301", "name": "advisor", "model": OTHER}
    mine = {"name": "f", "input_schema": {"type": "object", "properties": {"model": {}}}}
    model = "anthropic:claude-haiku-4-5"
    body = start("messages", model) | {"tools": [advisor, mine]}
    body["tool_choice"] = {"type": "tool", "name": "advisor"}
    _, data = ask("messages", model, body, thinking=LOW)
    sent = json.loads(data)
    assert sent["tools"] == [mine]
    assert "tool_choice" not in sent
    _, data = ask("messages", model, body)  # no rules: the client's own business
    assert json.loads(data)["tools"] == body["tools"]
    budget = SpendBudget(tokens=90_000_000, per="day")
    _, data = ask("messages", model, body, budget=budget)  # the budget covers the advisor
    assert json.loads(data)["tools"][0]["type"] == "advisor_20260301"


def test_a_model_that_the_client_picks_inside_the_settings_is_reported(monkeypatch):
    monkeypatch.setenv("GEMINI_API_KEY", "a-providers-key-0123456789")
    model = "google:gemini-2.5-flash"
    picked = {"manual_mode": {"model_name": OTHER}}
    settings = {"maxOutputTokens": 99, "routing_config": picked}
    body = start("gemini", model) | {"generationConfig": settings}
    answer = {
        "candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1},
    }
    service = Canned([json.dumps(answer).encode()], content_type="application/json")
    got, _ = ask("gemini", model, body, service, models=("*",))
    assert got.status == 200, got.body
    named = "dropped_parameter:generationConfig.routingConfig"
    assert got.headers["x-pondero-adjustments"] == named
    _, data = ask("gemini", model, body)  # no rules: the client's own business
    assert json.loads(data)["generationConfig"] == settings


def test_a_ranker_in_a_tool_that_is_written_twice_names_no_model():
    ranked = {"ranking": {"llmRanker": {"modelName": OTHER}}}
    store = {"ragResources": [], "ragRetrievalConfig": ranked}
    held = json.dumps({"vertexRagStore": store})
    text = json.dumps(start("gemini", "") | {"tools": [{"retrieval": 0}]})
    for twice in (f'{held}, "retrieval": {{}}', f'{{}}, "retrieval": {held}'):
        body = text.replace('"retrieval": 0', f'"retrieval": {twice}')
        _, data = ask("gemini", "vertex:gemini-2.5-flash", body, models=("*",))
        assert data
        assert OTHER.encode() not in data


def test_a_tools_name_reaches_no_header(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-providers-key-0123456789")
    answer = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "Hi"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    service = Canned([json.dumps(answer).encode()], content_type="application/json")
    tool = {"type": "advisor_20260301", "name": "a\r\nx-evil: 1", "model": OTHER}
    model = "anthropic:claude-opus-5"
    got, _ = ask("messages", model, start("messages", model) | {"tools": [tool]}, service, **RULED)
    assert got.status == 200, got.body
    assert got.headers["x-pondero-adjustments"] == "dropped_parameter:tools"


def test_plugins_that_ask_nobody_stay():
    model = "openrouter:openai/gpt-5.5"
    body = start("chat", model) | {"plugins": [{"id": "web"}, {"id": "fusion", "model": OTHER}]}
    _, data = ask("chat", model, body, thinking=LOW)
    assert json.loads(data)["plugins"] == [{"id": "web"}]


@pytest.mark.parametrize("at", ["tools", "input"])
def test_a_tool_has_no_level_of_its_own_above_the_rules(at):
    tool = {"type": "image_generation", "model": "gpt-image-2", "effort": "max"}
    offer = {"tools": [tool]} if at == "tools" else {}
    body = start("responses", "openai:gpt-5.5") | offer
    if at == "input":
        body["input"].append({"type": "additional_tools", "role": "developer", "tools": [tool]})
    _, data = ask("responses", "openai:gpt-5.5", body, thinking=LOW)
    assert b'"max"' not in data
    assert b"gpt-image-2" in data


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("openrouter:openrouter/fusion", "/v1/chat/completions"),
        ("groq:groq/compound", "/v1/chat/completions"),
        ("groq:compound-beta-mini", "/v1/chat/completions"),
        ("arn:aws:bedrock:us-east-1:123456789012:prompt%2FABCDEF1234:1", "/model/{}/converse"),
        ("arn:aws:bedrock:us-east-1:1:default-prompt-router%2Fclaude:1", "/model/{}/converse"),
    ],
)
@pytest.mark.parametrize("of_key", [{"thinking": LOW}, {"models": ("*",)}])
def test_a_name_for_several_models_is_refused(model, path, of_key):
    recorder = Recorder()
    key = GatewayKey("k", hash_key("kk"), **of_key)
    config = GatewayConfig(open=("openrouter", "groq", "bedrock"), keys=(key,))
    app = App(GatewayContext(config, recorder))
    body = {"messages": [USER if "chat" in path else {"role": "user", "content": [{"text": "Hi"}]}]}
    if "chat" in path:
        body["model"] = model
    headers = {"content-type": "application/json", "authorization": "Bearer kk"}
    url = f"http://gate{path.format(model)}"
    answer = anyio.run(came, app, HttpRequest("POST", url, headers, json.dumps(body).encode()))
    assert answer.status == 403, answer.body
    assert recorder.bodies == []
