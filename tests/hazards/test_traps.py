"""Traps that tests of a single turn of text do not see, each as a conversation."""

import json

import pytest
from tests.hazards.talking import (
    ANTHROPIC,
    Canned,
    bodies,
    calling,
    chat_with,
    keys,
    last_body,
    refusals,
)
from tests.hazards.test_replay import anthropic_stream, assistants
from tests.hazards.test_seals import gemini_stream

import pondero
from pondero.canon import Thinking
from pondero.emulator import Emulator, ScriptedCall, ScriptedTurn

RESPONSES = ("gpt-5.1", "gpt-6-sol", "azure:gpt-5.1", "xai-responses:grok-4.6")
CHAT = ("openai-chat:gpt-5.1", "zai:glm-4.7", "zai-coding:glm-4.7", "deepseek:deepseek-reasoner")
GEMINI = ("gemini-3-flash-preview", "gemini-3-pro-preview", "vertex:gemini-3-flash-preview")


def looped(model, emulator=None):
    """Return the bodies of a tool loop and a turn after it; none was refused."""
    emulator = emulator or Emulator(script=calling(2))
    chat = chat_with(emulator, model)
    chat.send("Where is it fine?")
    chat.send("What is 2 + 2?")
    assert refusals(emulator) == []
    return bodies(emulator)


@pytest.mark.parametrize("model", RESPONSES)
@pytest.mark.parametrize("show", ["auto", "none"])
def test_trap_t01_thinking_goes_back_with_its_summary_though_it_be_empty(model, show):
    emulator = Emulator(script=calling(2))
    chat = chat_with(emulator, f"{model}/high", policy={"show": show})
    chat.send("Where is it fine?")
    items = [item for item in last_body(emulator)["input"] if item["type"] == "reasoning"]
    assert len(items) == 2
    assert all(isinstance(item["summary"], list) for item in items)
    assert refusals(emulator) == []


@pytest.mark.parametrize("model", RESPONSES)
def test_trap_t02_arguments_are_text_in_an_item_that_calls(model):
    calls = [item for item in looped(f"{model}/high")[-1]["input"] if "arguments" in item]
    assert [json.loads(call["arguments"]) for call in calls] == [
        {"city": "town 0"},
        {"city": "town 1"},
    ]


@pytest.mark.parametrize("model", CHAT)
def test_trap_t03_arguments_are_text_in_a_message_that_calls(model):
    messages = looped(model)[-1]["messages"]
    calls = [call for message in messages for call in message.get("tool_calls", ())]
    assert [json.loads(call["function"]["arguments"]) for call in calls] == [
        {"city": "town 0"},
        {"city": "town 1"},
    ]


@pytest.mark.parametrize("model", GEMINI)
def test_trap_t04_a_signature_stands_beside_the_call_and_not_within(model):
    contents = looped(f"{model}/high")[-1]["contents"]
    calls = [part for each in contents for part in each["parts"] if "functionCall" in part]
    assert all(part["thoughtSignature"] for part in calls)
    assert not any("thoughtSignature" in keys(part["functionCall"]) for part in calls)


@pytest.mark.parametrize("model", ANTHROPIC)
def test_trap_t05_what_was_thought_goes_back_as_thinking_and_not_as_text(model):
    for turn in assistants(looped(f"{model}/high")[-1]):
        (block,) = [block for block in turn if block["type"] == "thinking"]
        assert block["thinking"].startswith("let me look")
        assert set(block) == {"type", "thinking", "signature"}


@pytest.mark.parametrize("model", ANTHROPIC)
def test_trap_t06_the_field_is_there_though_nothing_was_shown(model):
    emulator = Emulator(script=calling(2))
    chat = chat_with(emulator, f"{model}/high", policy={"show": "none"})
    chat.send("Where is it fine?")
    thoughts = [p for m in chat.messages for p in m.parts if isinstance(p, Thinking)]
    shown = [part.text for part in thoughts]
    blocks = [b for turn in assistants(last_body(emulator)) for b in turn if "signature" in b]
    assert [block["thinking"] for block in blocks] == shown[:2]
    assert refusals(emulator) == []


def test_trap_t07_a_signature_in_one_piece_and_its_call_in_the_next_stay_together():
    call = {"functionCall": {"name": "get_weather", "args": {"city": "Bern"}}}
    signed = {"text": "", "thoughtSignature": "c2lnbmF0dXJl"}
    service = Canned(gemini_stream(signed, call), gemini_stream({"text": "Fine."}))
    chat_with(service, "gemini-3-flash-preview/high").send("Is it fine?")
    (sent,) = service.asked[1]["contents"][1]["parts"]
    assert sent == {**call, "thoughtSignature": "c2lnbmF0dXJl"}


@pytest.mark.parametrize("pieces", [('{"city": ', '"Bern"}'), ("", '{"city": "Bern"}'), ()])
def test_trap_t08_the_empty_object_a_call_begins_with_is_no_part_of_its_arguments(pieces):
    call = (
        {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {}},
        *({"type": "input_json_delta", "partial_json": piece} for piece in pieces),
    )
    text = ({"type": "text", "text": ""}, {"type": "text_delta", "text": "Fine."})
    service = Canned(anthropic_stream(call, stop="tool_use"), anthropic_stream(text))
    chat = chat_with(service, "claude-opus-5")
    chat.send("Is it fine?")
    (made,) = chat.messages[1].tool_calls
    assert made.arguments == ({"city": "Bern"} if pieces else {})
    assert assistants(service.asked[1])[0][0]["input"] == made.arguments


@pytest.mark.parametrize("model", ["gpt-5.1", "gpt-6-sol", "azure:gpt-5.1"])
def test_trap_t09_nothing_is_stored_and_the_sealed_thinking_is_asked_for_and_sent_back(model):
    for body in looped(f"{model}/high"):
        assert body["store"] is False
        assert "reasoning.encrypted_content" in body["include"]
    items = [item for item in body["input"] if item["type"] == "reasoning"]
    assert len(items) == 3
    assert all(item["encrypted_content"] for item in items)


@pytest.mark.parametrize("wish", [False, "off", "none", 0])
def test_trap_t10_off_on_opus_5_never_goes_with_an_effort_it_refuses(wish):
    emulator = Emulator()
    client = pondero.Client(transport=emulator)
    for model in ("claude-opus-5", "claude-opus-5/max", "claude-opus-5/xhigh"):
        client.ask(model, "What is 2 + 2?", wish)
        body = last_body(emulator)
        assert body["thinking"] == {"type": "disabled"}
        assert body.get("output_config", {}).get("effort") not in ("xhigh", "max")
    assert refusals(emulator) == []


@pytest.mark.parametrize("reader", ANTHROPIC)
@pytest.mark.parametrize("id", ["call_a|fc_b", "functions.get_weather:0", "ü" * 9, "x" * 80, "a b"])
def test_trap_t11_an_id_of_another_alphabet_is_made_fit_on_both_sides(reader, id):
    emulator = Emulator(
        script=[
            ScriptedTurn(tool_calls=(ScriptedCall("get_weather", {"city": "Bern"}, id),)),
            "Fine.",
        ]
    )
    chat = chat_with(emulator, "deepseek:deepseek-reasoner")
    chat.send("Is it fine?")
    assert chat.messages[1].tool_calls[0].id == id
    chat.model = f"{reader}/high"
    chat.send("What is 2 + 2?")
    blocks = [b for m in last_body(emulator)["messages"] for b in m["content"]]
    (use,) = [block["id"] for block in blocks if block["type"] == "tool_use"]
    (result,) = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    assert use == result != id
    assert refusals(emulator) == []
