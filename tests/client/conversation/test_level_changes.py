"""A chat whose level changes: recorded in the history, kept on save and branch, said in the plan."""

import msgspec
import pytest
from tests.shells import each_shell

import pondero
from pondero.canon import Text, ToolResult
from pondero.emulator import Emulator, Fault, ScriptedCall, ScriptedTurn


class Service(Emulator):
    """An emulator that answers as a service does that is paid."""

    needs_key = True


def updates(chat):
    found = enumerate(message.level_update for message in chat.messages)
    return {number: each.level for number, each in found if each is not None}


def codes(reply):
    return [note.code for note in reply.adjustments if note.code.startswith("cache")]


@each_shell
def test_a_change_is_recorded_before_the_prompt_and_stays(shell):
    client = shell.client(Emulator())
    chat = shell.chat("claude-opus-5/high", client)
    shell.send(chat, "What is 17 * 23?")
    chat.model = "claude-opus-5/low"
    assert codes(shell.send(chat, "What is 5 * 5?")) == ["cache_kept"]
    assert updates(chat) == {2: "low"}
    again = shell.restored(chat.to_json(), client)
    assert again.messages == chat.messages
    assert chat.branch().messages == chat.messages
    assert codes(shell.send(again, "What is 6 * 6?")) == ["cache_kept"]
    assert updates(again) == {2: "low"}


def test_a_turn_that_fails_leaves_no_update():
    emulator = Emulator()
    client = pondero.Client(transport=emulator, retry=pondero.Retry(attempts=1))
    chat = pondero.Chat("claude-opus-5/high", client=client)
    chat.send("What is 17 * 23?")
    chat.thinking = "low"
    emulator.faults.append(Fault.parse("500"))
    with pytest.raises(pondero.PonderoError):
        chat.send("What is 5 * 5?")
    assert updates(chat) == {}
    chat.send("What is 5 * 5?")
    assert updates(chat) == {2: "low"}


def test_a_change_and_its_return_before_the_next_prompt_record_nothing():
    chat = pondero.Chat("claude-opus-5/high", client=pondero.Client(transport=Emulator()))
    chat.send("What is 17 * 23?")
    chat.thinking = "low"
    chat.thinking = "high"
    assert codes(chat.send("What is 5 * 5?")) == []
    assert updates(chat) == {}


def test_an_answer_of_another_model_in_between_begins_a_new_window():
    chat = pondero.Chat("claude-opus-5/high", client=pondero.Client(transport=Emulator()))
    chat.send("What is 17 * 23?")
    chat.thinking = "low"
    chat.send("What is 5 * 5?")
    chat.model = "gpt-5.1"
    chat.send("What is 6 * 6?")
    chat.model = "claude-opus-5"
    ready = chat.prepare("What is 7 * 7?")
    body = msgspec.json.decode(ready.request.body)
    assert body["output_config"] == {"effort": "low"}
    assert not any(message["role"] == "system" for message in body["messages"])
    assert updates(chat) == {2: "low"}


def test_in_a_tool_loop_of_the_caller_the_new_level_is_stated_at_once():
    emulator = Emulator()
    emulator.expect(ScriptedTurn(tool_calls=(ScriptedCall("look", {}),)))
    tool = pondero.Tool("look", "Look.", {"type": "object", "properties": {}})
    chat = pondero.Chat(
        "claude-opus-5/high", tools=[tool], client=pondero.Client(transport=emulator)
    )
    (call,) = chat.send("Look.").tool_calls
    chat.thinking = "low"
    results = pondero.Message("user", (ToolResult(call.id, (Text("sunny"),)),))
    reply = chat.send([results])
    assert (reply.plan.level, codes(reply)) == ("low", ["cache_lost"])
    assert emulator.log.entries[-1].body["output_config"] == {"effort": "low"}
    assert updates(chat) == {}


def test_a_lost_cache_says_its_tokens_and_their_price():
    pytest.importorskip("genai_prices")
    client = pondero.Client(transport=Service(), keys={"anthropic": "sk-planted"})
    chat = pondero.Chat("claude-sonnet-4-5/high", client=client)
    usage = chat.send("What is 17 * 23?").usage
    chat.thinking = "low"
    (note,) = [n for n in chat.prepare("Hi").plan.adjustments if n.code == "cache_lost"]
    assert note.got == usage.input
    assert f"{usage.input:,} tokens are written again (about $" in note.why


def test_a_strict_policy_lets_the_level_change():
    client = pondero.Client(transport=Emulator(), policy={"unsupported": "strict"})
    for model in ("claude-opus-5", "claude-opus-4-8"):
        chat = pondero.Chat(f"{model}/high", client=client)
        chat.send("What is 17 * 23?")
        chat.thinking = "low"
        assert chat.send("What is 5 * 5?").plan.level == "low"


def test_a_beta_of_the_caller_joins_the_one_of_the_update():
    chat = pondero.Chat("claude-opus-5/high", client=pondero.Client(transport=Emulator()))
    chat.send("What is 17 * 23?")
    chat.thinking = "low"
    ready = chat.prepare("Hi", headers={"anthropic-beta": "context-1m-2025-08-07"})
    assert ready.request.headers["anthropic-beta"] == (
        "mid-conversation-output-config-2026-07-01,context-1m-2025-08-07"
    )
