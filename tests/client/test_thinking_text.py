"""The thinking of an answer as text, whole and while it arrives."""

import asyncio

import pytest

import pondero
from pondero.canon import Finished, Message, Text, TextDelta, Thinking, ThinkingDelta
from pondero.client.thinking_text import ThinkingText
from pondero.emulator import Emulator, ScriptedCall, ScriptedTurn

SUM = "What is 17 * 23?"
MODELS = ("claude-opus-5/high", "gpt-5.1/high", "gemini-2.5-pro/high", "deepseek:deepseek-v4/high")
TWICE = ScriptedTurn(thinking=("First this, then that.", "And now?"), text="391")


def test_thinking_is_text_with_a_blank_line_between_its_parts():
    parts = (Thinking("One."), Text("Hm"), Thinking(""), Thinking("Two."))
    message = Message("assistant", parts)
    assert message.thinking == "One.\n\nTwo."
    assert message.thinking_parts == (parts[0], parts[2], parts[3])
    assert (Message("user", (Text("a"),)).thinking, Message("user", ()).thinking_parts) == ("", ())


def test_a_reply_has_the_thinking_of_its_message():
    with pondero.Client(transport=Emulator(script=[TWICE])) as client:
        reply = client.ask("claude-opus-5/high", SUM)
    assert reply.thinking == "First this, then that.\n\nAnd now?"
    assert [part.text for part in reply.thinking_parts] == list(TWICE.thinking)
    assert all(part.signature for part in reply.thinking_parts)


@pytest.mark.parametrize("model", MODELS)
def test_the_thinking_of_a_stream_adds_up_to_the_replys(model):
    with pondero.Client(transport=Emulator(script=[TWICE])) as client:
        stream = client.stream(model, SUM)
        assert "".join(stream.thinking()) == stream.reply.thinking != ""


def test_the_thinking_of_an_async_stream_adds_up_too():
    async def read():
        async with pondero.AsyncClient(transport=Emulator(script=[TWICE])) as client:
            stream = client.stream("claude-opus-5/high", SUM)
            return "".join([text async for text in stream.thinking()]), stream.reply.thinking

    shown, whole = asyncio.run(read())
    assert shown == whole == "First this, then that.\n\nAnd now?"


def get_weather(city: str) -> str:
    """Return the weather in a city."""
    return f"it is fine in {city}"


CALLED = (
    ScriptedTurn(
        thinking="I must look.", tool_calls=(ScriptedCall("get_weather", {"city": "Bern"}),)
    ),
    ScriptedTurn(thinking="Now I know.", text="Fine."),
)


def test_the_thinking_of_a_turn_is_that_of_all_its_answers():
    with pondero.Client(transport=Emulator(script=CALLED)) as client:
        chat = pondero.Chat("claude-opus-5/high", tools=[get_weather], client=client)
        turn = chat.stream("What is the weather in Bern?")
        assert "".join(turn.thinking()) == "I must look.\n\nNow I know."
    assert [reply.thinking for reply in turn.replies] == ["I must look.", "Now I know."]


def test_the_thinking_of_an_async_turn_is_that_of_all_its_answers():
    async def read():
        async with pondero.AsyncClient(transport=Emulator(script=CALLED)) as client:
            chat = pondero.AsyncChat("claude-opus-5/high", tools=[get_weather], client=client)
            turn = chat.stream("What is the weather in Bern?")
            return "".join([text async for text in turn.thinking()])

    assert asyncio.run(read()) == "I must look.\n\nNow I know."


def test_an_empty_delta_begins_no_part():
    shown = ThinkingText()
    events = [ThinkingDelta(0, "a"), ThinkingDelta(1, ""), TextDelta(2, "x"), ThinkingDelta(0, "b")]
    assert [shown.feed(event) for event in events] == ["a", "", "", "b"]
    assert shown.feed(Finished("stop")) == ""
    assert shown.feed(ThinkingDelta(0, "c")) == "\n\nc"


@pytest.mark.parametrize("first", ["text", "thinking"])
def test_a_second_reader_gets_what_the_first_one_passed_over(first):
    second = {"text": "thinking", "thinking": "text"}[first]
    with pondero.Client(transport=Emulator()) as client:
        chat = pondero.Chat("claude-opus-5/high", tools=[get_weather], client=client)
        for stream in (client.stream("claude-opus-5/high", SUM), chat.stream(SUM)):
            shown = {kind: "".join(getattr(stream, kind)()) for kind in (first, second)}
            assert shown == {"text": stream.reply.text, "thinking": stream.reply.thinking}
            assert all(shown.values())
            assert list(getattr(stream, second)()) == []


def test_a_second_reader_of_an_async_stream_gets_them_too():
    async def read():
        async with pondero.AsyncClient(transport=Emulator()) as client:
            chat = pondero.AsyncChat("claude-opus-5/high", client=client)
            for stream in (client.stream("claude-opus-5/high", SUM), chat.stream(SUM)):
                thinking = "".join([piece async for piece in stream.thinking()])
                text = "".join([piece async for piece in stream.text()])
                assert (text, thinking) == (stream.reply.text, stream.reply.thinking)

    asyncio.run(read())
