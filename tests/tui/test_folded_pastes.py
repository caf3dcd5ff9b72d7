"""A long paste is a token in the input line, and is never lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tui.stage import stage
from tests.tui.terminal import running

from pondero.emulator import Emulator
from pondero.store import Threads
from pondero.tui.folded_pastes import FoldedText, is_long, widen
from pondero.tui.state import UserCell

LONG = "\n".join(f"line {number}" for number in range(214))
TOKEN = "[pasted 214 lines]"
BEGIN, END = "\x1b[200~", "\x1b[201~"


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def threads(tmp_path):
    with Threads.open(tmp_path / "threads.db") as opened:
        yield opened


def asked(chat):
    return [cell.text for cell in chat.app.state.page if isinstance(cell, UserCell)]


@given(st.lists(st.tuples(st.text(), st.text(min_size=1)), max_size=5))
def test_what_was_typed_and_pasted_comes_out_again_in_its_order(pieces):
    folded = FoldedText()
    for typed, paste in pieces:
        token, known = folded.fold(paste)
        folded = known.with_text(folded.text + typed + token)
    assert folded.full == "".join(typed + paste for typed, paste in pieces)
    assert len(folded.spans()) == len(pieces)


@pytest.mark.parametrize("end", ["", "\n"])
def test_the_end_of_the_last_line_is_no_line(end):
    assert FoldedText().fold(LONG + end)[0] == TOKEN


@given(st.integers(0, 30), st.integers(0, 30))
def test_no_edit_cuts_a_token(one, other):
    spans = [(3, 8), (8, 12), (20, 25)]
    start, end = widen(spans, min(one, other), max(one, other))
    assert start <= end
    for first, last in spans:
        assert not first < start < last
        assert not first < end < last


@pytest.mark.parametrize(
    ("text", "long"),
    [
        ("\n" * 9, False),
        ("\n" * 10, True),
        ("x" * 2_000, False),
        ("x" * 2_001, True),
    ],
)
def test_more_than_ten_lines_or_two_thousand_characters_are_long(text, long):
    assert is_long(text) == long


@pytest.mark.anyio
@pytest.mark.parametrize("size", [(80, 24), (40, 12)])
async def test_it_is_one_token_that_is_sent_in_full_and_the_key_shows_it(size):
    async with stage("claude-opus-5/off", size=size) as chat:
        await chat.type("say ")
        await chat.paste(LONG.replace("\n", "\r\n"))
        await chat.type(" now")
        assert chat.app.prompt.text == f"say {TOKEN} now"
        assert TOKEN in chat.text
        assert "Ctrl+R shows the paste" in chat.text
        await chat.press("enter")
        assert asked(chat) == [f"say {LONG} now"]
        await chat.press("up")
        assert chat.app.prompt.text == f"say {TOKEN} now"
        await chat.press("ctrl+r")
        assert chat.app.prompt.text == f"say {LONG} now"
        assert "Ctrl+R" not in chat.text
        await chat.press("ctrl+underscore", "enter")
        assert asked(chat)[1:] == [f"say {LONG} now"]
        await chat.say("/help")
        assert any("Ctrl+R" in line for line in chat.app.state.page[-1].lines)


@pytest.mark.anyio
async def test_deleting_a_letter_of_the_token_deletes_the_paste_and_undo_brings_it_back():
    async with stage("claude-opus-5/off") as chat:
        await chat.type("a ")
        await chat.paste(LONG)
        await chat.press("backspace")
        assert chat.app.prompt.text == "a "
        await chat.press("ctrl+underscore")
        assert chat.app.prompt.full_text == f"a {LONG}"
        await chat.press("home", "right", "right", "delete")
        assert chat.app.prompt.text == "a "


@pytest.mark.anyio
async def test_typing_inside_the_token_does_not_break_it():
    async with stage("claude-opus-5/off") as chat:
        await chat.paste(LONG)
        await chat.press("left", "left", "left")
        await chat.type("x")
        assert chat.app.prompt.full_text == f"{LONG}x"


@pytest.mark.anyio
async def test_two_pastes_of_as_many_lines_stay_two():
    other = LONG.upper()
    async with stage("claude-opus-5/off") as chat:
        await chat.paste(LONG)
        await chat.paste(other)
        assert chat.app.prompt.text == f"{TOKEN}[pasted 214 lines · 2]"
        await chat.press("enter")
        assert asked(chat) == [LONG + other]


@pytest.mark.anyio
async def test_what_is_cut_is_pasted_in_full_into_the_next_question():
    async with stage("claude-opus-5/off") as chat:
        await chat.paste(LONG)
        await chat.press("ctrl+x")
        assert chat.app.prompt.text == ""
        await chat.say("say one")
        chat.app.paste_text()
        assert chat.app.prompt.text == TOKEN
        await chat.press("enter")
        assert asked(chat)[-1] == LONG


@pytest.mark.anyio
async def test_a_draft_is_kept_folded_while_the_history_is_read():
    async with stage("claude-opus-5/off") as chat:
        await chat.say("say one")
        await chat.paste(LONG)
        await chat.press("up")
        assert chat.app.prompt.text == "say one"
        await chat.press("down")
        assert chat.app.prompt.text == TOKEN
        assert chat.app.prompt.full_text == LONG


@pytest.mark.anyio
async def test_queue_undo_and_errors_give_it_back_folded(threads):
    async with stage("claude-opus-5/off", threads=threads) as chat:
        await chat.say_until_held("say one two three", pieces=3)
        await chat.paste(f"say {LONG}")
        await chat.press_without_waiting("enter")
        assert chat.app.state.queue[0].words == f"say {LONG}"
        await chat.press_without_waiting("up")
        assert chat.app.prompt.text == TOKEN
        chat.gate.open()
        await chat.press("enter")
        assert asked(chat)[-1] == f"say {LONG}"
        await chat.say("/undo")
        assert chat.app.prompt.text == TOKEN
        assert chat.app.prompt.full_text == f"say {LONG}"


@pytest.mark.anyio
async def test_after_an_error_it_comes_back_folded():
    async with stage("claude-opus-5/off", emulator=lambda **k: Emulator(faults=[529], **k)) as chat:
        await chat.say(LONG)
        assert chat.app.prompt.text == TOKEN
        await chat.press("enter")
        assert asked(chat)[-1] == LONG


def test_a_paste_that_was_not_sent_survives_a_kill(environment, tmp_path):
    offline = ("chat", "--offline", "claude-opus-5/off")
    with running(*offline, environment=environment) as terminal:
        terminal.until("/help")
        terminal.press("say one\r")
        terminal.until("▌ say one", " · answer ")
        terminal.press(f"{BEGIN}{LONG}{END}")
        terminal.until(TOKEN)
        terminal.signal(15)
        terminal.ended()
    with running("chat", "--offline", "--resume", environment=environment) as terminal:
        terminal.until("line 213")
        terminal.press(" What is 6 * 7?\r")
        terminal.until("6 * 7 = 42")
        terminal.press("\x04")
        terminal.ended()
    with Threads.open(tmp_path / "data" / "threads.db") as threads:
        assert f"{LONG} What is 6 * 7?" in [message.text for message in threads.messages("last")]
