"""What the gateway asks a model for a client that speaks another wire."""

import json
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from tests.gateway.asgi import came

from pondero.canon import HttpRequest, Thinking, ToolCall
from pondero.emulator import Emulator, ScriptedTurn
from pondero.gateway.config.model import GatewayConfig, GatewayRoute
from pondero.gateway.server.app import App
from pondero.gateway.server.context import GatewayContext

LONG = "A rule of the house. " * 2_000
TOOL = {
    "type": "function",
    "name": "look",
    "parameters": {"type": "object", "properties": {}},
}


def asked(app: App, *items: dict[str, object]) -> dict[str, object]:
    body = {"model": "m", "instructions": LONG, "input": list(items), "tools": [TOOL]}
    url = "http://here/v1/responses"
    answer = anyio.run(came, app, HttpRequest("POST", url, {}, json.dumps(body).encode()))
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


@pytest.mark.parametrize("model", ["anthropic:claude-opus-5", "anthropic:claude-sonnet-4-5"])
def test_a_client_that_marks_nothing_reads_from_a_cache_that_wants_marks(model):
    emulator = Emulator()
    app = App(
        GatewayContext(GatewayConfig(routes=(GatewayRoute(match="*", to=(model,)),)), emulator)
    )
    question = {"role": "user", "content": "hi"}
    first = asked(app, question)
    second = asked(app, question, *first["output"], {"role": "user", "content": "go on"})
    assert first["usage"]["input_tokens_details"]["cache_write_tokens"] > 1_000
    assert second["usage"]["input_tokens_details"]["cached_tokens"] > 1_000
    marks = json.dumps(emulator.log.entries[-1].body).count("cache_control")
    assert marks == 3


PATCH = '*** Begin Patch\n+"ä\\n"\n*** End Patch'
GROUP = {
    "type": "additional_tools",
    "role": "developer",
    "tools": [
        {
            "type": "namespace",
            "name": "files",
            "description": "Files.",
            "tools": [{"type": "custom", "name": "apply_patch", "description": "Patches."}],
        }
    ],
}


@pytest.mark.parametrize(
    "model",
    [
        *("anthropic:claude-opus-5", "google:gemini-3-flash-preview", "deepseek:deepseek-v4-flash"),
        *("openai-chat:gpt-5.2", "ollama:qwen3", "cohere:command-a-reasoning-08-2025"),
        "google-interactions:gemini-3-flash-preview",
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_a_grammar_tool_of_a_namespace_is_called_with_text_and_its_call_comes_back(model, stream):
    emulator = Emulator()
    called = ToolCall("call_1", "apply_patch", {"input": PATCH})
    emulator.expect(ScriptedTurn(parts=(Thinking("Hm."), called)))
    app = App(
        GatewayContext(GatewayConfig(routes=(GatewayRoute(match="*", to=(model,)),)), emulator)
    )
    question = [GROUP, {"role": "user", "content": "Patch it."}]
    output = answered(app, question, stream=stream)
    (call,) = [item for item in output if item["type"] == "custom_tool_call"]
    assert (call["name"], call["namespace"], call["input"]) == ("apply_patch", "files", PATCH)
    result = {"type": "custom_tool_call_output", "call_id": call["call_id"], "output": "Done."}
    answered(app, [*question, *output, result], stream=stream)
    assert PATCH in iter_envelopes(emulator.log.entries[-1].body)


def iter_envelopes(value: Any) -> Iterator[str]:
    """Yield the texts in a body, and those in its texts that are JSON."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from iter_envelopes(inner)
    elif isinstance(value, str):
        yield value
        if value.startswith("{"):
            yield from iter_envelopes(json.loads(value))


def answered(app: App, items: list[Any], *, stream: bool) -> list[Any]:
    body = {"model": "m", "input": items, "stream": stream, "store": False}
    url = "http://here/v1/responses"
    answer = anyio.run(came, app, HttpRequest("POST", url, {}, json.dumps(body).encode()))
    assert answer.status == 200, answer.body
    if not stream:
        return json.loads(answer.body)["output"]
    events = [json.loads(line[6:]) for line in answer.body.splitlines() if line[:5] == b"data:"]
    pieces = [event["delta"] for event in events if "custom_tool_call_input.delta" in event["type"]]
    output = events[-1]["response"]["output"]
    calls = [item["input"] for item in output if item["type"] == "custom_tool_call"]
    assert "".join(pieces) == "".join(calls)
    return output
