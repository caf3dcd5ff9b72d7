"""What waits to be sent belongs to its thread, and a thread to one conversation."""

import pytest
from tests.tui.stage import stage

from pondero.store import Threads
from pondero.tui.state import AnswerCell, UserCell

pytestmark = pytest.mark.anyio

QUESTION = "What is 17 * 23?"


@pytest.fixture
def threads(tmp_path):
    with Threads.open(tmp_path / "threads.db") as opened:
        yield opened


def shown(chat):
    return [cell.text for cell in chat.app.state.page if isinstance(cell, UserCell | AnswerCell)]


async def with_a_prompt_that_waits(chat):
    """Stop an answer while another prompt waits."""
    await chat.say("say a")
    await chat.say_until_held(QUESTION, pieces=40)
    await chat.paste("say queued")
    await chat.press_without_waiting("enter")
    chat.gate.hold_at = None
    await chat.press("escape")
    assert [each.words for each in chat.app.state.queue] == ["say queued"]
    chat.gate.open()


@pytest.mark.parametrize("line", ["/new", "/fork", "/resume first"])
async def test_a_prompt_that_waits_is_never_sent_into_another_thread(threads, line):
    async with stage(threads=threads) as chat:
        await chat.say("say first")
        first = chat.app.state.thread.id
        await chat.say("/new")
        await with_a_prompt_that_waits(chat)
        home = chat.app.state.thread.id
        await chat.say(line.replace("first", first))
        assert chat.app.state.queue == ()
        assert "1 prompt waits in the other thread: Ctrl+L" in chat.text or line == "/fork"
        await chat.say("say b")
        await chat.press("enter")
        assert "say queued" not in shown(chat)
        await chat.say(f"/resume {home}")
        assert [each.words for each in chat.app.state.queue] == ["say queued"]
        await chat.press("enter")
        assert shown(chat)[-2:] == ["say queued", "queued"]


async def test_a_command_that_leaves_a_thread_does_not_wait_there(threads):
    async with stage(threads=threads) as chat:
        await with_a_prompt_that_waits(chat)
        home = chat.app.state.thread.id
        await chat.say("/new")
        await chat.say("say b")
        await chat.paste(f"/resume {home}")
        chat.app._drafts.save()  # as a timer does every two seconds
        await chat.press("enter")
        assert chat.app.state.thread.id == home
        drafts = threads._database.rows("SELECT thread, body FROM drafts")
        assert [thread for thread, body in drafts if "/resume" in body] == []


async def test_another_model_gets_the_prompts_that_wait_and_the_chat_says_so(threads):
    async with stage(threads=threads) as chat:
        await with_a_prompt_that_waits(chat)
        await chat.say("/model gpt-5/low")
        assert "1 waiting prompt goes to gpt-5" in chat.text


async def test_a_command_sent_while_an_answer_comes_runs_after_it(threads):
    async with stage("claude-opus-5/medium", threads=threads) as chat:
        await chat.say_until_held(QUESTION, pieces=10)
        for line in ("/model gpt-5/low", "say more"):
            await chat.paste(line)
            await chat.press_without_waiting("enter")
        assert chat.app.prompt.text == ""
        assert "next: /model gpt-5/low" in chat.text
        chat.gate.hold_at = None
        chat.gate.open()
        await chat.quiet()
        assert chat.app.state.model == "openai:gpt-5"
        assert shown(chat)[-2:] == ["say more", "more"]
        assert threads.messages(chat.app.state.thread.id)[-1].origin.model == "gpt-5"


async def test_a_command_that_waits_is_taken_back_with_up():
    async with stage() as chat:
        await chat.say_until_held(QUESTION, pieces=10)
        await chat.paste("/model gpt-5/low")
        await chat.press_without_waiting("enter", "up")
        assert (chat.app.prompt.text, chat.app.state.queue) == ("/model gpt-5/low", ())
        chat.gate.open()


async def test_a_thread_that_grew_elsewhere_is_continued_in_a_copy(threads, tmp_path):
    async with stage("claude-opus-5/off", threads=threads) as one:
        await one.say("say a")
        home = one.app.state.thread.id
        with Threads.open(tmp_path / "threads.db") as same:
            async with stage("claude-opus-5/off", threads=same) as other:
                await other.say(f"/resume {home}")
                await other.say("say b")
        await one.say("say c")
        assert "has grown elsewhere" in one.text
        assert one.app.state.thread.id != home
        await one.say("say d")
    texts = {
        thread.id: [message.text for message in threads.messages(thread.id)]
        for thread in threads.list()
    }
    assert texts.pop(home) == ["say a", "a", "say b", "b"]
    assert list(texts.values()) == [["say a", "a", "say c", "c", "say d", "d"]]
