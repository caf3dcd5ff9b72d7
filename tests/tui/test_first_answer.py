"""A thread whose first answer still arrives, or could not be saved: every list has it."""

import pytest
from tests.tui.stage import stage

from pondero.store import Threads

pytestmark = pytest.mark.anyio

FIRST = "say one two three four five six seven eight"


@pytest.fixture
def threads(tmp_path):
    with Threads.open(tmp_path / "threads.db") as opened:
        yield opened


async def leave_first_answer(chat) -> None:
    await chat.say_until_held(FIRST, pieces=3)
    await chat.paste("/new")
    await chat.press_without_waiting("enter")
    assert not chat.app.state.busy


async def send(chat, line: str) -> None:
    await chat.paste(line)
    await chat.press_without_waiting("enter")


async def wait_until(chat, found) -> None:
    for _ in range(200):
        await chat.pilot.pause()
        if found():
            return
    raise AssertionError(chat.text)


@pytest.mark.parametrize("line", ["/resume", "/resume three", "/resume seven one", "/search three"])
async def test_it_is_found_by_command_and_can_be_stopped(threads, line):
    async with stage("claude-opus-5/off", threads=threads) as chat:
        await leave_first_answer(chat)
        await send(chat, line)
        await wait_until(chat, lambda: "say one two" in chat.text)
        await chat.press_without_waiting("enter")
        assert chat.app.state.busy, chat.text
        await chat.press("escape")
    assert [stored.partial for stored in threads.load_messages("last")] == [False, True]


@pytest.mark.parametrize("words", ["", "three"])
async def test_it_is_in_the_pane_and_can_be_watched(threads, words):
    async with stage("claude-opus-5/off", threads=threads) as chat:
        await leave_first_answer(chat)
        await chat.press_without_waiting("ctrl+l")
        await chat.type(words)
        await wait_until(chat, lambda: "… say one two" in chat.text)
        await chat.press_without_waiting(*(() if words else ("down",)), "enter")
        await wait_until(chat, lambda: chat.app.state.busy)
        chat.gate.open()
        await chat.quiet()
        await wait_until(chat, lambda: "● say one two" in chat.text)
        assert chat.text.count("● say one two") == 1
    assert len(threads.list()) == 1


async def test_a_row_works_after_the_answer_has_ended(threads):
    async with stage("claude-opus-5/off", threads=threads) as chat:
        await leave_first_answer(chat)
        await send(chat, "/resume")
        await wait_until(chat, lambda: "say one two" in chat.text)
        chat.gate.open()
        await chat.quiet()
        await chat.press("enter")
        assert chat.app.state.thread is not None
        assert chat.app.state.thread.title == FIRST


async def test_words_that_it_lacks_do_not_find_it(threads):
    async with stage("claude-opus-5/off", threads=threads) as chat:
        await leave_first_answer(chat)
        await send(chat, "/resume nine of them")
        assert "there are no earlier threads like that" in chat.text


async def test_in_a_chat_that_saves_nothing_it_is_found_also_after_its_end():
    async with stage("claude-opus-5/off") as chat:
        await leave_first_answer(chat)
        chat.gate.open()
        await chat.quiet()
        await send(chat, "/resume")
        await wait_until(chat, lambda: "not saved" in chat.text)
        await chat.press("enter")
        assert chat.app.state.count == 2
