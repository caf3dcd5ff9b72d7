"""What the chat tells the user to do works when it is done."""

import pytest
from tests.tui.stage import stage

from pondero.store import Threads
from pondero.tui._screen.widgets.search_picker import SearchPicker
from pondero.tui.state import AnswerCell, UserCell

pytestmark = pytest.mark.anyio

SUM = "What is 17 * 23?"


@pytest.fixture
def threads(tmp_path):
    with Threads.open(tmp_path / "threads.db") as opened:
        yield opened


def shown(chat):
    return [cell.text for cell in chat.app.state.page if isinstance(cell, UserCell | AnswerCell)]


@pytest.mark.parametrize("fault", ["529", "429", "500"])
async def test_press_enter_to_send_it_again_sends_it_again(fault):
    async with stage("claude-opus-5/off") as chat:
        await chat.say(f"{SUM} [emulator: fault {fault}]")
        assert "press Enter to send it again" in " ".join(chat.text.split())
        await chat.press("enter")
        assert shown(chat)[-1].startswith(SUM)
        assert len(shown(chat)) == 2


async def test_enter_on_an_empty_line_sends_it_again_too():
    async with stage("claude-opus-5/off") as chat:
        await chat.say(f"{SUM} [emulator: fault 529]")
        await chat.press("ctrl+c")  # clears the line
        assert chat.app.prompt.text == ""
        await chat.press("enter")
        assert len(shown(chat)) == 2


async def test_an_answer_that_broke_off_is_asked_for_again_and_what_came_stays(threads):
    async with stage("claude-opus-5/off", threads=threads) as chat:
        await chat.say("say a")
        await chat.say(f"{SUM} [emulator: fault cut 900]")
        if len(shown(chat)) > 3:
            assert "broken off here" in chat.text
        await chat.press("enter")
        assert shown(chat)[:2] == ["say a", "a"]


async def test_or_model_types_over_the_words_that_came_back():
    async with stage("claude-opus-5/off") as chat:
        await chat.say(f"{SUM} [emulator: fault 529]")
        assert "or /model" in " ".join(chat.text.split())
        await chat.type("/model gpt-5/low")
        assert chat.app.prompt.text == "/model gpt-5/low"
        await chat.press("enter")
        assert "Switched to OpenAI gpt-5" in chat.text
        await chat.press("up", "up")
        assert chat.app.prompt.text.startswith(SUM)


async def test_a_command_after_undo_replaces_the_words_that_came_back(threads):
    async with stage("claude-opus-5/off", threads=threads) as chat:
        await chat.say(SUM)
        await chat.say("/undo")
        assert chat.app.prompt.text == SUM
        await chat.type("/cost")
        await chat.press("enter")
        assert "nothing was used yet" in chat.text or "thinking" in chat.text
        assert shown(chat) == []


async def test_model_alone_lists_and_searches_at_every_size():
    for size in ((80, 24), (40, 12), (200, 50)):
        async with stage("claude-opus-5/low", size=size) as chat:
            await chat.say("/model")
            assert isinstance(chat.app.screen, SearchPicker)
            await chat.type("sonnet-4-6")
            await chat.quiet()
            assert "claude-sonnet-4-6" in chat.text
            assert "off…max" in chat.text
            assert "Esc closes" in chat.text
            await chat.press("enter")
            assert chat.app.state.model == "anthropic:claude-sonnet-4-6"
            assert chat.app.state.level_text == "low"


async def test_more_below_is_said_and_ctrl_end_goes_there():
    async with stage("claude-opus-5/off") as chat:
        await chat.say("/help")
        await chat.say("/help")
        await chat.press("pageup")
        assert "more below: Page Down, Ctrl+End" in chat.text
        await chat.press("ctrl+end")
        assert "more below" not in chat.text
        assert "/help COMMAND explains a command" in chat.text


async def test_help_is_one_column_where_two_do_not_fit():
    async with stage(size=(40, 60)) as chat:
        await chat.say("/help")
        assert "\n  /model    list or switch models\n" in chat.text
        assert "\n  /new      a new thread\n" in chat.text
        assert "Page Up" in chat.text


async def test_levels_with_commas_are_levels():
    async with stage("claude-opus-5/off") as chat:
        await chat.say("/compare low,high say hi")
        assert [column.name for column in chat.app.state.comparing.columns] == ["low", "high"]


async def test_the_word_that_was_found_is_seen(threads):
    async with stage("claude-opus-5/off", threads=threads) as chat:
        await chat.say(f"say {'x ' * 60}needle {'y ' * 60}")
        await chat.say("/search needle")
        assert "needle" in chat.text.partition("Esc closes")[0].rpartition("╭")[2]


async def test_the_word_that_was_found_is_seen_also_in_a_small_window(threads):
    async with stage("claude-opus-5/off", size=(40, 12), threads=threads) as chat:
        await chat.say(f"say {'x ' * 60}needle {'y ' * 60}")
        await chat.say("/new")
        await chat.say("/search needle")
        assert "x needle" in chat.text
