"""A tool's error with a picture: Claude takes text alone in it, so the picture goes after it."""

from base64 import b64encode
from typing import Any

import pytest
from tests.gateway.test_model_limits import ask
from tests.referee.adversary import PNG

import pondero
from pondero.canon import Blob, Image, Message, Text, Tool, ToolCall, ToolResult
from pondero.emulator import Emulator

CLAUDES = ("anthropic:claude-opus-5", "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0")
SHOWN = {"inlineData": {"mimeType": "image/png", "data": b64encode(PNG).decode()}}
BODY: dict[str, Any] = {
    "tools": [{"functionDeclarations": [{"name": "look"}]}],
    "contents": [
        {"role": "user", "parts": [{"text": "Look."}]},
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]},
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "name": "look",
                        "response": {"error": "dark"},
                        "parts": [SHOWN],
                    }
                }
            ],
        },
    ],
}


def kinds(blocks: list[dict[str, Any]]) -> list[str]:
    return [each.get("type") or next(iter(each)) for each in blocks]


@pytest.mark.parametrize("model", CLAUDES)
def test_a_gemini_client_s_error_with_a_picture_reaches_claude(model):
    status, answer, sent, told = ask(model, "/v1beta/models/m:generateContent", BODY)
    assert status == 200, answer
    blocks = sent["messages"][-1]["content"]
    result, picture = (each for each in blocks if "cachePoint" not in each)
    fields = result.get("toolResult", result)
    assert fields.get("is_error") or fields.get("status") == "error"
    assert set(kinds(fields["content"])) == {"text"}
    assert kinds([picture]) == ["image"]
    assert "medium_moved" in told


@pytest.mark.parametrize("model", CLAUDES)
def test_media_follow_all_results_of_a_turn(model):
    calls = (ToolCall("call_1", "look", {}), ToolCall("call_2", "look", {}))
    failed = ToolResult(
        "call_1", (Image("image/png", PNG), Blob("application/pdf", b"%PDF-1.4")), error=True
    )
    seen = ToolResult("call_2", (Image("image/png", PNG),))
    client = pondero.Client(transport=(emulator := Emulator()))
    reply = client.ask(
        model,
        [
            Message("user", (Text("Look."),)),
            Message("assistant", calls),
            Message("user", (failed, seen, Text("Well?"))),
        ],
        tools=[Tool("look", "", {"type": "object", "properties": {}})],
    )
    blocks = emulator.log.entries[-1].body["messages"][-1]["content"]
    first, second, *rest = blocks
    inside = [each.get("toolResult", each)["content"] for each in (first, second)]
    assert [kinds(each) for each in inside] == [["text", "text"], ["image"]]
    assert kinds(rest) == ["image", "document", "text"]
    assert [each.code for each in reply.plan.adjustments] == ["medium_moved"]


def test_other_models_get_it_as_it_was():
    model = "bedrock:us.amazon.nova-lite-v1:0"
    status, answer, sent, told = ask(model, "/v1beta/models/m:generateContent", BODY)
    assert status == 200, answer
    [result] = sent["messages"][-1]["content"]
    assert "image" in kinds(result["toolResult"]["content"])
    assert "medium_moved" not in told
