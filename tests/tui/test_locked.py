"""Another program holds the file of threads: the chat draws, answers, ends, and loses nothing."""

import asyncio
import signal
import sqlite3
from contextlib import contextmanager
from time import monotonic, sleep

import pytest
from tests.tui.stage import stage
from tests.tui.terminal import running

from pondero.store import Threads
from pondero.tui import ThreadWriter
from pondero.tui.state import NoticeCell

OFFLINE = ("chat", "--offline", "claude-opus-5/off")


@contextmanager
def locked(path):
    """Hold the write lock of the file, as another program does."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=30)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


def rescued(folder) -> str:
    """Return what the rescue files have."""
    return "".join(each.read_text("utf-8") for each in folder.glob("pondero-*.rescue"))


class LoopWatch:
    """Measures the longest time in which the loop did nothing else."""

    def __init__(self):
        self.longest = 0.0

    async def run(self):
        """Look every hundredth of a second."""
        while True:
            before = monotonic()
            await asyncio.sleep(0.01)
            self.longest = max(self.longest, monotonic() - before)


@pytest.mark.anyio
async def test_a_turn_under_a_lock_does_not_freeze_the_screen_and_is_on_disk_before_it_is_sent(
    tmp_path,
):
    with Threads.open(tmp_path / "threads.db") as threads:
        async with stage(threads=threads) as chat:
            await chat.say("say hi")
            with locked(threads.path):
                watch = LoopWatch()
                task = asyncio.ensure_future(watch.run())
                began = monotonic()
                await chat.say_until_held("say two", pieces=1)
                assert "say two" in rescued(tmp_path)
                chat.gate.open()
                await chat.quiet()
                task.cancel()
                assert watch.longest < 3  # of ten; the machine that runs this may be busy
                assert monotonic() - began < 12
                assert "another program is writing" in chat.app.state.unsaved
                assert "· unsaved" in chat.text
            for _ in range(100):
                await chat.pilot.pause(0.1)
                if chat.app.state.unsaved is None:
                    break
        texts = [each.text for each in threads.messages("last")]
    assert texts == ["say hi", "hi", "say two", "two"]
    assert rescued(tmp_path) == ""


@pytest.mark.anyio
async def test_a_lock_of_a_moment_is_waited_for_without_a_word(tmp_path):
    with Threads.open(tmp_path / "threads.db") as threads:
        async with stage(threads=threads) as chat:
            with locked(threads.path):
                await chat.paste("say hi")
                await chat.pilot.press("enter")
                await chat.pilot.pause(0.5)
            await chat.quiet()
            lines = [
                each for c in chat.app.state.page if isinstance(c, NoticeCell) for each in c.lines
            ]
            assert not [each for each in lines if "saved" in each]
            assert [each.text for each in threads.messages("last")] == ["say hi", "hi"]


@pytest.mark.anyio
async def test_the_status_line_says_that_the_file_is_locked_while_the_answer_arrives(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("pondero.tui._screen.app._TYPED_EVERY", 0.2)
    with Threads.open(tmp_path / "threads.db") as threads:
        async with stage(threads=threads) as chat:
            with locked(threads.path):
                await chat.say_until_held("say hi", pieces=1)
                await chat.pilot.pause(1)
                assert chat.app.state.busy
                assert "· unsaved" in chat.text
            chat.gate.open()
            await chat.quiet()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL", "/quit"])
@pytest.mark.parametrize("plain", [False, True])
def test_a_chat_that_ends_under_a_lock_ends_promptly_and_the_next_one_has_all(
    environment, tmp_path, name, plain
):
    first, enter = (">", "\n") if plain else ("/help", "\r")
    way = ("--plain",) if plain else ()
    path = tmp_path / "data" / "threads.db"
    with running(*OFFLINE, *way, environment=environment) as terminal:
        terminal.until(first)
        terminal.press(f"What is 2 * 3?{enter}")
        terminal.until("2 * 3 = 6")
        sleep(0.5)
        with locked(path):
            terminal.press(f"What is 17 * 23?{enter}")
            terminal.until("17 * 23 = 391", "unsaved")
            if name == "/quit":
                terminal.press(f"/quit{enter}")
            else:
                terminal.press("half a sent")
                terminal.until("half a sent")
                sleep(2.5)
                terminal.signal(getattr(signal, name))
            began = monotonic()
            terminal.ended()
            assert monotonic() - began < 4
    with Threads.open(path) as threads:
        (thread,) = ThreadWriter(threads).recover()
        texts = [each.text for each in threads.messages(thread.id)]
        assert texts == ["What is 2 * 3?", "2 * 3 = 6", "What is 17 * 23?", "17 * 23 = 391"]
        typed = threads.take_drafts(thread.id).typed
        # a killed plain chat never had the line: it was in the terminal
        wanted = "" if name == "/quit" or (plain and name == "SIGKILL") else "half a sent"
        assert typed == wanted
    assert rescued(path.parent) == ""
