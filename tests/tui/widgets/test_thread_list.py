"""The pane of threads, and conversations that go on behind the one that is shown."""

import asyncio
import re
from datetime import datetime
from time import time

import pytest
from tests.tui.stage import stage
from tests.tui.test_threads import long_thread

from pondero.canon import Message, Text
from pondero.store import StoredMessage, Threads
from pondero.tui import thread_rows
from pondero.tui.state import AnswerCell, UserCell
from pondero.tui.thread_rows import format_when

pytestmark = pytest.mark.anyio

LONG = "say one two three four five six seven eight nine ten"


@pytest.fixture
def threads(tmp_path):
    with Threads.open(tmp_path / "threads.db") as opened:
        yield opened


def shown(chat):
    return [cell.text for cell in chat.app.state.page if isinstance(cell, UserCell | AnswerCell)]


async def until(chat, *words):
    """Wait until all of this stands on the screen."""
    async with asyncio.timeout(20):
        while not all(word in chat.text for word in words):
            await chat.pilot.pause(0.01)


async def test_threads_are_listed_found_while_typing_and_shown(threads, monkeypatch):
    monkeypatch.setattr(thread_rows, "format_when", lambda _: "today 14:02")
    async with stage("claude-opus-5/off", threads=threads) as chat:
        for words in ("say walrus", "say zebra", "say heron"):
            await chat.say("/new")
            await chat.say(words)
        await chat.press("ctrl+l")
        await until(chat, "+ new thread", "● say heron", "say zebra", "say walrus")
        await chat.drawn()
        assert chat.matches("threads")
        await chat.type("walr")
        while "say zebra" in chat.text.replace("say heron", ""):
            await chat.pilot.pause(0.01)
        await chat.press("enter")
        assert shown(chat) == ["say walrus", "walrus"]
        assert chat.app.focused is chat.app.prompt
        await chat.press("ctrl+l")
        assert "+ new thread" not in chat.text


async def test_arrows_choose_and_escape_closes(threads):
    async with stage("claude-opus-5/off", threads=threads) as chat:
        await chat.say("say a")
        await chat.press("ctrl+l")
        await until(chat, "● say a")
        await chat.press("down", "up", "enter")  # the first row is a new thread
        assert shown(chat) == []
        assert chat.app.state.thread is None
        await chat.press("ctrl+l", "ctrl+l")
        await chat.press("escape")
        assert chat.app.state.listing is None
        assert chat.app.focused is chat.app.prompt


async def test_a_running_answer_goes_on_behind_another_thread_and_is_kept(threads):
    long = long_thread(threads, 4)
    async with stage("claude-opus-5/off", threads=threads) as chat:
        await chat.say("say first")
        await chat.say_until_held(LONG, pieces=6)
        running = chat.app.state.thread.id
        await chat.press_without_waiting("ctrl+l")
        await until(chat, "● say first")
        chat.app.prompt.focus()
        await chat.paste(f"/resume {long}")
        await chat.pilot.press("enter")
        await until(chat, "message 3", "… say first")
        assert shown(chat)[-1] == "message 3"
        assert not chat.app.state.busy
        await chat.paste("say meanwhile")  # and here one can go on talking
        chat.gate.open()
        await chat.press("enter")
        assert shown(chat)[-1] == "meanwhile"
        assert threads.get(running).messages == 4
        assert threads.load_messages(running)[3].message.text.endswith("nine ten")
        assert "answered: say first" in chat.text or shown(chat)[-1] == "meanwhile"
        await chat.say(f"/resume {running}")
        assert shown(chat)[-1].endswith("nine ten")


async def test_one_can_come_back_while_it_still_answers(threads):
    async with stage("claude-opus-5/off", threads=threads) as chat:
        await chat.say("say first")
        running = chat.app.state.thread.id
        await chat.say_until_held(LONG, pieces=6)
        await chat.paste("/new")
        await chat.pilot.press("enter")
        await until(chat, "Say something")
        assert (shown(chat), chat.app.state.busy) == ([], False)
        await chat.paste(f"/resume {running}")
        await chat.pilot.press("enter")
        await chat.pilot.pause()
        assert chat.app.state.busy
        assert shown(chat)[-1] == LONG
        chat.gate.open()
        await chat.quiet()
        assert shown(chat)[-1].endswith("nine ten")
        assert threads.get(running).messages == 4


async def test_stop_stops_the_answer_that_is_shown_and_no_other(threads):
    async with stage("claude-opus-5/off", threads=threads) as chat:
        await chat.say_until_held(LONG, pieces=6)
        first = chat.app.tab
        await chat.paste("/new")
        await chat.pilot.press("enter")
        await chat.pilot.press("escape")
        await chat.pilot.pause()
        assert first.state.busy
        chat.gate.open()
        await chat.quiet()
        assert threads.get("last").messages == 2


async def test_words_that_wait_are_sent_in_their_own_thread(threads):
    async with stage("claude-opus-5/off", threads=threads) as chat:
        await chat.say_until_held(LONG, pieces=6)
        await chat.paste("say next")
        await chat.pilot.press("enter")
        await chat.paste("/new")
        await chat.pilot.press("enter")
        chat.gate.open()
        async with asyncio.timeout(20):
            while not threads.list() or threads.get("last").messages < 4:
                await chat.quiet()
        assert [m.text for m in threads.messages("last")][2:] == ["say next", "next"]
        assert shown(chat) == []


async def test_words_without_an_answer_wait_in_their_own_thread(threads):
    async with stage("claude-opus-5/off", threads=threads) as chat:
        await chat.say("say a")
        home = threads.get("last").id
        broken = "say b [emulator: fault error_event 2]"
        await chat.say_until_held(broken, pieces=2)
        await chat.paste("say c")
        await chat.pilot.press("enter")
        await chat.paste("/new")
        await chat.pilot.press("enter")
        chat.gate.open()
        await chat.quiet()
        assert "no answer: say a" in chat.text
        assert chat.app.prompt.text == ""
        await chat.say(f"/resume {home}")
        assert [asked.words for asked in chat.app.state.queue] == [broken, "say c"]
        assert "waits: say b" in chat.text


async def test_a_narrow_terminal_shows_the_pane_alone(threads):
    async with stage("claude-opus-5/off", threads=threads, size=(40, 20)) as chat:
        await chat.say("say a")
        await chat.press("ctrl+l")
        await until(chat, "● say a")
        await chat.press("enter")
        assert chat.app.state.listing is None
        for size in ((120, 40), (80, 24), (30, 10)):
            await chat.pilot.resize_terminal(*size)
            await chat.press("ctrl+l")
            await until(chat, "new thread")
            await chat.press("ctrl+l")


async def test_where_nothing_is_kept_the_pane_says_so():
    async with stage() as chat:
        await chat.press("ctrl+l")
        await until(chat, "not saved")


HOSTILE = "\x1b[31mred\x1b]0;title\x07 [bold]markup[/bold] \u202e"


def check(chat):
    """Nothing that a terminal would obey stands on the screen, and markup is words."""
    text = chat.text
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "[bold]mark" in "".join(text.split())


async def test_hostile_words_are_spelled_out_on_every_surface(threads):
    async with stage("claude-opus-5/off", threads=threads, size=(160, 40)) as chat:
        await chat.say(f"say {HOSTILE}")
        await chat.say(f"/title {HOSTILE}")
        check(chat)
        await chat.say("/new")
        await chat.say("say x")
        await chat.press("ctrl+l")
        await until(chat, "● say x", "red")
        assert not {"\x1b", "\x07", "\u202e"} & set(chat.text)
        await chat.press("ctrl+l")
        await chat.say("/search red")
        check(chat)
        await chat.press("escape")
        await chat.say(f"/search {HOSTILE}x")
        check(chat)
        await chat.say(f"/compare low off say {HOSTILE}")
        check(chat)
        await chat.press("enter")
        chat.gate.hold_at = 1
        await chat.paste("say y")
        await chat.pilot.press("enter")
        await chat.paste(HOSTILE)
        await chat.pilot.press("enter")
        await chat.pilot.pause()
        assert "next: " in chat.text
        check(chat)
        chat.gate.open()
        await chat.quiet()


async def test_a_line_that_is_too_long_ends_with_a_mark(threads):
    async with stage("claude-sonnet-4-5/off", threads=threads) as chat:
        await chat.say("say heron")
        await chat.press("ctrl+l")
        await until(chat, f"  {format_when(time())} · claude-sonn")
        assert re.search(r"· claude-sonn\S*…", chat.text)


@pytest.mark.parametrize(
    ("days", "said"), [(0, "today 09:05"), (1, "yesterday 09:05"), (2, "2026-03-08 09:05")]
)
def test_the_last_two_days_have_names(days, said):
    now = datetime(2026, 3, 10, 23, 59).astimezone()
    used = datetime(2026, 3, 10 - days, 9, 5).astimezone()
    assert format_when(used.timestamp(), now.timestamp()) == said


@pytest.mark.parametrize("size", [(80, 24), (40, 12)])
async def test_threads_of_one_title_are_told_apart_by_question_time_and_id(threads, size):
    async with stage("google:gemini-3-flash-preview/off", threads=threads, size=size) as chat:
        await chat.say("say heron")
        await chat.say("say again")
        first = threads.get("last").id
        await chat.say("/undo")
        await chat.say("say more")
        await chat.say("/new")
        await chat.say("/resume")
        rows = [line.strip(" │▌") for line in chat.text.splitlines()]
        assert "↳ say heron … say more (minimal)" in rows
        assert "say heron … say again (minimal)" in rows
        details = [row for row in rows if row.startswith(format_when(time())[:5])]
        assert len(details) == 2
        if size == (80, 24):
            assert f"· {first} · gemini-3-flash-preview · 4 messages" in chat.text
        else:
            assert all(row.endswith("…") for row in details)
            assert f"· {first} ·" in chat.text


async def test_a_wide_window_has_room_for_longer_titles(threads):
    thread = threads.start(model="claude-opus-5", title="What is 17 * 23, and what is 3 - 3?")
    threads.add(thread.id, [StoredMessage(Message("user", (Text("Hello"),)))])
    async with stage(threads=threads, size=(100, 24)) as chat:
        await chat.press("ctrl+l")
        await chat.drawn()
        assert "What is 17 * 23, and what is 3 - 3?" in chat.text


async def test_the_list_to_resume_scrolls_with_the_choice_and_filters(threads):
    for name in ("ant", "bee", "cat", "recursion", "elk"):
        thread = threads.start(model="claude-opus-5", title=f"about {name}")
        threads.add(thread.id, [StoredMessage(Message("user", (Text(name),)))])
    async with stage(threads=threads, size=(40, 12)) as chat:
        await chat.say("/resume")
        assert "↑ ↓ Enter · Esc closes" in chat.text
        await chat.press("down", "down", "down", "down")
        assert "about ant" in chat.text
        await chat.type("recurs")
        await chat.drawn()
        assert "about recursion" in chat.text
        assert "about ant" not in chat.text
        await chat.press("enter")
        assert shown(chat) == ["recursion"]


async def test_a_long_list_of_colours_scrolls_with_the_choice():
    async with stage(size=(40, 12)) as chat:
        await chat.say("/theme")
        assert "↑ ↓ Enter · Esc closes" in chat.text
        await chat.press("end")
        assert chat.app.state.themes[-1] in chat.text


async def test_completions_leave_room_for_the_input_line():
    async with stage(size=(40, 12)) as chat:
        await chat.type("/")
        await chat.drawn()
        assert "╰" in chat.text
        assert "claude-opus-5" in chat.text.splitlines()[-1]
        await chat.press("backspace")
        await chat.paste("/model openrouter:")
        await chat.drawn()
        assert "╰" in chat.text


@pytest.mark.parametrize("command", ["/threads", "/resume"])
async def test_a_copy_with_a_long_title_can_be_told_apart_in_40_columns(threads, command):
    title = "Which of these two plans for the summer is the better one"
    for name in ("low", "high"):
        threads.start(model="anthropic:claude-opus-5", title=f"{title} ({name})")
    async with stage(threads=threads, size=(40, 12)) as chat:
        await chat.say(command)
        await until(chat, "Which of these", "(low)", "(high)")
