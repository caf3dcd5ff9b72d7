"""Google's two APIs: no source shows that one takes the other's signatures, so none is carried."""

import json

import pytest

import pondero
from pondero.canon import Message, Text, ToolResult
from pondero.emulator import Emulator

MODEL = "gemini-3-flash-preview/high"
STAND_IN = "skip_thought_signature_validator"
QUESTION = "What is the weather in Bern?"
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "Tells the weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}


@pytest.mark.parametrize(
    ("first", "then"), [("google", "google-interactions"), ("google-interactions", "google")]
)
def test_a_tool_loop_goes_on_by_the_other_api_without_the_signature(first, then):
    emulator = Emulator()
    with pondero.Client(transport=emulator) as client:
        asked = client.ask(f"{first}:{MODEL}", QUESTION, tools=[WEATHER])
        results = (
            ToolResult(each.id, (Text("sunny"),), name=each.name) for each in asked.tool_calls
        )
        history = [
            Message("user", (Text(QUESTION),)),
            asked.message,
            Message("user", tuple(results)),
        ]
        prepared = client.prepare(f"{then}:{MODEL}", history, tools=[WEATHER])
        reply = client.ask(f"{then}:{MODEL}", history, tools=[WEATHER])
    sent = json.dumps(emulator.log.entries[-1].body)
    signed = [part.signature for part in asked.message.parts if part.signature is not None]
    assert signed
    assert not any(str(each.value) in sent for each in signed)
    assert STAND_IN in sent
    assert "withheld thinking" in str(prepared.manifest)
    assert "sunny" in reply.text
