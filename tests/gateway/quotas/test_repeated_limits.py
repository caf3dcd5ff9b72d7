"""A name that occurs twice where a budget reads: the service gets the value that was reserved.

Some parsers read the first of two values, others the last. The judge reads the request that arrived
and finds every name once.
"""

import json
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.asgi import came
from tests.gateway.recorder import Recorder

from pondero.canon import HttpRequest
from pondero.gateway.config.model import GatewayConfig, GatewayKey, SpendBudget
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

ASKED = {"messages": [{"role": "user", "content": "Hi"}]}
TURN = {"role": "user", "content": [{"text": "Hi"}]}
SUMMARY = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}}
Place = tuple[str, dict[str, Any], str, str, Any, Any]
# address, request, object, name in it, and two values: many tokens or answers, and few
PLACES: list[Place] = [
    (
        "/model/anthropic.claude-opus-5-v1:0/converse",
        {"messages": [TURN]},
        *("inferenceConfig", "maxTokens", 90_000, 50),
    ),
    (
        "/api/chat",
        {"model": "ollama:gpt-oss:20b", **ASKED},
        *("options", "num_predict", 90_000, 50),
    ),
    (
        "/v1beta/models/gemini-2.5-flash:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
        *("generationConfig", "candidateCount", 8, 1),
    ),
    (
        "/v1beta/models/gemini-2.5-flash:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
        *("generation_config", "maxOutputTokens", 60_000, 50),
    ),
    (
        "/v1/messages",
        {"model": "claude-opus-5", "max_tokens": 2_000, **ASKED},
        *("context_management", "edits", [SUMMARY], []),
    ),
    (
        "/v1/responses",
        {"model": "gpt-5.5", "input": "Hi", "max_output_tokens": 500},
        *("multi_agent", "max_concurrent_subagents", 8, 1),
    ),
]


def send(path: str, body: str) -> list[bytes]:
    """Return the requests that reached the service, under a budget that covers them."""
    key = GatewayKey("k", hash_key("kk"), budget=SpendBudget(tokens=90_000_000))
    recorder: Any = Recorder()
    served = frozenset({"anthropic", "openai", "google", "bedrock", "ollama"})
    config = GatewayConfig(open=served, keys=(key,))
    app = App(GatewayContext(config, recorder))
    headers = {"content-type": "application/json", "authorization": "Bearer kk"}
    anyio.run(came, app, HttpRequest("POST", f"http://gate{path}", headers, body.encode()))
    return recorder.bodies


def find_repeated(text: bytes) -> list[str]:
    """Return the names that an object of a request has twice."""
    repeated: list[str] = []

    def look(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        repeated.extend(name for name in set(names) if names.count(name) > 1)
        return dict(pairs)

    json.loads(text, object_pairs_hook=look)
    return repeated


@st.composite
def attacks(draw: st.DrawFn) -> tuple[str, str]:
    path, request, holder, name, many, few = draw(st.sampled_from(PLACES))
    written = json.dumps(name)
    if draw(st.booleans()):
        written = f'"\\u{ord(name[0]):04x}{name[1:]}"'
    values = draw(st.permutations([many, few, *draw(st.lists(st.sampled_from([many, few, None])))]))
    inner = ", ".join(
        f"{draw(st.sampled_from([json.dumps(name), written]))}: {json.dumps(value)}"
        for value in values
    )
    text = json.dumps({**request, holder: 0})
    return path, text.replace(f'"{holder}": 0', f'"{holder}": {{{inner}}}')


@given(attacks())
def test_no_service_reads_another_value_than_was_reserved(attack):
    for arrived in send(*attack):
        assert find_repeated(arrived) == []


@pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place[2]}.{place[3]}")
def test_the_last_value_holds(place):
    path, request, holder, name, many, few = place
    text = json.dumps({**request, holder: 0})
    inner = f'{{"{name}": {json.dumps(many)}, "{name}": {json.dumps(few)}}}'
    (arrived,) = send(path, text.replace(f'"{holder}": 0', f'"{holder}": {inner}'))
    assert find_repeated(arrived) == []
    held = json.loads(arrived).get(holder, {})
    assert held.get(name, few) == few
