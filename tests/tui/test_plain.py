"""The chat line by line: the same commands, and nothing but text."""

import os
import signal
import subprocess
import sys
import time

import pytest
from tests.tui.terminal import running

from pondero.canon import Message, Text
from pondero.store import Drafts, StoredMessage, Threads

PLAIN = ("chat", "--plain", "--offline", "claude-opus-5/low")


def said(environment, *lines: str, arguments: tuple[str, ...] = PLAIN) -> str:
    """Give these lines to a plain chat in a pipe, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", "from pondero.cli import main; main()", *arguments],
        input="".join(f"{line}\n" for line in lines).encode(),
        capture_output=True,
        check=True,
        env={"PYTHONPATH": os.environ.get("PYTHONPATH", ""), **environment},
    )
    assert done.stderr == b""
    return done.stdout.decode()


def test_questions_and_commands_are_answered_in_lines_without_escapes(environment):
    text = said(environment, "What is 17 * 23?", "/model claude-haiku-4-5", "/cost", "Is 7 prime?")
    assert "\x1b" not in text
    assert text.count("thinking...\n") == 2
    assert "\n17 * 23 = 391\n" in text
    assert "Switched to Anthropic claude-haiku-4-5" in text
    assert "last         all" in text


def test_lists_are_numbered_and_a_number_picks(environment):
    text = said(environment, "/thinking", "1", "/model", "sonnet-4-6", "1", "/compare low,high 2*3")
    assert "1. off\n2. low\n" in text
    assert "✓ Thinking: off" in text
    assert "1. claude-sonnet-4-6  off…max" in text
    assert "Switched to Anthropic claude-sonnet-4-6" in text
    assert "1. low: thinking" in text
    assert "2. high: thinking" in text


def test_a_tool_is_asked_about(environment, tmp_path):
    tool = tmp_path / "weather.py"
    tool.write_text(
        "def get_weather(city: str) -> str:\n    'The weather in a city.'\n    return 'sun'\n"
    )
    arguments = (*PLAIN, "--tool", f"{tool}:get_weather")
    question = "What is the weather in Bern?"
    assert "says: sun" in said(environment, question, "once", arguments=arguments)
    assert "says: sun" not in said(environment, question, "", arguments=arguments)


@pytest.mark.parametrize("terminal", ["dumb", ""])
def test_a_terminal_that_cannot_draw_gets_lines(environment, terminal):
    environment["TERM"] = terminal
    with running("chat", "--offline", "claude-opus-5/low", environment=environment) as chat:
        chat.until("\n>")
        chat.press("What is 17 * 23?\n")
        chat.until("17 * 23 = 391")
        chat.press("/quit\n")
        assert chat.ended() == 0
        assert b"\x1b" not in chat.seen


def test_a_notice_is_broken_between_words(environment):
    with running(*PLAIN, environment=environment, columns=40) as chat:
        chat.until("\n>")
        chat.press("/quit\n")
        assert chat.ended() == 0
        lines = chat.seen.decode().split("\r\n")
    begin = lines.index("  it can do sums and remember; for")
    assert lines[begin + 1 : begin + 3] == [
        "  Markdown, type: show me a table, a",
        "  list and code",
    ]


@pytest.mark.parametrize(("name", "code"), [("SIGHUP", 129), ("SIGTERM", 143)])
def test_what_is_cut_off_is_kept(environment, tmp_path, name, code):
    arguments = ("chat", "--plain", "--offline", "claude-opus-5/max")
    with running(*arguments, environment=environment) as chat:
        chat.until("\n>")
        chat.press("Explain 17 * 23 at length\n")
        chat.until("thinking...")
        chat.signal(getattr(signal, name))
        assert chat.ended() == code
    with Threads.open(tmp_path / "data" / "threads.db") as threads:
        question, answer = threads.load_messages("last")
    assert question.message.text == "Explain 17 * 23 at length"
    assert answer.partial


def test_ctrl_c_stops_the_answer_and_pressed_twice_leaves(environment):
    arguments = ("chat", "--plain", "--offline", "claude-opus-5/max")
    with running(*arguments, environment=environment) as chat:
        chat.until("\n>")
        chat.press("Explain 17 * 23 at length\n")
        chat.until("thinking...")
        chat.press("\x03")
        chat.until("stopped here")
        chat.press("\x03")
        chat.until("Ctrl+C again")
        chat.press("\x03")
        assert chat.ended() == 0


@pytest.mark.parametrize(
    ("command", "line"),
    [("/title Sums", "renamed: Sums"), ("/new", "a new thread"), ("/show auto", "show: auto")],
)
def test_a_command_says_what_it_has_done(environment, command, line):
    assert f"\n> {line}\n" in said(environment, "What is 2 * 3?", command)


def drafts_of(environment) -> list[str]:
    """Return the prompts that wait, of threads that have begun and of others."""
    with Threads.open(f"{environment['PONDERO_DATA_DIR']}/threads.db") as threads:
        threads.recover_turns()
        waiting = [threads.take_drafts(each.id) for each in threads.list_drafts()]
        waiting.append(threads.take_drafts(None))
    return [message.text for drafts in waiting for message in drafts.queue]


@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM", "SIGKILL"])
def test_lines_typed_ahead_wait_in_the_thread_when_the_chat_ends(environment, name):
    with running(*PLAIN, environment=environment) as chat:
        chat.until("\n>")
        chat.press("What is 17 * 23? [emulator: fault slow 0.4]\n")
        chat.until("thinking...")
        chat.press("typed ahead\n/help\n\nand more\n")
        if name == "SIGKILL":
            time.sleep(3)
        else:
            chat.until("and more")
            time.sleep(0.2)
        chat.signal(getattr(signal, name))
        chat.ended()
        assert "typed ahead" not in chat.text.partition("and more")[2]  # sent to nobody
    assert drafts_of(environment) == ["typed ahead", "and more"]


def test_a_line_that_was_typed_before_a_question_is_no_answer_to_it(environment, tmp_path):
    tool = tmp_path / "weather.py"
    tool.write_text(
        "def get_weather(city: str) -> str:\n    'The weather in a city.'\n    return 'sun'\n"
    )
    arguments = (*PLAIN, "--tool", f"{tool}:get_weather")
    lines = ("What is the weather in Bern?", "What is 2 * 3?", "once")
    text = said(environment, *lines, arguments=arguments)
    assert "says: sun" in text
    assert text.index("says: sun") < text.index("2 * 3 = 6")
    for question in ("/compare low,high What is 5 * 5?", "/thinking"):
        assert "6 * 7 = 42" in said(environment, question, "What is 6 * 7?", "")


def test_the_list_of_models_is_numbered_and_has_the_usual_ones_first(environment):
    text = said(environment, "/model", "2", "")
    rows = [line for line in text.splitlines() if line.partition(". ")[0].isdecimal()]
    assert rows[0].startswith("1. claude-")
    assert len(rows) == 20
    second = rows[1].split()[1]
    assert f"✓ Switched to Anthropic {second}" in text
    assert "level cannot be set" not in rows[1]


def test_a_line_that_answers_nothing_waits_at_the_end_of_the_input(environment):
    said(environment, "/compare low,high What is 5 * 5?", "What is 6 * 7?")
    assert drafts_of(environment) == ["What is 6 * 7?"]


def test_at_its_end_it_says_how_to_continue(environment, tmp_path):
    assert "saved as" not in said(environment, "/help")
    text = said(environment, "What is 17 * 23?")
    with Threads.open(tmp_path / "data" / "threads.db") as threads:
        id = threads.get("last").id
    assert text.endswith(f"continue with: pondero chat --resume {id} --offline\n")


@pytest.mark.parametrize(("line", "left"), [("What is 2 * 3?", "half a sent"), ("half a sent", "")])
def test_words_of_a_drawn_chat_stay_on_disk_until_they_are_sent(environment, line, left):
    path = f"{environment['PONDERO_DATA_DIR']}/threads.db"
    with Threads.open(path) as threads:
        threads.save_drafts(None, Drafts(typed="half a sent"))
    assert "not sent: half a sent\n" in said(environment, line)
    with Threads.open(path) as threads:
        typed = [threads.take_drafts(each.id).typed for each in threads.list_drafts()]
        assert "".join((*typed, threads.take_drafts(None).typed)) == left


def test_lines_typed_ahead_wait_after_a_stop_until_enter_on_an_empty_line(environment):
    with running(*PLAIN, environment=environment) as chat:
        chat.until("\n>")
        chat.press("Explain 17 * 23 [emulator: fault slow 0.4]\n")
        chat.until("thinking...")
        chat.press("What is 18 * 23?\nWhat is 19 * 23?\n")
        chat.until("What is 19 * 23?")
        time.sleep(0.3)
        chat.press("\x03")
        chat.until("2 lines wait: Enter on an empty line sends them\n>")
        chat.press("What is 2 * 3?\n")
        chat.until("2 * 3 = 6\n>")
        assert "= 414" not in chat.text
        chat.press("\n")
        chat.until("> What is 18 * 23?", "18 * 23 = 414", "> What is 19 * 23?", "19 * 23 = 437")
        chat.press("\x04")
        chat.ended()


def test_lines_that_wait_after_a_stop_are_kept_when_the_chat_ends(environment):
    with running(*PLAIN, environment=environment) as chat:
        chat.until("\n>")
        chat.press("Explain 17 * 23 [emulator: fault slow 0.4]\n")
        chat.until("thinking...")
        chat.press("What is 18 * 23?\n")
        time.sleep(0.3)
        chat.press("\x03")
        chat.until("1 line waits: Enter on an empty line sends it\n>")
        chat.press("\x04")
        chat.ended()
    assert drafts_of(environment) == ["What is 18 * 23?"]


def test_a_question_that_is_taken_back_is_not_called_unsent(environment):
    text = said(environment, "What is 2 * 3?", "/undo")
    assert "your question, to be typed again: What is 2 * 3?" in text
    assert "not sent" not in text


@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM", "SIGINT"])
def test_a_line_that_was_begun_waits_when_the_chat_ends(environment, name):
    with running(*PLAIN, environment=environment) as chat:
        chat.until("\n>")
        chat.press("half a sent")
        chat.until("half a sent")
        chat.signal(getattr(signal, name))
        if name == "SIGINT":
            chat.until("not sent: half a sent\n>")
            chat.press("\x04")
        chat.ended()
    with Threads.open(f"{environment['PONDERO_DATA_DIR']}/threads.db") as threads:
        assert threads.take_drafts(None).typed == "half a sent"


@pytest.mark.parametrize("by_key", [True, False])
def test_ctrl_c_keeps_a_line_that_was_begun_and_begins_another(environment, by_key):
    with running(*PLAIN, environment=environment) as chat:
        chat.until("\n>")
        chat.press("half a sent")
        chat.until("half a sent")
        chat.press("\x03") if by_key else chat.signal(signal.SIGINT)
        chat.until("not sent: half a sent\n>")
        chat.press("What is 17 * 23?\n")
        chat.until("17 * 23 = 391\n>")
        chat.press("\x03")
        chat.until("Ctrl+C again")
        chat.press("\x03")
        assert chat.ended() == 0
        assert chat.text.count("Ctrl+C again") == 1
    with running(*PLAIN, environment=environment) as chat:  # that chat ended after a whole answer
        chat.until("Words that you typed were not sent in: What is 17 * 23?", "/resume ", "\n>")
        assert "in the middle of" not in chat.text
        chat.press("\x04")
        chat.ended()
    with Threads.open(f"{environment['PONDERO_DATA_DIR']}/threads.db") as threads:
        assert [each.text for each in threads.messages("last")] == [
            "What is 17 * 23?",
            "17 * 23 = 391",
        ]
        assert threads.take_drafts(threads.get("last").id).typed == "half a sent"


def test_a_line_that_the_terminal_cuts_is_not_sent_but_kept(environment):
    with running(*PLAIN, environment=environment) as chat:
        chat.until("\n>")
        chat.press(f"{'long ' * 1000}\n")
        chat.until("has cut this line at 4,095 bytes")
        chat.press("/quit\n")
        assert chat.ended() == 0
        assert b"thinking..." not in chat.seen
    with Threads.open(f"{environment['PONDERO_DATA_DIR']}/threads.db") as threads:
        assert threads.take_drafts(None).typed == ("long " * 1000)[:4095]


def test_every_thread_with_unsent_words_is_named_at_the_beginning(environment):
    with Threads.open(f"{environment['PONDERO_DATA_DIR']}/threads.db") as threads:
        ids = [threads.start(model="claude-opus-5").id for _ in range(5)]
        for number, id in enumerate(ids):
            question = Message("user", (Text(f"question {number}"),))
            threads.add(id, [StoredMessage(question)])
            threads.save_drafts(id, Drafts(typed=f"words {number}"))
    text = said(environment)
    assert "⚠ 2 more threads have a cut-off answer, or words that were not sent:" in text
    assert all(f"/resume {id} continues" in text for id in ids)
