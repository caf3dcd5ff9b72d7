"""A branch of a chat: the same history, settings and tools, and nothing shared."""

import copy
import sys
from pathlib import Path

import pytest
from tests.shells import each_shell

import pondero
from pondero.client import Tools
from pondero.emulator import Emulator

SERVER = Path(__file__).parents[1] / "mcp_server.py"
BOTH = pytest.mark.parametrize("branch", [lambda chat: chat.branch(), copy.deepcopy])


def get_weather(city: str) -> str:
    """Get the weather."""
    return f"it is fine in {city}"


@each_shell
@BOTH
def test_a_branch_has_the_same_history_settings_and_tools(shell, branch):
    emulator = Emulator()
    options = {"system": "Be brief.", "max_tokens": 9000, "max_steps": 3, "tools": [get_weather]}
    chat = shell.chat("claude-opus-5/high", shell.client(emulator), **options)
    shell.send(chat, "What is the weather in Bern?")
    other = branch(chat)
    assert type(other) is type(chat)
    assert other.to_json() == chat.to_json()
    sent = [each.prepare("And in Rome?").request.body for each in (chat, other)]
    assert sent[0] == sent[1]
    assert "Rome" in shell.send(other, "What is the weather in Rome?").text


@each_shell
@BOTH
def test_neither_chat_sees_what_happens_in_the_other(shell, branch):
    extras = {"metadata": {"user_id": "me"}}
    chat = shell.chat(
        "claude-opus-5/high", shell.client(Emulator()), extras=extras, tools=[get_weather]
    )
    shell.send(chat, "What is the weather in Bern?")
    before = chat.to_json()
    other = branch(chat)
    other.model, other.thinking = "gpt-5.1", "low"
    shell.send(other, "What is 17 * 23?")
    other.messages[1].tool_calls[0].arguments["city"] = "Rome"
    other._options["extras"]["metadata"]["user_id"] = "you"
    assert chat.to_json() == before
    after = other.to_json()
    shell.send(chat, "What is 5 * 5?")
    chat.messages[1].tool_calls[0].arguments["city"] = "Oslo"
    extras["metadata"]["user_id"] = "them"
    chat.model = "gemini-3-flash-preview"
    assert other.to_json() == after


def test_an_approval_for_good_is_of_one_chat_alone():
    asked = []

    def approve(name, _arguments):
        asked.append(name)
        return "always"

    chat = pondero.Chat(
        "gpt-5.1/low",
        tools=[get_weather],
        approve=approve,
        client=pondero.Client(transport=Emulator()),
    )
    other = chat.branch()
    for each in (chat, chat, other):
        each.send("What is the weather in Bern?")
    assert len(asked) == 2
    chat.branch().send("What is the weather in Bern?")
    assert len(asked) == 2, "a branch begins with the approvals so far"


def test_a_branch_starts_servers_of_its_own_and_closing_one_leaves_the_other():
    client = pondero.Client(transport=Emulator())
    with pondero.Chat("gpt-5.1/low", mcp=[f"{sys.executable} {SERVER}"], client=client) as chat:
        names = [each.tool.name for each in chat.list_tools()]
        with chat.branch() as other:
            assert [each.tool.name for each in other.list_tools()] == names
            first, second = (each._tools._servers for each in (chat, other))
            assert first is not second
        assert first._background is not None
        assert second._background is None


def test_tools_that_were_given_as_one_object_stay_shared():
    tools = Tools([get_weather])
    chat = pondero.Chat("gpt-5.1", tools=tools, client=pondero.Client(transport=Emulator()))
    assert chat.branch()._tools is tools
