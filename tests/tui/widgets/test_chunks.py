"""Long answers are drawn in chunks, and only what is near the window is laid out."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.test_answers_drawn import DOCUMENTS
from tests.tui.stage import stage
from textual.scrollbar import ScrollTo

from pondero.canon import Message, Text
from pondero.emulator import Emulator, ScriptedTurn
from pondero.tui._screen.widgets.answer import AnswerView, Chunk
from pondero.tui._screen.widgets.chunks import draw_tables_as_text, split_answer
from pondero.tui._screen.widgets.visible import make_parser
from pondero.tui.state import AnswerCell, actions
from pondero.tui.state.state import ThreadMessage

WORDS = "\n\n".join(" ".join(f"word{n}" for n in range(at, at + 80)) for at in range(0, 50_000, 80))


def open_thread(answer: str) -> actions.ThreadOpened:
    """Return what opens a thread of a question and this answer."""
    past = (
        ThreadMessage(0, Message("user", (Text("q"),))),
        ThreadMessage(1, Message("assistant", (Text(answer),))),
    )
    return actions.ThreadOpened(model="claude-opus-5", past=past, count=2)


def _blocks(text: str) -> list[tuple[str, str]]:
    return [(token.type, token.content) for token in make_parser().parse(text)]


@given(st.lists(DOCUMENTS, min_size=1, max_size=60))
def test_the_chunks_are_the_text_and_have_its_blocks(documents):
    text = "\n".join(documents * 8)
    chunks = split_answer(text)
    assert "".join(chunks) == text
    assert [block for chunk in chunks for block in _blocks(chunk)] == _blocks(text)


def test_a_text_with_link_definitions_is_one_chunk():
    text = f"[a]\n\n{WORDS}\n\n[a]: http://localhost\n"
    assert split_answer(text) == [text]


def test_a_long_table_is_text_with_aligned_columns():
    rows = "".join(f"| {n} | {'x' * (n % 7)} |\n" for n in range(300))
    text = f"Before.\n\n| number | what |\n|---|---|\n{rows}\nAfter.\n"
    drawn = draw_tables_as_text(text, 80)
    assert drawn.startswith("Before.\n\n```text\nnumber  what\n──────  ──────\n0")
    assert "\n299     xxxxx\n```\n\nAfter.\n" in drawn


def test_a_short_table_stays_one():
    text = "| a | b |\n|---|---|\n| 1 | 2 |\n"
    assert draw_tables_as_text(text, 80) == text


def test_a_table_with_too_many_columns_is_records():
    columns = range(14)
    rows = ["|".join(f"{word}{n}" for n in columns) for word in ("head", "first ", "a\\|b ")]
    text = f"{rows[0]}\n{'|'.join('---' for _ in columns)}\n{rows[1]}\n{rows[2]}\n"
    assert draw_tables_as_text(text, 200) == text
    drawn = draw_tables_as_text(text, 76)
    assert drawn.startswith("```text\nhead0   first 0\nhead1   first 1\n")
    assert "\nhead13  first 13\n\nhead0   a|b 0\n" in drawn


def test_a_long_table_that_is_too_wide_is_records():
    rows = "".join(f"| {n} | {'word ' * 20} |\n" for n in range(60))
    drawn = draw_tables_as_text(f"| number | what |\n|---|---|\n{rows}", 76)
    assert drawn.startswith("```text\nnumber  0\nwhat    word word")


WIDE = (
    "|".join(f"column{n}" for n in range(14))
    + f"\n{'|'.join('---' for _ in range(14))}\n"
    + "|".join(f"value {n}" for n in range(14))
)


@pytest.mark.anyio
async def test_a_wide_table_is_records_where_it_does_not_fit():
    async with stage(first=(open_thread(f"Here:\n\n{WIDE}\n"),)) as chat:
        await chat.quiet()
        assert "column13  value 13" in chat.text
        await chat.pilot.resize_terminal(200, 24)
        await chat.quiet()
        assert "column13  value 13" not in chat.text
        assert "value 13" in chat.text
        await chat.pilot.resize_terminal(80, 24)
        await chat.quiet()
        assert "column13  value 13" in chat.text


@pytest.mark.anyio
async def test_a_wide_table_that_arrives_is_records_at_the_end():
    def emulator(**options):
        made = Emulator(**options)
        made.expect(ScriptedTurn(text=WIDE))
        return made

    async with stage(emulator=emulator) as chat:
        await chat.say("a table, please")
        await chat.quiet()
        assert "column13  value 13" in chat.text


def _awake(chat) -> tuple[int, int]:
    chunks = [chunk for view in chat.app.query(AnswerView) for chunk in view.chunks]
    return sum(chunk.document is not None for chunk in chunks), len(chunks)


@pytest.mark.anyio
async def test_only_the_chunks_near_the_window_are_drawn_at_every_size():
    async with stage(first=(open_thread(WORDS),)) as chat:
        await chat.quiet()
        assert "word49999" in chat.text
        for size in ((120, 30), (40, 12), (80, 24)):
            await chat.pilot.resize_terminal(*size)
            await chat.quiet()
            awake, all_ = _awake(chat)
            assert all_ > 50
            assert awake < 12
            assert "word49999" in chat.text
        await chat.press("ctrl+home")
        await chat.quiet()
        assert "word0 word1" in chat.text
        assert _awake(chat)[0] < 15
        await chat.press("ctrl+end")
        assert "word49999" in chat.text
        await chat.say("/new")
        assert not chat.app.query(AnswerView)


@pytest.mark.anyio
async def test_what_is_read_stays_in_its_place_while_the_parts_around_it_are_drawn():
    async with stage(first=(open_thread(WORDS),)) as chat:
        await chat.quiet()
        seen = []
        for _ in range(25):
            await chat.press("pageup")
            numbers = [int(w[4:]) for w in chat.text.split() if w[4:].isdigit() and w[:4] == "word"]
            seen.append((min(numbers), max(numbers)))
        for (first, _), (_, last) in pairwise(seen):
            assert last >= first - 12  # nothing was jumped over


@pytest.mark.anyio
async def test_a_chunk_that_is_woken_before_it_is_mounted_is_drawn_once():
    async with stage() as chat:
        view = AnswerView(AnswerCell(key=1, text="heron"))
        mounted = chat.app.page.mount(view)
        view.chunks[0].wake()
        await mounted
        await chat.quiet()
        assert chat.text.count("heron") == 1


@pytest.mark.anyio
async def test_the_scrollbar_goes_where_it_is_dragged_while_parts_are_drawn():
    async with stage(first=(open_thread(WORDS),)) as chat:
        await chat.quiet()
        page = chat.app.page
        for _ in range(1_000):
            if page.max_scroll_y > 5_000:  # every part has taken its room
                break
            await chat.pilot.pause(0.01)
        await chat.press("pageup")
        for share in (0.7, 0.4, 0.1):
            page.release_anchor()
            page.post_message(ScrollTo(y=page.max_scroll_y * share, animate=False))
            await chat.quiet()
            assert page.scroll_y / page.max_scroll_y == pytest.approx(share, abs=0.05)


@pytest.mark.anyio
async def test_a_chunk_whose_page_is_gone_draws_nothing_and_raises_nothing():
    async with stage():
        chunk = Chunk("an answer")
        await chunk.draw()  # as its mounting does, while the chat is being left
        assert chunk.document is None
