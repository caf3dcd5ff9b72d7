"""Odd but legal tools reach every upstream in a form that its table takes.

Clients of several APIs offer functions whose schemas their own services accept: of other drafts,
with tuples, nulls, empty enums or keys that are required and not there.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.gateway.test_referee_law import Trial, judge
from tests.referee.cases import post

from pondero.dialects import Rejected
from pondero.emulator.routes import find_route

TEXT = {"type": "string"}
SCHEMAS: dict[str, Any] = {
    "no type": {"properties": {"a": TEXT}},
    "no properties": {"type": "object"},
    "required alone": {"type": "object", "properties": {"a": {"type": "object", "required": ["b"]}}},
    "draft 4": {"a": {"type": "number", "exclusiveMinimum": True, "minimum": 0}},
    "draft 7": {"a": {"type": "array", "items": [TEXT]}},
    "tuple": {"a": {"type": "array", "prefixItems": [TEXT], "items": False}},
    "null words": {"a": {"type": "string", "description": None, "title": None}},
    "empty enum value": {"a": {"type": "string", "enum": ["", "x"]}},
    "numbers": {"a": {"type": "integer", "enum": [1, 2]}},
    "any": {"a": True},
    "twice": {"type": "object", "properties": {"a": TEXT}, "required": ["a", "a"]},
    "absent": {"type": "object", "properties": {"a": TEXT}, "required": ["a", "b"]},
    "odd keys": {"type": "object", "properties": {"a b$": TEXT, "c": TEXT}, "required": ["a b$"]},
    "long key": {"type": "object", "properties": {"k" * 65: TEXT}},
}  # fmt: skip
UPSTREAMS = (
    "anthropic:claude-opus-5",
    "vertex-anthropic:claude-sonnet-4-6",
    "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "bedrock:amazon.nova-2-lite-v1:0",
    "openai:gpt-5.5",
    "openai-chat:gpt-5.1",
    "google:gemini-2.5-flash",
    "google:gemini-3-flash-preview",
    "vertex:gemini-2.5-flash",
    "google-interactions:gemini-3-flash-preview",
    "groq:openai/gpt-oss-120b",
    "mistral:mistral-small-latest",
    "deepseek:deepseek-v4-flash",
    "cohere:command-a-03-2025",
    "ollama:qwen3",
)
KEY = {"authorization": "Bearer key"}
CHAT = "https://api.openai.com/v1/chat/completions"
RESPONSES = "https://api.openai.com/v1/responses"
MESSAGES = "https://api.anthropic.com/v1/messages"
CLAUDE_KEY = {"x-api-key": "key", "anthropic-version": "2023-06-01"}
INTERACTIONS = "https://generativelanguage.googleapis.com/v1beta/interactions"
GOOGLE_KEY = {"x-goog-api-key": "key"}
SAID = [{"role": "user", "content": "hi"}]


def written(schema: Any) -> Iterator[tuple[str, Any]]:
    """Yield a client's request with this schema, for each API."""
    named = {"name": "f", "description": "d"}
    chat = {"type": "function", "function": {**named, "parameters": schema}}
    yield "chat", post(CHAT, {"model": "gpt-4.1", "messages": SAID, "tools": [chat]}, KEY)
    flat = {"type": "function", "strict": False, **named, "parameters": schema}
    yield "responses", post(RESPONSES, {"model": "gpt-5.5", "input": "hi", "tools": [flat]}, KEY)
    own = {**named, "input_schema": schema}
    body = {"model": "claude-opus-4-5", "max_tokens": 99, "messages": SAID, "tools": [own]}
    yield "messages", post(MESSAGES, body, CLAUDE_KEY)
    tool = {"type": "function", **named, "parameters": schema}
    body = {"model": "gemini-3-flash-preview", "input": "hi", "tools": [tool]}
    yield "interactions", post(INTERACTIONS, body, GOOGLE_KEY)


def is_accepted(http: Any) -> bool:
    """Return whether the client's own service takes its request."""
    to = find_route(http.url)
    assert to is not None
    try:
        to.wire.service().accept(http, to.provider)
    except Rejected:
        return False
    return True


TRIALS = [
    Trial(f"{client} {name}", http)
    for name, given in SCHEMAS.items()
    for client, http in written(given if "a" not in given else {"type": "object", "properties": given})
    if is_accepted(http)
]  # fmt: skip


def test_most_of_these_schemas_are_legal_somewhere():
    assert {name.split(" ", 1)[1] for name, _ in TRIALS} >= set(SCHEMAS) - {
        "no type",
        "no properties",
    }


@pytest.mark.parametrize("upstream", UPSTREAMS)
def test_no_schema_of_a_client_makes_a_request_wrong(upstream):
    assert judge(upstream, TRIALS) == {}


@pytest.mark.parametrize("upstream", ["google:gemini-2.5-flash", "vertex:gemini-3.1-pro-preview"])
@pytest.mark.parametrize("seed", [2**40, -(2**40), 7])
def test_a_seed_beyond_the_range_is_left_out(upstream, seed):
    http = post(CHAT, {"model": "gpt-4.1", "messages": SAID, "seed": seed}, KEY)
    assert judge(upstream, [Trial("seed", http)]) == {}


def test_metadata_is_not_sent_without_the_storage_that_it_is_for():
    body = {"model": "gpt-4.1", "messages": SAID, "metadata": {"a": "b"}, "store": True}
    http = post(CHAT, body, KEY)
    assert judge("openai-chat:gpt-5.1", [Trial("metadata", http)]) == {}


@pytest.mark.parametrize(
    "upstream", ["xai:grok-4.6", "dashscope:qwen3.8-max", "minimax:MiniMax-M3"]
)
@pytest.mark.parametrize("arguments", ["", "{bad", "words", "[1]", "null", '{"a": NaN}'])
def test_arguments_that_a_model_wrote_wrongly_are_sent_back_as_json(upstream, arguments):
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": arguments}}
    history = [
        *SAID,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": json.dumps("no")},
    ]
    http = post(CHAT, {"model": "gpt-4.1", "messages": history}, KEY)
    assert judge(upstream, [Trial("call", http)]) == {}
