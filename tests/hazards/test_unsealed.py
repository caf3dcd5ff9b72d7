"""Wires that take thinking back without a seal: what goes back, and what never does."""

import pytest
from tests.hazards.talking import UNSEALED, calling, chat_with, last_body

from pondero.canon import Thinking, ToolCall
from pondero.emulator import Emulator, ScriptedTurn


def turns_of(body):
    return [message for message in body["messages"] if message["role"] == "assistant"]


def thought_in(message):
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return message.get("thinking") or "".join(part.get("thinking", "") for part in parts)


@pytest.mark.parametrize("model", UNSEALED)
def test_every_step_of_a_tool_loop_takes_its_thinking_and_its_ids_along(model):
    emulator = Emulator(script=calling(3))
    chat = chat_with(emulator, f"{model}/high")
    assert chat.send("Where is it fine?").text == "It is fine everywhere."
    turns = turns_of(last_body(emulator))
    assert [thought_in(turn) for turn in turns] == [f"let me look ({n})" for n in range(3)]
    sent = [call["id"] for turn in turns for call in turn["tool_calls"]]
    made = [call.id for message in chat.messages for call in message.tool_calls]
    assert sent == made
    assert len(set(sent)) == 3


def test_an_id_that_an_older_server_never_gave_is_never_sent():
    call = ToolCall("", "get_weather", {"city": "Paris"}, minted=True)
    emulator = Emulator(
        script=[ScriptedTurn(parts=(Thinking("hm"), call)), ScriptedTurn(text="Fine.")]
    )
    chat = chat_with(emulator, "ollama:qwen3:8b/high")
    assert chat.send("And in Paris?").text == "Fine."
    (kept,) = (call for message in chat.messages for call in message.tool_calls)
    assert (kept.minted, len(kept.id)) == (True, 22)
    body = last_body(emulator)
    assert "id" not in turns_of(body)[0]["tool_calls"][0]
    assert body["messages"][-1]["tool_name"] == "get_weather"
    assert "tool_call_id" not in body["messages"][-1]


@pytest.mark.parametrize("model", UNSEALED)
def test_another_models_thinking_does_not_come_along(model):
    emulator = Emulator(
        script=[ScriptedTurn(thinking="a secret thought", text="Fine."), ScriptedTurn(text="So.")]
    )
    chat = chat_with(emulator, "claude-opus-5/high")
    chat.send("How is it?")
    chat.model = model
    chat.send("And now?")
    assert "a secret thought" not in str(last_body(emulator))
    assert thought_in(turns_of(last_body(emulator))[0]) == ""
