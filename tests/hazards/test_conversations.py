"""Conversations as people have them, against services that refuse what real ones refuse.

Rows 1 to 5, 7, 9, 14 and 39 to 41 of the hazards: whatever is called, cut off, switched or changed
between turns, no request is refused and no token is counted twice.
"""

import asyncio

import pytest

import pondero
from pondero.canon import Message, Reply, Text, Thinking, ToolCall, ToolResult
from pondero.emulator import Emulator
from pondero.exchange import Retry
from pondero.thinking import LEVELS

MODELS = (
    "claude-opus-5-5",  # thinking bound to its beginning, adaptive
    "claude-sonnet-4-5",  # budgets: a tool loop begins with thinking
    "claude-opus-4-6",
    "gpt-5.1",
    "gemini-3-flash-preview",
    "gemini-2.5-flash",
    "deepseek:deepseek-reasoner",
    "openrouter:anthropic/claude-opus-5",
)
TURNS = ("hello", "both", "chain", "hello", "both", "chain", "both", "hello", "chain", "goodbye")


def get_weather(city: str) -> str:
    """Get the weather."""
    return f"it is fine in {city}"


async def get_time(city: str) -> str:
    """Get the time."""
    await asyncio.sleep(0)
    return f"it is noon in {city}"


TOOLS = [get_weather, get_time]


def mind(accepted):
    """Call two tools at once for "both", one after the other for "chain", else talk."""
    request = accepted.request
    asked = [n for n, m in enumerate(request.messages) if m.role == "user" and m.text]
    calls = [c for m in request.messages[asked[-1] :] for c in m.tool_calls]
    word = request.messages[asked[-1]].text
    answered = any(
        isinstance(p, ToolResult) for m in request.messages[asked[-1] :] for p in m.parts
    )
    number = sum(len(m.tool_calls) for m in request.messages)
    parts = [Thinking("let me see, " * 3)] if accepted.thinks else []
    if word == "both" and not answered:
        parts += [_call("get_weather", number), _call("get_time", number + 1)]
    elif word == "chain" and len(calls) < 2:
        parts += [Text("One moment."), _call("get_weather", number)]
    else:
        parts.append(Text("There you are, all of it."))
    called = any(isinstance(part, ToolCall) for part in parts)
    return Reply(Message("assistant", tuple(parts)), "tool_calls" if called else "stop")


def _call(name, number):
    return ToolCall(f"call_{number}", name, {"city": "Bern"}, minted=True)


def refusals(emulator):
    return [entry.refusal for entry in emulator.log.entries if entry.refusal]


def chat_with(emulator, model):
    client = pondero.Client(transport=emulator, retry=Retry(attempts=1))
    return pondero.Chat(model, tools=TOOLS, client=client)


def counted(reply):
    return reply.usage.total is None or reply.usage.counted == reply.usage.total


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("level", LEVELS)
def test_ten_turns_with_tools_at_every_level_are_never_refused(model, level):
    emulator = Emulator(mind=mind)
    chat = chat_with(emulator, f"{model}/{level}")
    replies = [chat.send(word) for word in TURNS]
    assert refusals(emulator) == []
    assert all(map(counted, replies))
    assert len(chat.messages) == 10 * 2 + 3 * 2 + 3 * 4  # both: two more; chain: four more


@pytest.mark.parametrize("model", MODELS)
def test_awaited_turns_are_never_refused_either(model):
    emulator = Emulator(mind=mind)

    async def talk():
        client = pondero.AsyncClient(transport=emulator, retry=Retry(attempts=1))
        chat = pondero.AsyncChat(f"{model}/high", tools=TOOLS, client=client)
        for word in TURNS:
            await chat.send(word)

    asyncio.run(talk())
    assert refusals(emulator) == []


@pytest.mark.parametrize("model", MODELS)
def test_the_level_may_change_before_every_turn(model):
    emulator = Emulator(mind=mind)
    chat = chat_with(emulator, model)
    for word, level in zip(TURNS, (*LEVELS, "off", "high", "off"), strict=True):
        chat.thinking = level
        chat.send(word)
    assert refusals(emulator) == []


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("word", "before", "after"),
    [("both", "high", "high"), ("chain", "high", "off"), ("chain", "off", "high")],
)
def test_a_stream_killed_at_any_event_leaves_a_chat_that_goes_on(model, word, before, after):
    emulator = Emulator(mind=mind)
    whole = chat_with(emulator, f"{model}/{before}")
    length = len(list(whole.stream(word)))
    for cut in range(length + 1):
        chat = chat_with(emulator, f"{model}/{before}")
        with chat.stream(word, keep=True) as stream:
            for _ in zip(range(cut), stream, strict=False):
                pass
        chat.thinking = after
        again = pondero.Chat.from_json(chat.to_json(), tools=TOOLS, client=chat._client)
        again.send("both")
        assert refusals(emulator) == [], cut


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("other", MODELS)
def test_a_chat_may_wander_to_any_model_and_back(model, other):
    emulator = Emulator(mind=mind)
    chat = chat_with(emulator, f"{model}/high")
    chat.send("both")
    chat.model = f"{other}/high"
    chat.send("chain")
    chat.model = f"{model}/high"
    assert "thinking" not in {c.what for c in chat.handoff.changes if c.message < 4}
    chat.send("both")
    assert refusals(emulator) == []


@pytest.mark.parametrize("model", MODELS)
def test_words_streamed_are_the_words_kept(model):
    emulator = Emulator(mind=mind)
    client = pondero.Client(transport=emulator)
    options = {"tools": TOOLS}
    streamed = client.ask(f"{model}/high", "both", **options).message
    whole = client.ask(f"{model}/high", "both", stream=False, **options).message
    assert [_bare(part) for part in streamed.parts] == [_bare(part) for part in whole.parts]


def _bare(part):
    if isinstance(part, ToolCall):
        return (part.name, part.arguments, part.seal is not None)
    return (part.text, part.seal is not None)
