"""A conversation that goes on: tools, levels, models, failures, and what is kept of it."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shells import each_shell

import pondero
from pondero.canon import (
    Blob,
    Image,
    Message,
    Origin,
    PartEnd,
    Signature,
    Started,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    Tool,
    ToolCall,
    ToolResult,
    UnknownPart,
)
from pondero.emulator import Emulator, ScriptedCall, ScriptedTurn
from pondero.errors import BadParameter, BadThinking, ServerFailed, UnknownModel, UsageError
from pondero.exchange import Retry

MODELS = (
    "claude-opus-5-5/low",
    "claude-sonnet-4-5/high",
    "gpt-5.1/medium",
    "gemini-3-flash-preview/low",
    "deepseek:deepseek-reasoner",
)
ONCE = Retry(attempts=1)


def get_weather(city: str) -> str:
    """Get the weather."""
    return f"it is fine in {city}"


async def get_time(city: str) -> str:
    """Get the time."""
    await asyncio.sleep(0)
    return f"it is noon in {city}"


def chat_with(emulator, model, **options):
    return pondero.Chat(model, client=pondero.Client(transport=emulator, retry=ONCE), **options)


def roles(chat):
    return [message.role for message in chat.messages]


@pytest.mark.parametrize("model", MODELS)
def test_tools_are_run_until_there_is_an_answer(model):
    chat = chat_with(Emulator(), model, tools=[get_weather])
    reply = chat.send("What is the weather in Paris?")
    assert "it is fine in Paris" in reply.text
    assert roles(chat) == ["user", "assistant", "user", "assistant"]
    assert "391" in chat.send("What is 17 * 23?").text


@pytest.mark.parametrize("model", MODELS)
def test_awaiting_is_the_same_conversation_as_waiting(model):
    async def talk():
        async with pondero.AsyncClient(transport=Emulator()) as client:
            chat = pondero.AsyncChat(model, tools=[get_weather], client=client)
            await chat.send("What is the weather in Paris?")
            await chat.send("What is 17 * 23?")
            return chat.messages

    waited = chat_with(Emulator(), model, tools=[get_weather])
    waited.send("What is the weather in Paris?")
    waited.send("What is 17 * 23?")
    assert [said(m) for m in asyncio.run(talk())] == [said(m) for m in waited.messages]


def said(message):
    return message.role, message.text, message.thinking, len(message.parts)


def test_calls_at_once_are_answered_in_one_message_in_their_order():
    calls = (
        ScriptedCall("get_time", {"city": "Rome"}),
        ScriptedCall("get_weather", {"city": "Bern"}),
    )
    emulator = Emulator(script=[ScriptedTurn(tool_calls=calls), ScriptedTurn(text="done")])
    chat = chat_with(emulator, "claude-opus-5/low", tools=[get_weather, get_time])
    chat.send("Go.")
    results = chat.messages[2].parts
    assert [result.name for result in results] == ["get_time", "get_weather"]
    assert [result.call_id for result in results] == [c.id for c in chat.messages[1].tool_calls]


def test_a_failing_tool_is_told_to_the_model_and_the_turn_goes_on():
    def boom() -> None:
        """Fail."""
        raise RuntimeError("out of cheese")

    emulator = Emulator(
        script=[ScriptedTurn(tool_calls=(ScriptedCall("boom"),)), ScriptedTurn(text="sorry")]
    )
    chat = chat_with(emulator, "gpt-5.1", tools=[boom])
    assert chat.send("Go.").text == "sorry"
    (result,) = chat.messages[2].parts
    assert result.error
    assert "out of cheese" in result.content[0].text


def test_the_last_step_is_asked_without_tools():
    script = [ScriptedTurn(tool_calls=(ScriptedCall("get_weather", {"city": "Rome"}),))] * 2 + [
        ScriptedTurn(text="enough")
    ]
    emulator = Emulator(script=script)
    chat = chat_with(emulator, "claude-opus-5/low", tools=[get_weather], max_steps=3)
    assert chat.send("Go.").text == "enough"
    choices = [entry.body.get("tool_choice") for entry in emulator.log.entries]
    assert choices == [None, None, {"type": "none"}]


def test_a_paused_turn_is_taken_up_again():
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    waiting = ScriptedTurn(parts=(UnknownPart("anthropic", search),), finish="paused")
    chat = chat_with(Emulator(script=[waiting, ScriptedTurn(text="done")]), "claude-opus-5/low")
    assert chat.send("Go.").text == "done"
    assert roles(chat) == ["user", "assistant", "assistant"]


def test_tools_of_the_callers_own_end_the_turn_and_the_next_one_brings_their_results():
    tool = Tool("look", "Look.", {"type": "object", "properties": {}})
    emulator = Emulator(
        script=[ScriptedTurn(tool_calls=(ScriptedCall("look"),)), ScriptedTurn(text="seen")]
    )
    chat = chat_with(emulator, "gpt-5.1", tools=[tool])
    (call,) = chat.send("Look.").tool_calls
    assert chat.send(ToolResult(call.id, (Text("a cat"),))).text == "seen"


def test_events_of_all_exchanges_come_in_one_stream():
    chat = chat_with(Emulator(), "claude-opus-5/low", tools=[get_weather])
    with chat.stream("What is the weather in Paris?") as stream:
        events = list(stream)
    assert sum(isinstance(event, Started) for event in events) == 2
    assert [reply.finish for reply in stream.replies] == ["tool_calls", "stop"]
    assert stream.reply.text == chat.messages[-1].text


# -- level and model ------------------------------------------------------------------------------


def test_the_level_may_change_between_turns():
    emulator = Emulator()
    chat = chat_with(emulator, "claude-opus-4-8/low")  # it takes no level inside a conversation
    chat.send("What is 17 * 23?")
    chat.thinking = "max"
    chat.send("What is 5 * 5?")
    efforts = [entry.body["output_config"]["effort"] for entry in emulator.log.entries]
    assert efforts == ["low", "max"]
    assert [m.origin.level for m in chat.messages if m.origin] == ["low", "max"]


def test_a_level_said_with_the_model_is_the_newer_wish():
    chat = chat_with(Emulator(), "claude-opus-5", thinking="max")
    chat.model = "gpt-5.1/low"
    assert (chat.model, chat.thinking) == ("gpt-5.1/low", None)
    chat.thinking = "high"
    chat.model = "claude-opus-5"
    assert chat.thinking == "high"


def test_a_model_or_level_that_cannot_be_changes_nothing():
    chat = chat_with(Emulator(), "claude-opus-5/low")
    with pytest.raises(UnknownModel):
        chat.model = "nonsense-1"
    with pytest.raises(BadThinking):
        chat.thinking = "hihg"
    assert (chat.model, chat.thinking) == ("claude-opus-5/low", None)


def test_another_model_is_handed_the_conversation_and_the_manifest_says_what_it_lost():
    emulator = Emulator()
    chat = chat_with(emulator, "claude-opus-5/low", tools=[get_weather])
    chat.send("What is the weather in Paris?")
    assert chat.handoff.withheld == 0
    chat.model = "google:gemini-3-flash-preview/low"
    assert chat.handoff.withheld == 2
    before = chat.messages
    chat.send("What is 17 * 23?")
    seals = [
        part.signature.value for m in before for part in m.parts if getattr(part, "signature", None)
    ]
    assert seals
    assert not any(seal in str(emulator.log.entries[-1].body) for seal in seals)
    assert chat.messages[: len(before)] == before
    chat.model = "claude-opus-5/low"
    assert chat.handoff.withheld == 2  # only what the other one thought and signed since
    chat.send("What is 5 * 5?")


# -- what goes wrong ------------------------------------------------------------------------------


def test_a_failed_turn_leaves_the_history_as_it_was():
    emulator = Emulator(faults=[None, 500])
    chat = chat_with(emulator, "gpt-5.1")
    chat.send("What is 17 * 23?")
    before = chat.messages
    with pytest.raises(ServerFailed):
        chat.send("What is 5 * 5?")
    assert chat.messages == before
    assert "25" in chat.send("What is 5 * 5?").text


def test_a_turn_that_fails_after_its_tools_ran_leaves_nothing_either():
    emulator = Emulator(faults=[None, 500])
    chat = chat_with(emulator, "gpt-5.1", tools=[get_weather])
    with pytest.raises(ServerFailed):
        chat.send("What is the weather in Paris?")
    assert chat.messages == ()


def test_an_interrupted_turn_is_kept_only_where_asked_and_only_what_was_said():
    chat = chat_with(
        Emulator(script=[ScriptedTurn(thinking="hm", text="one two three")] * 3), "gpt-5.1/low"
    )
    for keep in (False, True):
        with chat.stream("Go.", keep=keep) as stream:
            for event in stream:
                if isinstance(event, TextDelta):
                    break
        assert len(chat.messages) == (2 if keep else 0)
    assert chat.messages[1].text == event.text


@pytest.mark.parametrize("model", ["gpt-5.1/low", "claude-opus-5/low", "gemini-2.5-flash/low"])
def test_thinking_that_led_to_nothing_is_kept_and_the_chat_continues(model):
    chat = chat_with(Emulator(), model)
    with chat.stream("What is 17 * 23?", keep=True) as stream:
        for event in stream:
            if isinstance(event, PartEnd):
                break
        assert stream.so_far[0].text == "What is 17 * 23?"
    question, answer = chat.messages
    assert question.text == "What is 17 * 23?"
    assert answer.parts[0] == event.part
    assert chat.send("What is 2 * 3?").text == "2 * 3 = 6"


def test_nothing_is_kept_of_a_turn_of_which_nothing_came():
    chat = chat_with(Emulator(faults=[500]), "gpt-5.1/low")
    with pytest.raises(ServerFailed), chat.stream("What is 17 * 23?", keep=True) as stream:
        next(iter(stream))
    assert chat.messages == ()


def test_a_call_that_was_not_run_is_kept_with_a_result_that_says_so():
    chat = chat_with(Emulator(), "claude-opus-5/low", tools=[get_weather])
    with chat.stream("What is the weather in Paris?", keep=True) as stream:
        for event in stream:
            if isinstance(event, PartEnd) and isinstance(event.part, ToolCall):
                break
    assert roles(chat) == ["user", "assistant", "user"]
    assert chat.messages[-1].parts[0].error
    assert "391" in chat.send("What is 17 * 23?").text


def test_a_turn_has_no_reply_before_its_end():
    stream = chat_with(Emulator(), "gpt-5.1").stream("What is 17 * 23?")
    with pytest.raises(UsageError, match="not ended"):
        _ = stream.reply
    stream.close()


@pytest.mark.parametrize("options", [{"max_steps": 0}, {"nonsense": 1}])
def test_a_chat_that_cannot_be_is_refused(options):
    with pytest.raises(BadParameter):
        chat_with(Emulator(), "gpt-5.1", **options)


# -- saved and restored -----------------------------------------------------------------------------

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5
)  # fmt: skip
_texts = st.text(st.characters())  # lone halves of surrogate pairs included
_seals = st.none() | st.builds(Signature, st.just("gemini"), _json, st.none() | _texts)
_bytes = st.none() | st.binary()
_words = st.builds(Text, _texts, _seals)
_images = st.builds(Image, st.just("image/png"), _bytes)
_parts = st.one_of(
    _words,
    _images,
    st.builds(Thinking, _texts, _seals, st.booleans()),
    st.builds(ToolCall, _texts, _texts, _json, _seals, st.booleans()),
    st.builds(ToolResult, _texts, st.lists(_words | _images).map(tuple), st.booleans()),
    st.builds(Blob, st.just("application/pdf"), _bytes),
    st.builds(UnknownPart, st.just("gemini"), _json),
)
_messages = st.builds(
    Message,
    st.sampled_from(["user", "assistant"]),
    st.lists(_parts).map(tuple),
    st.none() | st.builds(Origin, _texts, _texts, st.none(), st.floats(0, 2e9)),
)


@given(st.lists(_messages).map(tuple))
def test_a_saved_chat_is_the_same_chat(messages):
    chat = pondero.Chat("gpt-5.1", 8000, messages=messages, system="Be brief.", max_tokens=900)
    again = pondero.Chat.from_json(chat.to_json())
    assert again.messages == chat.messages
    assert again.to_json() == chat.to_json()


@pytest.mark.parametrize("model", MODELS)
def test_a_restored_chat_goes_on(model):
    chat = chat_with(
        Emulator(), model, tools=[get_weather], policy={"budgets": "fixed"}, stop=["END"]
    )
    chat.send("What is the weather in Paris?")
    client = pondero.Client(transport=Emulator(), retry=ONCE)
    again = pondero.Chat.from_json(chat.to_json(), tools=[get_weather], client=client)
    assert again.policy == pondero.Policy(budgets="fixed")
    assert "391" in again.send("What is 17 * 23?").text


def test_a_saved_chat_calls_its_limit_steps():
    text = pondero.Chat("gpt-5.1", max_steps=3).to_json()
    assert '"steps":3' in text
    assert pondero.Chat.from_json(text).to_json() == text


def test_a_saved_part_called_reasoning_is_thinking():
    chat = pondero.Chat("gpt-5.1", messages=[Message("assistant", (Thinking("hm"), Text("hi")))])
    renamed = chat.to_json().replace('"thinking","text"', '"reasoning","text"')
    assert "reasoning" in renamed
    assert pondero.Chat.from_json(renamed).messages == chat.messages


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"pondero": 99, "model": "gpt-5.1"}'])
def test_what_is_no_saved_chat_is_refused(text):
    with pytest.raises(BadParameter, match="chat"):
        pondero.Chat.from_json(text)


def test_deltas_of_thinking_come_before_words():
    chat = chat_with(Emulator(), "claude-opus-5/high")
    kinds = [type(event) for event in chat.stream("What is 17 * 23?")]
    assert kinds.index(ThinkingDelta) < kinds.index(TextDelta)


@pytest.mark.parametrize(
    ("chat", "client"),
    [(pondero.Chat, pondero.AsyncClient), (pondero.AsyncChat, pondero.Client)],
)
def test_a_chat_is_told_at_once_that_it_got_the_other_kind_of_client(chat, client):
    with pytest.raises(UsageError, match=rf"^{chat.__name__} needs an? (Async)?Client; "):
        chat("claude-opus-5", client=client())


@each_shell
def test_the_next_request_of_a_chat_can_be_had_without_sending_it(shell):
    emulator = Emulator()
    chat = shell.chat("gpt-5.1/high", shell.client(emulator), tools=[get_weather])
    shell.send(chat, "What is 17 * 23?")
    before = chat.messages
    prepared = chat.prepare("And 5 * 5?", system="Be brief.")
    assert (len(emulator.log.entries), chat.messages) == (1, before)
    shell.send(chat, "And 5 * 5?", system="Be brief.")
    assert emulator.log.entries[-1].body == json.loads(prepared.request.body)
