"""A model without a key is reported when it is chosen, and the switch still happens."""

import os

import pytest
from tests.tui.stage import stage
from tests.tui.terminal import running

from pondero.store import Threads

pytestmark = pytest.mark.anyio

WANTED = "⚠ OpenAI needs a key: set OPENAI_API_KEY, or save one with 'pondero keys set openai'"


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.endswith("_KEY")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PONDERO_CONFIG_DIR", str(tmp_path / "config"))


def told(chat):
    return [line for cell in chat.app.state.page for line in getattr(cell, "lines", ())]


async def test_the_variable_and_the_command_are_named_in_one_line_and_the_switch_happens():
    async with stage("claude-opus-5/low", paid=True) as chat:
        await chat.say("/model gpt-5.1/low")
        assert told(chat).count(WANTED) == 1
        assert chat.app.state.model == "openai:gpt-5.1"
        assert any("Switched to OpenAI gpt-5.1" in line for line in told(chat))


async def test_the_list_of_models_reports_it_too():
    async with stage("claude-opus-5/low", paid=True) as chat:
        await chat.say("/model")
        await chat.type("gpt-5.1")
        await chat.press("enter")
        assert chat.app.state.model.startswith("openai:")
        assert told(chat).count(WANTED) == 1


async def test_typing_the_command_reports_nothing_before_it_is_sent():
    async with stage("claude-opus-5/low", paid=True) as chat:
        await chat.type("/model gpt-5.1/low")
        assert WANTED not in told(chat)


@pytest.mark.parametrize(
    ("model", "paid"),
    [
        pytest.param("claude-haiku-4-5", True, id="with-a-key"),
        pytest.param("ollama:qwen3:8b", True, id="on-this-machine"),
        pytest.param("gpt-5.1", False, id="offline"),
    ],
)
async def test_nothing_is_reported_where_nothing_is_missing(model, paid):
    async with stage("claude-opus-5/low", paid=paid) as chat:
        await chat.say(f"/model {model}")
        assert any("Switched to" in line for line in told(chat))
        assert not [line for line in told(chat) if "needs a key" in line]


async def test_a_key_in_the_environment_is_found(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "planted")
    async with stage("claude-opus-5/low", paid=True) as chat:
        await chat.say("/model gpt-5.1/low")
        assert WANTED not in told(chat)


async def test_a_thread_of_the_emulator_says_on_opening_how_to_continue_offline(tmp_path):
    with Threads.open(tmp_path / "threads.db") as threads:
        async with stage("gpt-5.1/low", threads=threads) as offline:
            await offline.say("What is 17 * 23?")
        id = threads.get("last").id
        async with stage("claude-opus-5/low", threads=threads, paid=True) as chat:
            await chat.say(f"/resume {id}")
            said = "\n".join(told(chat))
            assert "The emulator wrote the last answer of this thread" in said
            assert f"pondero chat --resume {id} --offline" in said
            assert told(chat).count(WANTED) == 1
        async with stage("claude-opus-5/low", threads=threads) as chat:
            await chat.say(f"/resume {id}")
            assert "The emulator wrote" not in "\n".join(told(chat))


async def test_a_thread_of_a_service_opens_without_a_word_about_the_emulator(tmp_path):
    with Threads.open(tmp_path / "threads.db") as threads:
        async with stage("claude-opus-5/low", threads=threads, paid=True) as chat:
            await chat.say("What is 17 * 23?")
        async with stage("claude-opus-5/low", threads=threads, paid=True) as chat:
            await chat.say(f"/resume {threads.get('last').id}")
            assert not told(chat)


@pytest.mark.parametrize("form", [(), ("--plain",)])
def test_a_resumed_chat_without_a_key_says_so_before_a_question(environment, form):
    with running("chat", "--offline", "gpt-5.1/low", environment=environment) as terminal:
        terminal.until("/help")
        terminal.press("say hi\r")
        terminal.until(" · answer ")
        terminal.press("/quit\r")
        assert terminal.ended() == 0
    with running("chat", "--resume", *form, environment=environment) as terminal:
        terminal.until("OPENAI_API_KEY", "--offline")
        terminal.press("/quit\r")
        assert terminal.ended() == 0


def test_a_chat_that_begins_without_a_key_says_so_at_once(environment):
    with running("chat", "gpt-5.1/low", environment=environment) as terminal:
        terminal.until("/help", "OPENAI_API_KEY", "'pondero keys set")
        terminal.press("/quit\r")
        assert terminal.ended() == 0


def test_the_line_is_read_whole_in_a_small_window(environment):
    chat = ("chat", "claude-opus-5/low")
    with running(*chat, environment=environment, columns=40, lines=12) as terminal:
        terminal.until("/help")
        terminal.press("/model gpt-5.1/low\r")
        shown = terminal.until("OPENAI_API_KEY", "pondero keys set")
        assert "needs a key" in shown
        terminal.press("/quit\r")
        assert terminal.ended() == 0
