"""Tools in the chat: nothing runs before the user has said so, and "always" is kept."""

import asyncio
import sys
from pathlib import Path

import pytest
from tests.client.mcp_server import serving
from tests.tui.stage import stage
from tests.tui.terminal import running

from pondero.canon import ToolResult
from pondero.client import Tools
from pondero.emulator import Emulator, ScriptedCall, ScriptedTurn
from pondero.store import Threads, load_settings
from pondero.tui import approve
from pondero.tui._screen.widgets.approval import ApprovalScreen
from pondero.tui.state import AnswerCell, NoticeCell, ToolCallCell

pytestmark = pytest.mark.anyio

PROGRAM = str(Path(__file__).parents[1] / "client" / "mcp_server.py")
NUMBERS = {"name": "numbers", "command": sys.executable, "args": [PROGRAM]}


class Weather:
    """A tool that remembers what it was asked."""

    def __init__(self):
        self.asked = []

    def tools(self):
        def get_weather(city: str) -> str:
            """Return the weather in a city."""
            self.asked.append(city)
            return f"{city}: sunny"

        return Tools([get_weather], approve=approve)


def scripted(*turns):
    return lambda **how: Emulator(script=list(turns), **how)


def calling(name, arguments, *, times=1):
    call = ScriptedTurn(thinking="let me see", tool_calls=(ScriptedCall(name, arguments),))
    return scripted(*([call, ScriptedTurn(text="done")] * times))


async def asked(chat, line="Go on."):
    """Send a line and wait until the user is asked about a call."""
    await chat.paste(line)
    await chat.pilot.press("enter")
    await proposal(chat)


async def proposal(chat):
    async with asyncio.timeout(20):
        while not isinstance(chat.app.screen, ApprovalScreen):
            await chat.pilot.pause(0.01)
    await chat.pilot.pause()
    await chat.pilot.pause()


async def another(chat, words):
    """Wait until the user is asked about another call."""
    async with asyncio.timeout(20):
        while words not in chat.text:
            await chat.pilot.pause(0.01)
    await proposal(chat)


def results(chat):
    messages = chat.app.tab.session.writer.messages
    return [part for each in messages for part in each.parts if isinstance(part, ToolResult)]


def answer(chat):
    return next(c for c in chat.app.state.page[::-1] if isinstance(c, AnswerCell)).text


def told(chat):
    return " ".join(next(c for c in chat.app.state.page[::-1] if isinstance(c, NoticeCell)).lines)


async def test_a_call_is_shown_with_name_and_arguments_and_runs_when_allowed():
    weather = Weather()
    arguments = {"city": "Paris", "units": {"temperature": "celsius"}}
    async with stage(tools=weather.tools(), emulator=calling("get_weather", arguments)) as chat:
        await asked(chat, "What is the weather in Paris?")
        assert "⚙ get_weather wants to run" in chat.text
        assert '"city": "Paris"' in chat.text
        assert '"temperature": "celsius"' in chat.text
        assert chat.matches("approval")
        assert weather.asked == []
        await chat.press("down", "enter")
        assert answer(chat) == "done"


@pytest.mark.parametrize("size", [(80, 24), (40, 20), (40, 12)])
async def test_the_choices_are_in_view_however_many_arguments_there_are(size):
    arguments = {f"key{n}": "v" * 20 for n in range(40)}
    emulator = calling("get_weather", arguments)
    async with stage(tools=Weather().tools(), emulator=emulator, size=(120, 40)) as chat:
        await asked(chat)
        await chat.pilot.resize_terminal(*size)
        for choice in ("do not run it", "run it", "run it, now and always"):
            await another(chat, f"│ {choice} ")
        assert "⚙ get_weather wants to run" in chat.text
        assert '"key0":' in chat.text
        assert "Esc " in chat.text
        await chat.press("escape")


async def test_the_smallest_screen_shows_the_values_and_scrolls_to_the_last():
    arguments = {"city": "Paris", "days": 5, "units": {"speed": "knots"}, "note": "the last"}
    emulator = calling("get_weather", arguments)
    async with stage(tools=Weather().tools(), emulator=emulator, size=(40, 12)) as chat:
        await asked(chat)
        await another(chat, '"city": "Paris"')
        assert "⚙ get_weather wants to run" in chat.text
        assert '"days": 5' in chat.text
        for _ in range(3):
            await chat.pilot.press("pagedown")
        assert '"note": "the last"' in chat.text
        await chat.press("escape")


async def test_enter_alone_and_what_was_typed_ahead_approve_nothing():
    weather = Weather()
    emulator = calling("get_weather", {"city": "Paris"})
    async with stage(tools=weather.tools(), emulator=emulator) as chat:
        await asked(chat)
        await chat.pilot.press("y", "a", "1", "space")
        assert isinstance(chat.app.screen, ApprovalScreen) or weather.asked == []
        if isinstance(chat.app.screen, ApprovalScreen):
            await chat.pilot.press("enter")
        await chat.quiet()
        assert weather.asked == []
        assert [result.error for result in results(chat)] == [True]
        assert answer(chat) == "done"


async def test_no_palette_opens_above_the_question():
    weather = Weather()
    emulator = calling("get_weather", {"city": "Paris"})
    async with stage(tools=weather.tools(), emulator=emulator) as chat:
        await asked(chat)
        await chat.pilot.press("ctrl+p")
        assert isinstance(chat.app.screen, ApprovalScreen)
        await chat.press("escape")
        await chat.pilot.press("ctrl+p")
        assert len(chat.app.screen_stack) == 2
        await chat.press("escape")


async def test_always_is_kept_for_this_tool_of_this_place_and_can_be_forgotten(config_dir):
    weather = Weather()
    emulator = calling("get_weather", {"city": "Paris"}, times=3)
    async with stage(tools=weather.tools(), emulator=emulator) as chat:
        await asked(chat)
        await chat.press("down", "down", "enter")
        assert weather.asked == ["Paris"]
        await chat.quiet()
        assert load_settings().values["tools.approved"] == ["weather.py:get_weather/get_weather"]
        await chat.say("Go on.")  # nobody is asked
        assert weather.asked == ["Paris"] * 2
        await chat.say("/tools")
        assert "get_weather  needs no approval, from weather.py:get_weather" in chat.text
        await chat.say("/tools forget get_weather")
        assert load_settings().values["tools.approved"] == []
        await chat.say("/tools forget get_weather")
        assert told(chat) == "no approved tool is called 'get_weather'"
        await asked(chat)
        await chat.press("escape")
        assert weather.asked == ["Paris"] * 2


async def test_a_stop_while_it_is_asked_ends_the_turn_and_the_question():
    weather = Weather()
    emulator = calling("get_weather", {"city": "Paris"})
    async with stage(tools=weather.tools(), emulator=emulator) as chat:
        await asked(chat)
        chat.app.tab.turn.cancel()
        await chat.quiet()
        assert not isinstance(chat.app.screen, ApprovalScreen)
        assert (chat.app.state.busy, chat.app.state.proposals) == (False, ())
        assert weather.asked == []


async def test_several_calls_are_asked_about_one_after_the_other():
    weather = Weather()
    calls = tuple(ScriptedCall("get_weather", {"city": city}) for city in ("Oslo", "Rome"))
    emulator = scripted(ScriptedTurn(tool_calls=calls), ScriptedTurn(text="done"))
    async with stage(tools=weather.tools(), emulator=emulator) as chat:
        await asked(chat)
        assert "Oslo" in chat.text
        await chat.pilot.press("enter")
        await another(chat, "Rome")
        await chat.press("down", "enter")
        assert weather.asked == ["Rome"]


async def test_a_thread_that_is_not_shown_says_that_it_waits(tmp_path):
    started, may_end, asked = asyncio.Event(), asyncio.Event(), []

    async def wait() -> str:
        """Wait."""
        started.set()
        await may_end.wait()
        return "waited"

    def get_weather(city: str) -> str:
        """Return the weather in a city."""
        asked.append(city)
        return "sunny"

    calls = ScriptedCall("wait", {}), ScriptedCall("get_weather", {"city": "Paris"})
    emulator = scripted(
        *(ScriptedTurn(tool_calls=(call,)) for call in calls), ScriptedTurn(text="done")
    )
    tools = Tools([wait, get_weather], approve=approve)
    with Threads.open(tmp_path / "threads.db") as threads:
        async with stage(tools=tools, emulator=emulator, threads=threads) as chat:
            tab = chat.app.tab
            tab.session.approved.add("wait")
            await chat.paste("Go on.")
            await chat.pilot.press("enter")
            async with asyncio.timeout(20):
                await started.wait()
            await chat.paste("/new")
            await chat.pilot.press("enter")
            await chat.pilot.pause()
            assert chat.app.tab is not tab
            may_end.set()
            async with asyncio.timeout(20):
                while "asks whether a tool may run" not in chat.text:
                    await chat.pilot.pause(0.01)
            chat.app.show_tab(tab)
            await proposal(chat)
            await chat.press("down", "enter")
            assert asked == ["Paris"]


async def test_tools_of_a_real_server_are_listed_and_asked_about():
    tools = Tools(mcp=[NUMBERS], approve=approve)
    emulator = calling("add", {"a": 1, "b": 2})
    async with stage(tools=tools, emulator=emulator, size=(100, 40)) as chat:
        await chat.say("/tools")
        assert "asks, from numbers" in chat.text
        assert "Add two numbers." in chat.text
        await asked(chat)
        assert "from numbers" in chat.text
        await chat.press("down", "enter")
        called = next(cell for cell in chat.app.state.page if isinstance(cell, ToolCallCell))
        assert (called.name, called.result) == ("add", "3")


async def test_tools_of_a_server_over_http_are_asked_about_and_kept_by_its_address(config_dir):
    add, fail = ScriptedCall("add", {"a": 1, "b": 2}), ScriptedCall("fail", {"why": "so"})
    turns = [ScriptedTurn(thinking="let me see", tool_calls=(call,)) for call in (add, add, fail)]
    emulator = scripted(*turns, ScriptedTurn(text="done"))
    with serving() as address:
        place = address.removeprefix("http://").removesuffix("/mcp")
        tools = Tools(mcp=[address], approve=approve)
        async with stage(tools=tools, emulator=emulator, size=(100, 40)) as chat:
            await chat.say("/tools")
            assert f"asks, from {place}" in chat.text
            await asked(chat)
            assert f"from {place}" in chat.text
            await chat.pilot.press("down", "down", "enter")  # always: the second call is not asked
            await another(chat, "fail wants to run")
            await chat.press("down", "enter")
            calls = [cell for cell in chat.app.state.page if isinstance(cell, ToolCallCell)]
            assert [(each.name, each.failed) for each in calls] == [
                ("add", False), ("add", False), ("fail", True),
            ]  # fmt: skip
            assert [each.result for each in calls[:2]] == ["3", "3"]
            assert load_settings().values["tools.approved"] == [f"{place}/add"]
            assert answer(chat) == "done"


async def test_a_server_over_http_that_is_gone_is_a_sentence_and_the_chat_goes_on():
    with serving() as address:
        pass
    tools = Tools(mcp=[address], approve=approve)
    async with stage(tools=tools) as chat:
        await chat.say("Go on.")
        assert "did not start" in told(chat)
        assert chat.app.prompt.text == "Go on."
        await chat.say("/cost")
        assert not chat.app.state.busy


async def test_a_server_that_does_not_start_is_a_sentence_and_the_words_come_back():
    broken = {"command": sys.executable, "args": [PROGRAM, "broken"]}
    async with stage(tools=Tools(mcp=[broken], approve=approve)) as chat:
        await chat.say("Go on.")
        assert "no database here" in told(chat)
        assert chat.app.prompt.text == "Go on."


async def test_without_tools_the_page_says_how_to_have_some():
    async with stage() as chat:
        await chat.say("/tools")
        assert "there are no tools; pondero chat --tool" in told(chat)


HOSTILE = "\x1b[31mred\x1b]0;title\x07 [bold]markup[/bold] \u202e"


async def test_nothing_in_a_name_or_an_argument_styles_the_screen():
    emulator = calling("get_weather", {"city": HOSTILE, HOSTILE: 1})
    async with stage(tools=Weather().tools(), emulator=emulator) as chat:
        await asked(chat)
        assert "\x1b" not in chat.text
        assert "[bold]markup[/bold]" in chat.text
        assert "\u202e" not in chat.text
        await chat.press("escape")


def test_the_program_takes_a_function_of_a_file_and_asks_about_it(tmp_path):
    code = 'def get_weather(city: str) -> str:\n    "Weather."\n    return f"{city}: windy"\n'
    (tmp_path / "weather.py").write_text(code)
    environment = {
        "PATH": "/usr/bin:/bin",
        "TERM": "xterm-256color",
        "HOME": str(tmp_path),
        "PONDERO_CONFIG_DIR": str(tmp_path),
        "PONDERO_DATA_DIR": str(tmp_path),
    }
    tool = f"{tmp_path}/weather.py:get_weather"
    with running("chat", "--offline", "--tool", tool, environment=environment) as terminal:
        terminal.until("/help")
        terminal.press("What is the weather in Paris?\r")
        terminal.until(
            "get_weather wants to run", '"city": "Paris"', "py:get_weather"
        )  # its path may be folded
        terminal.press("\x1b[B")
        terminal.press("\r")
        terminal.until("→ Paris: windy", "· answer ")
        terminal.press("\x04")
        terminal.ended()


async def test_a_column_says_that_it_asks_and_is_not_charged_for_the_wait():
    weather = Weather()
    call = ScriptedTurn(tool_calls=(ScriptedCall("get_weather", {"city": "Bern"}),))
    script = scripted(call, call, ScriptedTurn(text="done"), ScriptedTurn(text="done"))
    async with stage("claude-opus-5/off", emulator=script, tools=weather.tools()) as chat:
        await asked(chat, "/compare low,high How is Bern?")
        names = set()
        for _ in range(2):
            await proposal(chat)
            title = chat.text.partition("⚙ ")[2].partition(" wants to run")[0]
            names.add(title)
            chat.clock.now += 300
            await chat.pilot.press("down", "enter")
            await chat.pilot.pause(0.05)
        await chat.quiet()
        assert names == {"low: get_weather", "high: get_weather"}
        assert [column.seconds for column in chat.app.state.comparing.columns] == [0.0, 0.0]
        stored = [kept for each in chat.app.tab.candidates.values() for kept in each.stored]
        assert {kept.seconds for kept in stored if kept.message.role == "assistant"} == {0.0}
