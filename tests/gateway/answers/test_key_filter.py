"""The provider's key does not reach a client, wherever a service quotes it."""

import json

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.asgi import came
from tests.gateway.canned import Canned

import pondero
from pondero.gateway.answers.key_filter import KeyFilter
from pondero.gateway.config.model import GatewayConfig, GatewayRoute, ProviderOverride
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

KEY = "a.providers+key/0123456789"


def _ask(monkeypatch, model: str, service: Canned, *, stream: bool = True):
    monkeypatch.setenv("SOMETHING", KEY)
    provider = model.partition(":")[0]
    override = ProviderOverride(url="http://service", key="env:SOMETHING")
    routes = (GatewayRoute(match="*", to=(model,), retries=0),)
    config = GatewayConfig(routes=routes, providers={provider: override})
    client = pondero.Client(keys={provider: "a-clients-key"})
    request = client.prepare(model, "Hello?", stream=stream).request
    return anyio.run(came, App(GatewayContext(config, service)), request)


def _sse(*events: dict) -> bytes:
    named = (f"event: {each['type']}\n" if "type" in each else "" for each in events)
    return "".join(
        f"{name}data: {json.dumps(each)}\n\n" for name, each in zip(named, events, strict=True)
    ).encode()


MESSAGE: dict[str, object] = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "model": "claude-opus-5",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
RESPONSE: dict[str, object] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-5.5",
    "output": [],
    "status": "in_progress",
}
STREAMS = {
    "anthropic:claude-opus-5": _sse(
        {"type": "message_start", "message": MESSAGE},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "text", "text": ""},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "Hi"},
        },
        {"type": "error", "error": {"type": "api_error", "message": f"bad key {KEY}"}},
    ),
    "openai:gpt-5.5": _sse(
        {"type": "response.created", "sequence_number": 0, "response": RESPONSE},
        {
            "type": "response.output_text.delta",
            "sequence_number": 1,
            "item_id": "msg_1",
            "output_index": 0,
            "content_index": 0,
            "delta": "Hi",
        },
        {
            "type": "response.incomplete",
            "sequence_number": 2,
            "response": {
                **RESPONSE,
                "status": "incomplete",
                "incomplete_details": {"reason": f"bad key {KEY}"},
            },
        },
    ),
    "google:gemini-3-flash-preview": _sse(
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}, "index": 0}]},
        {"error": {"code": 500, "status": "INTERNAL", "message": f"bad key {KEY}"}},
    ),
}


@pytest.mark.parametrize("size", [1, 9, 100_000])
@pytest.mark.parametrize("model", STREAMS)
def test_a_stream_that_quotes_the_key_is_redacted(monkeypatch, model, size):
    stream = STREAMS[model]
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    headers = {"content_type": "text/event-stream", "request_id": f"req-{KEY}"}
    answer = _ask(monkeypatch, model, Canned(pieces, **headers))
    assert answer.status == 200
    assert b"Hi" in answer.body
    assert KEY not in answer.body.decode()
    assert KEY not in json.dumps(dict(answer.headers))


def test_a_whole_answer_that_quotes_the_key_is_redacted(monkeypatch):
    content = [{"type": "text", "text": f"Hi {KEY}"}]
    body = json.dumps({**MESSAGE, "content": content, "stop_reason": "end_turn"}).encode()
    service = Canned([body], content_type="application/json", request_id=f"req-{KEY}")
    answer = _ask(monkeypatch, "anthropic:claude-opus-5", service, stream=False)
    assert json.loads(answer.body)["content"][0]["text"] == "Hi REDACTED"
    assert answer.headers["request-id"] == "req-REDACTED"


@given(
    parts=st.lists(st.sampled_from([KEY, "a.", "a.prov", "x", "\n", KEY[:-1]]), max_size=8),
    cuts=st.lists(st.integers(1, 30), min_size=1, max_size=9),
)
def test_a_key_in_pieces_is_redacted_as_the_whole(parts, cuts):
    whole, pieces, at = "".join(parts).encode(), [], 0
    while at < len(whole):
        size = cuts[len(pieces) % len(cuts)]
        pieces.append(whole[at : at + size])
        at += size
    cleaner = KeyFilter([KEY])
    shown = b"".join([*map(cleaner.feed, pieces), cleaner.end()])
    assert shown == whole.replace(KEY.encode(), b"REDACTED")
