"""Words typed while a window has the focus: they are in the input line, and decide nothing."""

import pytest
from tests.tui.stage import stage
from tests.tui.test_tools import Weather, asked, calling, results

from pondero.store import Threads
from pondero.tui._screen.widgets.approval import ApprovalScreen
from pondero.tui._screen.widgets.comparison_screen import ComparisonScreen
from pondero.tui._screen.widgets.views import Picker

pytestmark = pytest.mark.anyio


@pytest.fixture
def weather():
    return Weather()


def question(weather):
    """Return a stage on which a tool asks for approval."""
    return stage(tools=weather.tools(), emulator=calling("get_weather", {"city": "Paris"}))


async def test_words_typed_into_an_approval_are_in_the_input_line_and_shown(weather):
    async with question(weather) as chat:
        await asked(chat)
        await chat.type("yes, it all x")
        await chat.pilot.press("backspace")
        assert isinstance(chat.app.screen, ApprovalScreen)
        assert chat.app.prompt.text == "yes, it all "
        assert "in your input line: yes, it all" in chat.text
        await chat.paste("and a paste")
        assert chat.app.prompt.text == "yes, it all and a paste"
        await chat.press("escape")
        assert weather.asked == []
        assert chat.app.prompt.text == "yes, it all and a paste"


async def test_enter_after_words_refuses_also_where_the_approval_was_chosen(weather):
    async with question(weather) as chat:
        await asked(chat)
        await chat.pilot.press("down")
        await chat.type("next words")
        await chat.press("enter")
        assert weather.asked == []
        assert [result.error for result in results(chat)] == [True]
        assert chat.app.prompt.text == "next words"


async def test_keys_before_and_after_a_window_stay_in_order(weather):
    async with question(weather) as chat:
        await asked(chat)
        await chat.type("one ")
        await chat.pilot.press("escape")
        await chat.type("two")
        await chat.quiet()
        assert chat.app.prompt.text == "one two"


async def test_words_typed_into_a_comparison_choose_nothing():
    async with stage(size=(100, 24)) as chat:
        await chat.say("/compare low high What is 2 * 3?")
        assert isinstance(chat.app.screen, ComparisonScreen)
        await chat.type("next words")
        assert "in your input line: next words" in chat.text
        await chat.press("enter")
        assert isinstance(chat.app.screen, ComparisonScreen)
        assert "Enter again chooses" in chat.text
        await chat.press("enter")
        assert not isinstance(chat.app.screen, ComparisonScreen)
        assert chat.app.prompt.text == "next words"


async def test_words_typed_into_a_list_pick_nothing():
    async with stage() as chat:
        await chat.press("ctrl+t")
        assert isinstance(chat.app.screen, Picker)
        before = chat.app.state.level_text
        await chat.type("next words")
        await chat.press("enter")
        assert isinstance(chat.app.screen, Picker)
        await chat.press("escape")
        assert chat.app.state.level_text == before
        assert chat.app.prompt.text == "next words"


async def test_words_typed_into_a_window_are_on_disk(tmp_path, weather, monkeypatch):
    monkeypatch.setattr("pondero.tui._screen.app._TYPED_EVERY", 0.05)
    emulator = calling("get_weather", {"city": "Paris"})
    with Threads.open(tmp_path / "threads.db") as threads:
        async with stage(tools=weather.tools(), emulator=emulator, threads=threads) as chat:
            await asked(chat)
            await chat.type("next words")
            await chat.pilot.pause(0.3)
            assert "next words" in str(threads._database.rows("SELECT body FROM drafts"))
            await chat.press("escape")
