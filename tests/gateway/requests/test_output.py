"""JSON answers through the gateway: any client API asks for them, any model gives them."""

import json

import anyio
import pytest
from tests.gateway.asgi import came

from pondero.canon import HttpRequest
from pondero.emulator import Emulator, ScriptedTurn
from pondero.exchange import decode
from pondero.gateway.config.model import GatewayConfig, GatewayRoute
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

MODELS = {
    "opus": "anthropic:claude-opus-5",
    "haiku": "anthropic:claude-3-5-haiku-latest",
    "bedrock": "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "gpt": "openai:gpt-5.5",
    "chat": "openai-chat:gpt-5.5",
    "gemini": "google:gemini-3-flash-preview",
    "deepseek": "deepseek:deepseek-v4-flash",
    "groq": "groq:llama-3.3-70b-versatile",
    "ollama": "ollama:qwen3",
    "cohere": "cohere:command-a-03-2025",
    "interactions": "google-interactions:gemini-3-flash-preview",
}
USER = [{"role": "user", "content": "Name a city."}]
CONTENTS = [{"role": "user", "parts": [{"text": "Name a city."}]}]
CITY = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["name"],
    "additionalProperties": False,
}
FREE = {"type": "object", "additionalProperties": {"type": "number"}}


TYPED = {"type": "text", "mime_type": "application/json"}


def _gemini(config):
    return {"contents": CONTENTS, "generationConfig": config}


# How each client API asks for JSON without a schema; Messages and Converse cannot.
ANY_JSON = {
    "chat": ("/v1/chat/completions", {"messages": USER, "response_format": {"type": "json_object"}}),
    "responses": ("/v1/responses", {"input": USER, "text": {"format": {"type": "json_object"}}}),
    "gemini": ("/v1beta/models/{}:generateContent", _gemini({"responseMimeType": "application/json"})),
    "ollama": ("/api/chat", {"messages": USER, "format": "json", "stream": False}),
    "cohere": ("/v2/chat", {"messages": USER, "response_format": {"type": "json_object"}}),
    "interactions": ("/v1beta/interactions", {"input": "Name a city.",
                     "response_format": {"type": "text", "mime_type": "application/json"}}),
}  # fmt: skip


def with_schema(schema):
    """Return how each client API asks for a schema."""
    named = {"name": "city", "schema": schema}
    return {
        "chat": ("/v1/chat/completions", {"messages": USER,
                 "response_format": {"type": "json_schema", "json_schema": named}}),
        "responses": ("/v1/responses", {"input": USER,
                      "text": {"format": {"type": "json_schema", **named}}}),
        "messages": ("/v1/messages", {"messages": USER, "max_tokens": 4000,
                     "output_config": {"format": {"type": "json_schema", "schema": schema}}}),
        "gemini": ("/v1beta/models/{}:generateContent", _gemini(
            {"responseMimeType": "application/json", "responseJsonSchema": schema})),
        "ollama": ("/api/chat", {"messages": USER, "format": schema, "stream": False}),
        "cohere": ("/v2/chat", {"messages": USER,
                   "response_format": {"type": "json_object", "json_schema": schema}}),
        "interactions": ("/v1beta/interactions", {"input": "Name a city.",
                         "response_format": {**TYPED, "schema": schema}}),
        "interactions, bare": ("/v1beta/interactions",
                               {"input": "Name a city.", "response_format": schema}),
    }  # fmt: skip


# Of these the body passes through unchanged, and the service itself judges it.
PASSED = {("chat", "chat"), ("responses", "gpt"), ("messages", "haiku")}


def ask(path, body, name, *texts):
    """Return the text of the answer, what the model got, and the adjustments."""
    emulator = Emulator(script=[ScriptedTurn(text=each) for each in texts])
    routes = tuple(GatewayRoute(match=each, to=(model,)) for each, model in MODELS.items())
    app = App(GatewayContext(GatewayConfig(routes=routes), emulator))
    headers = {"content-type": "application/json", "x-api-key": "k"}
    data = json.dumps({"model": name, **body}).encode()
    http = HttpRequest("POST", f"http://gate{path.format(name)}", headers, data)
    answer = anyio.run(came, app, http)
    assert answer.status == 200, answer.body
    return decode(answer.body).text, emulator.log.entries[-1].body, dict(answer.headers)


@pytest.mark.parametrize(
    ("api", "name"),
    [(api, name) for api in ANY_JSON for name in MODELS if (api, name) not in PASSED],
)
def test_json_without_a_schema_is_asked_for_on_every_model(api, name):
    path, body = ANY_JSON[api]
    text, sent, _ = ask(path, body, name)
    assert isinstance(json.loads(text), dict)
    assert "json" in json.dumps(sent).lower()


@pytest.mark.parametrize(
    ("api", "name"),
    [(api, name) for api in with_schema(CITY) for name in MODELS if (api, name) not in PASSED],
)
def test_a_schema_of_any_client_is_fitted_to_every_model(api, name):
    path, body = with_schema(CITY)[api]
    text, _, _ = ask(path, body, name)
    assert isinstance(json.loads(text)["name"], str)


@pytest.mark.parametrize("api", ["messages", "gemini", "ollama"])
def test_the_client_gets_the_shape_that_it_asked_for(api):
    path, body = with_schema(CITY)[api]
    text, sent, _ = ask(path, body, "gpt", '{"name": "Ulm", "people": null}')
    assert sent["text"]["format"]["strict"] is True
    assert json.loads(text) == {"name": "Ulm"}


@pytest.mark.parametrize("api", ["gemini", "ollama"])
@pytest.mark.parametrize("name", ["gpt", "opus", "bedrock", "deepseek"])
def test_a_wrapped_list_reaches_the_client_without_its_wrapper(api, name):
    path, body = with_schema({"type": "array", "items": {"type": "integer"}})[api]
    text, _, _ = ask(path, body, name, '{"result": [1, 2]}')
    assert json.loads(text) == [1, 2]


@pytest.mark.parametrize("api", sorted(with_schema(FREE).keys() - {"messages"}))
def test_an_object_of_free_keys_is_asked_for_in_words_on_claude(api):
    path, body = with_schema(FREE)[api]
    text, sent, _ = ask(path, body, "opus", '```json\n{"a": 1.5}\n```')
    assert "output_config" not in sent
    assert json.loads(text) == {"a": 1.5}
