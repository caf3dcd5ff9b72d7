"""Files in the chat: attached, named among the words, dropped, or pasted as a picture."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tui.stage import stage

from pondero.canon import Image, Text
from pondero.emulator import Emulator
from pondero.store import Threads
from pondero.tui import clipboard, file_mentions
from pondero.tui.state import NoticeCell, UserCell

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.md").write_text("the walrus sleeps\n")
    (tmp_path / "two words.txt").write_text("hello\n")
    (tmp_path / "chart.png").write_bytes(PNG)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "deep.txt").write_text("deep\n")
    return tmp_path


def question(chat):
    return chat.app.tab.session.writer.messages[-2]


async def attached(chat, count=1):
    async with asyncio.timeout(20):
        while len(chat.app.state.attached) < count:
            await chat.pilot.pause(0.01)
    await chat.pilot.pause()


async def test_a_file_is_attached_shown_and_sent_before_the_words(folder):
    async with stage("claude-opus-5/off") as chat:
        await chat.say("/attach chart.png")
        assert "with: [image/png]" in chat.text
        await chat.say("What is this?")
        picture, words = question(chat).parts
        assert isinstance(picture, Image)
        assert words.text == "What is this?"
        assert chat.app.state.attached == ()
        assert "with:" not in chat.text
        assert "[image/png]" in next(c for c in chat.app.state.page if isinstance(c, UserCell)).text


async def test_files_named_among_the_words_are_sent_and_other_ats_are_words(folder):
    async with stage("claude-opus-5/off") as chat:
        await chat.say('Read @notes.md, and @"two words.txt", me@home.example and @nobody')
        first, second, words = question(chat).parts
        assert "the walrus sleeps" in first.text
        assert "two words.txt" in second.text
        assert words.text.startswith("Read @notes.md")


async def test_a_picture_for_a_model_that_reads_none_is_told_and_everything_comes_back(folder):
    services: list[Emulator] = []

    def make(**settings) -> Emulator:
        services.append(Emulator(**settings))
        return services[0]

    async with stage("deepseek:deepseek-reasoner", emulator=make) as chat:
        await chat.say("/attach chart.png")
        await chat.say("What is this?")
        assert not services[0].log.entries
        lines = " ".join(
            line for c in chat.app.state.page if isinstance(c, NoticeCell) for line in c.lines
        )
        assert "cannot read" in lines
        assert chat.app.prompt.text == "What is this?"
        assert len(chat.app.state.attached) == 1
        await chat.press("ctrl+c")
        await chat.say("/attach -")
        assert chat.app.state.attached == ()


async def test_what_cannot_be_read_is_a_sentence(folder):
    (folder / "empty.md").write_bytes(b"")
    async with stage() as chat:
        await chat.say("/attach nothing.md")
        assert "cannot read" in chat.text
        await chat.say("Look at @empty.md")
        assert "✗ empty.md is empty" in chat.text
        assert chat.app.prompt.text == "Look at @empty.md"


async def test_paths_are_completed_with_tab(folder):
    async with stage() as chat:
        await chat.type("see @not")
        await chat.pilot.press("tab")
        assert chat.app.prompt.text == "see @notes.md"
        chat.app.prompt.put("")
        await chat.type("/attach su")
        await chat.pilot.press("tab")
        await chat.type("d")
        await chat.pilot.press("tab")
        assert chat.app.prompt.text == "/attach sub/deep.txt"


async def test_dropped_files_are_attached_and_other_pastes_are_words(folder):
    async with stage() as chat:
        await chat.paste(f"{folder}/notes.md '{folder}/two words.txt'")
        await attached(chat, 2)
        assert chat.app.prompt.text == ""
        assert [isinstance(part, Text) for part in chat.app.state.attached] == [True, True]
        await chat.paste(f"{folder}/notes.md is a file")
        assert chat.app.prompt.text == f"{folder}/notes.md is a file"


async def test_a_picture_on_the_clipboard_is_attached_with_ctrl_v(monkeypatch):
    async with stage() as chat:
        monkeypatch.setattr("pondero.tui._screen.executor.picture", lambda: PNG)
        await chat.press("ctrl+v")
        await attached(chat)
        assert isinstance(chat.app.state.attached[0], Image)
        monkeypatch.setattr("pondero.tui._screen.executor.picture", lambda: None)
        chat.app.copy_to_clipboard("words")
        await chat.press("ctrl+v")
        assert chat.app.prompt.text == "words"


async def test_undo_and_retry_take_what_was_attached_along(folder):
    async with stage("claude-opus-5/off") as chat:
        await chat.say("Look at @chart.png")
        await chat.say("/retry low")
        await chat.press("enter")
        assert isinstance(question(chat).parts[0], Image)
        await chat.say("/undo")
        assert chat.app.prompt.text == "Look at @chart.png"
        assert isinstance(chat.app.state.attached[0], Image)


def test_without_a_desktop_there_is_no_picture(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSH_CONNECTION", "1")
    assert clipboard.picture() is None


@given(st.text())
def test_any_words_can_be_looked_at_for_files(text):
    assert all(
        isinstance(path, Path)
        for path in (*file_mentions.find_mentions(text), *file_mentions.find_dropped(text))
    )
    for line in file_mentions.completions(text):
        assert line.startswith(text[: text.rfind("@")] if "@" in text else "/attach ")


async def test_a_file_that_was_attached_is_there_after_a_kill(folder, tmp_path):
    path = tmp_path / "threads.db"
    with Threads.open(path) as threads:
        async with stage(threads=threads) as chat:
            await chat.say("/attach chart.png")
            await attached(chat)
            await chat.type("what does it show")
            (picture,) = chat.app.state.attached
            chat.app._drafts.save()  # as a timer does every two seconds
    with Threads.open(path) as threads:
        async with stage(threads=threads) as chat:
            assert chat.app.prompt.text == "what does it show"
            assert chat.app.state.attached == (picture,)


async def test_a_file_for_the_next_prompt_stays_after_undo(folder, tmp_path):
    with Threads.open(tmp_path / "threads.db") as threads:
        async with stage(threads=threads) as chat:
            await chat.say("say a")
            await chat.say("/attach chart.png")
            await attached(chat)
            await chat.say("/undo")
            assert len(chat.app.state.attached) == 1


async def test_a_file_for_the_next_prompt_stays_in_a_thread_that_is_left(folder, tmp_path):
    with Threads.open(tmp_path / "threads.db") as threads:
        async with stage(threads=threads) as chat:
            await chat.say("say a")
            home = chat.app.state.thread.id
            await chat.say_until_held("What is 17 * 23?", pieces=40)
            for line in ("/attach chart.png", "/new"):  # the answer is held: nothing gets quiet
                await chat.paste(line)
                await chat.press_without_waiting("enter")
                if line != "/new":
                    await attached(chat)
            chat.gate.hold_at = None
            chat.gate.open()
            await chat.say("say c")
            await chat.say(f"/resume {home}")
            assert len(chat.app.state.attached) == 1


async def test_a_reopened_question_shows_its_files_by_name_and_so_do_lists(folder, tmp_path):
    with Threads.open(tmp_path / "threads.db") as threads:
        async with stage("claude-opus-5/off", threads=threads) as chat:
            await chat.say("/attach notes.md")
            await attached(chat)
            await chat.say("Who sleeps?")
            sent = [cell.text for cell in chat.app.state.page if isinstance(cell, UserCell)]
            await chat.say("/fork")
        async with stage("claude-opus-5/off", threads=threads) as chat:
            await chat.say("/resume last")
            cells = [cell.text for cell in chat.app.state.page if isinstance(cell, UserCell)]
            assert cells == sent == ["[notes.md]\nWho sleeps?"]
            await chat.say("/new")
            await chat.say("/resume")
            assert "Who sleeps?" in chat.text
            assert "walrus" not in chat.text
