"""A chat that is ended from outside, in the middle of whatever: the next one has it all."""

import signal
from time import monotonic, sleep

import pytest
from tests.tui.terminal import running

from pondero.store import Threads

LONG = "Explain 17 * 23 at length, please"
CODES = {"SIGHUP": 129, "SIGTERM": 143, "SIGKILL": -9}
SLOW = """
import pathlib, time

def rest(city: str) -> str:
    "Rest."
    pathlib.Path('{}').touch()
    time.sleep(50)
"""
OFFLINE = ("chat", "--offline", "claude-opus-5/max")


def _written(folder, words: str) -> bool:
    with Threads.open(folder / "data" / "threads.db") as threads:
        rows = threads._database.rows("SELECT body FROM unfinished UNION SELECT body FROM drafts")
    return words in str(rows)


@pytest.mark.parametrize("name", CODES)
def test_the_next_chat_offers_the_thread_with_what_came_and_what_was_typed(
    environment,
    tmp_path,
    name,
):
    with running(*OFFLINE, environment=environment) as terminal:
        terminal.until("/help")
        terminal.press(f"{LONG}\r")
        terminal.until("thinking…")
        terminal.press("queued words\r")
        terminal.until("next: queued words")
        terminal.press("half a sent")
        terminal.until("half a sent")
        while name == "SIGKILL" and not all(
            _written(tmp_path, each) for each in ("half a sent", '"thinking"')
        ):
            terminal.wait()
        terminal.signal(getattr(signal, name))
        assert terminal.ended() == CODES[name]
        if name != "SIGKILL":  # back to the screen before the chat, with its cursor
            assert b"\x1b[?1049l" in terminal.seen
            assert terminal.seen.rfind(b"\x1b[?25h") > terminal.seen.rfind(b"\x1b[?25l")
    with running(*OFFLINE, environment=environment) as terminal:
        terminal.until("ended in the middle of", LONG, "/resume ")
        id = terminal.text.partition("/resume ")[2].split()[0]
        terminal.press(f"/resume {id}\r")
        terminal.until("stopped here", "waits: queued words", "half a sent")
        terminal.press("\x15/quit\r")
        assert terminal.ended() == 0
    with Threads.open(tmp_path / "data" / "threads.db") as threads:
        (thread,) = threads.list()
        question, answer = threads.load_messages(thread.id)
        assert question.message.text == LONG
        assert answer.partial
        assert answer.message.parts


def test_a_command_that_waited_runs_in_the_next_chat(environment):
    with running(*OFFLINE, environment=environment) as terminal:
        terminal.until("/help")
        terminal.press(f"{LONG}\r")
        terminal.until("thinking…")
        terminal.press("//model is a command\r")
        terminal.press("/model gpt-5.1/low\r")
        terminal.until("next: /model is a command", "next: /model gpt-5.1/low")
        terminal.signal(signal.SIGHUP)
        assert terminal.ended() == CODES["SIGHUP"]
    with running(*OFFLINE, environment=environment, lines=50) as terminal:
        terminal.until("ended in the middle of", LONG, "/resume ")
        id = terminal.text.partition("/resume ")[2].split()[0]
        terminal.press(f"/resume {id}\r")
        terminal.until("waits: /model gpt-5.1/low")
        terminal.press("\r")
        terminal.until("▌ /model is a command", "✓ Switched to OpenAI gpt-5.1")
        terminal.press("\x15/quit\r")
        assert terminal.ended() == 0


def test_a_chat_that_a_signal_ends_does_not_wait_for_its_tool(environment, tmp_path):
    (tmp_path / "slow.py").write_text(SLOW.format(started := tmp_path / "started"))
    tool = ("--tool", f"{tmp_path}/slow.py:rest", "--approve", "all")
    with running(*OFFLINE, *tool, environment=environment) as terminal:
        terminal.until("/help")
        terminal.press('[emulator: call rest {"city": "Paris"}]\r')
        terminal.until("⚙ rest")
        while not started.exists():
            sleep(0.05)
        began = monotonic()
        terminal.signal(signal.SIGHUP)
        assert terminal.ended() == CODES["SIGHUP"]
        assert monotonic() - began < 25
    with running(*OFFLINE, environment=environment) as terminal:
        terminal.until("ended in the middle of", "/resume ")
