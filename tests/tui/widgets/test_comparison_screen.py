"""/compare and /retry: several answers in columns, one of which is kept."""

import asyncio

import pytest
from tests.tui.stage import stage

from pondero.canon import Message, Text
from pondero.store import StoredMessage, Threads
from pondero.tui import ThreadWriter
from pondero.tui._screen.widgets.comparison_screen import ColumnView, ComparisonScreen
from pondero.tui.state import AnswerCell, NoticeCell, UserCell

pytestmark = pytest.mark.anyio

QUESTION = "What is 17 * 23?"


@pytest.fixture
def threads(tmp_path):
    with Threads.open(tmp_path / "threads.db") as opened:
        yield opened


def shown(chat):
    return [cell.text for cell in chat.app.state.page if isinstance(cell, UserCell | AnswerCell)]


def told(chat):
    return " ".join(next(c for c in chat.app.state.page[::-1] if isinstance(c, NoticeCell)).lines)


async def held(chat, line, *, pieces):
    """Send a line and wait until so many pieces of all answers came; one of them is held back."""
    chat.gate.hold_at = pieces
    await chat.paste(line)
    await chat.pilot.press("enter")
    async with asyncio.timeout(60):
        while not chat.gate.held.is_set():
            await chat.pilot.pause()


async def test_a_question_at_several_levels_with_tokens_and_time_in_columns(threads):
    async with stage(threads=threads, size=(100, 24), paid=True) as chat:
        await held(chat, f"/compare low high {QUESTION}", pieces=8)
        chat.clock.now += 3.4
        chat.gate.open()
        await chat.quiet()
        assert isinstance(chat.app.screen, ComparisonScreen)
        columns = chat.app.state.comparing.columns
        assert [column.name for column in columns] == ["low", "high"]
        assert [column.chat.plan.level for column in columns] == ["low", "high"]
        thinking = [column.chat.tally.thinking for column in columns]
        assert thinking[0] < thinking[1]
        assert "$0.0" in chat.text
        assert chat.text.count("· 3 s") >= 2
        for tokens in thinking:
            assert f"thinking {tokens} · answer" in chat.text
        assert chat.text.count("17 * 23 = 391") == 2
        assert chat.matches("compare")
        await chat.press("right", "enter")
        assert not isinstance(chat.app.screen, ComparisonScreen)
        assert shown(chat) == [QUESTION, "17 * 23 = 391"]
        stored = threads.load_messages(chat.app.state.thread.id)
        assert stored[1].usage.thinking == thinking[1]
        other = next(each for each in threads.list() if each.id != chat.app.state.thread.id)
        assert other.title == f"{QUESTION} (low)"
        assert threads.load_messages(other.id)[1].usage.thinking == thinking[0]
        assert "kept in copies of this thread: low" in told(chat)
        assert chat.app.state.tally.thinking == thinking[1]
        await chat.say("say more")
        assert threads.get("last").messages == 5  # the level changed, which is one of them


async def test_retry_stands_beside_the_answer_and_both_are_kept(threads):
    async with stage(threads=threads) as chat:
        await chat.say("say before")
        await chat.say(QUESTION)
        first = chat.app.state.thread.id
        await chat.say("/retry high")
        given, fresh = chat.app.state.comparing.columns
        assert (given.name, given.given, fresh.name) == ("medium", True, "high")
        assert given.chat.tally.thinking == 114
        assert "medium (in the thread)" in chat.text
        assert chat.matches("retry")
        await chat.press("enter")
        second = chat.app.state.thread.id
        assert (threads.get(second).parent, second != first) == (first, True)
        assert f"this chat continues in a copy; {first} keeps its answer" in told(chat)
        levels = [threads.load_messages(id)[-1].plan["level"] for id in (first, second)]
        assert levels == ["medium", "high"]
        assert shown(chat)[-2:] == [QUESTION, "17 * 23 = 391"]
        assert chat.app.state.count == 5  # with the change of level


async def test_the_answer_the_thread_has_can_stay(threads):
    async with stage(threads=threads) as chat:
        await chat.say(QUESTION)
        first = chat.app.state.thread.id
        await chat.say("/retry low")
        await chat.press("left", "enter")
        assert chat.app.state.thread.id == first
        assert threads.get(first).messages == 2
        assert [each.parent for each in threads.list()] == [None, first]


async def test_a_comparison_is_stopped_and_closed_and_what_came_is_kept(threads):
    async with stage("claude-opus-5/off", threads=threads) as chat:
        words = "say one two three four five six seven eight nine ten"
        await held(chat, f"/compare off low {words}", pieces=6)
        await chat.pilot.press("enter")
        await chat.pilot.pause()
        assert "they are still answering" in chat.text
        await chat.press("escape")
        assert chat.app.state.comparing is not None
        assert not chat.app.state.comparing.live
        await chat.press("escape")
        assert chat.app.state.comparing is None
        assert shown(chat) == []
        assert chat.app.state.thread is None


async def test_without_a_disk_the_kept_answer_is_in_the_conversation():
    async with stage("claude-opus-5/off") as chat:
        await chat.say("say a")
        await chat.say("/compare low high say b")
        await chat.press("enter")
        assert shown(chat) == ["say a", "a", "say b", "b"]
        messages = [message.text for message in chat.app.tab.session.writer.messages]
        assert messages == ["say a", "a", "say b", "b"]


async def test_one_that_fails_says_so_in_its_column_and_cannot_be_kept():
    async with stage() as chat:
        await chat.say("/compare low say hi [emulator: fault 529]")
        assert "Overloaded" in chat.text
        await chat.press("enter")
        assert "there is no answer in this column to keep" in chat.text
        await chat.press("escape")
        assert chat.app.state.comparing is None


async def test_columns_are_stacked_where_they_would_be_narrow_and_after_a_resize():
    async with stage(size=(120, 40)) as chat:
        await chat.say(f"/compare low medium high {QUESTION}")
        views = list(chat.app.screen.query(ColumnView))
        assert len({view.region.y for view in views}) == 1
        await chat.pilot.resize_terminal(60, 24)
        await chat.drawn()
        assert len({view.region.x for view in views}) == 1
        assert "thinking" in chat.text
        assert "↑ ↓ · Enter keeps it" in chat.text
        await chat.press("down", "down", "up")
        assert chat.app.state.comparing.at == 1
        await chat.press("right", "left", "pagedown")
        await chat.pilot.resize_terminal(120, 24)
        await chat.drawn()
        assert len({view.region.y for view in views}) == 1


async def test_a_small_window_shows_the_chosen_column_and_how_to_leave():
    async with stage(size=(100, 24)) as chat:
        await chat.say(f"/compare low medium high {QUESTION}")
        await chat.press("right", "right", "ctrl+o")
        await chat.pilot.resize_terminal(40, 20)
        async with asyncio.timeout(20):
            while "▸ high" not in chat.text or "Esc closes" not in chat.text:
                await chat.pilot.pause(0.01)


async def test_without_colours_the_chosen_column_has_a_mark(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    async with stage() as chat:
        await chat.say(f"/compare low high {QUESTION}")
        assert "▸ low" in chat.text
        await chat.press("right")
        assert "▸ high" in chat.text
        assert "▸ low" not in chat.text


async def test_thinking_opens_in_all_columns():
    async with stage(size=(120, 40)) as chat:
        await chat.say(f"/compare low high {QUESTION}")
        await chat.press("ctrl+o")
        assert chat.text.count("▾ thought") == 2


async def test_all_columns_stream_at_once():
    async with stage(size=(120, 40)) as chat, asyncio.timeout(60):
        await held(chat, f"/compare low high {QUESTION}", pieces=12)
        chat.app.frame()
        texts = [column.chat.live[0].text for column in chat.app.state.comparing.columns]
        assert all(texts)
        chat.gate.open()
        await chat.quiet()
        assert not chat.app.state.active


@pytest.mark.parametrize("line", ["/compare low high", "/compare low high say Dortmund", "/retry"])
async def test_after_answers_that_were_not_kept_the_last_thread_is_the_one_that_was_left(
    threads, line
):
    async with stage(threads=threads) as chat:
        await chat.say("say Bochum")
        left = chat.app.state.thread
        await chat.say(line)
        await chat.press("escape")
        assert threads.get("last").id == left.id
        assert threads.list()[0].id == left.id
    chosen = ThreadWriter(threads).list("say")
    assert [chosen[0].value, chosen[0].label] == [left.id, "say Bochum (medium)"]
    assert all(each.label.startswith("↳ say Bochum (") for each in chosen[1:])


async def test_a_kept_answer_is_in_the_last_thread(threads):
    async with stage(threads=threads) as chat:
        await chat.say("say Bochum")
        await chat.say("/compare low high")
        await chat.press("enter")
        assert threads.get("last").id == chat.app.state.thread.id


async def test_copies_that_were_not_used_since_stand_below_their_original(threads):
    stored = [StoredMessage(Message("user", (Text("the sought word"),)))]
    first = threads.start(model="claude-opus-5", title="first")
    threads.add(first.id, stored)
    other = threads.start(model="claude-opus-5", title="other")
    threads.add(other.id, stored)
    left = threads.fork(first.id)
    used = threads.fork(first.id)
    threads.set(first.id, system="x")  # used after the copies
    threads.add(used.id, stored)
    rows = [row.value for row in ThreadWriter(threads).list("sought")]
    assert rows == [used.id, first.id, left.id, other.id]


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
async def test_three_columns_have_their_cost_and_time(size):
    async with stage("claude-opus-5/off", size=size) as chat:
        await chat.say(f"/compare low high max {QUESTION}")
        assert chat.text.count("offline · 0 s") >= (3 if size[0] == 80 else 1)


@pytest.mark.parametrize("size", [(80, 24), (40, 12)])
async def test_the_keys_of_a_comparison_say_what_they_do_now(size):
    async with stage("claude-opus-5/off", size=size) as chat:
        chat.gate.hold_at = 6
        await chat.paste(f"/compare low high {QUESTION}")
        await chat.press_without_waiting("enter")
        async with asyncio.timeout(20):
            while not chat.gate.held.is_set() or "Esc stops them" not in chat.text:
                await chat.pilot.pause(0.01)
        assert "Enter keeps it" not in chat.text
        await chat.type("xyz")
        await chat.press_without_waiting("enter")
        assert "xyz · answering: Esc stops" in chat.text
        await chat.press_without_waiting("enter")
        assert "xyz · answering: Esc stops" in chat.text
        chat.app.prompt.put("")
        await chat.press("escape")
        await chat.drawn()
        assert "Enter keeps it · " in chat.text
        assert "Esc closes" in chat.text
        assert "stopping" not in chat.text
