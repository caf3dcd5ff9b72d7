"""Thinking that is nested two deep on the wire, in binary frames (row 18)."""

import pytest
from tests.framing.aws import aws_stream
from tests.hazards.talking import Canned, bodies, calling, chat_with, refusals

import pondero
from pondero.canon import Thinking
from pondero.emulator import Emulator, ScriptedCall, ScriptedTurn

CONVERSE = (
    "bedrock:us.anthropic.claude-sonnet-4-6",
    "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "bedrock:global.anthropic.claude-opus-5-5",
)
SIGNATURE = "EpMCCkYICxgC" + "a/b+" * 40 + "=="
REDACTED = "RXBNQ0NrWUlDeGdD" * 20
TOLD = {
    "usage": {"inputTokens": 9, "outputTokens": 9, "totalTokens": 18},
    "metrics": {"latencyMs": 1},
}


def delta(index, **said):
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": said, "p": "abcdef"}}


def stop(index):
    return {"contentBlockStop": {"contentBlockIndex": index}}


def thinks_and_calls():
    start = {"toolUse": {"toolUseId": "tooluse_1", "name": "get_weather"}}
    return aws_stream(
        [
            {"messageStart": {"role": "assistant"}},
            delta(0, reasoningContent={"text": "Let me"}),
            delta(0, reasoningContent={"text": " look."}),
            delta(0, reasoningContent={"signature": SIGNATURE}),
            stop(0),
            delta(1, reasoningContent={"redactedContent": REDACTED}),
            stop(1),
            {"contentBlockStart": {"contentBlockIndex": 2, "start": start}},
            delta(2, toolUse={"input": '{"city": "Oslo"}'}),
            stop(2),
            {"messageStop": {"stopReason": "tool_use"}},
            {"metadata": TOLD},
        ]
    )


def answers(text):
    end = [{"messageStop": {"stopReason": "end_turn"}}, {"metadata": TOLD}]
    return aws_stream([{"messageStart": {"role": "assistant"}}, delta(0, text=text), stop(0), *end])


def test_hazard_18_signature_and_hidden_bytes_go_back_where_they_were_in_a_tool_loop():
    service = Canned(thinks_and_calls(), answers("It is fine."))
    reply = chat_with(service, f"{CONVERSE[0]}/high").send("Oslo?")
    assert reply.text == "It is fine."
    turn = service.asked[1]["messages"][1]
    assert turn["content"][:2] == [
        {"reasoningContent": {"reasoningText": {"text": "Let me look.", "signature": SIGNATURE}}},
        {"reasoningContent": {"redactedContent": REDACTED}},
    ]
    assert list(turn["content"][2]) == ["toolUse"]


@pytest.mark.parametrize("model", CONVERSE)
def test_hazard_18_every_step_of_a_loop_begins_with_the_thinking_that_led_to_it(model):
    emulator = Emulator(script=calling(4))
    chat_with(emulator, f"{model}/high").send("Where is it fine?")
    assert refusals(emulator) == []
    for number, body in enumerate(bodies(emulator)):
        turns = [turn["content"] for turn in body["messages"] if turn["role"] == "assistant"]
        texts = [turn[0]["reasoningContent"]["reasoningText"] for turn in turns]
        assert [text["text"] for text in texts] == [f"let me look ({n})" for n in range(number)]
        assert len({text["signature"] for text in texts}) == number


def test_hazard_18_hidden_thinking_survives_a_saved_session():
    call = ScriptedTurn(redacted=True, tool_calls=(ScriptedCall("get_weather", {"city": "Oslo"}),))
    emulator = Emulator(script=[call, "It is fine.", "Still."])
    chat = chat_with(emulator, CONVERSE[0])
    chat.send("Oslo?")
    client = pondero.Client(transport=emulator)
    again = pondero.Chat.from_json(chat.to_json(), client=client)
    hidden = [p for m in again.messages for p in m.parts if isinstance(p, Thinking) and p.redacted]
    again.send("And now?")
    assert refusals(emulator) == []
    assert [part.signature.value for part in hidden] == [
        block["reasoningContent"]["redactedContent"]
        for turn in bodies(emulator)[-1]["messages"]
        for block in turn["content"]
        if "reasoningContent" in block
    ]
