"""Conversations as people have them, against services that refuse what real ones refuse.

Rows 1 to 5, 7, 9, 14 and 39 to 41 of the hazards: whatever is called, cut off, switched or changed
between turns, no request is refused and no token is counted twice.
"""

import asyncio
from itertools import count

import pytest
from tests.shells import Waiting, each_killer, each_shell

import pondero
from pondero.canon import Message, Reply, Text, Thinking, ToolCall, ToolResult, merge_json
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
    "cohere:command-a-reasoning",
    "ollama:qwen3",
    "bedrock:claude-opus-4",
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


def talk(shell, emulator, model):
    client = shell.client(emulator, retry=Retry(attempts=1))
    return shell.chat(model, client, tools=TOOLS)


def counted(reply):
    return reply.usage.total is None or reply.usage.known_total == reply.usage.total


@each_shell
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("level", LEVELS)
def test_ten_turns_with_tools_at_every_level_are_never_refused(shell, model, level):
    emulator = Emulator(responder=mind)
    chat = talk(shell, emulator, f"{model}/{level}")
    replies = [shell.send(chat, word) for word in TURNS]
    assert refusals(emulator) == []
    assert all(map(counted, replies))
    assert len(chat.messages) == 10 * 2 + 3 * 2 + 3 * 4  # both: two more; chain: four more


@each_shell
@pytest.mark.parametrize("model", MODELS)
def test_the_level_may_change_before_every_turn(shell, model):
    emulator = Emulator(responder=mind)
    chat = talk(shell, emulator, model)
    for word, level in zip(TURNS, (*LEVELS, None, "high", "off"), strict=True):
        chat.thinking = level
        plan = shell.send(chat, word).plan
        assert plan.asked == level
        body = emulator.log.entries[-1].body
        assert merge_json(body, plan.fields) == body  # the service got what was planned
    assert refusals(emulator) == []


@each_killer
@pytest.mark.parametrize("model", MODELS)
def test_ten_turns_at_changing_levels_survive_a_kill_at_any_event(shell, model):
    """Each turn with tools is killed, one event later every time; the chat is saved and goes on."""
    emulator = Emulator(responder=mind)
    seen = []
    shell.read(talk(shell, emulator, f"{model}/max"), "chain", into=seen)
    cuts = {"both": count(), "chain": count()}
    for first in range(0, len(seen) + 1, TURNS.count("chain")):
        chat = talk(shell, emulator, model)
        for number, word in enumerate(TURNS):
            chat.thinking = LEVELS[(number + first) % len(LEVELS)]
            if word in cuts:
                shell.kill(chat, word, next(cuts[word]))
            else:
                shell.send(chat, word)
        again = shell.restored(chat.to_json(), chat._client, tools=TOOLS)
        shell.send(again, "both")
        assert again.messages[: len(chat.messages)] == chat.messages
        assert refusals(emulator) == [], first
        emulator.reset()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("other", MODELS)
def test_a_chat_may_wander_to_any_model_and_back(model, other):
    emulator = Emulator(responder=mind)
    chat = talk(Waiting(), emulator, f"{model}/high")
    chat.send("both")
    chat.model = f"{other}/high"
    chat.send("chain")
    chat.model = f"{model}/high"
    assert "thinking" not in {c.what for c in chat.handoff.changes if c.message < 4}
    chat.send("both")
    assert refusals(emulator) == []


@pytest.mark.parametrize("model", MODELS)
def test_words_streamed_are_the_words_kept(model):
    emulator = Emulator(responder=mind)
    client = pondero.Client(transport=emulator)
    options = {"tools": TOOLS}
    streamed = client.ask(f"{model}/high", "both", **options).message
    whole = client.ask(f"{model}/high", "both", stream=False, **options).message
    assert [_bare(part) for part in streamed.parts] == [_bare(part) for part in whole.parts]


def _bare(part):
    if isinstance(part, ToolCall):
        return (part.name, part.arguments, part.signature is not None)
    return (part.text, part.signature is not None)
