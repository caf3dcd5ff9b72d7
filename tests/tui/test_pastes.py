"""Pastes in the real program: what is in them is text, and nothing in them is obeyed."""

import signal
from time import sleep

import pytest
from tests.tui.terminal import running

from pondero.store import Threads

BEGIN, END = "\x1b[200~", "\x1b[201~"
OFFLINE = ("chat", "--offline", "claude-opus-5/off")


@pytest.mark.parametrize(
    "inside",
    [
        pytest.param("\x1b[31mred\x1b[0m and more words than the parser looks at", id="colours"),
        pytest.param("\x1b[I\x1b[O\x1b[48;5;20;100;400t", id="reports"),
        pytest.param("\x1b]0;title\x07", id="title"),
        pytest.param("\x1b[A\x1b[D\x1b", id="keys"),
        pytest.param(f"{END}\r/quit\r", id="end-marker"),
        pytest.param(f"{END}\r/quit\r{BEGIN}", id="both-markers"),
    ],
)
def test_escapes_in_a_paste_are_shown_and_sent_as_text(environment, tmp_path, inside):
    with running(*OFFLINE, environment=environment) as terminal:
        terminal.until("/help")
        terminal.press(f"{BEGIN}say one {inside} two{END}")
        shown = terminal.until("say one", " two")
        assert "▌" not in shown  # nothing was sent
        assert "\\u001b" in shown
        terminal.press("\r")
        terminal.until("▌ say one", " · answer ")
        terminal.press("\x04")
        assert terminal.ended() == 0
    with Threads.open(tmp_path / "data" / "threads.db") as threads:
        first, _ = threads.messages("last")
    assert first.text == f"say one {inside} two".replace("\r", "\n")


@pytest.mark.parametrize("mark", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_unusual_line_breaks_of_a_short_paste_are_sent_as_they_are(environment, tmp_path, mark):
    with running(*OFFLINE, environment=environment) as terminal:
        terminal.until("/help")
        terminal.press(f"say {BEGIN}one{mark}two\rthree{END} four")
        terminal.until("[pasted 2 lines] four")
        terminal.press("\r")
        terminal.until("▌ say ", " · answer ")
        terminal.press("\x04")
        assert terminal.ended() == 0
    with Threads.open(tmp_path / "data" / "threads.db") as threads:
        first, _ = threads.messages("last")
    assert first.text == f"say one{mark}two\nthree four"


def test_keys_that_come_with_a_paste_are_pressed_after_it(environment):
    with running(*OFFLINE, environment=environment) as terminal:
        terminal.until("/help")
        terminal.press(f"What {BEGIN}is 6 * {END}7?\r")
        terminal.until("▌ What is 6 * 7?", "6 * 7 = 42")
        terminal.press("\x1b")  # Esc alone still comes through
        terminal.press("/quit\r")
        assert terminal.ended() == 0


def drafts(folder) -> str:
    """Return the words on disk that were not sent."""
    with Threads.open(folder / "data" / "threads.db") as threads:
        return str(threads._database.rows("SELECT body FROM drafts"))


@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM", "SIGKILL"])
def test_a_paste_whose_end_never_comes_is_on_disk(environment, tmp_path, name):
    words = "words of a paste without an end"
    with running(*OFFLINE, environment=environment) as terminal:
        terminal.until("/help")
        terminal.press(f"typed {BEGIN}{words}")
        if name == "SIGKILL":
            terminal.until(words)
            while words not in drafts(tmp_path):
                sleep(0.1)
        else:
            sleep(0.2)
        terminal.signal(getattr(signal, name))
        terminal.ended()
    assert f"typed {words}" in drafts(tmp_path)


def test_keys_after_a_paste_whose_end_never_comes_are_keys(environment, tmp_path):
    with running(*OFFLINE, environment=environment) as terminal:
        terminal.until("/help")
        terminal.press(f"{BEGIN}What is 6 * 7")
        terminal.until("What is 6 * 7")
        terminal.press("?")
        terminal.until("What is 6 * 7?")
        terminal.press("\r")
        terminal.until("6 * 7 = 42", " · answer ")
        terminal.press(f"{BEGIN}half a paste")
        terminal.until("half a paste")
        terminal.press("\x03")
        terminal.without("half a paste")
        assert "half a paste" in drafts(tmp_path)
        terminal.press("\x04")
        assert terminal.ended() == 0
