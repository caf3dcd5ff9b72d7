"""What is typed while the chat begins, before there is a screen: the input line has it."""

from time import sleep

import pytest
from tests.tui.terminal import running

OFFLINE = ("chat", "--offline", "claude-opus-5/off")


def test_a_question_typed_before_the_terminal_gives_single_keys_is_sent(environment):
    with running(*OFFLINE, environment=environment) as terminal:
        terminal.press("What is 17 * 23?\r")
        terminal.until("▌ What is 17 * 23?", "17 * 23 = 391")
        terminal.press("/quit\r")
        assert terminal.ended() == 0


def test_several_lines_typed_before_the_screen_wait_in_the_input_line(environment):
    with running(*OFFLINE, environment=environment) as terminal:
        terminal.press("first line\nsecond line\n")
        terminal.until("/help", "│ first line", "│ second line")
        assert "▌" not in terminal.text  # it may be a paste: nothing was sent


@pytest.mark.parametrize("pause", [0.0, 0.05])
def test_words_typed_while_the_chat_begins_are_all_in_the_input_line(environment, pause):
    letters = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVW"
    with running(*OFFLINE, environment=environment) as terminal:
        if not pause:  # once the terminal gives single keys, and before the first screen
            while b"\x1b[?1049h" not in terminal.seen:
                terminal.wait()
        for letter in letters:
            terminal.press(letter)
            sleep(pause)
        terminal.until("/help", letters)
