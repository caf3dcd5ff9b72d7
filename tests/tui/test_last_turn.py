"""/undo, /edit, /copy and /search, on a screen and on disk."""

import signal
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import sleep

import pytest
from tests.tui.stage import stage
from tests.tui.terminal import Terminal, running

from pondero.store import Threads
from pondero.tui import clipboard
from pondero.tui.state import AnswerCell, NoticeCell, UserCell

pytestmark = pytest.mark.anyio

_program = clipboard.program  # as it is, for the tests that do without it


@pytest.fixture
def threads(tmp_path):
    with Threads.open(tmp_path / "threads.db") as opened:
        yield opened


@pytest.fixture(autouse=True)
def _no_programs(monkeypatch):
    monkeypatch.setattr(clipboard, "program", lambda environment: None)
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)


def shown(chat):
    return [cell.text for cell in chat.app.state.page if isinstance(cell, UserCell | AnswerCell)]


def told(chat):
    return " ".join(next(c for c in chat.app.state.page[::-1] if isinstance(c, NoticeCell)).lines)


async def test_undo_gives_the_words_back_and_the_old_thread_stays_whole(threads):
    async with stage("claude-opus-5/off", threads=threads) as chat:
        await chat.say("say a")
        await chat.say("say b")
        first = chat.app.state.thread.id
        await chat.say("/undo")
        assert chat.app.prompt.text == "say b"
        assert shown(chat) == ["say a", "a"]
        assert len(threads.list()) == 1  # nothing is copied before something is said
        chat.app.prompt.put("")
        await chat.say("say c")
        assert shown(chat) == ["say a", "a", "say c", "c"]
        copy = threads.get(chat.app.state.thread.id)
        assert (copy.parent, copy.messages, threads.get(first).messages) == (first, 4, 4)
        texts = [message.text for message in threads.messages(copy.id)]
        assert texts == ["say a", "a", "say c", "c"]


async def test_undo_goes_back_turn_by_turn_until_nothing_is_left(threads):
    async with stage("claude-opus-5/off", threads=threads) as chat:
        for words in ("say a", "say b"):
            await chat.say(words)
        for words in ("say b", "say a"):
            await chat.say("/undo")
            assert chat.app.prompt.text == words
            chat.app.prompt.put("")
        assert shown(chat) == []
        await chat.say("/undo")
        assert "there is no question yet" in told(chat)
        await chat.say("say new")
        assert threads.get("last").title == "say new"
        assert [len(threads.messages(each.id)) for each in threads.list()] == [2, 4]


async def test_undo_of_a_turn_with_tools_takes_all_its_exchanges_back(threads):
    def get_weather(city: str) -> str:
        """Return the weather in a city."""
        return "sunny"

    async with stage(threads=threads, tools=[get_weather]) as chat:
        await chat.say("What is the weather in Paris?")
        assert threads.get("last").messages == 4
        await chat.say("/undo")
        assert chat.app.prompt.text == "What is the weather in Paris?"
        assert chat.app.state.count == 0


async def test_undo_works_without_a_disk():
    async with stage("claude-opus-5/off") as chat:
        await chat.say("say a")
        await chat.say("say b")
        await chat.say("/undo")
        chat.app.prompt.put("")
        await chat.say("say c")
        messages = [message.text for message in chat.app.tab.session.writer.messages]
        assert messages == ["say a", "a", "say c", "c"]


async def test_without_an_editor_a_question_is_edited_in_place(threads):
    async with stage("claude-opus-5/off", threads=threads) as chat:
        await chat.say("say a")
        await chat.say("/edit")
        assert chat.app.prompt.text == "say a"
        assert "change it and press Enter" in chat.text
        await chat.type("b")
        await chat.press("enter")
        assert shown(chat) == ["say ab", "ab"]
        assert len(threads.list()) == 2


async def test_an_edit_that_is_given_up_is_undone_as_its_hint_says(threads):
    async with stage("claude-opus-5/off", threads=threads) as chat:
        await chat.say("say a")
        await chat.say("/edit")
        assert "Ctrl+C, then /resume, restores it" in chat.text
        await chat.press("ctrl+c")
        await chat.say("/resume")
        await chat.press("enter")  # the newest thread
        assert shown(chat) == ["say a", "a"]


def write_editor(folder: Path, script: str) -> dict[str, str]:
    """Return the environment of a chat whose editor is this script."""
    editor = folder / "editor"
    editor.write_text(f"#!/bin/sh\n{script}\n")
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    return {
        "PATH": "/usr/bin:/bin",
        "TERM": "xterm-256color",
        "HOME": str(folder),
        "EDITOR": str(editor),
        "PONDERO_CONFIG_DIR": str(folder),
        "PONDERO_DATA_DIR": str(folder),
    }


@contextmanager
def begun_edit(environment: Mapping[str, str]) -> Iterator[Terminal]:
    with running("chat", "--offline", "claude-opus-5/off", environment=environment) as terminal:
        terminal.until("/help")
        terminal.press("say first\r")
        terminal.until("  first", "· answer ")  # the turn is over
        terminal.press("/edit\r")
        yield terminal


def test_a_question_is_edited_in_the_users_editor_and_asked_again(tmp_path):
    environment = write_editor(tmp_path, 'printf "say edited" > "$1"')
    with begun_edit(environment) as terminal:
        terminal.until("say edited", "  edited", "· in ")
        assert "say first" not in terminal.text.replace("─ say first ", "")
        terminal.press("\x04")
        terminal.ended()


def test_an_editor_that_fails_ends_nothing_and_what_it_saved_is_recalled(tmp_path):
    environment = write_editor(tmp_path, 'printf "say edited" > "$1"; exit 3')
    with begun_edit(environment) as terminal:
        terminal.until("ended with exit code 3", "nothing was asked", "recalls what it saved")
        terminal.press("\x1b[A")
        terminal.until("│ say edited")
        terminal.press("\r")
        terminal.until("  edited")
        terminal.press("\x04")
        assert terminal.ended() == 0


def test_an_editor_that_is_not_there_is_named(tmp_path):
    environment = {**write_editor(tmp_path, ""), "EDITOR": "no-such-editor --wait"}
    with begun_edit(environment) as terminal:
        terminal.until("no-such-editor", "cannot be started", "nothing was asked")
        terminal.press("say more\r")
        terminal.until("  more")
        terminal.press("\x04")
        assert terminal.ended() == 0


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_what_an_editor_saved_outlives_a_chat_that_is_ended(tmp_path, number):
    seen = tmp_path / "seen"
    script = f'printf "say edited" > "$1"; touch "{seen}"; exec sleep 60'
    environment = write_editor(tmp_path, script)
    with begun_edit(environment) as terminal:
        while not seen.exists():
            sleep(0.01)
        terminal.signal(number)
        assert terminal.ended() == 128 + number
    with running("chat", "--offline", "claude-opus-5/off", environment=environment) as terminal:
        terminal.until("/help")
        terminal.press("\x1b[A")
        terminal.until("│ say edited")
        terminal.press("\x03\x03")
        terminal.ended()


async def test_the_chat_runs_on_while_the_editor_is_open(threads, tmp_path, monkeypatch):
    done = tmp_path / "done"
    script = f'while [ ! -e "{done}" ]; do sleep 0.05; done; printf "say edited" > "$1"'
    monkeypatch.setenv("EDITOR", write_editor(tmp_path, script)["EDITOR"])
    monkeypatch.setattr("textual.app.App.suspend", nullcontext)
    async with stage("claude-opus-5/off", threads=threads) as chat:
        await chat.say("say first")
        await chat.paste("/edit")
        await chat.press_without_waiting("enter")  # an editor that stops the loop would stop this
        done.touch()
        await chat.quiet()
        assert shown(chat) == ["say edited", "edited"]


ANSWER = "say Try this:\n\n```sh\nls -l\n```\n\nor\n\n    indented\n"


async def test_the_answer_or_a_block_of_code_is_copied(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    async with stage("claude-opus-5/off") as chat:
        await chat.say("/copy")
        assert "there is no question yet" in told(chat)
        await chat.say(ANSWER)
        answer = chat.app.state.page[-1].text
        await chat.say("/copy")
        assert chat.app.clipboard == answer
        assert f"{len(answer)} characters" in told(chat)
        await chat.say("/copy 1")
        assert chat.app.clipboard == "ls -l\n"
        await chat.say("/copy 9")
        assert "there is no number 9" in told(chat)
        await chat.say("/copy x")
        assert "/copy 2 its second block" in told(chat)


async def test_a_terminal_without_a_clipboard_is_told_of_and_nothing_is_sent(monkeypatch):
    monkeypatch.setenv("TERM", "linux")
    async with stage("claude-opus-5/off") as chat:
        await chat.say("say a")
        await chat.say("/copy")
        assert "no clipboard for programs" in told(chat)
        assert chat.app.clipboard == ""


def test_a_program_of_the_desktop_is_used_where_it_reaches_the_user():
    has = {"wl-copy", "xclip"}

    def which(name):
        return name if name in has else None

    assert _program({"WAYLAND_DISPLAY": "w"}, which) == ("wl-copy",)
    assert _program({"DISPLAY": ":0"}, which) == ("xclip", "-selection", "clipboard")
    assert _program({}, which) is None
    assert _program({"DISPLAY": ":0", "SSH_CONNECTION": "1"}, which) is None


async def test_words_are_found_here_and_elsewhere_and_a_hit_is_gone_to(threads):
    async with stage("claude-opus-5/off", threads=threads, size=(80, 30)) as chat:
        await chat.say("say the walrus sleeps")
        await chat.say("/new")
        for number in range(30):
            await chat.say(f"say number {number} is {'a walrus' if number == 3 else 'nothing'}")
        await chat.say("/search walrus")
        assert "number 3 is a walrus" in chat.text
        assert "here" in chat.text
        assert "say the walrus sleeps" in chat.text
        await chat.press("enter")  # the newest hit of this thread comes first
        assert "number 3 is a walrus" in chat.text
        assert "number 29" not in chat.text
        await chat.say("/search sleeps")
        await chat.press("enter")
        assert shown(chat) == ["say the walrus sleeps", "the walrus sleeps"]
        await chat.say("/search zebra")
        assert "nothing has 'zebra' in it" in told(chat)
        await chat.say("/search")
        assert "which words?" in told(chat)


async def test_words_are_found_where_nothing_is_kept_on_disk():
    async with stage("claude-opus-5/off") as chat:
        await chat.say("say the walrus sleeps")
        await chat.say("/search WALRUS sleeps")
        assert "2 with 'WALRUS sleeps'" in chat.text
