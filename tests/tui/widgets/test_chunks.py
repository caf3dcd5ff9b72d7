"""Long answers are drawn in chunks, and only what is near the window is laid out."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.test_answers_drawn import DOCUMENTS
from tests.tui.stage import stage

from pondero.canon import Message, Text
from pondero.tui._screen.widgets.answer import AnswerView
from pondero.tui._screen.widgets.chunks import draw_tables_as_text, split_answer
from pondero.tui._screen.widgets.visible import make_parser
from pondero.tui.state import actions
from pondero.tui.state.state import ThreadMessage

WORDS = "\n\n".join(" ".join(f"word{n}" for n in range(at, at + 80)) for at in range(0, 50_000, 80))


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
    drawn = draw_tables_as_text(f"Before.\n\n| number | what |\n|---|---|\n{rows}\nAfter.\n")
    assert drawn.startswith("Before.\n\n```text\nnumber  what\n──────  ──────\n0")
    assert "\n299     xxxxx\n```\n\nAfter.\n" in drawn


def test_a_short_table_stays_one():
    text = "| a | b |\n|---|---|\n| 1 | 2 |\n"
    assert draw_tables_as_text(text) == text


def _awake(chat) -> tuple[int, int]:
    chunks = [chunk for view in chat.app.query(AnswerView) for chunk in view.chunks]
    return sum(chunk.document is not None for chunk in chunks), len(chunks)


@pytest.mark.anyio
async def test_only_the_chunks_near_the_window_are_drawn_at_every_size():
    past = (
        ThreadMessage(0, Message("user", (Text("q"),))),
        ThreadMessage(1, Message("assistant", (Text(WORDS),))),
    )
    opened = actions.ThreadOpened(model="claude-opus-5", past=past, count=2)
    async with stage(first=(opened,)) as chat:
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
    past = (
        ThreadMessage(0, Message("user", (Text("q"),))),
        ThreadMessage(1, Message("assistant", (Text(WORDS),))),
    )
    opened = actions.ThreadOpened(model="claude-opus-5", past=past, count=2)
    async with stage(first=(opened,)) as chat:
        await chat.quiet()
        seen = []
        for _ in range(25):
            await chat.press("pageup")
            numbers = [int(w[4:]) for w in chat.text.split() if w[4:].isdigit() and w[:4] == "word"]
            seen.append((min(numbers), max(numbers)))
        for (first, _), (_, last) in pairwise(seen):
            assert last >= first - 12  # nothing was jumped over
