"""Tool calls of a real engine, and the turn after them."""

import asyncio

import pytest
from tests.engine.scripted import ANSWER, CALL, CHAT, MESSAGES, PLANNING, RESPONSES, STEPS, WIRES

import pondero
from pondero.canon import Text, Thinking, ToolCall

pytestmark = pytest.mark.engine

WAYS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
EVERY_WIRE = pytest.mark.parametrize("model", WIRES)


def get_weather(city: str) -> str:
    """Get the weather."""
    return f"it is fine in {city}"


@EVERY_WIRE
@WAYS
def test_a_call_comes_with_the_thinking_before_it(client, model, stream):
    reply = client.ask(model, "How is the weather?", "low", tools=[get_weather], stream=stream)
    assert [type(part) for part in reply.message.parts] == [Thinking, ToolCall]
    (call,) = reply.tool_calls
    assert (call.name, call.arguments) == (CALL["name"], CALL["arguments"])
    assert call.id
    assert reply.thinking.count("plan") == PLANNING
    assert (reply.finish, reply.verdict) == ("tool_calls", "as_planned")


@pytest.mark.parametrize("model", [CHAT, RESPONSES])
@WAYS
def test_a_call_needs_no_thinking(client, model, stream):
    reply = client.ask(model, "How is the weather?", "off", tools=[get_weather], stream=stream)
    assert ([call.name for call in reply.tool_calls], reply.thinking) == ([CALL["name"]], "")
    assert reply.verdict == "as_planned"


@EVERY_WIRE
@WAYS
def test_a_chat_runs_the_tool_and_goes_on(client, model, stream):
    chat = pondero.Chat(model, "low", tools=[get_weather], client=client, stream=stream)
    assert chat.send("How is the weather?").text == ANSWER
    assert [message.role for message in chat.messages] == ["user", "assistant", "user", "assistant"]
    assert chat.messages[2].parts[0].content == (Text("it is fine in Paris"),)
    assert chat.send("And tomorrow?").text == ANSWER
    assert len(chat.messages) == 8


@EVERY_WIRE
def test_awaited_chats_run_tools_as_well(client, model):
    async def talk():
        async with pondero.AsyncClient() as ours:
            chat = pondero.AsyncChat(model, "low", tools=[get_weather], client=ours)
            return await chat.send("How is the weather?")

    assert asyncio.run(talk()).text == ANSWER


@pytest.mark.parametrize("model", [CHAT, RESPONSES])
def test_levels_change_between_turns(client, model):
    chat = pondero.Chat(model, client=client)
    for level, steps in STEPS.items():
        chat.thinking = level
        assert chat.send("Hi.").thinking.count("step") == steps


def _turn_two(client, wire, model, stream):
    """Return the thinking before the call, and the body that brought the result."""
    chat = pondero.Chat(model, "low", tools=[get_weather], client=client, stream=stream)
    chat.send("How is the weather?")
    return chat.messages[1], wire.bodies[-1]


@WAYS
def test_turn_two_replays_the_thinking_over_chat(client, wire, stream):
    said, body = _turn_two(client, wire, CHAT, stream)
    _, assistant, result = body["messages"]
    assert assistant["reasoning_content"] == said.thinking
    assert assistant["tool_calls"][0]["id"] == result["tool_call_id"] == said.tool_calls[0].id


@WAYS
def test_turn_two_replays_the_thinking_over_responses(client, wire, stream):
    said, body = _turn_two(client, wire, RESPONSES, stream)
    _, thinking, call, result = body["input"]
    assert (thinking["type"], call["type"]) == ("reasoning", "function_call")
    assert thinking["content"] == [{"type": "reasoning_text", "text": said.thinking}]
    assert call["call_id"] == result["call_id"] == said.tool_calls[0].id


@WAYS
def test_turn_two_withholds_thinking_that_was_not_signed_over_messages(client, wire, stream):
    said, body = _turn_two(client, wire, MESSAGES, stream)
    assert said.thinking
    assert said.parts[0].signature is None
    _, assistant, result = body["messages"]
    assert [block["type"] for block in assistant["content"]] == ["tool_use"]
    assert result["content"][0]["tool_use_id"] == said.tool_calls[0].id


@pytest.mark.parametrize("second", WIRES)
@pytest.mark.parametrize("first", WIRES)
def test_a_conversation_moves_between_the_wires(client, first, second):
    chat = pondero.Chat(first, "low", tools=[get_weather], client=client)
    chat.send("How is the weather?")
    chat.model = second
    assert chat.send("And tomorrow?").text == ANSWER
