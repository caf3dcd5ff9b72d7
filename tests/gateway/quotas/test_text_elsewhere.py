"""Text that a service reads outside the conversation is reserved too, and so are its own tools."""

import json
from typing import Any

import pytest
from tests.gateway.quotas.test_hosted_tools import MODELS, ask

from pondero.gateway.config.model import SpendBudget

LONG = "word " * 60_000
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string", "description": LONG}},
    "required": ["a"],
    "additionalProperties": False,
}
NAMED = {"name": "shape", "schema": SCHEMA, "strict": True}
TEXTS: list[tuple[str, dict[str, Any]]] = [
    ("messages", {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}),
    ("responses", {"text": {"format": {"type": "json_schema", **NAMED}}}),
    ("chat", {"response_format": {"type": "json_schema", "json_schema": NAMED}}),
    ("chat", {"prediction": {"type": "content", "content": LONG}}),
    (
        "gemini",
        {"generationConfig": {"responseMimeType": "application/json", "responseSchema": SCHEMA}},
    ),
    ("messages", {"Messages": [{"role": "user", "content": LONG}]}),
    ("chat", {"prediction": {"type": "content", "content": "Hi", "data": "word" * 80_000}}),
]


def name_model(api: str) -> dict[str, Any]:
    """Return the field that names the model itself: its request is sent as it is."""
    return {} if api == "gemini" else {"model": MODELS[api]}


@pytest.mark.parametrize(("api", "fields"), TEXTS)
def test_text_outside_the_conversation_is_reserved(api, fields):
    most = {"gemini": "x", "responses": "max_output_tokens"}.get(api, "max_tokens")
    body = {**name_model(api), **fields} | ({} if api == "gemini" else {most: 100})
    service, (answer,), _ = ask(api, [body], SpendBudget(tokens=60_000))
    assert (answer.status, service.bodies) == (429, []), answer.body[:300]


SEARCH = {"type": "web_search_20250305", "name": "web_search"}
ADDED = {
    "role": "system",
    "content": [
        {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": SEARCH}}
    ],
}
ASKED = {"role": "user", "content": "What is new?"}
TOOLS: list[tuple[str, str | None, dict[str, Any]]] = [
    ("responses", None, {"tools": [{"type": "web_search", "execution": "client"}]}),
    ("responses", None, {"tools": [{"type": "mcp", "server_label": "a", "environment": "local"}]}),
    ("responses", None, {"multi_agent": {"enabled": True, "max_concurrent_subagents": 8}}),
    ("messages", None, {"messages": [ASKED, ADDED]}),
    ("chat", "perplexity:sonar-deep-research", {}),
]


@pytest.mark.parametrize(("api", "model", "fields"), TOOLS)
def test_tools_and_models_that_search_reserve_the_window(api, model, fields):
    most = {"responses": "max_output_tokens"}.get(api, "max_tokens")
    body = {"model": model or MODELS[api], most: 100, **fields}
    service, (answer,), _ = ask(api, [body], SpendBudget(tokens=60_000), model)
    assert (answer.status, service.bodies) == (429, []), answer.body[:300]


def test_a_tool_that_says_its_type_twice_is_rejected():
    body = {
        "model": MODELS["responses"],
        "tools": [{"type": "custom", "name": "web_search"}],
        "input": "Hi",
    }
    twice = json.dumps(body).replace('"type": "custom"', '"type": "web_search", "type": "custom"')
    service, (answer,), _ = ask("responses", [twice], SpendBudget(tokens=60_000))
    assert (answer.status, service.bodies) == (400, [])
    assert b'\\"type\\" twice' in answer.body
