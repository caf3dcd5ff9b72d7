"""Limits of models behind the gateway: tokens of an answer, tools, pictures; by the bytes sent."""

import json
from base64 import b64encode
from typing import Any

import pytest
from tests.gateway.test_client_tools import post

import pondero
from pondero.canon import Image, Message, Text, Tool, ToolCall, ToolResult
from pondero.emulator import Emulator
from pondero.errors import BadParameter
from pondero.gateway.config.model import GatewayConfig, GatewayRoute
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

HELLO = [{"role": "user", "content": "Hello?"}]
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
MOST = {
    "bedrock:amazon.nova-lite-v1:0": 10_000,
    "bedrock:us.amazon.nova-micro-v1:0": 10_000,
    "bedrock:us.meta.llama3-3-70b-instruct-v1:0": 8_192,
    "bedrock:mistral.mistral-large-2402-v1:0": 8_192,
    "groq:llama-3.3-70b-versatile": 32_768,
    "groq:openai/gpt-oss-120b": 65_536,
}


def ask(model: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any], Any, str]:
    """Return the status and body of the answer, what reached the service, and the adjustments."""
    emulator = Emulator()
    config = GatewayConfig(routes=(GatewayRoute(match="*", to=(model,), retries=0),))
    answer = post(App(GatewayContext(config, emulator)), path, {"model": "m", **body})
    sent = emulator.log.entries[-1].body if emulator.log.entries else None
    return (
        answer.status,
        json.loads(answer.body),
        sent,
        answer.headers.get("x-pondero-adjustments", ""),
    )


def limit_in(sent: dict[str, Any]) -> int | None:
    inside = sent.get("inferenceConfig", {})
    return inside.get("maxTokens") or sent.get("max_completion_tokens") or sent.get("max_tokens")


@pytest.mark.parametrize("model", [*MOST, "bedrock:qwen.qwen3-32b-v1:0"])
def test_a_request_without_a_limit_is_answered(model):
    status, answer, sent, told = ask(model, "/v1/chat/completions", {"messages": HELLO})
    assert status == 200, answer
    assert (limit_in(sent) or 0) <= MOST.get(model, 0)
    assert "max_tokens" not in told


@pytest.mark.parametrize("model", MOST)
@pytest.mark.parametrize("asked", [64_000, 200_000])
def test_a_limit_above_the_model_s_is_reduced_and_reported(model, asked):
    body = {"messages": HELLO, "max_tokens": asked}
    status, answer, sent, told = ask(model, "/v1/messages", body)
    assert status == 200, answer
    assert limit_in(sent) == min(asked, MOST[model])
    assert ("max_tokens_clamped" in told) == (asked > MOST[model])


def test_a_level_that_takes_no_limit_gets_none():
    """Nova 2 rejects maxTokens at high."""
    body = {"messages": HELLO, "reasoning_effort": "high"}
    status, answer, sent, _ = ask(
        "bedrock:us.amazon.nova-2-lite-v1:0", "/v1/chat/completions", body
    )
    assert status == 200, answer
    assert limit_in(sent) is None


TOOLS = {
    "groq:openai/gpt-oss-120b": 128,
    "openai-chat:gpt-4.1": 128,
    "xai:grok-4.3": 200,
    "xai-responses:grok-4.3": 200,
    "xai-responses:grok-4.5": 350,
    "google:gemini-3-flash-preview": 512,
}


@pytest.mark.parametrize(("model", "most"), TOOLS.items())
def test_more_tools_than_a_service_takes_are_rejected_before_they_are_sent(model, most):
    offered = [{"name": f"f{each}", "input_schema": NOTHING} for each in range(most + 1)]
    body = {"messages": HELLO, "max_tokens": 100}
    status, answer, sent, _ = ask(model, "/v1/messages", {**body, "tools": offered})
    assert (status, sent) == (400, None)
    assert answer["type"] == "error"
    assert (
        f"at most {most} functions, and this request has {most + 1}" in answer["error"]["message"]
    )
    status, answer, sent, _ = ask(model, "/v1/messages", {**body, "tools": offered[1:]})
    assert status == 200, answer


@pytest.mark.parametrize(("model", "most"), TOOLS.items())
def test_the_library_rejects_more_tools_than_a_service_takes(model, most):
    client = pondero.Client(transport=Emulator())
    tools = [Tool(f"f{each}", "", NOTHING) for each in range(most + 1)]
    with pytest.raises(BadParameter, match=f"takes at most {most} functions"):
        client.prepare(model, "Hello?", tools=tools)
    assert client.prepare(model, "Hello?", tools=tools[1:])


def draw(width: int, height: int, more: int = 0) -> bytes:
    """Return the header of a PNG of this size, and as many more bytes."""
    head = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
    return head + width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes(more)


LARGE = {
    "1440 x 8570 pixels, and at most 8000": [draw(1440, 8570)],
    "2500 x 10 pixels, and at most 2000": [draw(2500, 10)] * 21,
    "at most 10,485,760": [draw(10, 10, 8_000_000)],
}


@pytest.mark.parametrize("said", LARGE)
def test_a_picture_that_is_too_large_for_claude_is_rejected_before_it_is_sent(said):
    urls = [f"data:image/png;base64,{b64encode(each).decode()}" for each in LARGE[said]]
    shown = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    body = {"messages": [{"role": "user", "content": shown}]}
    status, answer, sent, _ = ask("anthropic:claude-opus-5", "/v1/chat/completions", body)
    assert (status, sent) == (400, None)
    assert said in answer["error"]["message"]


def test_twenty_large_pictures_are_shown_to_claude():
    client = pondero.Client(transport=Emulator())
    parts = (*(Image("image/png", draw(2500, 10)) for _ in range(20)), Text("What is it?"))
    assert client.ask("anthropic:claude-opus-5", [Message("user", parts)]).text


def test_a_large_picture_in_a_result_is_rejected_by_the_library():
    seen = ToolResult("call_1", (Image("image/png", draw(1, 8001)),))
    thread = [
        Message("user", (Text("Look."),)),
        Message("assistant", (ToolCall("call_1", "look", {}),)),
        Message("user", (seen,)),
    ]
    client = pondero.Client(transport=Emulator())
    with pytest.raises(BadParameter, match="1 x 8001 pixels"):
        client.prepare("anthropic:claude-opus-5", thread, tools=[Tool("look", "", NOTHING)])
    assert client.prepare("openai:gpt-5.5", thread, tools=[Tool("look", "", NOTHING)])
